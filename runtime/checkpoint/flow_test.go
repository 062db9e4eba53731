package checkpoint

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
)

func TestMeta(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	if _, ok, err := f.Meta(); ok || err != nil {
		t.Fatalf("new flow: %v, %v", ok, err)
	}
	for version := 1; version <= 3; version++ {
		want := FlowMeta{Partitions: version, Sources: []string{"a<b>&c"}, Target: "t"}
		must(t, f.PutMeta(want))
		if version == 2 {
			f = reopen(t, f)
		}
		if got, ok, err := f.Meta(); err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("version %d: %+v, %v, %v", version, got, ok, err)
		}
	}
	names, err := listNames(f.path("meta"))
	if err != nil || !slices.Equal(names, []string{"0001", "0002", "0003"}) {
		t.Errorf("files %q, %v", names, err)
	}
	closeAll(t, f.c)
	must(t, os.Remove(f.path("meta", "0002")))
	_, err = open(t, f.c.dir, nil).Flow("flow")
	wantErr(t, err, ErrCorrupt, "meta", "missing")
}

func TestMetaMissing(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 1)
	must(t, os.Remove(f.path("meta", "0001")))
	f = reopen(t, f)
	_, _, err := f.Meta()
	wantErr(t, err, ErrCorrupt, "meta/0001", "missing")
}

// B-84: a retry sees the plan as it was, byte for byte in its positions.
func TestPlan(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	want := samplePlan(1)
	want.Sources = append(want.Sources, SourceRange{Name: "html", From: nil, To: stream.Position(`{"a":"<&>\u2028 b","n":1e3}`)})
	if _, ok, err := f.Plan(1); ok || err != nil {
		t.Fatalf("no plan: %v, %v", ok, err)
	}
	must(t, f.WritePlan(want))
	wantErr(t, f.WritePlan(samplePlan(1)), fs.ErrExist)
	for range 2 {
		got, ok, err := f.Plan(1)
		if err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, %v; want %+v", got, ok, err, want)
		}
		f = reopen(t, f)
	}
}

func TestPlanRefused(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 2)
	withEnd := func(p string) Plan {
		return Plan{Epoch: 3, Sources: []SourceRange{{Name: "src", To: stream.Position(p)}}}
	}
	tests := []struct {
		plan  Plan
		texts []string
	}{
		{Plan{Epoch: 0}, []string{"epoch 0", "from 1"}},
		{Plan{Epoch: -3}, []string{"epoch -3"}},
		{samplePlan(2), []string{"epoch 2", "is decided"}},
		{withEnd(`{"a": 1}`), []string{"src", "compact"}},
		{withEnd(`{"a"`), []string{"src", "not JSON"}},
		{withEnd(``), []string{"src", "not JSON"}},
		{withEnd(`null`), []string{"src", "null"}},
	}
	for _, tt := range tests {
		wantRefused(t, f.WritePlan(tt.plan), tt.texts...)
	}
	_, _, err := f.Plan(0)
	wantRefused(t, err, "epoch 0")
	wantRefused(t, f.WriteEnds(Ends{Sources: []SourceEnd{{Name: "src", End: stream.Position(" 1")}}}), "compact")
}

func TestDiscardPlansAfter(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 1)
	for epoch := int64(2); epoch <= 4; epoch++ {
		must(t, f.WritePlan(samplePlan(epoch)))
	}
	wantRefused(t, f.DiscardPlansAfter(0), "epoch 1 is decided")
	must(t, f.DiscardPlansAfter(2))
	must(t, f.DiscardPlansAfter(2))
	for range 2 {
		for epoch, want := range map[int64]bool{1: true, 2: true, 3: false, 4: false} {
			if _, ok, err := f.Plan(epoch); err != nil || ok != want {
				t.Errorf("plan %d: %v, %v; want %v", epoch, ok, err, want)
			}
		}
		f = reopen(t, f)
	}
	must(t, f.WritePlan(samplePlan(3)))
}

