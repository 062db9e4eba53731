package tws

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tws-go/tws/runtime/internal/engine"
	"github.com/tws-go/tws/runtime/internal/spelling"
)

// conf is a pipeline's configuration. It remembers which keys were asked for, so
// that a key nobody reads, a typing error most likely, fails the start.
type conf struct {
	values map[string]string
	asked  map[string]bool
	// full are the keys among asked that are one flow's alone, flow.key, by key.
	full map[string][]string
}

func newConf(values map[string]string) *conf {
	return &conf{values: maps.Clone(values), asked: map[string]bool{}, full: map[string][]string{}}
}

func (c *conf) get(key string) (string, bool) {
	c.asked[key] = true
	v, ok := c.values[key]
	return v, ok
}

// getFor returns a flow's value of a key, and the key that it is given under: the
// flow's own if there is one.
func (c *conf) getFor(flow, key string) (value, under string, ok bool) {
	full := flow + "." + key
	if !slices.Contains(c.full[key], full) {
		c.full[key] = append(c.full[key], full)
	}
	value, ok = c.get(key)
	if own, has := c.get(full); has {
		return own, full, true
	}
	return value, key, ok
}

// known returns the keys that were asked for, in order: each under one name, and
// under those with a flow as well if several flows read it.
func (c *conf) known() []string {
	known := maps.Clone(c.asked)
	for _, full := range c.full {
		if len(full) == 1 {
			delete(known, full[0])
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// unread returns an error for every key that nobody asked for.
func (c *conf) unread() []error {
	var errs []error
	asked := slices.Sorted(maps.Keys(c.asked))
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		if c.asked[key] {
			continue
		}
		reason := "no flow reads this key"
		if near := spelling.Nearest(key, asked); near != "" {
			reason += ", did you mean " + near + "?"
		}
		errs = append(errs, &ConfigError{Key: key, Reason: reason + "; known keys are " + strings.Join(c.known(), ", ")})
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
