package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/stream"
)

// ledger is the system behind a sink that decides: one open transaction, the
// record of the last committed epoch, and what was committed.
type ledger struct {
	record string // epoch/attempt of the last commit, "" if none
	lines  []string
	open   *transaction

	deliver func() error                // what Deliver answers instead of success
	commit  func(apply func()) error    // does Commit's work or not, and answers
	settle  func(stream.Standing) error // what Settle answers instead of its answer
	settles int
}

type transaction struct {
	record string
	lines  []string
}

// deciding is a sink that commits to a ledger.
type deciding struct {
	*listSink
	ledger *ledger
}

func recordOf(p stream.Publication) string {
	return fmt.Sprintf("%d/%d/%s", p.Epoch, p.Attempt, p.Manifest)
}

func (s *deciding) Publish(context.Context, stream.Publication) error { return nil }

func (s *deciding) Deliver(_ context.Context, p stream.Publication) error {
	if s.ledger.deliver != nil {
		if err := s.ledger.deliver(); err != nil {
			s.ledger.open = nil
			return err
		}
	}
	s.ledger.open = &transaction{recordOf(p), slices.Concat(s.staged[p.Epoch]...)}
	return nil
}

func (s *deciding) Commit(context.Context, stream.Publication) error {
	apply := func() {
		if t := s.ledger.open; t != nil {
			s.ledger.record, s.ledger.open = t.record, nil
			s.ledger.lines = append(s.ledger.lines, t.lines...)
		}
	}
	if s.ledger.commit != nil {
		return s.ledger.commit(apply)
	}
	apply()
	return nil
}

func (s *deciding) Settle(_ context.Context, st stream.Standing) (bool, error) {
	s.ledger.settles++
	s.ledger.open = nil
	if s.ledger.settle != nil {
		if err := s.ledger.settle(st); err != nil {
			return false, err
		}
	}
	have := s.ledger.record
	switch {
	case st.Doubt != nil && have == recordOf(*st.Doubt):
		return true, nil
	case st.Last.Epoch > 0 && have == "" && st.Doubt != nil && st.InDoubt == stream.InDoubtCommitted: // it is claimed
		s.ledger.record = recordOf(*st.Doubt)
		return true, nil
	case st.Last.Epoch > 0 && have == "" && (st.Unknown || st.InDoubt != ""):
		s.ledger.record = recordOf(st.Last)
		return false, nil
	case st.Last.Epoch > 0 && have == recordOf(st.Last), have == "" && st.Last.Epoch == 0:
		return false, nil
	case have == "":
		e := &stream.RecordMissingError{Sink: "list", Where: "the ledger", Last: st.Last.Epoch}
		if st.Doubt != nil {
			e.Doubt = st.Doubt.Epoch
		}
		return false, e
	}
	return false, &stream.SinkMovedError{Sink: "list", Want: fmt.Sprint(st.Last.Epoch), Have: have}
}

var errCut = errors.New("connection cut")

// decidingRig has three epochs of input and a sink that decides.
func decidingRig(t *testing.T) *rig {
	r := newRig(t, counter())
	r.ledger = &ledger{}
	r.config.Limits.Rows = 1
	r.row("a", "1", "2", "3")
	return r
}

var thrice = []string{"a=1", "a=2", "a=3"}

// B-71 B-84: what a commit of unknown outcome has come to is settled before
// anything else; the output is delivered again as it was staged, or not at all.
func TestUnknownCommit(t *testing.T) {
	t.Parallel()
	passing := fmt.Errorf("%w: %w", stream.ErrNotDelivered, errCut)
	for name, fault := range map[string]func(l *ledger, n int){
		"cut before": func(l *ledger, n int) {
			l.commit = func(func()) error { l.commit = nil; return errCut }
		},
		"cut after": func(l *ledger, n int) {
			l.commit = func(apply func()) error { l.commit = nil; apply(); return errCut }
		},
		"thrown away": func(l *ledger, n int) {
			l.deliver = func() error { l.deliver = nil; return passing }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := decidingRig(t)
			n := 0
			r.config.AtPoint = func(p epoch.Point) error {
				if p == epoch.BeforePrepared {
					n++
					fault(r.ledger, n)
				}
				return nil
			}
			r.mustRun()
			equal(t, "committed", r.ledger.lines, thrice)
			if r.ledger.settles != 1+3 {
				t.Errorf("settled %d times, want once at the start and once an epoch", r.ledger.settles)
			}
			if r.sources[0].settled != 3 {
				t.Errorf("the source was told that %d rows have taken effect, want 3", r.sources[0].settled)
			}
		})
	}
}

// A sink that never commits ends the run with its reason, after a bounded number
// of tries; the next run does the epoch again.
func TestCommitGivenUp(t *testing.T) {
	t.Parallel()
	r := decidingRig(t)
	tries := 0
	r.ledger.commit = func(func()) error { tries++; return errCut }
	r.clock.passed = func() {}
	err := r.run()
	if !errors.Is(err, errCut) || !strings.Contains(err.Error(), "epoch 1 is not committed after 5 tries") {
		t.Fatalf("got %v", err)
	}
	if tries != maxDeliveries {
		t.Errorf("tried %d times", tries)
	}
	r.close()
	r.ledger.commit = nil
	r.mustRun()
	equal(t, "committed", r.ledger.lines, thrice)
}

