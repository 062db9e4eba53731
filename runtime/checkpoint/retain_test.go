package checkpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// makeHistory makes twelve epochs with retries, lost attempts, snapshots at 3, 6
// and 9, and a thirteenth epoch that is under way.
func makeHistory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	f := openFlowIn(t, dir, nil)
	must(t, f.PutMeta(FlowMeta{Partitions: 2, Target: "t"}))
	for epoch := int64(1); epoch <= 13; epoch++ {
		must(t, f.WritePlan(samplePlan(epoch)))
		d := prepare(t, f, epoch, 2)
		if epoch%4 == 0 {
			d = prepare(t, f, epoch, 2)
		}
		if epoch == 13 {
			break
		}
		must(t, f.Decide(d))
		if epoch%3 == 0 && epoch < 12 {
			takeSnapshot(t, f, epoch)
		}
	}
	must(t, f.WritePlan(samplePlan(14)))
	closeAll(t, f.c)
	return dir
}

// epochsIn returns the epochs of the names in a directory of the flow.
func epochsIn(t *testing.T, f *Flow, dir string) []int64 {
	t.Helper()
	names, err := listNames(f.path(dir))
	must(t, err)
	var out []int64
	for _, name := range names {
		epoch, _, ok := parseAttempt(name)
		if !ok {
			epoch, ok = parseEpoch(name)
		}
		if ok && !slices.Contains(out, epoch) {
			out = append(out, epoch)
		}
	}
	return out
}

func TestRetain(t *testing.T) {
	t.Parallel()
	dir := makeHistory(t)
	tests := []struct {
		keep int64
		from int64 // the oldest epoch left
	}{{0, 9}, {1, 9}, {3, 9}, {4, 6}, {6, 6}, {7, 3}, {9, 3}, {10, 1}, {12, 1}, {1 << 62, 1}}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.keep), func(t *testing.T) {
			t.Parallel()
			f := openFlowIn(t, copyDir(t, dir), nil)
			for range 2 {
				must(t, f.Retain(tt.keep))
			}
			upTo := func(last int64) (out []int64) {
				for e := tt.from; e <= last; e++ {
					out = append(out, e)
				}
				return out
			}
			for dir, want := range map[string][]int64{"plans": upTo(14), "decisions": upTo(12), "changelogs/0": upTo(13), "changelogs/1": upTo(13)} {
				if got := epochsIn(t, f, dir); !slices.Equal(got, want) {
					t.Errorf("%s: %v, want %v", dir, got, want)
				}
			}
			for _, epoch := range epochsIn(t, f, "attempts") {
				if epoch < tt.from {
					t.Errorf("attempt of epoch %d is left", epoch)
				}
			}
			if _, ok, err := f.Decision(tt.from - 1); ok || err != nil {
				t.Errorf("decision %d: %v, %v", tt.from-1, ok, err)
			}
			if _, ok, err := f.NewestSnapshot(tt.from - 1); ok || err != nil {
				t.Errorf("older snapshot: %v, %v", ok, err)
			}
			wantRecoverable(t, f, 9, 12)
			wantRecoverable(t, reopen(t, f), 9, 12)
		})
	}
	f := openFlowIn(t, copyDir(t, dir), nil)
	wantRefused(t, f.Retain(-1), "0 or more")
}

// Without a snapshot that is old enough, everything is needed.
func TestRetainWithoutSnapshot(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	must(t, f.Retain(0))
	decideTo(t, f, 4)
	before := readTree(t, f.c.dir)
	must(t, f.Retain(0))
	wantSameTree(t, readTree(t, f.c.dir), before)
	takeSnapshot(t, f, 4)
	must(t, f.Retain(1))
	if got := epochsIn(t, f, "decisions"); len(got) != 4 {
		t.Errorf("decisions %v", got)
	}
}

// countdown lets the first n removals pass and fails all others, as if the
// process had ended there. A removeAll that fails has removed one file.
type countdown struct{ left int }

var errStopped = errors.New("stopped")

func (c *countdown) pass() bool {
	c.left--
	return c.left >= 0
}

