package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// Settings never show a value, whoever prints them and how.
func TestSettingsAreSilent(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	clusters := Clusters{"main": {"brokers": "a:9092", "sasl.password": secret}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%08.3f", "%t"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", clusters, clusters["main"], struct{ C Clusters }{clusters})
	}
	fmt.Fprintln(&out, clusters, clusters["main"])
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("said", "clusters", clusters, "main", clusters["main"])
	}
	if err := json.NewEncoder(&out).Encode(clusters); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) || strings.Contains(text, fmt.Sprintf("%X", secret)) {
		t.Errorf("a value was printed:\n%s", text)
	}
	if !strings.Contains(text, "settings of brokers, sasl.password") {
		t.Errorf("the keys were not printed:\n%s", text)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	keys := Keys()
	if !slices.IsSortedFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the keys are not sorted")
	}
	if !HasKey("sasl.password") || HasKey("sasl") {
		t.Error("HasKey(sasl.password), HasKey(sasl) are not true, false")
	}
	for name, want := range map[string]string{
		"brokrs":        "did you mean brokers?",
		"sasl.user":     "did you mean sasl.username?",
		"password":      "did you mean sasl.password?",
		"tls.password":  "did you mean sasl.password?",
		"sasl_password": "did you mean sasl.password?",
		"broker":        "did you mean brokers?",
		"frobnication":  "there is no key frobnication; the keys are brokers, client_id",
	} {
		if got := UnknownKey(name); !strings.Contains(got, want) {
			t.Errorf("UnknownKey(%s) = %s, want %s in it", name, got, want)
		}
	}
}

func TestSettingError(t *testing.T) {
	t.Parallel()
	cause := errors.New("has no value")
	err := fmt.Errorf("kafka: %w", &SettingError{Cluster: "main", Key: "brokers", Err: cause})
	if got, want := err.Error(), "kafka: cluster main: brokers: has no value"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !errors.Is(err, ErrMisconfigured) || !errors.Is(err, cause) {
		t.Error("it is not ErrMisconfigured, or hides its cause")
	}
}
