package engine

import (
	"fmt"
	"slices"
	"testing"
)

// C-172: the second stage sees the first's rows in the same epoch, those of its
// input first, then those of its timers in the order of time, in the same order
// whatever the number of partitions; each stage has states and timers of its own.
func TestStagesOrder(t *testing.T) {
	t.Parallel()
	var want []string
	for _, partitions := range []int{1, 2, 3, 7, 256} {
		got := runStages(t, partitions)
		if want == nil {
			want = got
			checkStagesOrder(t, got)
		}
		equal(t, fmt.Sprintf("%d partitions", partitions), got, want)
	}
}

// runStages lets 40 keys send a row each from their input session and, the later
// the lower their number, from a timer session to one key of a second stage.
func runStages(t *testing.T, partitions int) []string {
	first := &handler{
		input: func(s *Session, key string, rows []string, emit func(key, row string) error) error {
			var n int64
			fmt.Sscanf(key, "k%d", &n)
			if err := s.RegisterTimer(100 - n/2); err != nil { // two keys for each instant
				return err
			}
			if err := s.SetTimer(3, 100-n/2); err != nil {
				return err
			}
			return emit("all", "input "+key+" "+rows[0])
		},
		timer: func(s *Session, key string, t FiredTimer, emit func(key, row string) error) error {
			return emit("all", fmt.Sprintf("timer %d %s %d", t.Micros, key, t.ID))
		},
	}
	second := &handler{
		input: func(s *Session, key string, rows []string, emit func(key, row string) error) error {
			for _, row := range rows {
				if err := emit(key, row); err != nil {
					return err
				}
			}
			return s.RegisterTimer(0)
		},
		timer: func(s *Session, key string, t FiredTimer, emit func(key, row string) error) error {
			return emit(key, fmt.Sprintf("second timer %d", t.Micros))
		},
	}
	r := newRig(t, first, second)
	r.config.Partitions = partitions
	r.clock.set(1000)
	for n := range 40 {
		r.row(fmt.Sprintf("k%02d", n), "row")
	}
	got := r.mustRun()
	if len(r.sink.out) != 1 {
		t.Errorf("%d epochs, want one", len(r.sink.out))
	}
	if stats := r.epochs[0]; stats.Keys != 41 || stats.Timers != 81 {
		t.Errorf("%d keys and %d timers, want 41 and 81", stats.Keys, stats.Timers)
	}
	return got
}

func checkStagesOrder(t *testing.T, got []string) {
	t.Helper()
	if len(got) != 121 || got[120] != "second timer 0" {
		t.Fatalf("got %q", got)
	}
	for _, row := range got[:40] {
		if row[:5] != "input" {
			t.Fatalf("%q is among the input rows", row)
		}
	}
	var fired []string
	for n := 39; n >= 0; n -= 2 {
		for _, k := range []int{n - 1, n} {
			for _, id := range []int{0, 3} {
				fired = append(fired, fmt.Sprintf("timer %d k%02d %d", 100-n/2, k, id))
			}
		}
	}
	if !slices.Equal(got[40:120], fired) {
		t.Errorf("timers:\n got %q\nwant %q", got[40:120], fired)
	}
}

// C-7 C-8: rows of several sources come into one state, source by source.
func TestSeveralSources(t *testing.T) {
	t.Parallel()
	h := &handler{input: func(s *Session, key string, rows []string, emit func(key, row string) error) error {
		return emit(key, fmt.Sprint(key, rows))
	}}
	for _, partitions := range []int{1, 3} {
		r := newRig(t, h)
		r.config.Partitions = partitions
		r.sources = []*listSource{
			{name: "z", rows: []keyed{{key: "a", row: "z1"}, {key: "b", row: "z2"}, {key: "a", row: "z3"}}},
			{name: "y", rows: []keyed{{key: "a", row: "y1"}, {key: "a", row: "y2"}}},
			{name: "x", rows: []keyed{{key: "b", row: "x1"}, {key: "c", row: "x2"}}},
		}
		got := r.mustRun()
		slices.Sort(got)
		equal(t, "rows", got, []string{"a[z1 z3 y1 y2]", "b[z2 x1]", "c[x2]"})
	}
}

// A flow without stages hands rows on, source by source.
func TestNoStages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sources = []*listSource{
		{name: "one", rows: []keyed{{key: "", row: "a"}, {key: "", row: "b"}}},
		{name: "two", rows: []keyed{{key: "", row: "c"}}},
	}
	equal(t, "rows", r.mustRun(), []string{"a", "b", "c"})
	r.close()
	r.sources[0].rows = append(r.sources[0].rows, keyed{key: "", row: "d"})
	equal(t, "rows after a restart", r.mustRun(), []string{"d"})
	equal(t, "rows when there are none", r.mustRun(), nil)
}
