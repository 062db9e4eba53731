package rocks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tws-go/tws/runtime/internal/durable"
	"github.com/tws-go/tws/runtime/store"
	"github.com/zeebo/xxh3"
)

// manifest is the file STORE, which says what the directory holds:
//
//	tws rocks store 1
//	rocksdb 11.1.2
//	mark 17 1
//	xxh3 9f3c5d6a7b8e9f01
//
// The first line has the layout's version, the second the newest RocksDB that
// ever opened the store for writing, the third epoch and attempt or "none", the
// last the checksum of the bytes before it.
type manifest struct {
	rocksdb string
	mark    store.Mark
	marked  bool // false if no batch was applied yet
}

const (
	manifestName   = "STORE"
	layoutVersion  = 1
	manifestPrefix = "tws rocks store "
)

func (m manifest) encode() []byte {
	mark := "none"
	if m.marked {
		mark = fmt.Sprintf("%d %d", m.mark.Epoch, m.mark.Attempt)
	}
	body := fmt.Sprintf("%s%d\nrocksdb %s\nmark %s\n", manifestPrefix, layoutVersion, m.rocksdb, mark)
	return fmt.Appendf(nil, "%sxxh3 %016x\n", body, xxh3.HashString(body))
}

// decodeManifest reads what encode wrote. Its errors match [store.ErrCorrupt],
// except for a newer layout.
func decodeManifest(data []byte) (manifest, error) {
	var m manifest
	text := string(data)
	at := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	if text[at:] != fmt.Sprintf("xxh3 %016x\n", xxh3.HashString(text[:at])) {
		return m, fmt.Errorf("%w: the checksum does not match", store.ErrCorrupt)
	}
	lines := strings.Split(text[:at], "\n")
	version, ok := strings.CutPrefix(lines[0], manifestPrefix)
	if n, err := strconv.Atoi(version); ok && err == nil && n > layoutVersion {
		return m, fmt.Errorf("layout version %d, but this program reads version %d: use the program that wrote it, or a newer one", n, layoutVersion)
	}
	var mark string
	if len(lines) == 4 {
		m.rocksdb, _ = strings.CutPrefix(lines[1], "rocksdb ")
		mark, _ = strings.CutPrefix(lines[2], "mark ")
	}
	if mark != "none" {
		m.marked = true
		_, err := fmt.Sscanf(mark, "%d %d", &m.mark.Epoch, &m.mark.Attempt)
		ok = ok && err == nil
	}
	// What was read must be what this program would write.
	if !ok || string(m.encode()) != text {
		return m, fmt.Errorf("%w: it is not the description of a store", store.ErrCorrupt)
	}
	return m, nil
}

// readManifest reads the description of the store in dir.
func readManifest(dir string) (manifest, error) {
	path := filepath.Join(dir, manifestName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return manifest{}, fmt.Errorf("%w: %s is missing", store.ErrCorrupt, path)
	}
	if err != nil {
		return manifest{}, err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return manifest{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// write replaces the description of the store in dir, durably.
func (m manifest) write(dir string) error {
	temp := filepath.Join(dir, durable.TempPrefix+manifestName)
	// A crash may have left one.
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeNew(temp, m.encode()); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, manifestName)); err != nil {
		return err
	}
	return durable.SyncDir(dir)
}

// writeNew creates a file, durably.
func writeNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// checkVersion refuses what a newer RocksDB has written to: an older one may not
// be able to read it.
func (m manifest) checkVersion(linked string) error {
	have, err := minor(m.rocksdb)
	if err != nil {
		return fmt.Errorf("%w: RocksDB version %q", store.ErrCorrupt, m.rocksdb)
	}
	mine, err := minor(linked)
	if err != nil {
		return err
	}
	if have[0] > mine[0] || have[0] == mine[0] && have[1] > mine[1] {
		return fmt.Errorf("written by RocksDB %s, but this program has RocksDB %s: use a program with RocksDB %d.%d or newer", m.rocksdb, linked, have[0], have[1])
	}
	return nil
}

// minor returns major and minor of a version.
func minor(version string) (v [2]int, err error) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return v, fmt.Errorf("version %q is not like 11.1.2", version)
	}
	for i := range v {
		if v[i], err = strconv.Atoi(parts[i]); err != nil {
			return v, fmt.Errorf("version %q is not like 11.1.2", version)
		}
	}
	return v, nil
}
