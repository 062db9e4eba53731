package tws

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tws-go/tws/runtime/internal/engine"
)

// Flow is a flow under construction: a flow function gets it, reads streams and
// configuration from it, and returns the stream that goes to the target. It is
// of no use after the function has returned.
type Flow struct {
	name     string
	pipeline *Pipeline
	sources  []engine.Source
	reads    []any // the tables among the sources, as the pipeline knows them
	stages   []*engine.Stage
	// watermark is nil if the flow has none; sourceTimes says that it is made of
	// the source's timestamps.
	watermark   *engine.Watermark
	sourceTimes bool
	nodes       []anyNode
	errs        []error
}

// Name returns the flow's name, which is its checkpoint's identity.
func (f *Flow) Name() string { return f.name }

func (f *Flow) fail(err error) { f.errs = append(f.errs, err) }

// Duration returns a configuration value such as "5m". Like all configuration of
// a flow it is given as --conf key=value, or --conf flow.key=value for one flow
// alone. A value that cannot be read fails the start.
func (f *Flow) Duration(key string, def time.Duration) time.Duration {
	return lookup(f, key, def, time.ParseDuration, "a duration such as 90s or 5m")
}

// String returns a configuration value; see [Flow.Duration].
func (f *Flow) String(key, def string) string {
	return lookup(f, key, def, func(s string) (string, error) { return s, nil }, "text")
}

// Choice returns a configuration value that is one of the given ones, the first of
// them if it is not set; see [Flow.Duration].
func (f *Flow) Choice(key, def string, others ...string) string {
	all := append([]string{def}, others...)
	known := func(s string) (string, error) {
		if !slices.Contains(all, s) {
			return "", errors.New("not a choice")
		}
		return s, nil
	}
	return lookup(f, key, def, known, strings.Join(all, " or "))
}

// Int returns a configuration value; see [Flow.Duration].
func (f *Flow) Int(key string, def int64) int64 {
	return lookup(f, key, def, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }, "an integer")
}

// Float returns a configuration value; see [Flow.Duration].
func (f *Flow) Float(key string, def float64) float64 {
	return lookup(f, key, def, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }, "a number")
}

// Bool returns a configuration value; see [Flow.Duration].
func (f *Flow) Bool(key string, def bool) bool {
	return lookup(f, key, def, strconv.ParseBool, "true or false")
}

func lookup[T any](f *Flow, key string, def T, parse func(string) (T, error), want string) T {
	text, under, ok := f.pipeline.conf.getFor(f.name, key)
	if !ok {
		return def
	}
	v, err := parse(text)
	if err != nil {
		f.fail(&ConfigError{Key: under, Reason: fmt.Sprintf("want %s, got %q", want, text)})
		return def
	}
	return v
}

// build turns what the flow function made into what the engine runs.
func (f *Flow) build() (*engine.Flow, error) {
	if len(f.sources) == 0 && len(f.errs) == 0 {
		f.fail(errors.New("the flow reads no source"))
	}
	if len(f.errs) == 0 {
		for _, n := range f.nodes {
			if err := n.check(); err != nil {
				f.fail(err)
			}
		}
	}
	seen := map[string]bool{}
	for _, s := range f.sources {
		switch {
		case s.Name() == "":
			f.fail(errors.New("a source has no name: set what it reads (Topic, Topics or Pattern of a Kafka source, Path of a folder) or its Name"))
		case seen[s.Name()]:
			f.fail(fmt.Errorf("two sources are called %s: give one of them another name, it names its place in the checkpoint", s.Name()))
		case !validName(s.Name()):
			f.fail(fmt.Errorf("source name %q: use letters, digits, '-', '_' and '.' only", s.Name()))
		}
		seen[s.Name()] = true
	}
	operators := map[string]bool{}
	for _, s := range f.stages {
		if operators[s.Schema.Name] {
			f.fail(fmt.Errorf("processor %s is used twice in one flow: give the second a name of its own", s.Schema.Name))
		}
		operators[s.Schema.Name] = true
	}
	if err := errors.Join(f.errs...); err != nil {
		return nil, fmt.Errorf("tws: flow %s: %w", f.name, err)
	}
	return &engine.Flow{Name: f.name, Sources: f.sources, Watermark: f.watermark, Stages: f.stages}, nil
}

// validName reports whether a name can be part of a checkpoint's paths.
func validName(name string) bool {
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)) {
			return false
		}
	}
	return name != "" && name[0] != '.' && len(name) <= 200
}