// An error that will not pass is not tried again.
func TestNotDeliverable(t *testing.T) {
	t.Parallel()
	r := decidingRig(t)
	tries := 0
	r.ledger.deliver = func() error { tries++; return errors.New("record too large") }
	err := r.run()
	if err == nil || !strings.Contains(err.Error(), "list: record too large") {
		t.Fatalf("got %v", err)
	}
	if tries != 1 {
		t.Errorf("tried %d times, want once", tries)
	}
	if errors.Is(r.unit.RunAvailable(context.Background(), nil), errFailed) != true {
		t.Error("a failed unit can be run again")
	}
	r.close()
	r.ledger.deliver = nil
	r.mustRun()
	equal(t, "committed", r.ledger.lines, thrice)
}

// B-37 B-84: a crash at any point of an epoch whose sink decides loses and doubles
// nothing. What the sink holds at the crash stays, a transaction left open too.
func TestDecidingCrash(t *testing.T) {
	t.Parallel()
	for _, point := range slices.Concat(epoch.Points(), epoch.DecidingPoints()) {
		for visit := 1; visit <= 3; visit++ {
			t.Run(fmt.Sprintf("%s/%d", point, visit), func(t *testing.T) {
				t.Parallel()
				r := decidingRig(t)
				visits := 0
				r.config.AtPoint = func(p epoch.Point) error {
					if p == point {
						if visits++; visits == visit {
							return errCut
						}
					}
					return nil
				}
				if err := r.run(); err != nil && !errors.Is(err, errCut) {
					t.Fatal(err)
				}
				r.close()
				r.config.AtPoint = nil
				r.mustRun()
				equal(t, "committed", r.ledger.lines, thrice)
			})
		}
	}
}

// crashInDoubt runs until the second epoch is committed and the checkpoint does
// not know.
func crashInDoubt(t *testing.T) *rig {
	t.Helper()
	r := decidingRig(t)
	commits := 0
	r.config.AtPoint = func(p epoch.Point) error {
		if p == epoch.AfterCommit {
			if commits++; commits == 2 {
				return errCut
			}
		}
		return nil
	}
	if err := r.run(); !errors.Is(err, errCut) {
		t.Fatalf("got %v, want a crash", err)
	}
	r.close()
	r.config.AtPoint = nil
	return r
}

// The sink's record is gone: the flow is refused until the user chooses, and goes
// on as chosen.
func TestRecordMissing(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string][]string{
		stream.InDoubtRerun:     {"a=1", "a=2", "a=2", "a=3"},
		stream.InDoubtCommitted: {"a=1", "a=2", "a=3"},
	} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			r := crashInDoubt(t)
			r.ledger.record = ""
			err := r.run()
			var missing *stream.RecordMissingError
			if !errors.As(err, &missing) || missing.Last != 1 || missing.Doubt != 2 {
				t.Fatalf("got %v, want a RecordMissingError for epochs 1 and 2", err)
			}
			for _, c := range []string{"--in-doubt=rerun", "--in-doubt=committed", "fresh checkpoint"} {
				if !strings.Contains(err.Error(), c) {
					t.Errorf("%v: does not name the choice %s", err, c)
				}
			}
			r.config.InDoubt = choice
			r.mustRun()
			equal(t, "committed", r.ledger.lines, want)
			r.close()
			r.config.InDoubt = ""
			r.row("a", "4")
			r.mustRun()
			equal(t, "committed later", r.ledger.lines, append(slices.Clone(want), "a=4"))
		})
	}
}

// A checkpoint whose sink has gone on with another copy is refused; as a fork it
// goes on by itself.
func TestDecidingSinkMoved(t *testing.T) {
	t.Parallel()
	r := crashInDoubt(t)
	r.ledger.record = "7/1/other"
	var moved *stream.SinkMovedError
	if err := r.run(); !errors.As(err, &moved) {
		t.Fatalf("got %v, want a SinkMovedError", err)
	}
	r.ledger = &ledger{}
	c, err := checkpoint.Open(r.dir, checkpoint.Options{NoSync: true, Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r.mustRun()
	equal(t, "the fork's rows", r.ledger.lines, []string{"a=2", "a=3"})
}

// A damaged record of what was about to be committed is never guessed around.
func TestPreparedDamaged(t *testing.T) {
	t.Parallel()
	r := crashInDoubt(t)
	path := filepath.Join(r.dir, "flows/flow/prepared/00000000000000000002-0001")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := r.run(); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Fatalf("got %v, want corruption", err)
	}
}

// What the user takes as committed becomes the sink's record and is decided: after a
// crash later on, and with the choice still set, the next epoch is not taken as
// committed as well.
func TestOverruledThenCrashed(t *testing.T) {
	t.Parallel()
	r := crashInDoubt(t)
	r.ledger.record = ""
	r.config.InDoubt = stream.InDoubtCommitted
	r.config.AtPoint = func(p epoch.Point) error {
		if p == epoch.AfterPrepared {
			return errCut
		}
		return nil
	}
	if err := r.run(); !errors.Is(err, errCut) {
		t.Fatalf("got %v, want a crash with epoch 3 prepared and not committed", err)
	}
	r.close()
	r.config.AtPoint = nil
	r.mustRun()
	equal(t, "committed", r.ledger.lines, thrice)
}
