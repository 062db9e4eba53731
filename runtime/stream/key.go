package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Key is a key that the [Settings] of a cluster may have.
type Key struct {
	// Name is the key with dots, "sasl.password".
	Name string
	// Kind says what its value is.
	Kind KeyKind
}

// KeyKind says what the value of a key is.
type KeyKind int

// The kinds of values.
const (
	KeyText   KeyKind = iota // any text
	KeyList                  // texts with commas between them
	KeyFile                  // the name of a file
	KeySecret                // text that must not be shown to anybody
)

// Keys returns all keys that the settings of a cluster may have, sorted by name.
// It is the one list of them: a configuration file is checked against it, and
// whoever connects to a cluster understands each of its keys.
// docs/reference/configuration.md says what they mean.
func Keys() []Key {
	return []Key{
		{"brokers", KeyList},
		{"client_id", KeyText},
		{"connect_timeout", KeyText},
		{"sasl.client_id", KeyText},
		{"sasl.client_secret", KeySecret},
		{"sasl.client_secret_file", KeyFile},
		{"sasl.extensions", KeyList},
		{"sasl.mechanism", KeyText},
		{"sasl.password", KeySecret},
		{"sasl.password_file", KeyFile},
		{"sasl.scope", KeyText},
		{"sasl.token", KeySecret},
		{"sasl.token_endpoint", KeyText},
		{"sasl.token_file", KeyFile},
		{"sasl.username", KeyText},
		{"tls.ca", KeyFile},
		{"tls.cert", KeyFile},
		{"tls.enabled", KeyText},
		{"tls.insecure_skip_verify", KeyText},
		{"tls.key", KeyFile},
		{"tls.server_name", KeyText},
	}
}

// UnknownKey says that there is no such key, which one may have been meant, and
// which there are.
func UnknownKey(name string) string {
	keys := Keys()
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	meant := ""
	if near := nearest(name, names); near != "" {
		meant = ", did you mean " + near + "?"
	}
	return fmt.Sprintf("there is no key %s%s; the keys are %s", name, meant, strings.Join(names, ", "))
}

// nearest returns the word that takes the fewest edits to make of name, "" if
// that would be most of it.
func nearest(name string, words []string) string {
	best, distance := "", max(2, len(name)/3)+1
	for _, w := range words {
		// A key without its group, or in the wrong one, is near enough.
		if _, last, ok := strings.Cut(w, "."); ok && last == name[strings.LastIndexByte(name, '.')+1:] {
			return w
		}
		if d := edits(name, w); d < distance {
			best, distance = w, d
		}
	}
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, name) }); best == "" && i >= 0 {
		return words[i]
	}
	return best
}

// edits counts the bytes to insert, remove or replace to make b of a.
func edits(a, b string) int {
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+cost)
		}
		above = row
	}
	return above[len(b)]
}

// ErrMisconfigured is what an error is that only a person can cure: the settings
// of a cluster are wrong, or the cluster refuses who they say we are or what we
// want to do. To start again without a change is in vain.
var ErrMisconfigured = errors.New("misconfigured")

// SettingError reports a setting of a cluster that cannot be used. It is
// [ErrMisconfigured]. Its text never contains the value of a secret.
type SettingError struct {
	// Cluster is the cluster's name.
	Cluster string
	// Key is the setting's, empty if it is about all of them.
	Key string
	// Err says what is wrong with it.
	Err error
}

func (e *SettingError) Error() string {
	if e.Key == "" {
		return "cluster " + e.Cluster + ": " + e.Err.Error()
	}
	return "cluster " + e.Cluster + ": " + e.Key + ": " + e.Err.Error()
}

func (e *SettingError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrMisconfigured].
func (e *SettingError) Is(target error) bool { return target == ErrMisconfigured }

// HasKey reports whether the settings of a cluster may have a key.
func HasKey(name string) bool {
	return slices.ContainsFunc(Keys(), func(k Key) bool { return k.Name == name })
}
