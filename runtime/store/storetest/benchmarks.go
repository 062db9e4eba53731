package storetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tws-go/tws/runtime/store"
)

// What the benchmarks work on: keys and values of the size of a keyed count.
const (
	benchKeys  = 100_000
	benchBatch = 1000
	benchMulti = 256
	benchScan  = 10
	benchValue = 32
)

// Benchmark measures a store: the time of one key or entry, however many go
// into one call. Reads are measured of what was just written, and of what a
// snapshot has made the store write to files.
func Benchmark(b *testing.B, open func(b *testing.B) store.Engine) {
	for _, bench := range []struct {
		name string
		run  func(b *testing.B, s store.Store)
	}{
		{"Get", benchGet},
		{fmt.Sprint("MultiGet", benchMulti), benchMultiGet},
		{fmt.Sprint("Scan", benchScan), benchScans},
	} {
		for _, from := range []string{"Memory", "Files"} {
			b.Run(bench.name+"/"+from, func(b *testing.B) {
				s := benchStore(b, open, from == "Files")
				bench.run(b, s)
			})
		}
	}
	for _, f := range []store.Family{store.Point, store.Ordered} {
		b.Run(fmt.Sprint("Apply", benchBatch, "/", []string{"Point", "Ordered"}[f]), func(b *testing.B) {
			benchApply(b, benchStore(b, open, false), f)
		})
	}
}

// benchStore opens a store with all keys in both families.
func benchStore(b *testing.B, open func(b *testing.B) store.Engine, files bool) store.Store {
	e := open(b)
	dir := b.TempDir()
	s, err := e.Open(filepath.Join(dir, "store"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, err := range []error{s.Close(), e.Close()} {
			if err != nil {
				b.Error(err)
			}
		}
	})
	order := rand.New(rand.NewPCG(1, 1)).Perm(benchKeys)
	var batch store.Batch
	for n := 0; n < benchKeys; n += benchBatch {
		ids := order[n : n+benchBatch]
		slices.Sort(ids)
		batch.Reset(store.Mark{Epoch: int64(n)})
		for _, f := range []store.Family{store.Point, store.Ordered} {
			fillBatch(&batch, f, ids, n)
		}
		if err := s.Apply(batch.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
	if files {
		if err := s.Snapshot(filepath.Join(dir, "snapshot")); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	return s
}

// benchKey returns a key of 18 bytes.
func benchKey(f store.Family, i int) []byte {
	kind := store.KindValue
	if f == store.Ordered {
		kind = store.KindElement
	}
	return fmt.Appendf(store.AppendPrefix(nil, 1, kind, uint16(i%128), nil), "user-%09d", i)
}

func fillBatch(batch *store.Batch, f store.Family, ids []int, n int) {
	var value [benchValue]byte
	for _, id := range ids {
		binary.BigEndian.PutUint64(value[8:], uint64(id+n))
		batch.Put(f, benchKey(f, id), value[:])
	}
}

// sortedKeys returns n random keys in ascending order.
func sortedKeys(r *rand.Rand, n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = benchKey(store.Point, r.IntN(benchKeys))
	}
	slices.SortFunc(keys, slices.Compare)
	return keys
}

func benchGet(b *testing.B, s store.Store) {
	keys := sortedKeys(rand.New(rand.NewPCG(2, 2)), 10_000)
	rand.New(rand.NewPCG(3, 3)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, ok, err := s.Get(store.Point, keys[i%len(keys)]); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func benchMultiGet(b *testing.B, s store.Store) {
	r := rand.New(rand.NewPCG(4, 4))
	var sets [64][][]byte
	for i := range sets {
		sets[i] = sortedKeys(r, benchMulti)
	}
	found := 0
	count := func(int, []byte) error { found++; return nil }
	b.ReportAllocs()
	b.ResetTimer()
	want := 0
	for i := 0; want < b.N; i++ {
		if err := s.MultiGet(sets[i%len(sets)], count); err != nil {
			b.Fatal(err)
		}
		want += benchMulti
	}
	if found != want {
		b.Fatalf("%d of %d found", found, want)
	}
}

// benchScans reads short ranges, as of a list's elements.
func benchScans(b *testing.B, s store.Store) {
	r := rand.New(rand.NewPCG(5, 5))
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += benchScan {
		lower := benchKey(store.Ordered, r.IntN(benchKeys*9/10))
		it, err := s.Scan(lower, []byte{1, store.KindTimeIndex})
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < benchScan && it.Next(); i++ {
			_ = it.Value()
		}
		if err := it.Err(); err != nil {
			b.Fatal(err)
		}
		if err := it.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchApply(b *testing.B, s store.Store, f store.Family) {
	r := rand.New(rand.NewPCG(6, 6))
	var batches [32]store.Batch
	for i := range batches {
		ids := r.Perm(benchKeys)[:benchBatch]
		slices.Sort(ids)
		batches[i].Reset(store.Mark{Epoch: int64(i)})
		fillBatch(&batches[i], f, ids, i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n, i := 0, 0; n < b.N; n, i = n+benchBatch, i+1 {
		if err := s.Apply(batches[i%len(batches)].Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
