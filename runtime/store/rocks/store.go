//go:build cgo && grocksdb_no_link

package rocks

// #cgo noescape rocksdb_get_into_buffer_cf
// #cgo nocallback rocksdb_get_into_buffer_cf
// #include "native.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/linxGnu/grocksdb"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/internal/stage"
)

// Store is one open RocksDB. It implements [store.Store]. Gets and scans may run
// in several goroutines; everything else is for one goroutine at a time.
type Store struct {
	engine   *Engine
	dir      string
	db       *grocksdb.DB
	families []*grocksdb.ColumnFamilyHandle
	options  *storeOptions
	read     *grocksdb.ReadOptions
	write    *grocksdb.WriteOptions
	flush    *grocksdb.FlushOptions
	clock    *C.tws_clock
	native   native
	dirty    bool // something was applied since it was opened
	closed   atomic.Bool

	mu         sync.Mutex
	live       map[*iterator]bool
	idleScans  []*scanner
	idleMultis []*multi
}

// native are the C objects that belong to their Go namesakes, for the calls
// that grocksdb does not have or makes once per key.
type native struct {
	db       *C.rocksdb_t
	read     *C.rocksdb_readoptions_t
	families [2]*C.rocksdb_column_family_handle_t
}

// pointer returns the C object of a grocksdb one, which is its field c.
func pointer(object any) (unsafe.Pointer, error) {
	f := reflect.ValueOf(object).Elem().FieldByName("c")
	if !f.IsValid() || f.Kind() != reflect.Pointer || f.IsNil() {
		return nil, fmt.Errorf("grocksdb: %T has no C object in its field c: this version of grocksdb is not supported", object)
	}
	return f.UnsafePointer(), nil
}

// openDB opens the RocksDB in dir.
func (e *Engine) openDB(dir string, create bool) (*Store, error) {
	s := &Store{engine: e, dir: dir, clock: C.tws_clock_create(), live: map[*iterator]bool{}}
	filter := func() grocksdb.CompactionFilter {
		return grocksdb.NewNativeCompactionFilter(unsafe.Pointer(C.tws_expiry_filter(s.clock)))
	}
	var err error
	if s.options, err = e.storeOptions(create, filter); err != nil {
		C.tws_clock_destroy(s.clock)
		return nil, err
	}
	s.db, s.families, err = grocksdb.OpenDbColumnFamilies(s.options.db, dir,
		[]string{"default", "ordered"}, []*grocksdb.Options{s.options.point, s.options.ordered})
	if err != nil {
		s.options.free()
		C.tws_clock_destroy(s.clock)
		return nil, openError(err)
	}
	s.read = grocksdb.NewDefaultReadOptions()
	s.write = grocksdb.NewDefaultWriteOptions()
	s.write.DisableWAL(true)
	s.flush = grocksdb.NewDefaultFlushOptions()
	if err := s.bindNative(); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

// bindNative takes the C objects out of their Go namesakes.
func (s *Store) bindNative() error {
	db, err := pointer(s.db)
	if err != nil {
		return err
	}
	read, err := pointer(s.read)
	if err != nil {
		return err
	}
	s.native.db, s.native.read = (*C.rocksdb_t)(db), (*C.rocksdb_readoptions_t)(read)
	for i, family := range s.families {
		if family.ID() != uint32(i) {
			return fmt.Errorf("%w: family %q has id %d, want %d", store.ErrCorrupt, family.Name(), family.ID(), i)
		}
		p, err := pointer(family)
		if err != nil {
			return err
		}
		s.native.families[i] = (*C.rocksdb_column_family_handle_t)(p)
	}
	return nil
}

// checkMark refuses a store that is behind what its description says.
func (s *Store) checkMark(m manifest) error {
	mark, ok, err := s.Applied()
	if err != nil {
		return err
	}
	if !m.marked || ok && (mark == m.mark || mark.Epoch > m.mark.Epoch) {
		return nil
	}
	return fmt.Errorf("%w: it is at epoch %d attempt %d (present: %v), but it was closed at epoch %d attempt %d: delete it to rebuild it from snapshot and changelogs, or restore the checkpoint from a copy",
		store.ErrCorrupt, mark.Epoch, mark.Attempt, ok, m.mark.Epoch, m.mark.Attempt)
}

// Applied implements [store.Store].
func (s *Store) Applied() (store.Mark, bool, error) {
	value, ok, err := s.Get(store.Point, store.AppliedKey())
	if !ok || err != nil {
		return store.Mark{}, false, err
	}
	m, err := store.DecodeMark(value)
	if err != nil {
		return store.Mark{}, false, s.fail("applied mark", err)
	}
	return m, true, nil
}

// smallValue is what Get reads at first; a larger value takes a second call.
const smallValue = 512

// Get implements [store.Store].
func (s *Store) Get(f store.Family, key []byte) ([]byte, bool, error) {
	if s.closed.Load() {
		return nil, false, store.ErrClosed
	}
	if f > store.Ordered {
		return nil, false, fmt.Errorf("rocks: get: there is no family %d", f)
	}
	var small [smallValue]byte
	n, ok, err := s.getInto(small[:], f, key)
	if !ok || err != nil {
		return nil, false, err
	}
	value := make([]byte, n)
	if n <= len(small) {
		copy(value, small[:])
		return value, true, nil
	}
	// The second look-up finds the same value, or none if a compaction has just
	// dropped it as expired.
	if _, ok, err = s.getInto(value, f, key); !ok || err != nil {
		return nil, false, err
	}
	return value, true, nil
}

// getInto reads a value into buf if it fits, and returns its length.
func (s *Store) getInto(buf []byte, f store.Family, key []byte) (int, bool, error) {
	var n C.size_t
	var found C.uchar
	var cErr *C.char
	C.rocksdb_get_into_buffer_cf(s.native.db, s.native.read, s.native.families[f],
		chars(key), C.size_t(len(key)), chars(buf), C.size_t(len(buf)), &n, &found, &cErr)
	if cErr != nil {
		return 0, false, s.fail("get", takeError(cErr))
	}
	return int(n), found != 0, nil
}

// Apply implements [store.Store]. All of the batch is checked first: RocksDB
// itself would apply the records before a damaged one.
func (s *Store) Apply(data []byte) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	if _, err := store.BatchMark(data); err != nil {
		return s.fail("apply", err)
	}
	if err := store.EachRecord(data, func(store.Family, []byte, []byte, bool) {}); err != nil {
		return s.fail("apply", err)
	}
	batch := grocksdb.WriteBatchFrom(data)
	defer batch.Destroy()
	s.dirty = true
	if err := s.db.Write(s.write, batch); err != nil {
		return s.fail("apply", err)
	}
	return nil
}

