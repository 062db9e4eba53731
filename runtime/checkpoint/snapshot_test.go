package checkpoint

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// snapshotFiles are the files of a sample snapshot, below a partition.
func snapshotFiles() map[string][]byte {
	return map[string][]byte{
		"CURRENT":    []byte("MANIFEST-000005\n"),
		"000007.sst": []byte("table"),
		"big":        bytes.Repeat([]byte{7}, maxSummed+1),
		"full":       bytes.Repeat([]byte{8}, maxSummed),
		"sub/empty":  nil,
	}
}

func fillSnapshot(t *testing.T, s *Snapshot) {
	t.Helper()
	for name, content := range snapshotFiles() {
		path := filepath.Join(s.PartitionDir(0), name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(t, os.WriteFile(path, content, 0o666))
	}
	must(t, os.MkdirAll(s.PartitionDir(1), 0o777))
}

func takeSnapshot(t *testing.T, f *Flow, epoch int64) {
	t.Helper()
	s, err := f.BeginSnapshot(epoch)
	must(t, err)
	must(t, os.MkdirAll(s.PartitionDir(0), 0o777))
	must(t, os.WriteFile(filepath.Join(s.PartitionDir(0), "state"), []byte(epochName(epoch)), 0o666))
	must(t, os.WriteFile(filepath.Join(s.PartitionDir(0), "more.sst"), []byte("table"), 0o666))
	must(t, s.Commit())
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 5)
	s, err := f.BeginSnapshot(3)
	must(t, err)
	if _, err := os.Stat(s.PartitionDir(0)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("partition directory exists: %v", err)
	}
	fillSnapshot(t, s)
	if _, ok, err := f.NewestSnapshot(5); ok || err != nil {
		t.Errorf("visible before commit: %v, %v", ok, err)
	}
	must(t, s.Commit())
	wantRefused(t, s.Commit(), "has ended")
	must(t, s.Abort())
	takeSnapshot(t, f, 5)
	takeSnapshot(t, f, 4)
	for range 2 {
		for atMost, want := range map[int64]int64{0: 0, 2: 0, 3: 3, 4: 4, 5: 5, 99: 5} {
			if got, ok, err := f.NewestSnapshot(atMost); err != nil || got != want || ok != (want > 0) {
				t.Errorf("newest up to %d: %d, %v, %v; want %d", atMost, got, ok, err, want)
			}
		}
		for epoch := int64(3); epoch <= 5; epoch++ {
			must(t, f.VerifySnapshot(epoch))
		}
		for name, content := range snapshotFiles() {
			got, err := os.ReadFile(filepath.Join(f.SnapshotDir(3, 0), name))
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
		f = reopen(t, f)
	}
}

func TestSnapshotManifest(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 1)
	s, err := f.BeginSnapshot(1)
	must(t, err)
	fillSnapshot(t, s)
	must(t, s.Commit())
	var m manifestRecord
	must(t, readJSON(f.path("snapshots", epochName(1), manifestName), kindSnapshot, &m))
	content := snapshotFiles()
	want := []snapshotFile{
		{"0/000007.sst", 5, ""}, {"0/CURRENT", 16, sum(content["CURRENT"])}, {"0/big", maxSummed + 1, ""},
		{"0/full", maxSummed, sum(content["full"])}, {"0/sub/empty", 0, sum(nil)},
	}
	if len(m.Files) != len(want) || m.Epoch != 1 {
		t.Fatalf("manifest %+v", m)
	}
	for i := range want {
		if m.Files[i] != want[i] {
			t.Errorf("file %d: %+v, want %+v", i, m.Files[i], want[i])
		}
	}
}

func TestSnapshotRefused(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	_, err := f.BeginSnapshot(1)
	wantRefused(t, err, "epoch 1", "last decided epoch is 0")
	decideTo(t, f, 2)
	for _, epoch := range []int64{-1, 0, 3} {
		_, err := f.BeginSnapshot(epoch)
		wantRefused(t, err, "last decided epoch is 2")
	}
	takeSnapshot(t, f, 2)
	_, err = f.BeginSnapshot(2)
	wantErr(t, err, fs.ErrExist)
	s, err := f.BeginSnapshot(1)
	must(t, err)
	_, err = f.BeginSnapshot(1)
	wantRefused(t, err, "has not ended")
	must(t, os.Symlink("nowhere", filepath.Join(s.dir, "link")))
	wantRefused(t, s.Commit(), "link", "neither a file nor a directory")
	must(t, s.Abort())
	takeSnapshot(t, f, 1)
}