// B-34: no number is given out twice, whatever an attempt has left behind.
func TestStartAttempt(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, f *Flow, epoch int64, want int) {
		t.Helper()
		if got, err := f.StartAttempt(epoch); err != nil || got != want {
			t.Fatalf("attempt %d, %v; want %d", got, err, want)
		}
	}
	records := func(t *testing.T, f *Flow) int {
		names, err := listNames(f.path("attempts"))
		must(t, err)
		return len(names)
	}
	tests := map[string]func(t *testing.T, f *Flow){
		"first is free": func(t *testing.T, f *Flow) {
			must(t, f.WritePlan(samplePlan(1)))
			start(t, f, 1, 1)
			if n := records(t, f); n != 0 {
				t.Errorf("%d records", n)
			}
		},
		"retries are recorded": func(t *testing.T, f *Flow) {
			must(t, f.WritePlan(samplePlan(1)))
			for want := 1; want <= 3; want++ {
				start(t, f, 1, want)
			}
			if n := records(t, f); n != 2 {
				t.Errorf("%d records, want 2", n)
			}
			start(t, reopen(t, f), 1, 4)
		},
		"plan found may have been tried": func(t *testing.T, f *Flow) {
			must(t, f.WritePlan(samplePlan(1)))
			f = reopen(t, f)
			start(t, f, 1, 2)
			start(t, reopen(t, f), 1, 3)
		},
		"changelog without record": func(t *testing.T, f *Flow) {
			must(t, f.WritePlan(samplePlan(1)))
			must(t, os.MkdirAll(f.path("changelogs", "7"), 0o777))
			must(t, os.WriteFile(f.path(changelogPath(1, 12345, 7)), nil, 0o666))
			start(t, reopen(t, f), 1, 12346)
		},
		"discarded plan": func(t *testing.T, f *Flow) {
			must(t, f.WritePlan(samplePlan(1)))
			start(t, f, 1, 1)
			must(t, f.DiscardPlansAfter(0))
			must(t, f.WritePlan(samplePlan(1)))
			start(t, reopen(t, f), 1, 2)
		},
		"discarded plan of an earlier process": func(t *testing.T, f *Flow) {
			must(t, f.WritePlan(samplePlan(1)))
			f = reopen(t, f)
			must(t, f.DiscardPlansAfter(0))
			f = reopen(t, f)
			must(t, f.WritePlan(samplePlan(1)))
			start(t, f, 1, 2)
		},
		"discarded plan never tried": func(t *testing.T, f *Flow) {
			must(t, f.WritePlan(samplePlan(1)))
			must(t, f.DiscardPlansAfter(0))
			must(t, f.WritePlan(samplePlan(1)))
			start(t, f, 1, 1)
			if n := records(t, f); n != 0 {
				t.Errorf("%d records", n)
			}
		},
		"epochs are apart": func(t *testing.T, f *Flow) {
			must(t, f.WritePlan(samplePlan(1)))
			must(t, f.WritePlan(samplePlan(2)))
			start(t, f, 1, 1)
			start(t, f, 1, 2)
			start(t, f, 2, 1)
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, openFlowIn(t, t.TempDir(), nil))
		})
	}
}

func TestStartAttemptRefused(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 1)
	_, err := f.StartAttempt(1)
	wantRefused(t, err, "epoch 1 is decided")
	_, err = f.StartAttempt(2)
	wantRefused(t, err, "epoch 2", "no plan")
}

func TestChangelog(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	must(t, f.WritePlan(samplePlan(1)))
	attempt, err := f.StartAttempt(1)
	must(t, err)
	var arts []stream.Artefact
	batches := [][]byte{nil, []byte("\n\x00\n"), bytes.Repeat([]byte("0123456789"), 1<<16)}
	for p, batch := range batches {
		a, err := f.WriteChangelog(1, attempt, p, batch)
		must(t, err)
		arts = append(arts, a)
	}
	f = reopen(t, f)
	for p, a := range arts {
		data, err := os.ReadFile(f.path(a.Path))
		must(t, err)
		if int64(len(data)) != a.Size || sum(data) != a.Sum {
			t.Errorf("artefact %+v, file has %d bytes and %s", a, len(data), sum(data))
		}
		got, err := f.ReadChangelog(a)
		if err != nil || !bytes.Equal(got, batches[p]) {
			t.Errorf("partition %d: %d bytes, %v", p, len(got), err)
		}
	}
}

