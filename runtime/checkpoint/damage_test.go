package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
)

// damagedKind is one kind of file and how to read it.
type damagedKind struct {
	name string
	path string // relative to the checkpoint
	kind kind
	// read opens the checkpoint and reads the file. ok is what the reader says.
	read func(t *testing.T, dir string, log *bytes.Buffer) (ok bool, err error)
	// dropped says that damage is what a crash may leave: it is dropped.
	dropped bool
	// fix is what the message must say about what to do.
	fix string
}

// inFlow reads one file of the flow.
func inFlow(read func(f *Flow) (bool, error)) func(*testing.T, string, *bytes.Buffer) (bool, error) {
	return func(t *testing.T, dir string, log *bytes.Buffer) (bool, error) {
		f, err := open(t, dir, log).Flow("flow")
		if err != nil {
			return false, err
		}
		return read(f)
	}
}

func damagedKinds() []damagedKind {
	restore := "restore the checkpoint from a copy"
	openIt := func(t *testing.T, dir string, _ *bytes.Buffer) (bool, error) {
		c, err := Open(dir, Options{NoSync: true})
		if err == nil {
			t.Cleanup(func() { closeAll(t, c) })
		}
		return err == nil, err
	}
	flow := "flows/flow/"
	return []damagedKind{
		{"checkpoint", "checkpoint", kindCheckpoint, openIt, false, restore},
		{"fork", "fork-0001", kindFork, openIt, false, restore},
		{"meta", flow + "meta/0001", kindMeta, inFlow(func(f *Flow) (bool, error) {
			_, ok, err := f.Meta()
			return ok, err
		}), false, restore},
		{"undecided plan", flow + relPlan(4), kindPlan, inFlow(func(f *Flow) (bool, error) {
			_, ok, err := f.Plan(4)
			return ok, err
		}), true, ""},
		{"decided plan", flow + relPlan(3), kindPlan, inFlow(func(f *Flow) (bool, error) {
			_, ok, err := f.Plan(3)
			return ok, err
		}), false, restore},
		{"changelog", flow + filepath.ToSlash(changelogPath(2, 1, 1)), kindChangelog, inFlow(func(f *Flow) (bool, error) {
			d, _, err := f.Decision(2)
			if err != nil {
				return false, err
			}
			_, err = f.ReadChangelog(d.Changelogs[1])
			return err == nil, err
		}), false, restore},
		{"prepared", flow + relPrepared(4, 1), kindPrepared, inFlow(func(f *Flow) (bool, error) {
			_, ok, err := f.Prepared()
			return ok, err
		}), false, "restore it from a copy"},
		{"last decision", flow + relDecision(3), kindDecision, inFlow(func(f *Flow) (bool, error) {
			_, ok, err := f.LastDecision()
			return ok, err
		}), false, restore},
		{"older decision", flow + relDecision(2), kindDecision, inFlow(func(f *Flow) (bool, error) {
			_, ok, err := f.Decision(2)
			return ok, err
		}), false, restore},
		{"ends", flow + "ends", kindEnds, inFlow(func(f *Flow) (bool, error) {
			_, ok, err := f.Ends()
			return ok, err
		}), false, "delete this file"},
		{"choice", flow + choiceName, kindChoice, inFlow(func(f *Flow) (bool, error) {
			_, ok, err := f.Choice()
			return ok, err
		}), false, "delete this file"},
		{"journal", flow + "sources/src.journal", kindJournal, inFlow(func(f *Flow) (bool, error) {
			entries, err := f.Journal("src")
			return len(entries) == 2, err
		}), false, restore},
		{"manifest", flow + "snapshots/" + epochName(2) + "/manifest", kindSnapshot, inFlow(func(f *Flow) (bool, error) {
			err := f.VerifySnapshot(2)
			return err == nil, err
		}), false, restore},
	}
}

// makeAll makes a checkpoint that has a file of every kind.
func makeAll(t *testing.T, dir string) {
	t.Helper()
	f := openFlowIn(t, dir, nil)
	decideTo(t, f, 3)
	must(t, f.WritePlan(samplePlan(4)))
	n, err := f.StartAttempt(4)
	must(t, err)
	must(t, f.WritePrepared(Decision{Epoch: 4, Attempt: n, Plan: samplePlan(4)}))
	must(t, f.WriteEnds(Ends{Sources: []SourceEnd{{Name: "src", End: stream.Position("7")}}}))
	must(t, f.PutChoice(Choice{Epoch: 4, Attempt: n, InDoubt: "rerun"}))
	must(t, f.AppendJournal("src", []byte("first entry")))
	must(t, f.AppendJournal("src", []byte("second")))
	takeSnapshot(t, f, 2)
	closeAll(t, f.c)
	c, err := Open(dir, Options{NoSync: true, Fork: true})
	must(t, err)
	closeAll(t, c)
}

// reheader gives a sound record another kind or version.
func reheader(t *testing.T, data []byte, from, to kind, version int) []byte {
	t.Helper()
	payload, rest, err := openEnvelope(data, from)
	must(t, err)
	out := appendHeader(nil, to, version, payload)
	return append(append(out, payload...), rest...)
}

