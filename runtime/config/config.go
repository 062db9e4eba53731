// Package config reads the configuration file, tws.yaml, and what the environment
// adds to it.
//
// # Model
//
// Both say the same thing, the settings of clusters by key: [stream.Keys] lists
// the keys. In the file keys are nested, and "${NAME}" in a value stands for a
// variable of the environment; in the environment they are part of a variable's
// name, TWS_CLUSTERS_MAIN_SASL_PASSWORD, and go before the file.
//
// This package knows the syntax and the keys: that a key exists, has one value
// and is not there twice. What a value must be like is the matter of who uses it,
// such as package kafka when it opens a source; [Config.Where] says which line to
// name then.
//
// # Invariants
//
// No error contains a value. A file's name is relative to the folder of the
// configuration file that names it.
//
// docs/reference/configuration.md describes the file for users.
package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tws-go/tws/runtime/stream"
)

// maxFileBytes bounds the size of a configuration file.
const maxFileBytes = 1 << 20

// Config is what file and environment say.
type Config struct {
	// Clusters are the settings of the clusters, by name.
	Clusters stream.Clusters

	places map[place]string
}

// place is a setting of a cluster, or with an empty key the cluster itself.
type place struct{ cluster, key string }

// Where says where a setting comes from: "tws.yaml:7", or the name of a variable.
// If it is set nowhere, it is where the cluster is; "" if that is nowhere either.
func (c Config) Where(cluster, key string) string {
	if at := c.places[place{cluster, key}]; at != "" {
		return at
	}
	return c.places[place{cluster, ""}]
}

// Error reports a configuration that cannot be read. It is
// [stream.ErrMisconfigured]. Its text contains no value.
type Error struct {
	// Place is the file, with the line if it is about one, or the variable.
	Place string
	// Key is the setting with the path that leads to it, "clusters.main.brokers";
	// empty if it is about none.
	Key string
	// Err says what is wrong.
	Err error
}

func (e *Error) Error() string {
	if e.Key == "" {
		return e.Place + ": " + e.Err.Error()
	}
	return e.Place + ": " + e.Key + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is [stream.ErrMisconfigured].
func (e *Error) Is(target error) bool { return target == stream.ErrMisconfigured }

// Load reads a file, unless path is empty, and the environment, as os.Environ
// returns it. Its errors are [Error]s, joined if there are several.
func Load(path string, environ []string) (Config, error) {
	l := &loader{file: path, variables: map[string]string{}, settings: stream.Clusters{}, places: map[place]string{}}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		l.variables[name] = value
	}
	if path != "" {
		content, err := readFile(path)
		if err != nil {
			return Config{}, &Error{Place: path, Err: err}
		}
		l.readYAML(content)
	}
	if len(l.errs) == 0 { // else variables might seem to be of no cluster
		l.readEnvironment()
	}
	if len(l.errs) > 0 {
		return Config{}, errors.Join(l.errs...)
	}
	return Config{Clusters: l.settings, places: l.places}, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New("there is no such file")
	case err != nil:
		return nil, errors.Unwrap(err)
	case info.Size() > maxFileBytes:
		return nil, fmt.Errorf("the file has %d bytes, more than a configuration may have: %d", info.Size(), maxFileBytes)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1)) // a device or a pipe has no size
	_ = f.Close()                                                 // nothing was written
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if len(content) > maxFileBytes {
		return nil, fmt.Errorf("the file has more bytes than a configuration may have: %d", maxFileBytes)
	}
	return content, nil
}

// loader collects settings, and what is wrong with them.
type loader struct {
	file      string
	variables map[string]string
	settings  stream.Clusters
	places    map[place]string
	errs      []error
}

func (l *loader) fail(at, key, format string, args ...any) {
	l.errs = append(l.errs, &Error{Place: at, Key: key, Err: fmt.Errorf(format, args...)})
}

// set takes a setting.
func (l *loader) set(cluster string, key stream.Key, value, at string) {
	if key.Kind == stream.KeyFile && l.file != "" && !filepath.IsAbs(value) {
		value = filepath.Join(filepath.Dir(l.file), value)
	}
	l.settings[cluster][key.Name] = value
	l.places[place{cluster, key.Name}] = at
}

// add makes a cluster known.
func (l *loader) add(cluster, at string) {
	l.settings[cluster] = stream.Settings{}
	l.places[place{cluster, ""}] = at
}

// names lists the clusters.
func (l *loader) names() []string { return slices.Sorted(maps.Keys(l.settings)) }

// find returns a key by its name.
func find(name string) (stream.Key, bool) {
	keys := stream.Keys()
	i := slices.IndexFunc(keys, func(k stream.Key) bool { return k.Name == name })
	if i < 0 {
		return stream.Key{}, false
	}
	return keys[i], true
}

// isGroup reports whether a name is what keys have before the dot.
func isGroup(name string) bool {
	return slices.ContainsFunc(stream.Keys(), func(k stream.Key) bool { return strings.HasPrefix(k.Name, name+".") })
}
