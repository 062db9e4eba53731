package stream

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tws-go/tws/runtime/internal/spelling"
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

// nearest returns the key that name is most likely a slip of, "" if none is near.
func nearest(name string, keys []string) string {
	last := name[strings.LastIndexByte(name, '.')+1:]
	meant := func(is func(key string) bool) string {
		if i := slices.IndexFunc(keys, is); i >= 0 {
			return keys[i]
		}
		return ""
	}
	return cmp.Or(
		// A key without its group, or in the wrong one, is near enough, and so is the
		// beginning of one.
		meant(func(key string) bool { return strings.HasSuffix(key, "."+last) }),
		meant(func(key string) bool { return strings.HasPrefix(key, name) }),
		spelling.Nearest(name, keys),
	)
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
