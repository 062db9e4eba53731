package emit

import (
	"testing"
	"time"
)

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1_000", 3_600_000_000: "3_600_000_000", 1<<63 - 1: "9_223_372_036_854_775_807",
	} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestTTLInWords(t *testing.T) {
	t.Parallel()
	for micros, want := range map[int64]string{
		1: "1µs", time.Hour.Microseconds(): "1h0m0s", 90_000_000: "1m30s", 1<<63 - 1: "9223372036854775807µs",
	} {
		if got := ttlInWords(micros); got != want {
			t.Errorf("ttlInWords(%d) = %s, want %s", micros, got, want)
		}
	}
}

func TestJSONString(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"id": `"id"`, `a"b\`: `"a\"b\\"`, "<&>": `"<&>"`, "\u2028": `"\u2028"`, "größe": `"größe"`, "": `""`,
	} {
		if got := jsonString(s); got != want {
			t.Errorf("jsonString(%q) = %s, want %s", s, got, want)
		}
	}
}
