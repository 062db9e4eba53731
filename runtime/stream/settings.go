package stream

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// Settings is what the configuration says of one cluster: text by key, nested keys
// joined by dots, such as "brokers" and "sasl.password". A value may be secret, so
// Settings never print one, whichever way they are printed: only their keys.
type Settings map[string]string

// Clusters are the settings of all clusters, by the cluster's name.
type Clusters map[string]Settings

// String lists the keys.
func (s Settings) String() string {
	return "settings of " + strings.Join(slices.Sorted(maps.Keys(s)), ", ")
}

// Format lists the keys, for every verb.
func (s Settings) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// LogValue lists the keys.
func (s Settings) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes the list of the keys.
func (s Settings) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
