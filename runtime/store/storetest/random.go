package storetest

import (
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/tws-go/tws/runtime/store"
)

// randomChanges returns up to n changes of keys from a small set, some with an
// expiry, so that keys meet again.
func randomChanges(r *rand.Rand, n int) []change {
	changes := make([]change, r.IntN(n+1))
	for i := range changes {
		f, kinds := store.Point, "vvln"
		if r.IntN(2) == 0 {
			f, kinds = store.Ordered, "eert"
		}
		key := fmt.Sprintf("%c%c%03d", 1+r.IntN(2), kinds[r.IntN(4)], r.IntN(150))
		switch r.IntN(4) {
		case 0:
			changes[i] = del(f, key)
		case 1:
			changes[i] = put(f, key, expiring(int64(r.IntN(2000)), fmt.Sprint(r.Uint32())))
		default:
			changes[i] = put(f, key, lasting(string(make([]byte, r.IntN(100)))+fmt.Sprint(r.Uint32())))
		}
	}
	return changes
}

// B-33: random histories with snapshots and returns to them, compared with the
// model after each step.
func testRandom(h *harness) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 42))
		h.dir, h.model = h.path(fmt.Sprint("random", seed)), newModel()
		h.open()
		snapshots := map[string]*model{}
		for step := range 100 {
			h.randomStep(r, snapshots, fmt.Sprintf("snapshot%d-%d", seed, step))
			if err := h.model.compare(h.store); err != nil {
				h.Fatalf("seed %d step %d: %v", seed, step, err)
			}
		}
		for name, m := range snapshots { // all of them are still whole
			h.restore(name)
			h.must(m.compare(h.store))
		}
		h.close()
	}
}

// randomStep does one thing to the store and the model.
func (h *harness) randomStep(r *rand.Rand, snapshots map[string]*model, name string) {
	h.Helper()
	switch n := r.IntN(100); {
	case n < 60:
		h.apply(randomChanges(r, 100)...)
	case n < 70:
		lower := fmt.Sprintf("%c%c%03d", 1+r.IntN(2), "ert"[r.IntN(3)], r.IntN(150))
		upper := fmt.Sprintf("%c%c%03d", 1+r.IntN(2), "ert"[r.IntN(3)], r.IntN(150))
		h.must(h.model.compareScan(h.store, lower, upper))
	case n < 78:
		h.clock(max(h.model.clock, int64(r.IntN(1500))))
	case n < 83:
		h.compact()
	case n < 90:
		h.reopen()
	case n < 96 || len(snapshots) == 0:
		h.must(h.store.Snapshot(h.path(name)))
		snapshots[name] = h.model.clone()
	default:
		for old, m := range snapshots { // any of them
			h.restore(old)
			h.model = m.clone()
			break
		}
		if r.IntN(2) == 0 { // drop the oldest link to shared files
			for old := range snapshots {
				h.must(os.RemoveAll(h.path(old)))
				delete(snapshots, old)
				break
			}
		}
	}
}
