package app

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
)

// plainHandler writes log records as people read them on a terminal:
//
//	heartbeat: warning: malformed row dropped flow=alerts where=a.jsonl:3
type plainHandler struct {
	w     io.Writer // takes whole lines, from several goroutines
	name  string
	least slog.Level
	group string // of the attributes to come, "" or with a dot at its end
	attrs string // those of the logger, formatted
}

// Enabled implements slog.Handler.
func (h *plainHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

// Handle implements slog.Handler.
func (h *plainHandler) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString(h.name + ": ")
	if r.Level != slog.LevelInfo {
		line.WriteString(levelWord(r.Level) + ": ")
	}
	line.WriteString(r.Message + h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(plainAttr(h.group, a))
		return true
	})
	_, err := io.WriteString(h.w, line.String()+"\n")
	return err
}

func levelWord(l slog.Level) string {
	if l == slog.LevelWarn {
		return "warning"
	}
	return strings.ToLower(l.String())
}

// WithAttrs implements slog.Handler.
func (h *plainHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	for _, a := range attrs {
		with.attrs += plainAttr(h.group, a)
	}
	return &with
}

// WithGroup implements slog.Handler.
func (h *plainHandler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.group += name + "."
	}
	return &with
}

// plainAttr formats an attribute, with a space before it.
func plainAttr(group string, a slog.Attr) string {
	value := a.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if a.Equal(slog.Attr{}) {
			return ""
		}
		text := value.String()
		if text == "" || strings.ContainsAny(text, " \t\n\"=") {
			text = strconv.Quote(text)
		}
		return " " + group + a.Key + "=" + text
	}
	if a.Key != "" {
		group += a.Key + "."
	}
	var all strings.Builder
	for _, member := range value.Group() {
		all.WriteString(plainAttr(group, member))
	}
	return all.String()
}
