//go:build cgo && grocksdb_no_link

package rocks

// #include "native.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/linxGnu/grocksdb"
	"github.com/tws-go/tws/runtime/internal/durable"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/internal/stage"
)

// wantVersion is the RocksDB that grocksdb v1.11 is written for.
const wantVersion = "11.1"

// Engine opens stores that share a block cache and a budget for memtables. It
// implements [store.Engine].
type Engine struct {
	linked string // version of the RocksDB library
	memory int64
	cache  *grocksdb.Cache
	budget *grocksdb.WriteBufferManager

	mu     sync.Mutex
	open   int // stores that use cache and budget
	closed bool
}

// New returns an engine. It fails if the program is linked with another RocksDB
// than grocksdb is written for.
func New(c Config) (store.Engine, error) {
	linked := linkedVersion()
	if err := checkLinked(linked); err != nil {
		return nil, err
	}
	e := &Engine{linked: linked, memory: c.memory()}
	e.cache = grocksdb.NewHyperClockCache(int(e.memory), 0)
	e.budget = grocksdb.NewWriteBufferManagerWithCache(int(writeBudget(e.memory)), e.cache, false)
	return e, nil
}

func checkLinked(version string) error {
	if version == wantVersion || strings.HasPrefix(version, wantVersion+".") {
		return nil
	}
	return fmt.Errorf("rocks: this program runs with RocksDB %q, but grocksdb needs RocksDB %s: build and run it with the environment that tws-gen env prints, or put a librocksdb of RocksDB %s beside the binary", version, wantVersion, wantVersion)
}

// linkedVersion returns the version of the library that is in use.
func linkedVersion() string {
	var out [32]C.char
	C.tws_linked_version(&out[0], C.size_t(len(out)))
	return C.GoString(&out[0])
}

// Name implements [store.Engine].
func (e *Engine) Name() string { return "rocks" }

// Open implements [store.Engine].
func (e *Engine) Open(dir string) (store.Store, error) {
	if err := e.use(); err != nil {
		return nil, err
	}
	s, err := e.openDir(dir)
	if err != nil {
		e.unuse()
		return nil, fmt.Errorf("rocks: open %s: %w", dir, err)
	}
	return s, nil
}

// use keeps the engine open until unuse.
func (e *Engine) use() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return store.ErrClosed
	}
	e.open++
	return nil
}

func (e *Engine) unuse() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open--
}

func (e *Engine) openDir(dir string) (*Store, error) {
	missing, err := emptyOrMissing(dir)
	if err != nil {
		return nil, err
	}
	if missing {
		if err := e.create(dir); err != nil {
			return nil, err
		}
	}
	m, err := e.checkDir(dir)
	if err != nil {
		return nil, err
	}
	s, err := e.openDB(dir, false)
	if err != nil {
		return nil, err
	}
	if err := s.checkMark(m); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

// emptyOrMissing tells whether a new store may be made in place of dir.
func emptyOrMissing(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(entries) == 0, err
}

// create makes dir an empty store.
func (e *Engine) create(dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return stage.Dir(dir, func(temp string) error {
		s, err := e.openDB(temp, true)
		if err != nil {
			return err
		}
		s.free()
		return manifest{rocksdb: e.linked}.write(temp)
	})
}

// checkDir checks what can be known of a store before RocksDB opens it, which
// changes files.
func (e *Engine) checkDir(dir string) (manifest, error) {
	m, err := e.checkFiles(dir)
	if err != nil || m.rocksdb == e.linked {
		return m, err
	}
	m.rocksdb = e.linked
	return m, m.write(dir)
}

// checkFiles checks a store's or a snapshot's directory and changes nothing.
func (e *Engine) checkFiles(dir string) (manifest, error) {
	m, err := readManifest(dir)
	if err != nil {
		return m, err
	}
	if err := m.checkVersion(e.linked); err != nil {
		return m, err
	}
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%w: %s is missing", store.ErrCorrupt, filepath.Join(dir, "CURRENT"))
	} else if err != nil {
		return m, err
	}
	return m, nil
}

// Restore implements [store.Engine]. Table files are shared by hard links, for
// RocksDB never changes one; the rest is copied.
func (e *Engine) Restore(snapshot, dir string) error {
	if err := e.use(); err != nil {
		return err
	}
	defer e.unuse()
	if _, err := e.checkFiles(snapshot); err != nil {
		return fmt.Errorf("rocks: restore %s: %w", snapshot, err)
	}
	err := stage.Dir(dir, func(temp string) error { return restoreFiles(snapshot, temp) })
	if err != nil {
		return fmt.Errorf("rocks: restore %s: %w", snapshot, err)
	}
	return nil
}

func restoreFiles(snapshot, dir string) error {
	entries, err := os.ReadDir(snapshot)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		put := stage.Copy
		switch {
		case name == "LOCK" || strings.HasPrefix(name, "LOG") || strings.HasPrefix(name, durable.TempPrefix):
			continue
		case strings.HasSuffix(name, ".sst"):
			put = stage.Link
		}
		if err := put(filepath.Join(snapshot, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Close implements [store.Engine]. It refuses while stores are open.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open > 0 {
		return fmt.Errorf("rocks: close engine: %d stores are still open", e.open)
	}
	if e.closed {
		return nil
	}
	e.closed = true
	e.budget.Destroy()
	e.cache.Destroy()
	return nil
}