func (c *countdown) remover() remover {
	return remover{
		remove: func(path string) error {
			if !c.pass() {
				return errStopped
			}
			return os.Remove(path)
		},
		removeAll: func(path string) error {
			if !c.pass() {
				os.Remove(filepath.Join(path, "0", "state"))
				return errStopped
			}
			return os.RemoveAll(path)
		},
		rename: func(from, to string) error {
			if !c.pass() {
				return errStopped
			}
			return os.Rename(from, to)
		},
	}
}

// Stopped at every single removal, Retain leaves a checkpoint that recovers, and
// the next process finishes the work.
func TestRetainInterrupted(t *testing.T) {
	t.Parallel()
	history := makeHistory(t)
	whole := openFlowIn(t, copyDir(t, history), nil)
	unlimited := &countdown{left: 1 << 20}
	whole.c.remover = unlimited.remover()
	must(t, whole.Retain(3))
	removals := 1<<20 - unlimited.left
	if removals < 30 {
		t.Fatalf("only %d removals", removals)
	}
	closeAll(t, whole.c)
	want := readTree(t, whole.c.dir)

	for n := range removals {
		f := openFlowIn(t, copyDir(t, history), nil)
		f.c.remover = (&countdown{left: n}).remover()
		wantErr(t, f.Retain(3), errStopped)
		if n%2 == 0 { // the same process tries again
			f.c.remover = (&countdown{left: 1}).remover()
			if err := f.Retain(3); err != nil && !errors.Is(err, errStopped) {
				t.Fatal(err)
			}
		}
		f = reopen(t, f)
		wantRecoverable(t, f, 9, 12)
		wantNoGaps(t, f)
		for _, s := range f.snapshots {
			must(t, f.VerifySnapshot(s))
		}
		must(t, f.Retain(3))
		closeAll(t, f.c)
		wantSameTree(t, readTree(t, f.c.dir), want)
	}
}

// After a power failure any part of the removals may have been undone, except
// that decisions come back only while all changelogs are still there.
func TestRetainUndoneInPart(t *testing.T) {
	t.Parallel()
	history := makeHistory(t)
	whole := openFlowIn(t, copyDir(t, history), nil)
	must(t, whole.Retain(3))
	closeAll(t, whole.c)
	want := readTree(t, whole.c.dir)
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		amongDecisions := seed%2 == 0
		dir := copyDir(t, whole.c.dir)
		for path, content := range readTree(t, history) {
			// A snapshot's rename is synced before its files go, so none comes back.
			if _, left := want[path]; left || strings.Contains(path, "/snapshots/") {
				continue
			}
			back := random.IntN(4) > 0
			if isDecision := strings.Contains(path, "/decisions/"); isDecision != amongDecisions {
				back = amongDecisions // all else is still there, or all decisions are gone
			}
			if back {
				must(t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o666))
			}
		}
		f := openFlowIn(t, dir, nil)
		wantRecoverable(t, f, 9, 12)
		wantNoGaps(t, f)
		must(t, f.Retain(3))
		closeAll(t, f.c)
		wantSameTree(t, readTree(t, dir), want)
	}
}

// wantNoGaps makes sure that from the first decision that is shown, all are, with
// their changelogs.
func wantNoGaps(t *testing.T, f *Flow) {
	t.Helper()
	begun := false
	for epoch := int64(1); epoch <= f.last; epoch++ {
		d, ok, err := f.Decision(epoch)
		must(t, err)
		if begun && !ok {
			t.Fatalf("decision %d is missing after earlier ones", epoch)
		}
		begun = ok
		for _, a := range d.Changelogs {
			_, err := f.ReadChangelog(a)
			must(t, err)
		}
	}
}

// Once done, Retain looks at nothing until there is more to remove.
func TestRetainRemembers(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, copyDir(t, makeHistory(t)), nil)
	calls := &countdown{left: 1 << 20}
	f.c.remover = calls.remover()
	must(t, f.Retain(3))
	left := calls.left
	must(t, f.Retain(3))
	if calls.left != left {
		t.Errorf("%d more removals", left-calls.left)
	}
	must(t, f.Decide(prepare(t, f, 13, 2)))
	takeSnapshot(t, f, 12)
	f.c.remover = calls.remover()
	left = calls.left
	must(t, f.Retain(1))
	// A snapshot in two steps; 9 to 11 with decision, two changelogs, plan each.
	if got := left - calls.left; got != 2+3*4 {
		t.Errorf("%d removals, want 14", got)
	}
	wantRecoverable(t, f, 12, 13)
}
