package checkpoint

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
)

var update = flag.Bool("update", false, "re-record golden files")

// open opens a checkpoint for a test, which closes it. Warnings go to log.
func open(t *testing.T, dir string, log *bytes.Buffer) *Checkpoint {
	t.Helper()
	o := Options{NoSync: true}
	if log != nil {
		o.Log = slog.New(slog.NewTextHandler(log, nil))
	}
	c, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, c) })
	return c
}

func openFlowIn(t *testing.T, dir string, log *bytes.Buffer) *Flow {
	t.Helper()
	f, err := open(t, dir, log).Flow("flow")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// reopen closes the flow's checkpoint, as an orderly end or a crash would, and
// opens it again.
func reopen(t *testing.T, f *Flow) *Flow {
	t.Helper()
	closeAll(t, f.c)
	return openFlowIn(t, f.c.dir, nil)
}

func closeAll(t *testing.T, c *Checkpoint) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, target error, texts ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error %v, want one that matches %v", err, target)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q lacks %q", err, text)
		}
	}
}

// wantRefused expects an error that says why.
func wantRefused(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q lacks %q", err, text)
		}
	}
}

func samplePlan(epoch int64) Plan {
	return Plan{Epoch: epoch, ClockMicros: 1_700_000_000_000_000 + epoch, Sources: []SourceRange{{
		Name: "readings",
		From: stream.Position(fmt.Sprintf(`{"file":%d,"byte":0}`, epoch)),
		To:   stream.Position(fmt.Sprintf(`{"file":%d,"byte":0}`, epoch+1)),
	}}}
}

func sampleBatch(epoch int64, attempt, partition int) []byte {
	return fmt.Appendf(nil, "batch\x00%d.%d.%d\n", epoch, attempt, partition)
}

// prepare starts an attempt at a planned epoch and writes its changelogs.
func prepare(t *testing.T, f *Flow, epoch int64, partitions int) Decision {
	t.Helper()
	attempt, err := f.StartAttempt(epoch)
	must(t, err)
	d := Decision{Epoch: epoch, Attempt: attempt, Plan: samplePlan(epoch), Changelogs: []stream.Artefact{}}
	for p := range partitions {
		a, err := f.WriteChangelog(epoch, attempt, p, sampleBatch(epoch, attempt, p))
		must(t, err)
		d.Changelogs = append(d.Changelogs, a)
	}
	return d
}

// decideTo runs the epochs up to last, with two state partitions.
func decideTo(t *testing.T, f *Flow, last int64) {
	t.Helper()
	if _, ok, err := f.Meta(); err == nil && !ok {
		must(t, f.PutMeta(FlowMeta{Partitions: 2, Target: "alerts"}))
	}
	for epoch := f.last + 1; epoch <= last; epoch++ {
		must(t, f.WritePlan(samplePlan(epoch)))
		must(t, f.Decide(prepare(t, f, epoch, 2)))
	}
}

// readTree returns the files below dir with their content.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		tree[filepath.ToSlash(rel)] = string(content)
		return err
	}))
	return tree
}

func wantSameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if content, ok := got[path]; !ok {
			t.Errorf("%s is gone", path)
		} else if content != want[path] {
			t.Errorf("%s changed", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[path]; !ok {
			t.Errorf("%s was not there", path)
		}
	}
}

func TestOpenCreatesAndReopens(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "ckpt")
	c, err := Open(dir, Options{KeyGroups: 64})
	must(t, err)
	uid := c.UID()
	if len(uid) != 36 || c.KeyGroups() != 64 {
		t.Errorf("uid %q, %d key groups", uid, c.KeyGroups())
	}
	must(t, c.Close())
	must(t, c.Close())

	c = open(t, dir, nil)
	if c.UID() != uid || c.KeyGroups() != 64 {
		t.Errorf("reopened: uid %q, want %q; %d key groups, want 64", c.UID(), uid, c.KeyGroups())
	}
	other := open(t, filepath.Join(t.TempDir(), "other"), nil)
	if other.UID() == uid || other.KeyGroups() != DefaultKeyGroups {
		t.Errorf("second checkpoint: uid %q, %d key groups", other.UID(), other.KeyGroups())
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, n := range []int{-1, MaxKeyGroups + 1} {
		_, err := Open(dir, Options{KeyGroups: n})
		wantRefused(t, err, "key groups", "1 to 65536")
	}
	missing := filepath.Join(dir, "none")
	_, err := Open(missing, Options{Fork: true})
	wantRefused(t, err, missing, "no checkpoint to fork")
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o666))
	_, err = Open(file, Options{})
	wantRefused(t, err, file)
	if tree := readTree(t, dir); len(tree) != 1 {
		t.Errorf("refused opens left %v", tree)
	}
}

