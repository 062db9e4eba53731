package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/epoch"
)

// B-20 C-9: the limit on epochs ends a run; the next finishes to the same place,
// and only a run that had nothing left to do lets the one after read further.
func TestMaxEpochs(t *testing.T) {
	t.Parallel()
	r := newRig(t, counter())
	r.config.Limits.Rows, r.config.MaxEpochs = 2, 1
	r.row("a", "1", "2", "3")
	equal(t, "first run", r.mustRun(), []string{"a=2"})
	r.row("a", "4")
	r.close()
	equal(t, "second run", r.mustRun(), []string{"a=3"})
	equal(t, "third run", r.mustRun(), []string{"a=4"})
	equal(t, "fourth run", r.mustRun(), nil)
	r.row("a", "5")
	equal(t, "fifth run", r.mustRun(), []string{"a=5"})
}

// B-92: a run that is asked to stop finishes the epoch it is in, and no other.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(u *Unit, stop <-chan struct{}) error{
		"available": func(u *Unit, stop <-chan struct{}) error { return u.RunAvailable(context.Background(), stop) },
		"once":      func(u *Unit, stop <-chan struct{}) error { return u.RunOnce(context.Background(), stop) },
		"interval": func(u *Unit, stop <-chan struct{}) error {
			return u.RunInterval(context.Background(), stop, time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stop := make(chan struct{})
			h := counter()
			inner := h.input
			h.input = func(s *Session, key string, rows []string, emit func(key, row string) error) error {
				if s.NowMicros() >= 0 && rows[0] == "2" {
					close(stop)
				}
				return inner(s, key, rows, emit)
			}
			r := newRig(t, h)
			r.config.Limits.Rows = 1
			r.row("a", "1", "2", "3", "4")
			if err := r.open(); err != nil {
				t.Fatal(err)
			}
			if err := run(r.unit, stop); err != nil {
				t.Fatal(err)
			}
			equal(t, "until the stop", slices.Concat(r.sink.out...), []string{"a=1", "a=2"})
			equal(t, "after it", r.mustRun(), []string{"a=3", "a=4"})
		})
	}
}

// The interval is from start to start; a late epoch is followed at once.
func TestInterval(t *testing.T) {
	t.Parallel()
	r := newRig(t, counter())
	r.config.MaxEpochs = 3
	n := 0
	r.clock.passed = func() {
		n++
		r.row("a", fmt.Sprint(n))
	}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if err := r.unit.RunInterval(t.Context(), nil, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	equal(t, "rows", slices.Concat(r.sink.out...), []string{"a=1", "a=2", "a=3"})
	for i, e := range r.epochs {
		if want := time.Duration(i+1) * 10 * time.Second; e.Clock.Sub(time.UnixMicro(0)) != want {
			t.Errorf("epoch %d is at %s, want %s", e.Epoch, e.Clock, want)
		}
	}
}

// The clock of epochs never goes back, within a run or over a restart.
func TestClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	h := &handler{input: func(s *Session, key string, _ []string, emit func(key, row string) error) error {
		return emit(key, fmt.Sprint(s.NowMicros()))
	}}
	r := newRig(t, h)
	for i, micros := range []int64{1000, 500, 2000, -5} {
		r.clock.set(micros)
		want := []string{"1000", "1000", "2000", "2000"}[i]
		equal(t, fmt.Sprint("at ", micros), r.row("a", "row").mustRun(), []string{want})
		if i%2 == 1 {
			r.close()
		}
	}
}

var errBoom = errors.New("boom")

