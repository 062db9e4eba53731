package storetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/tws-go/tws/runtime/store"
)

func testScan(h *harness) {
	h.open()
	// Several epochs, so that a store may have them in several places.
	for epoch := range 5 {
		var changes []change
		for i := epoch; i < 200; i += 5 {
			changes = append(changes, put(store.Ordered, fmt.Sprintf("1e%03d", i), fmt.Sprint(i)))
		}
		changes = append(changes, del(store.Ordered, fmt.Sprintf("1e%03d", 7*epoch)), put(store.Ordered, "1e100", fmt.Sprint("epoch ", epoch)))
		h.apply(changes...)
		if epoch == 2 {
			h.must(h.store.Snapshot(h.path("between")))
		}
	}
	h.check()
	for _, b := range [][2]string{{"1e000", "1e001"}, {"1e0", "1e1"}, {"1e050", "1e050"}, {"1e09", "1e11"}, {"1e199", "1f"}, {"1f", "2"}, {"0", "1"}} {
		h.must(h.model.compareScan(h.store, b[0], b[1]))
	}
}

func testScanBounds(h *harness) {
	h.open()
	h.apply(put(store.Ordered, "a", "1"), put(store.Ordered, "b", "2"))
	for _, b := range [][2][]byte{{nil, []byte("z")}, {[]byte("a"), nil}, {nil, nil}} {
		if it, err := h.store.Scan(b[0], b[1]); err == nil {
			h.Errorf("scan from %q to %q has no error, but both bounds are required", b[0], b[1])
			h.must(it.Close())
		}
	}
	// The bounds are the caller's to reuse.
	lower, upper := []byte("a"), []byte("z")
	it, err := h.store.Scan(lower, upper)
	h.must(err)
	lower[0], upper[0] = 'x', 'a'
	h.must(h.model.compareIterator(it, "a", "z"))
	for range 3 {
		if it.Next() {
			h.Error("an iterator went on after its end")
		}
	}
	h.must(it.Close())
	h.must(it.Close())
	if it.Next() {
		h.Error("an iterator went on after Close")
	}
	// Bounds that are crossed or empty give nothing.
	h.must(h.model.compareScan(h.store, "z", "a"))
	h.must(h.model.compareScan(h.store, "", ""))
}

// B-23: instants scan in the order of time, negative ones first.
func testScanNumericOrder(h *harness) {
	h.open()
	instants := []int64{math.MinInt64, -256, -1, 0, 1, 9, 30, 100, 255, 256, math.MaxInt64}
	var changes []change
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(instants)) {
		key := store.AppendTimeIndex(nil, 1, 7, instants[i], []byte("key"), 3)
		changes = append(changes, put(store.Ordered, string(key), ""))
	}
	h.apply(changes...)
	prefix := store.AppendPrefix(nil, 1, store.KindTimeIndex, 7, nil)
	it, err := h.store.Scan(prefix, store.PrefixEnd(nil, prefix))
	h.must(err)
	defer it.Close()
	for _, want := range instants {
		if !it.Next() {
			h.Fatalf("ended before %d: %v", want, it.Err())
		}
		if got := int64(binary.BigEndian.Uint64(it.Key()[4:]) ^ 1<<63); got != want {
			h.Errorf("got %d, want %d", got, want)
		}
	}
	if it.Next() || it.Err() != nil {
		h.Errorf("more than was put, or %v", it.Err())
	}
}

// B-5: a scan walks the store as it was when the scan began, whatever is
// applied, snapshotted or compacted meanwhile.
func testScanSeesItsBeginning(h *harness) {
	h.open()
	type scan struct {
		it   store.Iterator
		then *model
	}
	var scans []scan
	for epoch := range 6 {
		var changes []change
		for i := range 300 {
			key := fmt.Sprintf("1e%03d", i)
			switch (i + epoch) % 3 {
			case 0:
				changes = append(changes, put(store.Ordered, key, fmt.Sprint(epoch)))
			case 1:
				changes = append(changes, del(store.Ordered, key))
			}
		}
		h.apply(changes...)
		it, err := h.store.Scan([]byte("1e"), []byte("1f"))
		h.must(err)
		for range 10 * epoch { // some have begun to walk
			if !it.Next() {
				h.Fatal(it.Err())
			}
		}
		first := fmt.Sprintf("%s\x00", it.Key())
		if epoch == 0 {
			first = "1e"
		}
		then := h.model.clone()
		for key := range then.families[1] {
			if key < first {
				delete(then.families[1], key)
			}
		}
		scans = append(scans, scan{it, then})
		if epoch == 3 {
			h.must(h.store.Snapshot(h.path("meanwhile")))
			h.compact()
		}
	}
	for i := len(scans) - 1; i >= 0; i-- {
		h.must(scans[i].then.compareIterator(scans[i].it, "1e", "1f"))
		h.must(scans[i].it.Close())
	}
	h.check()
}

// Scans of several goroutines do not disturb each other.
func testScanConcurrent(h *harness) {
	h.open()
	var changes []change
	for i := range 500 {
		changes = append(changes, put(store.Ordered, fmt.Sprintf("1e%03d", i), fmt.Sprint(i)))
	}
	h.apply(changes...)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 20 {
				if err := h.model.compareScan(h.store, fmt.Sprintf("1e%03d", 20*i), "1f"); err != nil {
					h.Error(err)
				}
			}
		})
	}
	wait.Wait()
}