func TestFork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openFlowIn(t, dir, nil)
	decideTo(t, f, 2)
	uids := []string{f.c.UID()}
	closeAll(t, f.c)
	for range 2 {
		c, err := Open(dir, Options{NoSync: true, Fork: true})
		must(t, err)
		uids = append(uids, c.UID())
		closeAll(t, c)
	}
	if uids[0] == uids[1] || uids[1] == uids[2] || uids[0] == uids[2] {
		t.Errorf("uids repeat: %q", uids)
	}
	f = openFlowIn(t, dir, nil)
	if f.c.UID() != uids[2] {
		t.Errorf("uid %q, want that of the last fork %q", f.c.UID(), uids[2])
	}
	if d, ok, err := f.LastDecision(); err != nil || !ok || d.Epoch != 2 {
		t.Errorf("last decision %v, %v, %v", d.Epoch, ok, err)
	}
	closeAll(t, f.c)

	// Without one of the records it is unknown which UID the sinks know.
	must(t, os.Remove(filepath.Join(dir, "fork-0001")))
	_, err := Open(dir, Options{})
	wantErr(t, err, ErrCorrupt, "fork-0002", "missing")
}

func TestCopiedCheckpointOpens(t *testing.T) {
	t.Parallel()
	dir, dst := t.TempDir(), filepath.Join(t.TempDir(), "moved", "copy")
	f := openFlowIn(t, dir, nil)
	decideTo(t, f, 3)
	takeSnapshot(t, f, 2)
	must(t, f.AppendJournal("readings", []byte("entry")))
	must(t, os.CopyFS(dst, os.DirFS(dir))) // while the original is in use

	g := openFlowIn(t, dst, nil)
	if g.c.UID() != f.c.UID() {
		t.Errorf("uid %q, want %q", g.c.UID(), f.c.UID())
	}
	wantRecoverable(t, g, 2, 3)
	if entries, err := g.Journal("readings"); err != nil || len(entries) != 1 {
		t.Errorf("journal %q, %v", entries, err)
	}
	decideTo(t, g, 5)
	for path, content := range readTree(t, dst) {
		if strings.Contains(content, dir) || strings.Contains(content, dst) {
			t.Errorf("%s has an absolute path", path)
		}
	}
}

// wantRecoverable makes sure that state can be rebuilt from a snapshot and the
// changelogs after it.
func wantRecoverable(t *testing.T, f *Flow, snapshot, last int64) {
	t.Helper()
	if s, ok, err := f.NewestSnapshot(last); err != nil || !ok || s != snapshot {
		t.Fatalf("newest snapshot %d, %v, %v; want %d", s, ok, err, snapshot)
	}
	must(t, f.VerifySnapshot(snapshot))
	d, ok, err := f.LastDecision()
	if err != nil || !ok || d.Epoch != last {
		t.Fatalf("last decision %d, %v, %v; want %d", d.Epoch, ok, err, last)
	}
	for epoch := snapshot; epoch <= last; epoch++ {
		d, ok, err := f.Decision(epoch)
		if err != nil || !ok {
			t.Fatalf("decision %d: %v, %v", epoch, ok, err)
		}
		if epoch == snapshot {
			continue // its changelog is in the snapshot
		}
		for p, a := range d.Changelogs {
			batch, err := f.ReadChangelog(a)
			must(t, err)
			if want := sampleBatch(epoch, d.Attempt, p); !bytes.Equal(batch, want) {
				t.Errorf("changelog of epoch %d partition %d is %q, want %q", epoch, p, batch, want)
			}
		}
	}
}

