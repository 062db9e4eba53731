//go:build cgo && grocksdb_no_link

package rocks

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/store"
)

// B-40: a scan that meets damage ends with an error that says so, and so do
// gets; none of them takes it for the end of the data.
func TestDamagedTable(t *testing.T) {
	t.Parallel()
	const n = 20_000
	dir := closed(t, n)
	for name, data := range files(t, dir) {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		// In the middle of each table, and so among its data.
		damaged := []byte(data)
		for i := range 16 {
			damaged[len(damaged)/2+i] ^= 0xff
		}
		if err := os.WriteFile(filepath.Join(dir, name), damaged, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	it, err := s.Scan([]byte{}, []byte{0xff})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for it.Next() {
		if want := fmt.Sprintf("\x01e%08d", seen); string(it.Key()) != want {
			t.Fatalf("key %q, want %q", it.Key(), want)
		}
		seen++
	}
	if !errors.Is(it.Err(), store.ErrCorrupt) || seen == 0 || seen == n {
		t.Errorf("the scan ended after %d of %d with %v, want an error that matches ErrCorrupt", seen, n, it.Err())
	}
	if it.Next() {
		t.Error("the scan goes on after an error")
	}
	if err := it.Close(); err != nil {
		t.Error(err)
	}
	var keys [][]byte
	damaged := 0
	for i := range n {
		key := fmt.Appendf(nil, "\x01v%08d", i)
		keys = append(keys, key)
		if _, ok, err := s.Get(store.Point, key); errors.Is(err, store.ErrCorrupt) {
			damaged++
		} else if err != nil || !ok {
			t.Fatalf("key %q: %v, %v", key, ok, err)
		}
	}
	if damaged == 0 || damaged == n {
		t.Errorf("%d of %d gets met the damage", damaged, n)
	}
	if err := s.MultiGet(keys, func(int, []byte) error { return nil }); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("multiget: %v, want an error that matches ErrCorrupt", err)
	}
}

// B-41: a store of a newer layout or RocksDB is refused with both versions, and
// not a byte of it is changed.
func TestNewerStore(t *testing.T) {
	t.Parallel()
	layout := strings.Replace(string(manifest{rocksdb: "11.1.2"}.encode()), "store 1", "store 2", 1)
	for name, test := range map[string]struct {
		manifest string
		words    []string
	}{
		"layout": {seal(layout), []string{"layout version 2", "reads version 1"}},
		"minor":  {string(manifest{rocksdb: "11.2.0"}.encode()), []string{"RocksDB 11.2.0", "RocksDB 11.1", "11.2 or newer"}},
		"major":  {string(manifest{rocksdb: "12.0.1"}.encode()), []string{"RocksDB 12.0.1", "RocksDB 11.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := closed(t, 3)
			if err := os.WriteFile(filepath.Join(dir, manifestName), []byte(test.manifest), 0o666); err != nil {
				t.Fatal(err)
			}
			before := files(t, dir)
			e := newEngine(t)
			_, openErr := e.Open(dir)
			restoreErr := e.Restore(dir, dir+"-restored")
			for what, err := range map[string]error{"open": openErr, "restore": restoreErr, "close": e.Close()} {
				if what == "close" {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				if err == nil || errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), dir) {
					t.Errorf("%s: %v, want an error that names the directory", what, err)
					continue
				}
				for _, word := range test.words {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%s: %q lacks %q", what, err, word)
					}
				}
			}
			if after := files(t, dir); !maps.Equal(before, after) {
				t.Error("the directory was changed")
			}
		})
	}
}

// A store that an older RocksDB wrote is opened, and marked as no longer its.
func TestOlderStore(t *testing.T) {
	t.Parallel()
	dir := closed(t, 3)
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	newest := m.rocksdb
	m.rocksdb = "10.9.0"
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	m, err = readManifest(dir)
	if err != nil || m.rocksdb != newest || m.mark.Epoch != 7 {
		t.Errorf("description %+v, %v, want RocksDB %s and epoch 7", m, err, newest)
	}
}

// A store that RocksDB finds whole but older than it was closed at is refused.
func TestLostMark(t *testing.T) {
	t.Parallel()
	dir := closed(t, 3)
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range []store.Mark{{Epoch: 8}, {Epoch: 7, Attempt: 2}} {
		m.mark = mark
		if err := m.write(dir); err != nil {
			t.Fatal(err)
		}
		e := newEngine(t)
		if _, err := e.Open(dir); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "it is at epoch 7 attempt 1") {
			t.Errorf("closed at %+v: %v", mark, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	// Ahead of it is what a crash leaves after a flush.
	m.mark = store.Mark{Epoch: 6, Attempt: 9}
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
	if mark, ok, err := open(t, dir).Applied(); mark.Epoch != 7 || !ok || err != nil {
		t.Errorf("the store is at %+v, %v, %v", mark, ok, err)
	}
}