// B-34: what an abandoned or interrupted snapshot left is neither seen nor kept.
func TestSnapshotAbandoned(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 2)
	s, err := f.BeginSnapshot(1)
	must(t, err)
	fillSnapshot(t, s)
	must(t, s.Abort())
	before := readTree(t, f.c.dir)
	s, err = f.BeginSnapshot(1)
	must(t, err)
	fillSnapshot(t, s)
	// A crash here; then one that left the name without a manifest.
	f = reopen(t, f)
	wantSameTree(t, readTree(t, f.c.dir), before)
	must(t, os.MkdirAll(filepath.Join(f.path("snapshots", epochName(2)), "0"), 0o777))
	f = reopen(t, f)
	if _, ok, err := f.NewestSnapshot(2); ok || err != nil {
		t.Errorf("newest: %v, %v", ok, err)
	}
	wantErr(t, f.VerifySnapshot(2), ErrCorrupt, "manifest", "missing")
	takeSnapshot(t, f, 2)
	must(t, f.VerifySnapshot(2))
}

func TestSnapshotRenameFails(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 1)
	cause := errors.New("input/output error")
	f.c.remover.rename = func(string, string) error { return cause }
	s, err := f.BeginSnapshot(1)
	must(t, err)
	wantErr(t, s.Commit(), cause)
	must(t, s.Abort())
	f.c.remover = systemRemover
	takeSnapshot(t, f, 1)
}

func TestVerifySnapshotDamage(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 1)
	s, err := f.BeginSnapshot(1)
	must(t, err)
	fillSnapshot(t, s)
	must(t, s.Commit())
	dir := f.SnapshotDir(1, 0)
	for _, name := range []string{"CURRENT", "000007.sst", "big", "full", "sub/empty"} {
		path := filepath.Join(dir, name)
		content := snapshotFiles()[name]
		longer := append(bytes.Clone(content), 'x')
		damage := map[string]func() error{
			"longer":  func() error { return os.WriteFile(path, longer, 0o666) },
			"missing": func() error { return os.Remove(path) },
			"a directory": func() error {
				return errors.Join(os.Remove(path), os.Mkdir(path, 0o777))
			},
		}
		if len(content) > 0 {
			damage["shorter"] = func() error { return os.WriteFile(path, content[1:], 0o666) }
		}
		if name == "CURRENT" || name == "full" {
			flipped := bytes.Clone(content)
			flipped[len(flipped)/2] ^= 1
			damage["flipped"] = func() error { return os.WriteFile(path, flipped, 0o666) }
		}
		for what, do := range damage {
			must(t, do())
			if err := f.VerifySnapshot(1); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s %s: %v", name, what, err)
			} else {
				wantErr(t, err, ErrCorrupt, path, "older snapshot")
			}
			must(t, os.RemoveAll(path))
			must(t, os.WriteFile(path, content, 0o666))
		}
	}
	must(t, f.VerifySnapshot(1))
}

func TestVerifySnapshotForeignManifest(t *testing.T) {
	t.Parallel()
	f := openFlowIn(t, t.TempDir(), nil)
	decideTo(t, f, 1)
	takeSnapshot(t, f, 1)
	path := f.path("snapshots", epochName(1), manifestName)
	for text, m := range map[string]manifestRecord{
		"epoch 2": {Epoch: 2},
		"outside": {Epoch: 1, Files: []snapshotFile{{Path: "../../meta/0001"}}},
	} {
		data, err := encodeRecord(kindSnapshot, m)
		must(t, err)
		must(t, os.WriteFile(path, data, 0o666))
		wantErr(t, f.VerifySnapshot(1), ErrCorrupt, path, text)
	}
}
