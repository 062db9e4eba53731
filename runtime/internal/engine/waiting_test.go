package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/tws-go/tws/schemas"
)

// A run that ends while timers wait for the watermark says so.
func TestTellWaiting(t *testing.T) {
	t.Parallel()
	h := &handler{schema: testSchema("waits"), input: func(s *Session, _ string, _ []string, _ func(key, row string) error) error {
		return s.SetTimer(1, 5_000_000)
	}}
	h.schema.TimeMode = schemas.TimeEvent
	r := newRig(t, h)
	var log bytes.Buffer
	r.config.Log = slog.New(slog.NewTextHandler(&log, nil))
	r.row("a", "1")
	r.mustRun()
	if !strings.Contains(log.String(), "timers wait for the watermark") || !strings.Contains(log.String(), "watermark=unset next_timer=1970-01-01T00:00:05.000Z") {
		t.Errorf("the log does not say what the timers wait for:\n%s", log.String())
	}
}