// B-36: every kind of file with every kind of damage is an error that names the
// file and what to do, and changes nothing; but the plan of an undecided epoch
// is dropped, with a warning.
func TestDamage(t *testing.T) {
	t.Parallel()
	flip := func(at func(n int) int) func(*testing.T, []byte, kind) []byte {
		return func(_ *testing.T, data []byte, _ kind) []byte {
			data[at(len(data))] ^= 0x10
			return data
		}
	}
	damages := map[string]func(*testing.T, []byte, kind) []byte{
		"empty":       func(*testing.T, []byte, kind) []byte { return nil },
		"half header": func(_ *testing.T, data []byte, _ kind) []byte { return data[:12] },
		"half": func(_ *testing.T, data []byte, k kind) []byte {
			if k == kindJournal {
				return data[:len(journalHeader)/2] // longer ones: TestJournalCut
			}
			return data[:len(data)/2]
		},
		"first byte":  flip(func(int) int { return 0 }),
		"header byte": flip(func(int) int { return 20 }),
		"middle byte": flip(func(n int) int { return n / 2 }),
		"last byte":   flip(func(n int) int { return n - 1 }),
		"zeros": func(_ *testing.T, data []byte, _ kind) []byte {
			return make([]byte, len(data))
		},
		"longer": func(_ *testing.T, data []byte, _ kind) []byte {
			return append(data, "tail of something else"...)
		},
		"wrong kind": func(t *testing.T, data []byte, k kind) []byte {
			to := kindPlan
			if k == kindPlan {
				to = kindDecision
			}
			return reheader(t, data, k, to, formatVersion)
		},
	}
	dir := t.TempDir()
	makeAll(t, dir)
	for _, k := range damagedKinds() {
		if ok, err := k.read(t, copyDir(t, dir), nil); !ok || err != nil {
			t.Fatalf("%s undamaged: %v, %v", k.name, ok, err)
		}
		for name, damage := range damages {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir := copyDir(t, dir)
				path := filepath.Join(dir, k.path)
				data, err := os.ReadFile(path)
				must(t, err)
				must(t, os.WriteFile(path, damage(t, data, k.kind), 0o666))
				before := readTree(t, dir)
				var log bytes.Buffer
				ok, err := k.read(t, dir, &log)
				if k.dropped {
					wantDropped(t, dir, k, ok, err, log.String())
					return
				}
				wantErr(t, err, ErrCorrupt, path, k.fix)
				wantSameTree(t, readTree(t, dir), before)
				if log.Len() > 0 {
					t.Errorf("logged %s", &log)
				}
			})
		}
		// B-41
		t.Run(k.name+"/newer", func(t *testing.T) {
			t.Parallel()
			dir := copyDir(t, dir)
			path := filepath.Join(dir, k.path)
			data, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, reheader(t, data, k.kind, k.kind, 7), 0o666))
			must(t, os.WriteFile(filepath.Join(filepath.Dir(path), ".tmp-newer"), nil, 0o666))
			before := readTree(t, dir)
			_, err = k.read(t, dir, nil)
			wantErr(t, err, ErrNewer, path, "format 7", "knows 1")
			if errors.Is(err, ErrCorrupt) {
				t.Errorf("taken for damage: %v", err)
			}
			if k.kind == kindCheckpoint || k.kind == kindFork || k.kind == kindMeta {
				wantSameTree(t, readTree(t, dir), before)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != before[k.path] {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// wantDropped makes sure that a damaged plan is gone and its epoch can be
// planned anew, by an attempt that cannot be mistaken for an earlier one.
func wantDropped(t *testing.T, dir string, k damagedKind, ok bool, err error, log string) {
	t.Helper()
	if ok || err != nil {
		t.Fatalf("got %v, %v; want no plan", ok, err)
	}
	path := filepath.Join(dir, k.path)
	if !strings.Contains(log, "level=WARN") || !strings.Contains(log, path) {
		t.Errorf("warning lacks the file: %s", log)
	}
	must(t, os.Remove(filepath.Join(dir, lockName))) // the reader has it open
	f := openFlowIn(t, dir, nil)
	if _, ok, err := f.Plan(4); ok || err != nil {
		t.Fatalf("after reopening: %v, %v", ok, err)
	}
	must(t, f.WritePlan(samplePlan(4)))
	if n, err := f.StartAttempt(4); err != nil || n != 2 {
		t.Errorf("attempt %d, %v; want 2", n, err)
	}
}

// The content of an attempt's record is never needed: its name says it all.
func TestDamagedAttempt(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	must(t, f.WritePlan(samplePlan(1)))
	for range 3 {
		_, err := f.StartAttempt(1)
		must(t, err)
	}
	must(t, os.WriteFile(f.path(relAttempt(1, 3)), nil, 0o666))
	if n, err := reopen(t, f).StartAttempt(1); err != nil || n != 4 {
		t.Errorf("attempt %d, %v; want 4", n, err)
	}
}

// B-41
func TestNewerLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, err := encodeRecord(kindCheckpoint, identityRecord{UID: "u", KeyGroups: 1, Layout: layoutVersion + 1})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, identityName), data, 0o666))
	before := readTree(t, dir)
	_, err = Open(dir, Options{Fork: true})
	wantErr(t, err, ErrNewer, "layout 2", "knows 1")
	wantSameTree(t, readTree(t, dir), before)
}

func TestNonsenseIdentity(t *testing.T) {
	t.Parallel()
	for _, r := range []identityRecord{{"", 1, 1}, {"u", 0, 1}, {"u", MaxKeyGroups + 1, 1}, {"u", 1, 0}} {
		dir := t.TempDir()
		data, err := encodeRecord(kindCheckpoint, r)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, identityName), data, 0o666))
		_, err = Open(dir, Options{})
		wantErr(t, err, ErrCorrupt, identityName)
	}
}

// A checkpoint that lost its record is not taken for a new one.
func TestIdentityMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeAll(t, dir)
	must(t, os.Remove(filepath.Join(dir, identityName)))
	before := readTree(t, dir)
	_, err := Open(dir, Options{})
	wantErr(t, err, ErrCorrupt, filepath.Join(dir, identityName), "missing")
	wantSameTree(t, readTree(t, dir), before)
}

func copyDir(t *testing.T, dir string) string {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(dst, os.DirFS(dir)))
	return dst
}
