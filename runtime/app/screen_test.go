package app

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
)

// terminal is what a terminal shows of the little that a screen writes: text,
// line ends, going up, and erasing to the end.
func terminal(t *testing.T, written string) string {
	t.Helper()
	lines, row := []string{""}, 0
	for written != "" {
		var up int
		switch {
		case strings.HasPrefix(written, "\x1b[J"):
			lines, written = append(lines[:row], ""), written[len("\x1b[J"):]
		case strings.HasPrefix(written, "\x1b["):
			if _, err := fmt.Sscanf(written, "\x1b[%dA\r", &up); err != nil || up > row {
				t.Fatalf("cannot interpret %q in row %d", written, row)
			}
			row -= up
			written = written[strings.Index(written, "\r")+1:]
		default:
			text, _, _ := strings.Cut(written, "\x1b")
			for i, part := range strings.Split(text, "\n") {
				if i > 0 {
					if row++; row == len(lines) {
						lines = append(lines, "")
					}
				}
				lines[row] += part
			}
			written = written[len(text):]
		}
	}
	return strings.Join(lines, "\n")
}

func TestScreen(t *testing.T) {
	t.Parallel()
	var out buffer
	s := &screen{w: &out, columns: func() int { return 12 }}
	fmt.Fprintln(s, "first")
	s.show([]string{"a 1", "b 1"})
	fmt.Fprintln(s, "a longer line than the terminal")
	s.show([]string{"a 2", "b 2 is cut off", "c 2"})
	s.show([]string{"a 3", "b 3"})
	s.keep()
	fmt.Fprintln(s, "last")
	want := "first\na longer line than the terminal\na 3\nb 3\nlast\n"
	if got := terminal(t, out.String()); got != want {
		t.Errorf("the terminal shows\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(out.String(), "b 2 is cut…\n") {
		t.Errorf("a live line is not cut to the width: %q", out.String())
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	ts := totals{}
	took := epoch.Phases{Read: 41_230 * time.Microsecond}
	ts.add(epoch.Stats{Flow: "readings", Epoch: 1233, RowsIn: 1_000_000, Timers: 1, RowsOut: 5, Took: took})
	ts.add(epoch.Stats{Flow: "readings", Epoch: 1234, RowsIn: 234_567, Malformed: 2, Late: 3, RowsOut: 5, Took: took})
	ts.add(epoch.Stats{Flow: "b", Epoch: 1, RowsIn: 1, Took: epoch.Phases{Decide: 2500 * time.Millisecond}})
	for width, want := range map[int][]string{
		100: {
			"b         epoch 1, 1 row in, 0 timers, 0 rows out, took 2.5s",
			"readings  epoch 1,234, 1,234,567 rows in, 2 malformed, 3 late, 1 timer, 10 rows out, took 41.2ms",
		},
		50: {"b         epoch 1, 1 row in, 0 timers, 0 rows out", "readings  epoch 1,234, 1,234,567 rows in"},
		10: {"b         epoch 1, 1 row in", "readings  epoch 1,234, 1,234,567 rows in"},
	} {
		if got := ts.lines(width); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
	if got, want := ts.sum().String(), "3 epochs, 1,234,568 rows in, 2 malformed, 3 late, 1 timer, 10 rows out"; got != want {
		t.Errorf("sum is %q, want %q", got, want)
	}
}

func TestManyFlows(t *testing.T) {
	t.Parallel()
	ts := totals{}
	for n := range 50 {
		ts.add(epoch.Stats{Flow: fmt.Sprintf("flow%02d", n), Epoch: 1, RowsIn: 1})
	}
	lines := ts.lines(80)
	if len(lines) != maxLines {
		t.Fatalf("%d lines, want %d", len(lines), maxLines)
	}
	if got, want := lines[maxLines-1], "39 more flows: 39 epochs, 39 rows in, 0 timers, 0 rows out"; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 1234 * time.Nanosecond: "1µs", 41_270 * time.Microsecond: "41.3ms", 2_514 * time.Millisecond: "2.51s",
		61*time.Minute + 400*time.Millisecond: "1h1m0s",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%d) = %q, want %q", d, got, want)
		}
	}
}

