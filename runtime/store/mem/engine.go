// Package mem is a state store in memory: ordered, complete, without cgo.
//
// # Model
//
// Each family is a B-tree of strings. A scan walks the tree that was current
// when it began; a batch that meets live scans goes on with a lazy copy of the
// tree, which shares all nodes that the batch does not touch, so without live
// scans nothing is copied.
//
// # What is durable
//
// A working store is one file in its directory (see file.go), which a clean
// Close replaces as a whole. After a crash, Open finds what the last clean Close
// or Restore left: an older mark with exactly its content, or an empty store
// without a mark. The changelogs bring it forward from there, as they do any
// store. A snapshot is the same file in a directory of its own.
//
// # Expiry
//
// Entries that have expired by the expiry clock are left out when a file is
// written, and each batch sweeps a few more entries than it has records, so that
// a store does not grow by what expired.
package mem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tws-go/tws/runtime/internal/durable"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/internal/stage"
)

// Engine opens stores in memory. It implements [store.Engine].
type Engine struct {
	mu     sync.Mutex
	open   map[string]bool // absolute directories of open stores
	closed bool
}

// New returns an engine without open stores.
func New() *Engine { return &Engine{open: map[string]bool{}} }

// Name implements [store.Engine].
func (e *Engine) Name() string { return "mem" }

// Open implements [store.Engine]. One process opens a directory once at a time;
// that no other process has it open is up to the caller.
func (e *Engine) Open(dir string) (store.Store, error) {
	abs, err := e.reserve(dir)
	if err != nil {
		return nil, err
	}
	s, err := load(abs)
	if err != nil {
		e.release(abs)
		return nil, err
	}
	s.release = func() { e.release(abs) }
	return s, nil
}

// reserve makes sure that nobody else has dir open.
func (e *Engine) reserve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("mem: open %s: %w", dir, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return "", store.ErrClosed
	}
	if e.open[abs] {
		return "", fmt.Errorf("mem: open %s: the store is open already; close it first", dir)
	}
	e.open[abs] = true
	return abs, nil
}

func (e *Engine) release(abs string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, abs)
}

// load reads a working store, or makes an empty one.
func load(dir string) (*Store, error) {
	if err := durable.MkdirAll(dir, true); err != nil {
		return nil, fmt.Errorf("mem: open %s: %w", dir, err)
	}
	s := newStore(dir)
	data, err := os.ReadFile(filepath.Join(dir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mem: open %s: %w", dir, err)
	}
	if err := s.decode(data); err != nil {
		return nil, fmt.Errorf("mem: open %s: %w; delete the directory to rebuild it from the checkpoint", filepath.Join(dir, fileName), err)
	}
	return s, nil
}

// Restore implements [store.Engine]. The snapshot's file is shared by a hard
// link: a store never changes its file in place. It is checked when the store
// is opened.
func (e *Engine) Restore(snapshot, dir string) error {
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return store.ErrClosed
	}
	src := filepath.Join(snapshot, fileName)
	if _, err := os.Stat(src); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mem: restore %s: %w: it has no file %s; restore the checkpoint from a copy", snapshot, store.ErrCorrupt, fileName)
	}
	err := stage.Dir(dir, func(temp string) error {
		if err := os.Mkdir(temp, 0o777); err != nil {
			return err
		}
		return stage.Link(src, filepath.Join(temp, fileName))
	})
	if err != nil {
		return fmt.Errorf("mem: restore %s: %w", snapshot, err)
	}
	return nil
}

// Close implements [store.Engine]. It refuses while stores are open.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.open); n > 0 {
		return fmt.Errorf("mem: close engine: %d stores are still open", n)
	}
	e.closed = true
	return nil
}
