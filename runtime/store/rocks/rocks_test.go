//go:build cgo && grocksdb_no_link

package rocks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/linxGnu/grocksdb"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/storetest"
)

func TestSuite(t *testing.T) { storetest.Run(t, newEngine) }

// newEngine returns an engine with little memory, so that tests flush.
func newEngine(t *testing.T) store.Engine {
	t.Helper()
	e, err := New(Config{MemoryBytes: minMemory})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// open opens a store in dir, and closes it and its engine at the end.
func open(t *testing.T, dir string) *Store {
	t.Helper()
	e := newEngine(t)
	s, err := e.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	return s.(*Store)
}

// apply applies one batch that fill fills.
func apply(t *testing.T, s store.Store, epoch int64, fill func(b *store.Batch)) {
	t.Helper()
	var b store.Batch
	b.Reset(store.Mark{Epoch: epoch, Attempt: 1})
	fill(&b)
	if err := s.Apply(b.Bytes()); err != nil {
		t.Fatal(err)
	}
}

// files returns all files in dir with their content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

// closed makes a closed store with n entries in each family and returns its
// directory.
func closed(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir)
	apply(t, s, 7, func(b *store.Batch) {
		for i := range n {
			b.Put(store.Point, fmt.Appendf(nil, "\x01v%08d", i), fmt.Appendf(nil, "\x00%d-%d", i, uint32(i)*2654435761))
			b.Put(store.Ordered, fmt.Appendf(nil, "\x01e%08d", i), fmt.Appendf(nil, "\x00%d-%d", i, uint32(i)*2654435761))
		}
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// B-91: the tombstones of other keys cost a scan nothing.
func TestTombstonesOfOthers(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "store"))
	const n = 50_000
	key := func(i int) []byte { return fmt.Appendf(nil, "\x01e%08d", i) }
	apply(t, s, 1, func(b *store.Batch) {
		for i := range n {
			b.Put(store.Ordered, key(i), nil)
		}
	})
	apply(t, s, 2, func(b *store.Batch) {
		for i := range n {
			if i != n/2 {
				b.Delete(store.Ordered, key(i))
			}
		}
	})
	// The counters are the thread's.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	grocksdb.SetPerfLevel(grocksdb.KEnableCount)
	defer grocksdb.SetPerfLevel(grocksdb.KDisable)
	perf := grocksdb.NewPerfContext()
	defer perf.Destroy()
	const deletesSkipped = 11 // rocksdb_internal_delete_skipped_count
	scan := func(lower, upper []byte) (entries int) {
		it, err := s.Scan(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		for it.Next() {
			entries++
		}
		if err := errors.Join(it.Err(), it.Close()); err != nil {
			t.Fatal(err)
		}
		return entries
	}
	perf.Reset()
	if got := scan(key(n/2), key(n/2+1)); got != 1 {
		t.Errorf("%d entries, want 1", got)
	}
	if got := scan(key(n/4), key(n/4+1)); got != 0 {
		t.Errorf("%d entries, want 0", got)
	}
	if got := perf.Metric(deletesSkipped); got > 4 {
		t.Errorf("two scans of one key went over %d deleted entries", got)
	}
	perf.Reset()
	scan(key(0), key(n))
	if got := perf.Metric(deletesSkipped); got < n-1 {
		t.Errorf("a scan of everything went over %d deleted entries, want %d: the test does not measure what it should", got, n-1)
	}
}

// B-89: no scan outlives its store, and what is closed is used again.
func TestLiveScans(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "store"))
	apply(t, s, 1, func(b *store.Batch) { b.Put(store.Ordered, []byte("k"), nil) })
	for range 100 {
		it, err := s.Scan([]byte("a"), []byte("z"))
		if err != nil {
			t.Fatal(err)
		}
		if !it.Next() {
			t.Fatal(it.Err())
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.MultiGet([][]byte{[]byte("a")}, func(int, []byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.live) != 0 || len(s.idleScans) != 1 || len(s.idleMultis) != 1 {
		t.Errorf("%d live and %d idle scans, %d look-ups, want 0, 1 and 1", len(s.live), len(s.idleScans), len(s.idleMultis))
	}
	for range 3 {
		if _, err := s.Scan([]byte("a"), []byte("z")); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.live) != 3 {
		t.Errorf("%d live scans, want 3", len(s.live))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(s.live) != 0 || len(s.idleScans) != 0 || len(s.idleMultis) != 0 {
		t.Errorf("after Close %d live and %d idle scans, %d look-ups", len(s.live), len(s.idleScans), len(s.idleMultis))
	}
}

// A callback that looks up other keys, or closes the store, does no harm.
func TestMultiGetWithin(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "store"))
	apply(t, s, 1, func(b *store.Batch) {
		b.Put(store.Point, []byte("1v"), []byte("one"))
		b.Put(store.Point, []byte("2v"), []byte("two"))
	})
	one, two := [][]byte{[]byte("1v")}, [][]byte{[]byte("2v")}
	var got []string
	err := s.MultiGet(one, func(_ int, outer []byte) error {
		return s.MultiGet(two, func(_ int, inner []byte) error {
			got = append(got, string(outer), string(inner))
			return nil
		})
	})
	if err != nil || strings.Join(got, " ") != "one two" {
		t.Errorf("got %q, %v", got, err)
	}
	many := make([][]byte, 2*multiKeys)
	for i := range many {
		many[i] = one[0]
	}
	if err := s.MultiGet(many, func(int, []byte) error { return s.Close() }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed within: %v, want ErrClosed", err)
	}
}

// Compactions that RocksDB starts by itself drop what has expired too.
func TestExpiryByItself(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "store"))
	expired := string(binary.BigEndian.AppendUint64([]byte{1}, 100)) + strings.Repeat("x", 1000)
	s.SetExpiryClock(100)
	present := func() (n int) {
		for i := range 100 {
			_, ok, err := s.Get(store.Point, fmt.Appendf(nil, "\x01v%03d", i))
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				n++
			}
		}
		return n
	}
	apply(t, s, 1, func(b *store.Batch) {
		for i := range 100 {
			b.Put(store.Point, fmt.Appendf(nil, "\x01v%03d", i), []byte(expired))
		}
	})
	if got := present(); got != 100 {
		t.Fatalf("%d of 100 entries are there at first", got)
	}
	// Four files of overlapping keys make RocksDB compact; each round writes one.
	for epoch := int64(2); present() > 0; epoch++ {
		if epoch == 500 {
			t.Fatalf("%d expired entries are left after %d flushes", present(), epoch)
		}
		apply(t, s, epoch, func(b *store.Batch) {
			b.Put(store.Point, []byte("\x01v"), nil)
			b.Put(store.Point, []byte("\x01w"), nil)
		})
		if err := s.db.FlushCFs(s.families, s.flush); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckLinked(t *testing.T) {
	t.Parallel()
	if got := linkedVersion(); checkLinked(got) != nil {
		t.Errorf("this test runs with RocksDB %q", got)
	}
	for _, version := range []string{"", "7.8.3", "11.10.1", "11.2.0", "12.1.1"} {
		err := checkLinked(version)
		if err == nil || !strings.Contains(err.Error(), wantVersion) || !strings.Contains(err.Error(), fmt.Sprintf("%q", version)) {
			t.Errorf("version %q: %v, want an error with both versions", version, err)
		}
	}
}

// The field that the native objects are taken from is there in this grocksdb.
func TestPointer(t *testing.T) {
	t.Parallel()
	for _, bad := range []any{&struct{}{}, &struct{ c int }{}, &struct{ c *int }{}} {
		if p, err := pointer(bad); err == nil || !strings.Contains(err.Error(), "not supported") {
			t.Errorf("%T: %v, %v", bad, p, err)
		}
	}
}

// Both families are what layout and batches say.
func TestOptions(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "store"))
	last, text := "", ""
	for name, data := range files(t, s.dir) {
		if strings.HasPrefix(name, "OPTIONS-") && name > last {
			last, text = name, data
		}
	}
	for _, want := range []string{
		"atomic_flush=true", "format_version=6", "checksum=kXXH3", "filter_policy=bloomfilter",
		"data_block_index_type=kDataBlockBinaryAndHash", "cache_index_and_filter_blocks=true",
		"prefix_extractor=rocksdb.Noop", "compaction_filter=", `[CFOptions "ordered"]`, "compression=kLZ4Compression",
		"memtable_factory={", "HashLinkListRepFactory", "SkipListFactory",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the options lack %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