func TestChangelogRefused(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	must(t, f.WritePlan(samplePlan(1)))
	d := prepare(t, f, 1, 1)
	_, err := f.WriteChangelog(1, 1, 0, nil)
	wantErr(t, err, fs.ErrExist)
	_, err = f.WriteChangelog(1, 1, -1, nil)
	wantRefused(t, err, "partition -1")
	if _, err := f.StartAttempt(1); err != nil {
		t.Fatal(err)
	}
	for _, attempt := range []int{0, 1, 3} {
		_, err = f.WriteChangelog(1, attempt, 1, nil)
		wantRefused(t, err, "not under way")
	}
	wantRefused(t, f.Decide(d), "attempt 1", "not under way")

	a := d.Changelogs[0]
	for _, path := range []string{"../x", "/etc/passwd", "changelogs/../../x", "decisions/1", ""} {
		_, err := f.ReadChangelog(stream.Artefact{Path: path, Size: a.Size, Sum: a.Sum})
		wantErr(t, err, ErrCorrupt, "outside")
	}
	// A sound file that is not the one decided on.
	for _, wrong := range []stream.Artefact{{Path: a.Path, Size: a.Size + 1, Sum: a.Sum}, {Path: a.Path, Size: a.Size, Sum: "xxh3:0000000000000000"}} {
		_, err := f.ReadChangelog(wrong)
		wantErr(t, err, ErrCorrupt, f.path(a.Path), wrong.Sum)
	}
	must(t, os.Remove(f.path(a.Path)))
	_, err = f.ReadChangelog(a)
	wantErr(t, err, ErrCorrupt, f.path(a.Path), "missing")
}

func TestDecide(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	if _, ok, err := f.LastDecision(); ok || err != nil {
		t.Fatalf("new flow: %v, %v", ok, err)
	}
	must(t, f.WritePlan(samplePlan(1)))
	want := prepare(t, f, 1, 2)
	want.Sink = stream.Staged{State: []byte(`{"version":7,"note":"<>"}`), Rows: 3, Bytes: 99,
		Artefacts: []stream.Artefact{{Path: "part-1.parquet", Size: 99, Sum: "xxh3:0000000000000001"}}}
	must(t, f.Decide(want))
	manifest := want.Manifest()
	wantErr(t, f.Decide(want), ErrDecided, "epoch 1")
	for range 2 {
		for _, read := range []func() (Decision, bool, error){f.LastDecision, func() (Decision, bool, error) { return f.Decision(1) }} {
			got, ok, err := read()
			if err != nil || !ok || !reflect.DeepEqual(got, want) || got.Manifest() != manifest {
				t.Errorf("got %+v, %v, %v; want %+v", got, ok, err, want)
			}
		}
		f = reopen(t, f)
	}
	for _, epoch := range []int64{-1, 0, 2} {
		if _, ok, err := f.Decision(epoch); ok || err != nil {
			t.Errorf("decision %d: %v, %v", epoch, ok, err)
		}
	}
}

