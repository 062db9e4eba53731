//go:build cgo && grocksdb_no_link

package rocks

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/store"
)

// residentBytes returns the memory of the process that is in use.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// B-88: nothing that a get, a look-up, a scan, a batch or an open store takes
// from C stays. It runs alone, for the memory is the process's.
func TestNoLeak(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	e := newEngine(t)
	value := []byte(strings.Repeat("v", 300))
	var keys [][]byte
	for i := range 1000 {
		keys = append(keys, fmt.Appendf(nil, "\x01v%04d", i))
	}
	epoch := int64(0)
	round := func(opens, loops int) {
		for range opens {
			s, err := e.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			for range loops {
				epoch++
				useAll(t, s, epoch, keys, value)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	round(10, 5) // until block cache and allocator have what they want
	before := residentBytes(t)
	round(25, 5)
	grown := residentBytes(t) - before
	// Gets, look-ups, batches and the entries of scans took 37 MB each.
	if grown > 20<<20 {
		t.Errorf("the process grew by %d MB", grown>>20)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// useAll uses everything of a store that returns memory.
func useAll(t *testing.T, s store.Store, epoch int64, keys [][]byte, value []byte) {
	t.Helper()
	apply(t, s, epoch, func(b *store.Batch) {
		for _, key := range keys {
			b.Put(store.Point, key, value)
			b.Put(store.Ordered, key, value)
		}
	})
	for _, key := range keys {
		if _, ok, err := s.Get(store.Point, key); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if err := s.MultiGet(keys, func(int, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		it, err := s.Scan(keys[0], []byte{0xff})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for it.Next() {
			n++
		}
		if n != len(keys) || it.Err() != nil {
			t.Fatal(n, it.Err())
		}
		if epoch%2 == 0 { // every other one is left to Close
			if err := it.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
