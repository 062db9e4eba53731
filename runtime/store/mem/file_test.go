package mem

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/store"
	"github.com/zeebo/xxh3"
)

// apply applies one batch that puts the given keys and values.
func apply(t *testing.T, s store.Store, epoch int64, f store.Family, pairs ...string) {
	t.Helper()
	var b store.Batch
	b.Reset(store.Mark{Epoch: epoch, Attempt: 1})
	for i := 0; i < len(pairs); i += 2 {
		b.Put(f, []byte(pairs[i]), []byte(pairs[i+1]))
	}
	if err := s.Apply(b.Bytes()); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, e *Engine, dir string) *Store {
	t.Helper()
	s, err := e.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // twice does nothing
	return s.(*Store)
}

// goldenFile is the file of a store with two entries besides the mark, byte by
// byte. The format is for ever: change the version with it.
const goldenFile = "5457534d454d" + "0001" +
	"01" + "03" + "017631" + "00" + // 01 'v' '1', empty
	"01" + "01" + "61" + "10" + "0000000000000005" + "0000000000000001" + // mark
	"00" + "02" +
	"01" + "03" + "016531" + "02" + "6869" + // 01 'e' '1', "hi"
	"00" + "01" +
	"43b1773b888b49a3"

func TestGoldenFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, New(), dir)
	apply(t, s, 4, store.Ordered, "\x01e1", "hi")
	apply(t, s, 5, store.Point, "\x01v1", "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if hex.EncodeToString(got) != goldenFile {
		t.Errorf("got  %x\nwant %s", got, goldenFile)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v, want the one file", entries, err)
	}
}

// seal appends the checksum, so that what is wrong lies behind it.
func seal(body []byte) []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(body), xxh3.Hash(body))
}

func TestBadFile(t *testing.T) {
	t.Parallel()
	golden, err := hex.DecodeString(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	body := golden[:len(golden)-fileSum]
	head := string(body[:fileHeader])
	tests := map[string]struct {
		data  []byte
		words string
	}{
		"empty":         {nil, "no store file"},
		"magic":         {append([]byte("X"), golden[1:]...), "no store file"},
		"checksum":      {append(bytes.Clone(body), 1, 2, 3, 4, 5, 6, 7, 8), "checksum"},
		"truncated":     {golden[:len(golden)-1], "checksum"},
		"no families":   {seal([]byte(head)), "family 0"},
		"one family":    {seal([]byte(head + "\x00\x00")), "family 1"},
		"entry cut":     {seal([]byte(head + "\x01\x05ab")), "cut short"},
		"entry kind":    {seal([]byte(head + "\x02\x00\x00\x00")), "family 0"},
		"count":         {seal([]byte(head + "\x01\x01k\x00\x00\x02\x00\x00")), "after 2"},
		"order":         {seal([]byte(head + "\x01\x01k\x00\x01\x01j\x00\x00\x02\x00\x00")), "out of order"},
		"duplicate key": {seal([]byte(head + "\x01\x01k\x00\x01\x01k\x00\x00\x02\x00\x00")), "out of order"},
		"more":          {seal(append(bytes.Clone(body), 0)), "after the end"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, fileName)
			if err := os.WriteFile(path, test.data, 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := New().Open(dir)
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("got %v, want an error that matches ErrCorrupt", err)
			}
			for _, word := range []string{path, test.words, "delete the directory"} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q lacks %q", err, word)
				}
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, test.data) {
				t.Errorf("the file was changed: %x, %v", now, err)
			}
		})
	}
}

// B-41: a file of a newer program is refused with both versions and left alone.
func TestNewerFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	data := seal([]byte(fileMagic + "\x00\x02" + "whatever comes"))
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := New().Open(dir)
	if err == nil || errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "file version 2, but this program reads version 1") {
		t.Errorf("got %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
		t.Errorf("the file was changed: %x, %v", now, err)
	}
}

func FuzzDecode(f *testing.F) {
	golden, err := hex.DecodeString(goldenFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden[:len(golden)-fileSum])
	f.Add([]byte(fileMagic + "\x00\x01\x00\x00\x00\x00"))
	f.Add([]byte(fileMagic + "\x00\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := newStore("")
		if s.decode(seal(body)) != nil {
			return
		}
		// What was read is written as it was, but for lengths that were not in
		// their shortest form.
		var first, second bytes.Buffer
		if err := s.encode(&first); err != nil {
			t.Fatal(err)
		}
		again := newStore("")
		if err := again.decode(first.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := again.encode(&second); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("first %x\nsecond %x", first.Bytes(), second.Bytes())
		}
	})
}

// Batches alone keep a store from growing by what has expired.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := open(t, New(), filepath.Join(t.TempDir(), "store"))
	apply(t, s, 1, store.Point, "\x01v-keep", "\x00keep")
	for i := range int64(2000) {
		at := string(binary.BigEndian.AppendUint64([]byte{1}, uint64(i)))
		apply(t, s, 2+2*i, store.Point, fmt.Sprintf("\x01v%05d", i), at)
		apply(t, s, 3+2*i, store.Ordered, fmt.Sprintf("\x01e%05d", i), at)
		s.SetExpiryClock(i - 10)
	}
	for f, tree := range s.trees {
		if tree.Len() > 200 {
			t.Errorf("family %d has %d entries, of which 10 are alive", f, tree.Len())
		}
	}
	if _, ok, err := s.Get(store.Point, []byte("\x01v-keep")); !ok || err != nil {
		t.Errorf("the entry without an expiry: %v, %v", ok, err)
	}
}

// Without live scans a batch copies nothing, with one only what it touches.
func TestDetach(t *testing.T) {
	t.Parallel()
	s := open(t, New(), filepath.Join(t.TempDir(), "store"))
	apply(t, s, 1, store.Ordered, "\x01e1", "1")
	before := s.trees
	it, err := s.Scan([]byte{}, []byte{0xff})
	if err != nil {
		t.Fatal(err)
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	apply(t, s, 2, store.Ordered, "\x01e2", "2")
	if s.trees != before {
		t.Error("the trees were copied without a live scan")
	}
	if it, err = s.Scan([]byte{}, []byte{0xff}); err != nil {
		t.Fatal(err)
	}
	apply(t, s, 3, store.Ordered, "\x01e3", "3")
	if s.trees == before {
		t.Error("a live scan kept its trees from nobody")
	}
	n := 0
	for it.Next() {
		n++
	}
	if n != 2 || it.Err() != nil {
		t.Errorf("the scan saw %d entries, %v, want 2", n, it.Err())
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if n := s.scans.Load(); n != 0 {
		t.Errorf("%d live scans", n)
	}
}

// A write that fails leaves the file as it was.
func TestCloseFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	e := New()
	s := open(t, e, dir)
	apply(t, s, 1, store.Point, "\x01v", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, e, dir)
	apply(t, s, 2, store.Point, "\x01v", "2")
	// A directory where the temporary file should go, which cannot be removed.
	if err := os.MkdirAll(filepath.Join(dir, ".tmp-"+fileName, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("close: %v, want an error that names the store", err)
	}
	s = open(t, e, dir)
	if m, ok, err := s.Applied(); m.Epoch != 1 || !ok || err != nil {
		t.Errorf("the store is at %+v, %v, %v, want epoch 1", m, ok, err)
	}
}