func TestDecideRefused(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 1)
	must(t, f.WritePlan(samplePlan(2)))
	must(t, f.WritePlan(samplePlan(3)))
	d2, d3 := prepare(t, f, 2, 2), prepare(t, f, 3, 2)
	wantRefused(t, f.Decide(d3), "epoch 3", "last decided epoch is 1")
	change := func(edit func(*Decision)) Decision {
		d := d2
		d.Changelogs = slices.Clone(d2.Changelogs)
		edit(&d)
		return d
	}
	tests := []struct {
		d    Decision
		text string
	}{
		{change(func(d *Decision) { d.Plan.Epoch = 3 }), "its plan is for epoch 3"},
		{change(func(d *Decision) { d.Plan.Epoch = 0 }), "numbered from 1"},
		{change(func(d *Decision) { d.Attempt = 2 }), "attempt 2 is not under way"},
		{change(func(d *Decision) { slices.Reverse(d.Changelogs) }), "changelog 0 is"},
		{change(func(d *Decision) { d.Changelogs[1].Path = "x" }), "changelog 1 is x"},
		{change(func(d *Decision) { d.Changelogs[1].Path = "" }), "changelog 1 is ,"},
		{change(func(d *Decision) { d.Sink.State = []byte("{") }), "encode decision"},
	}
	for _, tt := range tests {
		wantRefused(t, f.Decide(tt.d), tt.text)
	}
	must(t, f.Decide(d2))
	d3.Changelogs[0] = stream.Artefact{} // nothing changed there
	must(t, f.Decide(d3))
	if got, _, err := reopen(t, f).LastDecision(); err != nil || !reflect.DeepEqual(got, d3) {
		t.Errorf("got %+v, %v; want %+v", got, err, d3)
	}
}

func TestDecideConcurrently(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	must(t, f.WritePlan(samplePlan(1)))
	attempt, err := f.StartAttempt(1)
	must(t, err)
	d := Decision{Epoch: 1, Attempt: attempt, Plan: samplePlan(1), Changelogs: make([]stream.Artefact, 8)}
	var wg sync.WaitGroup
	for p := range d.Changelogs {
		wg.Go(func() {
			var err error
			if d.Changelogs[p], err = f.WriteChangelog(1, attempt, p, sampleBatch(1, attempt, p)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = f.Decide(d) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrDecided) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d decisions, want 1", won)
	}
}

// Deleting LOCK lets a second process in. The records still admit one decision.
func TestDecideAgainstSecondProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openFlowIn(t, dir, nil)
	must(t, f.WritePlan(samplePlan(1)))
	mine := prepare(t, f, 1, 1)
	must(t, os.Remove(filepath.Join(dir, lockName)))
	g := openFlowIn(t, dir, nil)
	theirs := prepare(t, g, 1, 1)
	must(t, g.Decide(theirs))
	wantErr(t, f.Decide(mine), ErrDecided, "another process")
	if d, _, err := reopen(t, g).LastDecision(); err != nil || d.Manifest() != theirs.Manifest() {
		t.Errorf("decision %+v, %v", d, err)
	}
}

// B-37: a decision that failed is undecided, and may be tried again.
func TestDecideFails(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 1)
	must(t, f.WritePlan(samplePlan(2)))
	d := prepare(t, f, 2, 1)
	must(t, os.Rename(f.path("decisions"), f.path("away")))
	wantErr(t, f.Decide(d), fs.ErrNotExist)
	must(t, os.Rename(f.path("away"), f.path("decisions")))
	if last, _, err := f.LastDecision(); err != nil || last.Epoch != 1 {
		t.Errorf("last decision %d, %v", last.Epoch, err)
	}
	must(t, f.Decide(d))
}

// When it is unknown whether an epoch is decided, nothing more is done to it.
func TestDecideUnsettled(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	must(t, f.PutMeta(FlowMeta{}))
	must(t, f.WritePlan(samplePlan(1)))
	d := prepare(t, f, 1, 1)
	// The record got its name, then the directory could not be synced.
	must(t, f.c.createJSON(f.path(relDecision(1)), kindDecision, d))
	cause := errors.New("input/output error")
	f.mu.Lock()
	err := f.settle(1, cause)
	f.mu.Unlock()
	wantErr(t, err, cause, "unknown whether epoch 1 is decided", "open the checkpoint again")
	wantErr(t, f.Decide(d), cause)
	_, err = f.StartAttempt(1)
	wantErr(t, err, cause)
	f = reopen(t, f)
	if got, ok, err := f.LastDecision(); err != nil || !ok || got.Epoch != 1 {
		t.Errorf("after reopening: %+v, %v, %v", got, ok, err)
	}
	decideTo(t, f, 2)
}