// onTerminal returns a world whose standard error is a terminal, with a clock
// that stands still, so that live lines are drawn once, at the end.
func onTerminal(t *testing.T) *line {
	l := newLine(t)
	l.env.columns = func() int { return 80 }
	l.env.clock = still{at: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	return l
}

// shown is what the terminal shows.
func (l *line) shown() string {
	l.t.Helper()
	return strings.ReplaceAll(terminal(l.t, l.err.String()), l.dir, "DIR")
}

// foreign matches log lines of other packages, whose words are theirs.
var foreign = regexp.MustCompile(`(?m)^pipe: (table created|warning: ).*\n`)

func withoutForeign(text string) string { return foreign.ReplaceAllString(text, "") }

func TestLive(t *testing.T) {
	t.Parallel()
	l := onTerminal(t)
	l.write("a.jsonl", "{\"id\":1}\nnonsense\n{\"id\":2}\n")
	l.do(countToTable, exitDone, l.args("--conf", "drop=true")...)
	golden(t, "live.txt", withoutForeign(l.shown()))
	if !strings.Contains(l.err.String(), "count  epoch 1, ") {
		t.Errorf("no live line: %q", l.err.String())
	}
}

func TestLiveNothingToDo(t *testing.T) {
	t.Parallel()
	l := onTerminal(t)
	l.do(copyToTable, exitDone, l.args()...)
	if got := l.shown(); !strings.HasSuffix(got, "\npipe: done: nothing to do in 0s\n") {
		t.Errorf("the terminal shows\n%s", got)
	}
}

// A pipeline that never ran has no summary, only its error.
func TestLiveNotStarted(t *testing.T) {
	t.Parallel()
	l := onTerminal(t)
	l.do(copyToTable, exitUsage, l.args("--conf", "typo=1")...)
	if got := l.shown(); strings.Contains(got, "failed") || !strings.HasPrefix(got, "pipe: configuration typo: ") {
		t.Errorf("the terminal shows\n%s", got)
	}
}

func TestLiveFailure(t *testing.T) {
	t.Parallel()
	l := onTerminal(t)
	l.feed("a.jsonl", 0, 3)
	l.write("b.jsonl", "nonsense\n")
	l.do(copyToTable, exitFailed, l.args("--conf", "tws.max-rows=3")...)
	golden(t, "live_failure.txt", withoutForeign(l.shown()))
}

func TestLiveQuiet(t *testing.T) {
	t.Parallel()
	l := onTerminal(t)
	l.feed("a.jsonl", 0, 3)
	l.do(copyToTable, exitDone, l.args("--quiet")...)
	if l.err.String() != "" {
		t.Errorf("stderr: %q", l.err.String())
	}
}

// Rows on the same terminal must not be wiped off by live lines.
func TestLiveBesideRows(t *testing.T) {
	t.Parallel()
	l := onTerminal(t)
	l.env.shared = func() bool { return true }
	l.feed("a.jsonl", 0, 3)
	l.do(func(p *tws.Pipeline) { copyToWriter(p, &l.out) }, exitDone, l.args("--conf", "tws.max-rows=2")...)
	if strings.Contains(l.err.String(), "\x1b") {
		t.Errorf("something is rewritten: %q", l.err.String())
	}
	golden(t, "live_rows.txt", withoutForeign(l.shown()))
}

// Live lines are drawn while the pipeline runs, not only at its end.
func TestLiveRedraws(t *testing.T) {
	t.Parallel()
	l := onTerminal(t)
	ticks := make(chan time.Time)
	l.env.clock = ticking{still: still{at: time.Unix(0, 0)}, ticks: ticks}
	r, err := newReport(l.env, &runOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.start("mem", nil)
	r.epoch(epoch.Stats{Flow: "f", Epoch: 1, RowsIn: 1})
	ticks <- time.Time{}
	ticks <- time.Time{} // taken after the first drawing is done
	if got := l.shown(); !strings.Contains(got, "f  epoch 1, 1 row in") {
		t.Errorf("after a tick the terminal shows\n%s", got)
	}
	r.epoch(epoch.Stats{Flow: "f", Epoch: 2, RowsIn: 1})
	r.end(t.Context(), nil)
	if got := l.shown(); !strings.HasSuffix(got, "\nf  epoch 2, 2 rows in, 0 timers, 0 rows out, took 0s\npipe: done: 2 epochs, 2 rows in, 0 timers, 0 rows out in 0s\n") {
		t.Errorf("at the end the terminal shows\n%s", got)
	}
}

// ticking is a clock whose waits end when a test says so.
type ticking struct {
	still
	ticks chan time.Time
}

func (c ticking) After(time.Duration) <-chan time.Time { return c.ticks }
