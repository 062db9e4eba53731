package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tws-go/tws/runtime/internal/durable"
)

const (
	manifestName = "manifest"
	// maxSummed is the size in bytes up to which a manifest has checksums.
	// Larger files, and RocksDB's tables, carry their own.
	maxSummed = 1 << 20
)

// manifestRecord lists the files of a snapshot.
type manifestRecord struct {
	Epoch int64          `json:"epoch"`
	Files []snapshotFile `json:"files"`
}

// snapshotFile is one file of a snapshot. Path is relative to the snapshot and
// has slashes. Sum is "" for files that are not summed.
type snapshotFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Sum  string `json:"sum,omitempty"`
}

// Snapshot is a snapshot being taken. It is used by one goroutine at a time,
// except that PartitionDir may be called by several.
type Snapshot struct {
	f     *Flow
	epoch int64
	dir   string
}

// BeginSnapshot starts a snapshot of the state as of a decided epoch. A flow
// takes one at a time.
func (f *Flow) BeginSnapshot(epoch int64) (*Snapshot, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	switch {
	case f.taking != nil:
		return nil, fmt.Errorf("checkpoint: snapshot of epoch %d: that of epoch %d has not ended", epoch, f.taking.epoch)
	case epoch < 1 || epoch > f.last:
		return nil, fmt.Errorf("checkpoint: snapshot of epoch %d: the last decided epoch is %d", epoch, f.last)
	case slices.Contains(f.snapshots, epoch):
		return nil, fmt.Errorf("checkpoint: snapshot of epoch %d: %w", epoch, fs.ErrExist)
	}
	s := &Snapshot{f: f, epoch: epoch, dir: f.path("snapshots", durable.TempPrefix+epochName(epoch))}
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	f.taking = s
	return s, nil
}

// makeDir makes the snapshot's directory, in place of one that was given up.
func (s *Snapshot) makeDir() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("checkpoint: begin snapshot: %w", err)
	}
	if err := os.Mkdir(s.dir, 0o777); err != nil {
		return fmt.Errorf("checkpoint: begin snapshot: %w", err)
	}
	return nil
}

// PartitionDir is where the snapshot of a state partition is to be written. It
// does not exist.
func (s *Snapshot) PartitionDir(partition int) string {
	return filepath.Join(s.dir, strconv.Itoa(partition))
}

// Commit makes the snapshot durable and then visible, all of it at once. If it
// fails, Abort is what remains.
func (s *Snapshot) Commit() error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	files, err := s.seal(s.dir, ".")
	if err != nil {
		return fmt.Errorf("checkpoint: commit snapshot of epoch %d: %w", s.epoch, err)
	}
	m := manifestRecord{Epoch: s.epoch, Files: files}
	if err := s.f.c.createJSON(filepath.Join(s.dir, manifestName), kindSnapshot, m); err != nil {
		return err
	}
	return s.publish()
}

// publish gives the directory its name.
func (s *Snapshot) publish() error {
	f := s.f
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if f.taking != s {
		return fmt.Errorf("checkpoint: the snapshot of epoch %d has ended", s.epoch)
	}
	// Without its manifest a directory of this name is no snapshot; a rename
	// would not replace it unless it is empty.
	dir := f.path("snapshots", epochName(s.epoch))
	if err := f.c.remover.removeAll(dir); err != nil {
		return fmt.Errorf("checkpoint: commit snapshot: %w", err)
	}
	if err := f.c.remover.rename(s.dir, dir); err != nil {
		return fmt.Errorf("checkpoint: commit snapshot: %w", err)
	}
	f.taking = nil
	if err := f.c.syncDir(f.path("snapshots")); err != nil {
		return err
	}
	f.snapshots = append(f.snapshots, s.epoch)
	slices.Sort(f.snapshots)
	return nil
}

// Abort removes what was written. After Commit it does nothing.
func (s *Snapshot) Abort() error {
	if s.checkOpen() != nil {
		return nil
	}
	s.f.mu.Lock()
	s.f.taking = nil
	s.f.mu.Unlock()
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("checkpoint: abort snapshot: %w", err)
	}
	return nil
}

