package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/stream"
)

// A choice about a lost record is made once: wherever the process ends after that,
// and whether or not the sink has a record again, the next start does not ask.
func TestChoiceIsDurable(t *testing.T) {
	t.Parallel()
	points := []epoch.Point{epoch.AfterChoice, epoch.BeforeDecide, epoch.AfterDecide, epoch.BeforeDropChoice, epoch.AfterDropChoice}
	for choice, want := range map[string][]string{
		stream.InDoubtRerun:     {"a=1", "a=2", "a=2", "a=3"},
		stream.InDoubtCommitted: thrice,
	} {
		for _, point := range append(points, "claim fails") {
			t.Run(choice+"/"+string(point), func(t *testing.T) {
				t.Parallel()
				r := crashInDoubt(t)
				r.ledger.record = ""
				r.config.InDoubt = choice
				r.config.AtPoint = func(p epoch.Point) error {
					if p == point {
						return errCut
					}
					return nil
				}
				r.ledger.settle = func(st stream.Standing) error {
					if st.InDoubt != "" && point == "claim fails" {
						return errCut
					}
					return nil
				}
				if err := r.run(); !errors.Is(err, errCut) {
					t.Fatalf("got %v, want a crash", err)
				}
				r.close()
				r.config.InDoubt, r.config.AtPoint, r.ledger.settle = "", nil, nil
				r.mustRun()
				equal(t, "committed", r.ledger.lines, want)
				if _, err := os.Stat(filepath.Join(r.dir, "flows/flow/choice")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the choice is still there: %v", err)
				}
			})
		}
	}
}

// Before it is durable, nothing is done about a choice: the next start asks again.
func TestChoiceNotMade(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{stream.InDoubtRerun, stream.InDoubtCommitted} {
		r := crashInDoubt(t)
		r.ledger.record = ""
		r.config.InDoubt = choice
		r.config.AtPoint = func(p epoch.Point) error {
			if p == epoch.BeforeChoice {
				return errCut
			}
			return nil
		}
		if err := r.run(); !errors.Is(err, errCut) {
			t.Fatalf("got %v, want a crash", err)
		}
		r.close()
		r.config.InDoubt, r.config.AtPoint = "", nil
		var missing *stream.RecordMissingError
		if err := r.run(); !errors.As(err, &missing) || missing.Last != 1 || missing.Doubt != 2 {
			t.Fatalf("got %v, want a RecordMissingError for epochs 1 and 2", err)
		}
	}
}

// A choice holds for the epoch in doubt that it was made for. Where the record turns
// up again it decides, and a record that is lost later is asked about anew.
func TestChoiceHoldsOnce(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{stream.InDoubtRerun, stream.InDoubtCommitted} {
		r := crashInDoubt(t)
		record := r.ledger.record
		r.ledger.record = ""
		r.config.InDoubt = choice
		stop := epoch.AfterChoice
		r.config.AtPoint = func(p epoch.Point) error {
			if p == stop {
				return errCut
			}
			return nil
		}
		if err := r.run(); !errors.Is(err, errCut) {
			t.Fatalf("got %v, want a crash", err)
		}
		r.close()
		r.config.InDoubt, r.ledger.record, stop = "", record, epoch.AfterPrepared
		if err := r.run(); !errors.Is(err, errCut) {
			t.Fatalf("got %v, want a crash with epoch 3 prepared", err)
		}
		r.close()
		r.ledger.record, stop = "", ""
		var missing *stream.RecordMissingError
		if err := r.run(); !errors.As(err, &missing) || missing.Last != 2 || missing.Doubt != 3 {
			t.Fatalf("got %v, want a RecordMissingError for epochs 2 and 3", err)
		}
		equal(t, "committed", r.ledger.lines, []string{"a=1", "a=2"})
	}
}

// Another choice takes the place of one that nothing came of.
func TestChoiceChanged(t *testing.T) {
	t.Parallel()
	r := crashInDoubt(t)
	r.ledger.record = ""
	r.config.InDoubt = stream.InDoubtRerun
	r.config.AtPoint = func(p epoch.Point) error {
		if p == epoch.AfterChoice {
			return errCut
		}
		return nil
	}
	if err := r.run(); !errors.Is(err, errCut) {
		t.Fatalf("got %v, want a crash", err)
	}
	r.close()
	r.config.InDoubt, r.config.AtPoint = stream.InDoubtCommitted, nil
	r.mustRun()
	equal(t, "committed", r.ledger.lines, thrice)
}