func TestFlowNames(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir(), nil)
	for _, name := range []string{"", ".", "..", ".tmp-x", "a/b", "a b", "é", "a\x00", strings.Repeat("a", 201)} {
		_, err := c.Flow(name)
		wantRefused(t, err, "flow name")
	}
	for _, name := range []string{"z", "A-b_c.9", strings.Repeat("a", 200)} {
		f, err := c.Flow(name)
		must(t, err)
		again, err := c.Flow(name)
		if err != nil || again != f {
			t.Errorf("second Flow(%q): %p, %v; want %p", name, again, err, f)
		}
	}
	// C-183
	must(t, os.WriteFile(filepath.Join(c.dir, "flows", "stray"), nil, 0o666))
	must(t, os.Mkdir(filepath.Join(c.dir, "flows", "stray dir"), 0o777))
	names, err := c.Flows()
	want := []string{"A-b_c.9", strings.Repeat("a", 200), "z"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("flows %q, %v; want %q", names, err, want)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	must(t, f.PutMeta(FlowMeta{}))
	must(t, f.WritePlan(samplePlan(1)))
	d := prepare(t, f, 1, 1)
	closeAll(t, f.c)
	before := readTree(t, f.c.dir)
	calls := map[string]func() error{
		"Flow":          func() error { _, err := f.c.Flow("other"); return err },
		"PutMeta":       func() error { return f.PutMeta(FlowMeta{}) },
		"Plan":          func() error { _, _, err := f.Plan(1); return err },
		"WritePlan":     func() error { return f.WritePlan(samplePlan(2)) },
		"DiscardPlans":  func() error { return f.DiscardPlansAfter(0) },
		"StartAttempt":  func() error { _, err := f.StartAttempt(1); return err },
		"Changelog":     func() error { _, err := f.WriteChangelog(1, 1, 1, nil); return err },
		"Decide":        func() error { return f.Decide(d) },
		"WriteEnds":     func() error { return f.WriteEnds(Ends{}) },
		"ClearEnds":     func() error { return f.ClearEnds() },
		"PutChoice":     func() error { return f.PutChoice(Choice{Epoch: 1}) },
		"ClearChoice":   func() error { return f.ClearChoice() },
		"Journal":       func() error { _, err := f.Journal("s"); return err },
		"AppendJournal": func() error { return f.AppendJournal("s", nil) },
		"BeginSnapshot": func() error { _, err := f.BeginSnapshot(1); return err },
		"Retain":        func() error { return f.Retain(0) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
	wantSameTree(t, readTree(t, f.c.dir), before)
}

// B-36, B-85: what a crash leaves of a write is removed at the next start.
func TestOpenRemovesTemps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openFlowIn(t, dir, nil)
	decideTo(t, f, 1)
	takeSnapshot(t, f, 1)
	closeAll(t, f.c)
	before := readTree(t, dir)
	places := []string{".", "flows/flow", "flows/flow/meta", "flows/flow/plans", "flows/flow/attempts",
		"flows/flow/changelogs", "flows/flow/changelogs/0", "flows/flow/decisions", "flows/flow/sources", "flows/flow/snapshots"}
	for _, p := range places {
		must(t, os.WriteFile(filepath.Join(dir, p, ".tmp-0123"), []byte("half a rec"), 0o666))
	}
	unfinished := []string{"flows/flow/snapshots/.tmp-" + epochName(1), "flows/flow/store/.tmp-1234"}
	for _, p := range unfinished {
		must(t, os.MkdirAll(filepath.Join(dir, p, "0"), 0o777))
	}
	// What is not ours stays: a store's and a snapshot's own files, strays.
	keep := []string{"flows/flow/store/0/.tmp-1", "flows/flow/snapshots/" + epochName(1) + "/0/.tmp-1", "flows/a b/.tmp-1"}
	for _, p := range keep {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(p)), 0o777))
		must(t, os.WriteFile(filepath.Join(dir, p), nil, 0o666))
		before[p] = ""
	}
	open(t, dir, nil)
	wantSameTree(t, readTree(t, dir), before)
	for _, p := range unfinished {
		if _, err := os.Stat(filepath.Join(dir, p)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// C-183: unknown files do not disturb anything.
func TestStrayFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openFlowIn(t, dir, nil)
	decideTo(t, f, 3)
	closeAll(t, f.c)
	strays := []string{"README", "fork-x", "fork-1", "fork-0000", "flows/flow/note", "flows/flow/meta/v9", "flows/flow/meta/0000",
		"flows/flow/plans/9", "flows/flow/plans/" + epochName(9) + ".bak", "flows/flow/decisions/x",
		"flows/flow/decisions/-" + epochName(9)[1:], "flows/flow/decisions/99999999999999999999",
		"flows/flow/attempts/" + epochName(4), "flows/flow/attempts/" + epochName(4) + "-9", "flows/flow/changelogs/x",
		"flows/flow/changelogs/00", "flows/flow/changelogs/0/" + epochName(4) + "-0009~", "flows/flow/snapshots/" + epochName(2), "flows/flow/sources/x"}
	for _, p := range strays {
		must(t, os.WriteFile(filepath.Join(dir, p), []byte("?"), 0o666))
	}
	f = openFlowIn(t, dir, nil)
	if _, ok, err := f.NewestSnapshot(9); ok || err != nil {
		t.Errorf("newest snapshot: %v, %v", ok, err)
	}
	decideTo(t, f, 5)
	takeSnapshot(t, f, 5)
	must(t, f.Retain(0))
	if d, ok, err := f.LastDecision(); err != nil || !ok || d.Epoch != 5 || d.Attempt != 1 {
		t.Errorf("last decision %+v, %v, %v", d, ok, err)
	}
	for _, p := range strays {
		if b, err := os.ReadFile(filepath.Join(dir, p)); err != nil || string(b) != "?" {
			t.Errorf("stray %s: %q, %v", p, b, err)
		}
	}
}

// NoSync changes when bytes reach the disk, not which files there are.
func TestSyncMakesSameFiles(t *testing.T) {
	t.Parallel()
	var trees [2][]string
	for i, noSync := range []bool{true, false} {
		dir := t.TempDir()
		c, err := Open(dir, Options{NoSync: noSync})
		must(t, err)
		f, err := c.Flow("flow")
		must(t, err)
		decideTo(t, f, 4)
		takeSnapshot(t, f, 3)
		must(t, f.AppendJournal("s", []byte("x")))
		must(t, f.WriteEnds(Ends{}))
		must(t, f.PutChoice(Choice{Epoch: 5}))
		must(t, f.WritePlan(samplePlan(5)))
		must(t, f.DiscardPlansAfter(4))
		must(t, f.Retain(1))
		must(t, f.ClearEnds())
		must(t, f.ClearChoice())
		must(t, c.Close())
		trees[i] = slices.Sorted(maps.Keys(readTree(t, dir)))
	}
	if !slices.Equal(trees[0], trees[1]) {
		t.Errorf("without sync:\n%q\nwith:\n%q", trees[0], trees[1])
	}
}
