package app

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tws-go/tws/runtime/epoch"
)

// total is what one flow, or all of them, have done in this run.
type total struct {
	epochs, rowsIn, malformed, late, timers, rowsOut int64

	last int64         // number of the last epoch
	took time.Duration // by the last epoch
}

func totalOf(s epoch.Stats) total {
	return total{
		epochs: 1, rowsIn: s.RowsIn, malformed: s.Malformed, late: s.Late, timers: s.Timers, rowsOut: s.RowsOut,
		last: s.Epoch, took: s.Took.Total(),
	}
}

// add adds what other flows or epochs have done; the last epoch is theirs.
func (t *total) add(u total) {
	t.last, t.took = u.last, u.took

	t.epochs += u.epochs
	t.rowsIn += u.rowsIn
	t.malformed += u.malformed
	t.late += u.late
	t.timers += u.timers
	t.rowsOut += u.rowsOut
}

// String lists the totals for people.
func (t total) String() string {
	if t.epochs == 0 {
		return "nothing to do"
	}
	parts := []string{count(t.epochs, "epoch"), count(t.rowsIn, "row") + " in"}
	return strings.Join(append(parts, t.rest()...), ", ")
}

func (t total) rest() []string {
	var parts []string
	if t.malformed > 0 {
		parts = append(parts, grouped(t.malformed)+" malformed")
	}
	if t.late > 0 {
		parts = append(parts, grouped(t.late)+" late")
	}
	return append(parts, count(t.timers, "timer"), count(t.rowsOut, "row")+" out")
}

// totals are the flows that had an epoch in this run, by name.
type totals map[string]*total

func (ts totals) add(s epoch.Stats) {
	t := ts[s.Flow]
	if t == nil {
		t = &total{}
		ts[s.Flow] = t
	}
	t.add(totalOf(s))
}

func (ts totals) sum() total {
	var sum total
	for _, t := range ts {
		sum.add(*t)
	}
	return sum
}

// maxLine is the longest line for people that is not rewritten.
const maxLine = 120

// maxLines is how many live lines there are at most: more than a screen has
// could not be rewritten.
const maxLines = 12

// lines returns a line for each flow, or for the first flows and the rest of
// them together.
func (ts totals) lines(width int) []string {
	names := slices.Sorted(maps.Keys(ts))
	rest := totals{}
	if len(names) > maxLines {
		for _, n := range names[maxLines-1:] {
			rest[n] = ts[n]
		}
		names = names[:maxLines-1]
	}
	column := 0
	for _, n := range names {
		column = max(column, len(n))
	}
	var lines []string
	for _, n := range names {
		lines = append(lines, ts[n].line(fmt.Sprintf("%-*s", column, n), width))
	}
	if len(rest) > 0 {
		lines = append(lines, fmt.Sprintf("%d more flows: %s", len(rest), rest.sum()))
	}
	return lines
}

// line is a flow's live line: as much of it as fits.
func (t total) line(name string, width int) string {
	line := name
	parts := append([]string{"epoch " + grouped(t.last), count(t.rowsIn, "row") + " in"}, t.rest()...)
	for i, p := range append(parts, "took "+short(t.took)) {
		joint := ", "
		if i == 0 {
			joint = "  "
		}
		if i > 1 && utf8.RuneCountInString(line+joint+p) > width {
			break
		}
		line += joint + p
	}
	return line
}

// count is a number of things.
func count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return grouped(n) + " " + thing
}

// grouped writes a number that is not negative with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short writes a duration with as many digits as people read.
func short(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// millis is a duration in milliseconds for log lines.
func millis(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