// What it costs to run an epoch does not grow with the number of files: nothing
// looks at a directory again, so a file put there goes unseen.
func TestNoListingInSteadyState(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 3)
	for _, path := range []string{relDecision(4), relPlan(5), "attempts/" + attemptName(4, 77)} {
		must(t, os.WriteFile(f.path(path), []byte("planted"), 0o666))
	}
	if d, _, err := f.LastDecision(); err != nil || d.Epoch != 3 {
		t.Errorf("last decision %d, %v", d.Epoch, err)
	}
	must(t, f.WritePlan(samplePlan(4)))
	if n, err := f.StartAttempt(4); err != nil || n != 1 {
		t.Errorf("attempt %d, %v", n, err)
	}
	must(t, f.DiscardPlansAfter(4))
	if _, err := os.Stat(f.path(relPlan(5))); err != nil {
		t.Error(err)
	}
}

func TestMissingDecision(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 5)
	must(t, os.Remove(f.path(relDecision(3))))
	_, _, err := f.Decision(3)
	wantErr(t, err, ErrCorrupt, relDecision(3), "missing")
	closeAll(t, f.c)
	c := open(t, f.c.dir, nil)
	before := readTree(t, f.c.dir)
	_, err = c.Flow("flow")
	wantErr(t, err, ErrCorrupt, relDecision(3), "missing", "epoch 5 is decided")
	wantSameTree(t, readTree(t, f.c.dir), before)
}

func TestMisplacedRecords(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 2)
	data, err := os.ReadFile(f.path(relDecision(1)))
	must(t, err)
	must(t, os.WriteFile(f.path(relDecision(2)), data, 0o666))
	f = reopen(t, f)
	_, _, err = f.LastDecision()
	wantErr(t, err, ErrCorrupt, relDecision(2), "epoch 1")
	data, err = os.ReadFile(f.path(relPlan(1)))
	must(t, err)
	must(t, os.WriteFile(f.path(relPlan(2)), data, 0o666))
	_, _, err = f.Plan(2)
	wantErr(t, err, ErrCorrupt, relPlan(2), "epoch 1")
}

func TestEnds(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	if _, ok, err := f.Ends(); ok || err != nil {
		t.Fatalf("new flow: %v, %v", ok, err)
	}
	must(t, f.ClearEnds())
	for _, end := range []string{`{"file":1}`, `{"file":2}`} {
		want := Ends{Sources: []SourceEnd{{Name: "a", End: stream.Position(end)}, {Name: "b"}}}
		must(t, f.WriteEnds(want))
		wantErr(t, f.WriteEnds(want), fs.ErrExist)
		f = reopen(t, f)
		if got, ok, err := f.Ends(); err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, %v; want %+v", got, ok, err, want)
		}
		must(t, f.ClearEnds())
		if _, ok, err := f.Ends(); ok || err != nil {
			t.Errorf("cleared: %v, %v", ok, err)
		}
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	if _, ok, err := f.Choice(); ok || err != nil {
		t.Fatalf("new flow: %v, %v", ok, err)
	}
	must(t, f.ClearChoice())
	wantRefused(t, f.PutChoice(Choice{}), "epoch 0")
	for _, want := range []Choice{{Epoch: 2, Attempt: 1, InDoubt: "rerun"}, {Epoch: 2, InDoubt: "committed"}} {
		must(t, f.PutChoice(want))
		f = reopen(t, f)
		if got, ok, err := f.Choice(); err != nil || !ok || got != want {
			t.Errorf("got %+v, %v, %v; want %+v", got, ok, err, want)
		}
	}
	must(t, f.ClearChoice())
	if _, ok, err := f.Choice(); ok || err != nil {
		t.Errorf("cleared: %v, %v", ok, err)
	}
}

func TestStoreDir(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	if got, want := f.StoreDir(3), filepath.Join(f.c.dir, "flows", "flow", "store", "3"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := os.Stat(f.StoreDir(3)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it exists: %v", err)
	}
}