func (s *Snapshot) checkOpen() error {
	if err := s.f.enter(); err != nil {
		return err
	}
	defer s.f.mu.Unlock()
	if s.f.taking != s {
		return fmt.Errorf("checkpoint: the snapshot of epoch %d has ended", s.epoch)
	}
	return nil
}

// seal syncs everything in dir and lists its files in name order, with paths
// below rel.
func (s *Snapshot) seal(dir, rel string) ([]snapshotFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := []snapshotFile{}
	for _, e := range entries {
		path, name := filepath.Join(dir, e.Name()), filepath.ToSlash(filepath.Join(rel, e.Name()))
		if e.IsDir() {
			below, err := s.seal(path, name)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
			continue
		}
		if !e.Type().IsRegular() {
			return nil, fmt.Errorf("%s is neither a file nor a directory", path)
		}
		file, err := s.sealFile(path, name)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, s.f.c.syncDir(dir)
}

// sealFile syncs one file and describes it.
func (s *Snapshot) sealFile(path, name string) (snapshotFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return snapshotFile{}, err
	}
	if s.f.c.sync {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return snapshotFile{}, err
	}
	return describeFile(path, name)
}

// describeFile returns the size of a file, and its checksum if such files have
// one in a manifest.
func describeFile(path, name string) (snapshotFile, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return snapshotFile{}, err
	}
	file := snapshotFile{Path: name, Size: info.Size()}
	if !info.Mode().IsRegular() || file.Size > maxSummed || strings.HasSuffix(name, ".sst") {
		return file, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return snapshotFile{}, err
	}
	file.Size, file.Sum = int64(len(data)), sum(data)
	return file, nil
}

// NewestSnapshot returns the epoch of the newest committed snapshot that is not
// newer than atMost.
func (f *Flow) NewestSnapshot(atMost int64) (epoch int64, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.snapshots {
		if s <= atMost {
			epoch, ok = s, true
		}
	}
	return epoch, ok, nil
}

// SnapshotDir is where the snapshot of a state partition is, if the snapshot
// of that epoch is committed.
func (f *Flow) SnapshotDir(epoch int64, partition int) string {
	return f.path("snapshots", epochName(epoch), strconv.Itoa(partition))
}

// VerifySnapshot checks that every file of a committed snapshot is there, with
// its size and, where the manifest has one, its checksum.
func (f *Flow) VerifySnapshot(epoch int64) error {
	dir := f.path("snapshots", epochName(epoch))
	path := filepath.Join(dir, manifestName)
	var m manifestRecord
	if err := readJSON(path, kindSnapshot, &m); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return corruptSnapshot(path, "the file is missing")
		}
		return err
	}
	if m.Epoch != epoch {
		return corruptSnapshot(path, "it is the manifest of epoch %d", m.Epoch)
	}
	for _, want := range m.Files {
		if err := verifyFile(dir, want); err != nil {
			return err
		}
	}
	return nil
}

func verifyFile(dir string, want snapshotFile) error {
	rel := filepath.FromSlash(want.Path)
	if !filepath.IsLocal(rel) {
		return corruptSnapshot(filepath.Join(dir, manifestName), "it lists %q, which lies outside", want.Path)
	}
	path := filepath.Join(dir, rel)
	got, err := describeFile(path, want.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return corruptSnapshot(path, "the file is missing")
	}
	if err != nil {
		return fmt.Errorf("checkpoint: verify snapshot: %w", err)
	}
	if got != want {
		return corruptSnapshot(path, "it has %d bytes, checksum %q; the manifest says %d bytes, checksum %q", got.Size, got.Sum, want.Size, want.Sum)
	}
	return nil
}

func corruptSnapshot(path, format string, args ...any) error {
	const fix = "restore the checkpoint from a copy; or, if there is an older snapshot and every changelog since, delete the directory of this snapshot"
	return corruptFix(path, fix, format, args...)
}
