package tws

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tws-go/tws/runtime/internal/engine"
)

// conf is a pipeline's configuration. It remembers which keys were asked for, so
// that a key nobody reads, a typing error most likely, fails the start.
type conf struct {
	values map[string]string
	asked  map[string]bool
}

func newConf(values map[string]string) *conf {
	return &conf{values: maps.Clone(values), asked: map[string]bool{}}
}

func (c *conf) get(key string) (string, bool) {
	c.asked[key] = true
	v, ok := c.values[key]
	return v, ok
}

// unread returns an error for every key that nobody asked for.
func (c *conf) unread() []error {
	var errs []error
	known := slices.Sorted(maps.Keys(c.asked))
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		if !c.asked[key] {
			errs = append(errs, &ConfigError{Key: key, Reason: "no flow reads this key; known keys are " + strings.Join(known, ", ")})
		}
	}
	return errs
}

// engineConf reads the keys that configure the engine.
func (c *conf) engineConf() (engine.Config, []error) {
	var e engine.Config
	var errs []error
	read := func(key string, low, high int64, set func(int64)) {
		text, ok := c.get(key)
		if !ok {
			return
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < low || n > high {
			errs = append(errs, &ConfigError{Key: key, Reason: fmt.Sprintf("want an integer from %d to %d, got %q", low, high, text)})
			return
		}
		set(n)
	}
	const many = 1 << 40
	read("tws.partitions", 1, 256, func(n int64) { e.Partitions = int(n) })
	read("tws.max-rows", 1, many, func(n int64) { e.Limits.Rows = n })
	read("tws.max-bytes", 1, many, func(n int64) { e.Limits.Bytes = n })
	read("tws.max-timers", 1, many, func(n int64) { e.TimerLimit = n })
	read("tws.epoch-memory-mb", 1, 1<<20, func(n int64) { e.MemoryBytes = n << 20 })
	read("tws.snapshot-epochs", 1, many, func(n int64) { e.SnapshotEpochs = n })
	read("tws.snapshot-mb", 1, 1<<20, func(n int64) { e.SnapshotBytes = n << 20 })
	read("tws.retain-epochs", 1, many, func(n int64) { e.RetainEpochs = n })
	return e, errs
}
