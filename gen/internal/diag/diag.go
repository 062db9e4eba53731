// Package diag is how the generator tells its user what is wrong: one
// diagnostic per fault, with a position, a permanent code, a message and a fix.
//
// The text form is
//
//	sensors/heartbeat.go:31:47: error[TWS022]: ttl=1hour is not a duration
//		fix: write a number and a unit, as in ttl=90s, ttl=1h30m or ttl=24h
//
// Paths are relative to the current directory and use forward slashes.
package diag

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Diagnostic is one fault in the user's input. One without a code is a warning.
type Diagnostic struct {
	Pos     token.Position
	Code    Code
	Message string
	// Fix says what to do, in the imperative; every diagnostic has one.
	Fix string
}

// Error returns the text form with the path as it is.
func (d Diagnostic) Error() string { return d.text(d.Pos.Filename) }

func (d Diagnostic) text(path string) string {
	at := path
	if d.Pos.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", path, d.Pos.Line, d.Pos.Column)
	}
	kind := "warning"
	if d.Code != "" {
		kind = "error[" + string(d.Code) + "]"
	}
	text := fmt.Sprintf("%s: %s: %s", at, kind, d.Message)
	if d.Fix != "" {
		text += "\n\tfix: " + d.Fix
	}
	return text
}

// List collects diagnostics.
type List []Diagnostic

// Add appends a diagnostic. message is formatted with args.
func (l *List) Add(pos token.Position, code Code, fix, message string, args ...any) {
	*l = append(*l, Diagnostic{Pos: pos, Code: code, Message: fmt.Sprintf(message, args...), Fix: fix})
}

// Sorted returns the diagnostics by position, each once.
func (l List) Sorted() List {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.Pos.Filename, b.Pos.Filename),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			strings.Compare(string(a.Code), string(b.Code)),
			strings.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(sorted)
}

// Limit is how many diagnostics Write writes out.
const Limit = 50

// Write writes the diagnostics by position, paths relative to dir, at most
// [Limit] of them.
func (l List) Write(w io.Writer, dir string) error {
	sorted := l.Sorted()
	for i, d := range sorted {
		if i == Limit {
			_, err := fmt.Fprintf(w, "and %d more\n", len(sorted)-Limit)
			return err
		}
		if _, err := fmt.Fprintln(w, d.text(Relative(dir, d.Pos.Filename))); err != nil {
			return err
		}
	}
	return nil
}

// Relative returns path relative to dir with forward slashes, path itself if
// there is no way from one to the other.
func Relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsAbs(path) {
		path = rel
	}
	return filepath.ToSlash(path)
}

// Nearest returns the candidate that word is most likely a slip of, "" if none
// is near. Two neighbours that changed places are two wrong letters, which is one
// slip and forgiven from three letters on; case does not count.
//
// The runtime has the same rule in runtime/internal/spelling: neither may import the other, and no package is for both.
func Nearest(word string, candidates []string) string {
	letters := utf8.RuneCountInString(word)
	best, bestDistance := "", min(letters, letters/3+2)
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(c))
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean returns `; did you mean "x"?` for the nearest candidate, or "".
func DidYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
