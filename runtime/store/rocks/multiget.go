//go:build cgo && grocksdb_no_link

package rocks

// #cgo noescape tws_multi_get
// #cgo nocallback tws_multi_get
// #include "native.h"
import "C"

import (
	"unsafe"

	"github.com/tws-go/tws/runtime/store"
)

// multiKeys is how many keys one call looks up. RocksDB works on 32 at a time;
// more in a call only save calls.
const multiKeys = 512

// multi is what one MultiGet works with.
type multi struct {
	c    *C.tws_multi
	keys []byte
	ends []C.uint32_t
	lens []C.int64_t
}

// takeMulti returns one that nobody uses.
func (s *Store) takeMulti() *multi {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idleMultis); n > 0 {
		m := s.idleMultis[n-1]
		s.idleMultis = s.idleMultis[:n-1]
		return m
	}
	return &multi{c: C.tws_multi_create()}
}

func (s *Store) putMulti(m *multi) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		C.tws_multi_destroy(m.c)
		return
	}
	s.idleMultis = append(s.idleMultis, m)
}

// MultiGet implements [store.Store].
func (s *Store) MultiGet(keys [][]byte, found func(i int, value []byte) error) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	m := s.takeMulti()
	defer s.putMulti(m)
	for start := 0; start < len(keys); start += multiKeys {
		if s.closed.Load() { // by found
			return store.ErrClosed
		}
		end := min(start+multiKeys, len(keys))
		if err := s.multiGet(m, keys[start:end], func(i int, value []byte) error { return found(start+i, value) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) multiGet(m *multi, keys [][]byte, found func(i int, value []byte) error) error {
	m.keys, m.ends = m.keys[:0], m.ends[:0]
	for _, key := range keys {
		m.keys = append(m.keys, key...)
		m.ends = append(m.ends, C.uint32_t(len(m.keys)))
	}
	if cap(m.lens) < len(keys) {
		m.lens = make([]C.int64_t, len(keys), multiKeys)
	}
	m.lens = m.lens[:len(keys)]
	var cErr *C.char
	out := C.tws_multi_get(m.c, s.native.db, s.native.read, s.native.families[store.Point],
		chars(m.keys), unsafe.SliceData(m.ends), C.size_t(len(keys)), unsafe.SliceData(m.lens), &cErr)
	if cErr != nil {
		return s.fail("multiget", takeError(cErr))
	}
	at := unsafe.Pointer(out)
	for i, n := range m.lens {
		if n < 0 {
			continue
		}
		if err := found(i, unsafe.Slice((*byte)(at), n)); err != nil {
			return err
		}
		at = unsafe.Add(at, n)
	}
	return nil
}
