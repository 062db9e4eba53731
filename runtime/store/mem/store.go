package mem

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/tidwall/btree"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/internal/stage"
)

// tree is one family.
type tree = btree.Map[string, string]

// families is how many families a store has.
const families = 2

// Store is one open store in memory. It implements [store.Store]. Scans may run
// in several goroutines; everything else is for one goroutine at a time.
type Store struct {
	dir     string
	trees   [families]*tree
	scans   atomic.Int64 // live iterators
	clock   atomic.Int64 // entries that expire at or before it may vanish
	sweep   sweep
	dirty   bool // differs from the file
	closed  atomic.Bool
	release func()
}

func newStore(dir string) *Store {
	s := &Store{dir: dir, trees: [families]*tree{new(tree), new(tree)}}
	s.clock.Store(math.MinInt64)
	return s
}

// Applied implements [store.Store].
func (s *Store) Applied() (store.Mark, bool, error) {
	value, ok, err := s.Get(store.Point, store.AppliedKey())
	if !ok || err != nil {
		return store.Mark{}, false, err
	}
	m, err := store.DecodeMark(value)
	if err != nil {
		return store.Mark{}, false, fmt.Errorf("mem: %s: %w", s.dir, err)
	}
	return m, true, nil
}

// Get implements [store.Store].
func (s *Store) Get(f store.Family, key []byte) ([]byte, bool, error) {
	if s.closed.Load() {
		return nil, false, store.ErrClosed
	}
	if f > store.Ordered {
		return nil, false, fmt.Errorf("mem: get: there is no family %d", f)
	}
	v, ok := s.trees[f].Get(view(key))
	if !ok {
		return nil, false, nil
	}
	return []byte(v), true, nil
}

// MultiGet implements [store.Store].
func (s *Store) MultiGet(keys [][]byte, found func(i int, value []byte) error) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	var buf []byte
	for i, key := range keys {
		v, ok := s.trees[store.Point].Get(view(key))
		if !ok {
			continue
		}
		buf = append(buf[:0], v...)
		if err := found(i, buf[:len(buf):len(buf)]); err != nil {
			return err
		}
	}
	return nil
}

// Apply implements [store.Store]. A batch that is damaged or has no mark is
// refused as a whole.
func (s *Store) Apply(data []byte) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	if _, err := store.BatchMark(data); err != nil {
		return fmt.Errorf("mem: apply: %w", err)
	}
	records := 0
	count := func(store.Family, []byte, []byte, bool) { records++ }
	if err := store.EachRecord(data, count); err != nil {
		return fmt.Errorf("mem: apply: %w", err)
	}
	s.detach()
	s.dirty = true
	if err := store.EachRecord(data, s.set); err != nil {
		return fmt.Errorf("mem: apply: %w", err)
	}
	s.sweepSome(records)
	return nil
}

// detach leaves the present trees to the live scans.
func (s *Store) detach() {
	if s.scans.Load() == 0 {
		return
	}
	for i, t := range s.trees {
		s.trees[i] = t.IsoCopy()
	}
}

func (s *Store) set(f store.Family, key, value []byte, del bool) {
	if del {
		s.trees[f].Delete(view(key))
		return
	}
	s.sweep.note(key, value)
	// One allocation holds both: a tree replaces key and value together.
	var b strings.Builder
	b.Grow(len(key) + len(value))
	b.Write(key)
	b.Write(value)
	s.trees[f].Set(b.String()[:len(key)], b.String()[len(key):])
}

// SetExpiryClock implements [store.Store].
func (s *Store) SetExpiryClock(micros int64) { s.clock.Store(micros) }

// Snapshot implements [store.Store].
func (s *Store) Snapshot(dir string) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	err := stage.Dir(dir, func(temp string) error {
		if err := os.Mkdir(temp, 0o777); err != nil {
			return err
		}
		return s.writeFile(filepath.Join(temp, fileName))
	})
	if err != nil {
		return fmt.Errorf("mem: snapshot of %s: %w", s.dir, err)
	}
	return nil
}

// Close implements [store.Store]. Live scans end with [store.ErrClosed]. After an
// error the store is closed too, and the directory holds what it held before.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	defer s.release()
	if !s.dirty {
		return nil
	}
	if err := s.replaceFile(); err != nil {
		return fmt.Errorf("mem: close %s: %w", s.dir, err)
	}
	return nil
}

// view returns b as a string for a look-up, without a copy. The tree keeps no
// look-up key.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