// SetExpiryClock implements [store.Store].
func (s *Store) SetExpiryClock(micros int64) {
	if !s.closed.Load() {
		C.tws_clock_set(s.clock, C.int64_t(micros))
	}
}

// Compact removes everything that has expired by the expiry clock, and what
// deletes have left behind. It rewrites all files, so it takes long.
func (s *Store) Compact() error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	if err := s.db.FlushCFs(s.families, s.flush); err != nil {
		return s.fail("compact", err)
	}
	o := grocksdb.NewCompactRangeOptions()
	defer o.Destroy()
	o.SetBottommostLevelCompaction(grocksdb.KForce)
	for _, family := range s.families {
		s.db.CompactRangeCFOpt(family, grocksdb.Range{}, o)
	}
	return nil
}

// Snapshot implements [store.Store]. It is a RocksDB checkpoint: it flushes both
// families together and links the table files.
func (s *Store) Snapshot(dir string) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	mark, ok, err := s.Applied()
	if err != nil {
		return err
	}
	err = stage.Dir(dir, func(temp string) error {
		point, err := s.db.NewCheckpoint()
		if err != nil {
			return err
		}
		defer point.Destroy()
		if err := point.CreateCheckpoint(temp, 0); err != nil {
			return err
		}
		if err := syncFiles(temp); err != nil {
			return err
		}
		return manifest{rocksdb: s.engine.linked, mark: mark, marked: ok}.write(temp)
	})
	if err != nil {
		return s.fail("snapshot", err)
	}
	return nil
}

// syncFiles makes the content of all files in dir durable. RocksDB does not
// promise it for those it copies.
func syncFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		f, err := os.Open(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Close implements [store.Store]. Live scans end with [store.ErrClosed]. After an
// error the store is closed too, and durable at an older mark.
func (s *Store) Close() error {
	if s.closed.Load() {
		return nil
	}
	err := s.settle()
	s.closed.Store(true)
	s.free()
	s.engine.unuse()
	if err != nil {
		return s.fail("close", err)
	}
	return nil
}

// settle makes the store durable at its mark and writes the mark down.
func (s *Store) settle() error {
	if !s.dirty {
		return nil
	}
	mark, ok, err := s.Applied()
	if err != nil {
		return err
	}
	if err := s.db.FlushCFs(s.families, s.flush); err != nil {
		return err
	}
	return manifest{rocksdb: s.engine.linked, mark: mark, marked: ok}.write(s.dir)
}

// free frees everything native: what uses the database before the database, and
// what the database uses after it.
func (s *Store) free() {
	s.freeScans()
	for _, family := range s.families {
		family.Destroy()
	}
	s.db.Close()
	s.read.Destroy()
	s.write.Destroy()
	s.flush.Destroy()
	s.options.free()
	C.tws_clock_destroy(s.clock)
}
