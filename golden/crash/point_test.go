package crash

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tws-go/tws/golden/crash/internal/pipeline"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream"
)

// open makes a state store engine that the test closes at its end.
func open(t *testing.T, name string) store.Engine {
	t.Helper()
	e, err := pipeline.Engines[name]()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// everything keeps all changelogs; small makes snapshots and retention happen.
var (
	everything = map[string]string{"tws.retain-epochs": "1000", "tws.partitions": "2"}
	small      = pipeline.Small()
)

var errCrash = errors.New("crash")

// baseline is the outcome of a run that nothing disturbs.
func baseline(t *testing.T, files int) outcome {
	t.Helper()
	l := withInput(t, files)
	if err := run(l, mem.New(), nil, everything); err != nil {
		t.Fatal(err)
	}
	want := l.undisturbed(t)
	if len(want.rows) < 20 {
		t.Fatalf("only %d alerts: the input tests nothing", len(want.rows))
	}
	return want
}

// A crash at any point of any epoch loses and doubles nothing. The crash is
// simulated by what is on disk at that point: the run goes on from a copy made
// there. B-37, B-84, C-187
func TestCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	want := baseline(t, pipeline.Files)
	for name := range pipeline.Engines {
		for _, point := range epoch.Points() {
			t.Run(fmt.Sprintf("%s/%s", name, point), func(t *testing.T) {
				t.Parallel()
				stores := open(t, name)
				for _, visit := range []int{1, 4} {
					crashAt(t, stores, point, visit, want)
				}
			})
		}
	}
}

func crashAt(t *testing.T, stores store.Engine, point epoch.Point, visit int, want outcome) {
	t.Helper()
	l := withInput(t, pipeline.Files)
	var left layout
	visits := 0
	err := run(l, stores, func(p epoch.Point) error {
		if p != point {
			return nil
		}
		if visits++; visits != visit {
			return nil
		}
		var err error
		if left, err = l.copyTo(t.TempDir()); err != nil {
			return err
		}
		return errCrash
	}, small)
	if visits < visit && visit > 1 {
		return // passed once a run only, such as the journal's points
	}
	if !errors.Is(err, errCrash) {
		t.Fatalf("the run did not stop at %s: %v", point, err)
	}
	if err := run(left, stores, nil, small); err != nil {
		t.Fatalf("after a crash at %s, visit %d: %v", point, visit, err)
	}
	left.mustEqual(t, stores, want)
}

// A checkpoint that was copied while its table stayed behind at the original is
// refused once the original has gone on, and the table stays as it is.
func TestCopiedCheckpoint(t *testing.T) {
	t.Parallel()
	l := withInput(t, pipeline.Files)
	epochsSeen := 0
	var old layout
	err := run(l, mem.New(), func(p epoch.Point) error {
		if p != epoch.AfterApply {
			return nil
		}
		if epochsSeen++; epochsSeen == pipeline.Files/2 {
			var err error
			old, err = l.copyTo(t.TempDir())
			return err
		}
		return nil
	}, small)
	if err != nil {
		t.Fatal(err)
	}
	moved := movedOn{checkpointOf: old, tableOf: l}
	before := l.table(t)
	err = run(moved.layout(t), mem.New(), nil, small)
	var refused *stream.SinkMovedError
	if !errors.As(err, &refused) {
		t.Fatalf("a copied checkpoint whose table has moved on gave %v, want a SinkMovedError", err)
	}
	if len(l.table(t)) != len(before) {
		t.Error("the refused run changed the table")
	}
}

// movedOn joins the checkpoint of one run with the table of another.
type movedOn struct{ checkpointOf, tableOf layout }

func (m movedOn) layout(t *testing.T) layout {
	t.Helper()
	l, err := m.checkpointOf.copyTo(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := replaceTables(l, m.tableOf); err != nil {
		t.Fatal(err)
	}
	return l
}
