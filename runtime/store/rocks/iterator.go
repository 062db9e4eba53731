//go:build cgo && grocksdb_no_link

package rocks

// #cgo noescape tws_scan_open
// #cgo nocallback tws_scan_open
// #cgo noescape tws_scan_fill
// #cgo nocallback tws_scan_fill
// #include "native.h"
import "C"

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/tws-go/tws/runtime/store"
)

// scanner is a native scan and the buffer that its entries are copied to. Both
// are used again by later scans.
type scanner struct {
	c   *C.tws_scan
	buf []byte
}

// A scan reads ahead, ever further: most scans end after a few entries, and a
// long one should make few calls.
const (
	firstEntries = 8
	moreEntries  = 8 // times as many in each later call
	firstBuffer  = 1 << 10
	lastBuffer   = 64 << 10
	entryHeader  = 8
)

// iterator is one scan. It implements [store.Iterator].
type iterator struct {
	s          *Store
	scan       *scanner // nil once closed, and for an empty range
	entries    int      // to read in the next call
	unread     []byte   // of the buffer
	key, value []byte
	end        bool
	err        error
	closed     bool
}

// Scan implements [store.Store].
func (s *Store) Scan(lower, upper []byte) (store.Iterator, error) {
	if s.closed.Load() {
		return nil, store.ErrClosed
	}
	if lower == nil || upper == nil {
		return nil, errors.New("rocks: scan: both bounds are required")
	}
	it := &iterator{s: s, entries: firstEntries}
	if bytes.Compare(lower, upper) >= 0 {
		it.end = true // RocksDB does not define crossed bounds
		return it, nil
	}
	it.scan = s.takeScanner(it)
	C.tws_scan_open(it.scan.c, s.native.db, s.native.families[store.Ordered],
		chars(lower), C.size_t(len(lower)), chars(upper), C.size_t(len(upper)))
	return it, nil
}

// takeScanner returns one that nobody uses, for it.
func (s *Store) takeScanner(it *iterator) *scanner {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[it] = true
	if n := len(s.idleScans); n > 0 {
		scan := s.idleScans[n-1]
		s.idleScans = s.idleScans[:n-1]
		return scan
	}
	return &scanner{c: C.tws_scan_create(), buf: make([]byte, firstBuffer)}
}

// freeScans ends the live scans and frees all.
func (s *Store) freeScans() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for it := range s.live {
		C.tws_scan_destroy(it.scan.c)
		it.scan, it.unread, it.err = nil, nil, store.ErrClosed
	}
	clear(s.live)
	for _, scan := range s.idleScans {
		C.tws_scan_destroy(scan.c)
	}
	for _, m := range s.idleMultis {
		C.tws_multi_destroy(m.c)
	}
	s.idleScans, s.idleMultis = nil, nil
}

// Next implements [store.Iterator].
func (it *iterator) Next() bool {
	if len(it.unread) == 0 && !it.fill() {
		return false
	}
	keyLen := int(binary.NativeEndian.Uint32(it.unread))
	valueLen := int(binary.NativeEndian.Uint32(it.unread[4:]))
	value := entryHeader + keyLen
	next := value + valueLen
	it.key = it.unread[entryHeader:value:value]
	it.value = it.unread[value:next:next]
	it.unread = it.unread[next:]
	return true
}

// fill reads the next entries, and tells whether there are any.
func (it *iterator) fill() bool {
	if it.end || it.err != nil || it.closed {
		return false
	}
	n, err := it.read()
	if err != nil {
		it.err = it.s.fail("scan", err)
		return false
	}
	it.unread, it.end = it.scan.buf[:n], n == 0
	// The next call reads more.
	it.entries = min(it.entries*moreEntries, lastBuffer)
	return n > 0
}

// read copies entries to the buffer, which it makes larger if need be.
func (it *iterator) read() (int, error) {
	buf := it.scan.buf
	if it.entries > firstEntries && len(buf) < lastBuffer {
		buf = make([]byte, min(len(buf)*moreEntries, lastBuffer))
	}
	for {
		it.scan.buf = buf
		var need C.size_t
		var cErr *C.char
		n := C.tws_scan_fill(it.scan.c, chars(buf), C.size_t(len(buf)), C.size_t(it.entries), &need, &cErr)
		if cErr != nil {
			return 0, takeError(cErr)
		}
		if need == 0 {
			return int(n), nil
		}
		buf = make([]byte, need)
	}
}

// Key implements [store.Iterator].
func (it *iterator) Key() []byte { return it.key }

// Value implements [store.Iterator].
func (it *iterator) Value() []byte { return it.value }

// Err implements [store.Iterator].
func (it *iterator) Err() error { return it.err }

// Close implements [store.Iterator].
func (it *iterator) Close() error {
	if it.closed {
		return nil
	}
	it.closed = true
	it.unread = nil
	s := it.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if it.scan == nil {
		return nil
	}
	delete(s.live, it)
	C.tws_scan_close(it.scan.c)
	s.idleScans = append(s.idleScans, it.scan)
	it.scan = nil
	return nil
}