// C-175: a failed epoch leaves no trace, and whoever goes on without opening the
// flow again is told to.
func TestFailedRun(t *testing.T) {
	t.Parallel()
	fail := true
	h := counter()
	inner := h.input
	h.input = func(s *Session, key string, rows []string, emit func(key, row string) error) error {
		if err := inner(s, key, rows, emit); err != nil || key != "b" || !fail {
			return err
		}
		return errBoom
	}
	r := newRig(t, h)
	r.config.Partitions = 1
	r.row("a", "1").mustRun()
	r.row("a", "2").row("b", "3")
	if err := r.run(); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "flow flow, epoch 2: processor stage1") {
		t.Fatalf("got %v", err)
	}
	for range 2 {
		if err := r.run(); err == nil || !strings.Contains(err.Error(), "open it again") {
			t.Errorf("after a failure: %v", err)
		}
	}
	r.close()
	if err := r.run(); !errors.Is(err, errBoom) {
		t.Fatalf("got %v", err)
	}
	r.close()
	fail = false
	got := r.mustRun()
	slices.Sort(got)
	equal(t, "when it fails no more", got, []string{"a=2", "b=1"})
	if r.epochs[1].Epoch != 2 || r.epochs[1].Attempt != 3 {
		t.Errorf("epoch %d, attempt %d, want 2 and 3", r.epochs[1].Epoch, r.epochs[1].Attempt)
	}
}

// An epoch over its memory budget is refused, with a way out: the next run may
// make it smaller, although its plan was durable.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	inputs := map[string]*handler{
		"rows":  counter(),
		"state": {input: growState},
	}
	for name, h := range inputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h)
			r.config.Partitions, r.config.MemoryBytes = 1, 1<<20
			big := strings.Repeat("x", 300<<10)
			r.row("a", big, big, big, big)
			err := r.run()
			if err == nil {
				t.Fatal("1.2 MB of rows within 1 MiB")
			}
			checkTooLarge(t, err)
			r.close()
			r.config.Limits.Rows = 1
			if got := r.mustRun(); len(got) != 4 {
				t.Errorf("with smaller epochs: %d lines", len(got))
			}
		})
	}
}

// growState keeps a copy of every row, twice.
func growState(s *Session, key string, rows []string, emit func(key, row string) error) error {
	for _, row := range rows {
		n, err := addTo(s, 1, 1)
		if err != nil {
			return err
		}
		if err := s.PutElement(3, fmt.Append(nil, n), []byte(row)); err != nil {
			return err
		}
	}
	return emit(key, "grown")
}

// A plan that was tried before stays as it is: something of it may have been seen.
func TestTooLargeLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, counter())
	crash := true
	r.config.AtPoint = func(p epoch.Point) error {
		if crash && p == epoch.AfterStage {
			return errBoom
		}
		return nil
	}
	r.row("a", strings.Repeat("x", 300<<10), strings.Repeat("x", 300<<10))
	if err := r.run(); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	r.close()
	crash = false
	r.config.MemoryBytes, r.config.Limits.Rows = 400<<10, 1
	if err := r.run(); !errors.Is(err, ErrEpochTooLarge) {
		t.Fatal(err)
	}
	r.close()
	r.config.MemoryBytes = 0
	equal(t, "as planned", r.mustRun(), []string{"a=2"})
}

// B-93 C-133: what an epoch reports.
func TestStats(t *testing.T) {
	t.Parallel()
	h := timerTeller(nil)
	h.input = func(s *Session, key string, rows []string, emit func(key, row string) error) error {
		return errors.Join(
			s.PutValue(1, []byte("v")), s.DeleteValue(1), s.DeleteValue(5),
			s.PutListHead(2, []byte("head")), s.PutElement(3, []byte("a"), []byte("v")), s.DeleteElement(3, []byte("b")),
			s.RegisterTimer(5), s.RegisterTimer(5), s.RegisterTimer(6), s.DeleteTimer(6), s.DeleteTimer(7),
			s.SetTimer(1, 50), s.SetTimer(1, 50), s.SetTimer(1, 60), s.SetTimer(3, 1), s.StopTimer(3), s.StopTimer(3),
			emit(key, "out"),
		)
	}
	r := newRig(t, h)
	r.clock.set(10)
	r.row("a", "1", "2").row("b", "3").mustRun()
	got := r.epochs[0]
	got.Took, got.ChangelogBytes = epoch.Phases{}, 0
	want := epoch.Stats{
		Flow: "flow", Epoch: 1, Attempt: 1, Clock: time.UnixMicro(10).UTC(),
		RowsIn: 3, Keys: 2, Timers: 2, RowsOut: 4,
		TimersSet: 10, TimersCancelled: 6, StatePuts: 4, StateDeletes: 4,
	}
	if got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if r.epochs[0].ChangelogBytes == 0 {
		t.Error("no changelog")
	}
}
