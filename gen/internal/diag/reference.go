package diag

import (
	"fmt"
	"strings"
)

// Reference returns the catalogue as a document.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Diagnostics

What tws-gen refuses. Each diagnostic has a position, a code that never changes its meaning, a message and
a fix:

` + "```" + `
sensors/heartbeat.go:31:47: error[TWS012]: ttl=1hour is not a duration
	fix: write a number and a unit, as in ttl=90s, ttl=1h30m or ttl=24h
` + "```" + `

All faults of all packages are listed at once, sorted by position, at most 50 of them. Nothing is written if
there is any. ` + "`tws-gen explain TWS012`" + ` prints an entry of this list; golden/diag/testdata has an example of
every message. This file is made from the catalogue in gen/internal/diag.

| code | meaning |
|---|---|
`)
	for _, e := range catalogue {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", e.Code, strings.ToLower(string(e.Code)), e.Title)
	}
	for _, e := range catalogue {
		title := strings.ToUpper(e.Title[:1]) + e.Title[1:]
		fmt.Fprintf(&b, "\n## %s\n\n**%s.** %s\n", e.Code, title, strings.TrimSpace(e.Text))
	}
	return b.String()
}
