package app

import (
	"errors"
	"log/slog"
	"testing"
	"time"
)

func TestPlainHandler(t *testing.T) {
	t.Parallel()
	var out buffer
	log := slog.New(&plainHandler{w: &out, name: "pipe"})
	log.Debug("not shown")
	log.Info("table created", "table", "alerts", "path", "a b")
	log.With("flow", "f").WithGroup("g").With("a", 1).Warn("slow", slog.Group("h", "took", 2*time.Second, "why", ""), slog.Attr{})
	log.WithGroup("").Error("failed", "error", errors.New(`no "x"`))
	want := "pipe: table created table=alerts path=\"a b\"\n" +
		"pipe: warning: slow flow=f g.a=1 g.h.took=2s g.h.why=\"\"\n" +
		"pipe: error: failed error=\"no \\\"x\\\"\"\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	quiet := slog.New(&plainHandler{w: &out, name: "pipe", least: slog.LevelWarn})
	quiet.Info("not shown")
	if out.String() != want {
		t.Errorf("a quiet handler wrote\n%s", out.String()[len(want):])
	}
}
