package engine

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
)

// newTestStore returns an empty store in memory.
func newTestStore(t testing.TB) store.Store {
	t.Helper()
	e := mem.New()
	st, err := e.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// newTestBudget returns a budget that is never exhausted.
func newTestBudget() *budget { return &budget{limit: 1 << 40} }

// openScan is a scan in the middle, with what it still has to yield.
type openScan struct {
	scan *scan
	want []string
}

func (s *openScan) step(t *testing.T) bool {
	t.Helper()
	more := s.scan.next()
	if more != (len(s.want) > 0) {
		t.Fatalf("more = %v, want %q next", more, s.want)
	}
	if !more {
		return false
	}
	if got := fmt.Sprintf("%s=%s", s.scan.key, s.scan.value); got != s.want[0] {
		t.Fatalf("got %s, want %s", got, s.want[0])
	}
	s.want = s.want[1:]
	return true
}

// B-5: whatever is put and deleted, a scan yields what was there when it began,
// and a look-up what is there now. Every epoch the changes go to the store.
func TestOverlayModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			st := newTestStore(t)
			o := newOverlay(st, newTestBudget())
			ordered, points := map[string]string{}, map[string]string{}
			for epoch := range int64(8) {
				o.reset()
				playOverlay(t, r, o, ordered, points)
				var b store.Batch
				b.Reset(store.Mark{Epoch: epoch + 1, Attempt: 1})
				o.writeTo(&b)
				if err := st.Apply(b.Bytes()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// playOverlay makes random changes to the overlay and the models.
func playOverlay(t *testing.T, r *rand.Rand, o *overlay, ordered, points map[string]string) {
	var scans []*openScan
	key := func() string { return fmt.Sprintf("k%02d", r.IntN(40)) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 300 {
		k, v := key(), fmt.Sprintf("%d-%s", n, bytes.Repeat([]byte("v"), r.IntN(20)))
		switch r.IntN(9) {
		case 0, 1:
			must(o.putOrdered([]byte(k), []byte(v)))
			ordered[k] = v
		case 2:
			must(o.deleteOrdered([]byte(k)))
			delete(ordered, k)
		case 3:
			must(o.put([]byte(k), []byte(v)))
			points[k] = v
		case 4:
			must(o.delete([]byte(k)))
			delete(points, k)
		case 5:
			scans = append(scans, beginScan(t, o, ordered, key(), key()))
		case 6, 7:
			if len(scans) == 0 {
				continue
			}
			i := r.IntN(len(scans))
			if !scans[i].step(t) {
				must(scans[i].scan.err())
				must(scans[i].scan.close())
				scans = slices.Delete(scans, i, i+1)
			}
		case 8:
			checkLookUps(t, o, ordered, points, k)
		}
	}
	for _, s := range scans {
		for s.step(t) {
		}
		must(s.scan.close())
		if s.scan.next() {
			t.Fatal("a closed scan goes on")
		}
	}
}

func beginScan(t *testing.T, o *overlay, ordered map[string]string, lower, upper string) *openScan {
	t.Helper()
	if lower > upper {
		lower, upper = upper, lower
	}
	sc, err := o.scan([]byte(lower), []byte(upper))
	if err != nil {
		t.Fatal(err)
	}
	s := &openScan{scan: sc}
	for _, k := range slices.Sorted(maps.Keys(ordered)) {
		if k >= lower && k < upper {
			s.want = append(s.want, k+"="+ordered[k])
		}
	}
	return s
}

func checkLookUps(t *testing.T, o *overlay, ordered, points map[string]string, k string) {
	t.Helper()
	got, ok, err := o.getOrdered([]byte(k))
	if want, there := ordered[k]; err != nil || ok != there || string(got) != want {
		t.Fatalf("ordered %s: %q, %v, %v, want %q, %v", k, got, ok, err, want, there)
	}
	got, del, changed := o.changed([]byte(k))
	if !changed {
		got, ok, err = o.st.Get(store.Point, []byte(k))
	} else {
		ok = !del
	}
	if want, there := points[k]; err != nil || ok != there || string(got) != want {
		t.Fatalf("point %s: %q, %v, %v, want %q, %v", k, got, ok, err, want, there)
	}
}

// Changing one entry again and again takes memory once: the budget must not be
// used up by it.
func TestOverlayBudgetOfRepeatedChanges(t *testing.T) {
	t.Parallel()
	b := &budget{limit: 4 << 10}
	o := newOverlay(newTestStore(t), b)
	key, value := []byte("some key"), bytes.Repeat([]byte("v"), 100)
	for i := range 10_000 {
		change := []func() error{
			func() error { return o.putOrdered(key, value) },
			func() error { return o.put(key, value) },
			func() error { return o.deleteOrdered(key) },
			func() error { return o.delete(key) },
		}[i%4]
		if err := change(); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	if used := b.used.Load(); used <= 0 || used > 1<<10 {
		t.Errorf("%d bytes used", used)
	}
}

// What stays in memory does count.
func TestOverlayBudget(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *overlay, key []byte) error{
		"put ordered":    func(o *overlay, key []byte) error { return o.putOrdered(key, make([]byte, 1000)) },
		"delete ordered": func(o *overlay, key []byte) error { return o.deleteOrdered(key) },
		"put":            func(o *overlay, key []byte) error { return o.put(key, make([]byte, 1000)) },
		"delete":         func(o *overlay, key []byte) error { return o.delete(key) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOverlay(newTestStore(t), &budget{limit: 1 << 20})
			var err error
			n := 0
			for ; err == nil && n < 100_000; n++ {
				err = change(o, fmt.Appendf(nil, "key %d", n))
			}
			if err == nil {
				t.Fatalf("%d changes within 1 MiB", n)
			}
			checkTooLarge(t, err)
		})
	}
}

// A scan over a range that the epoch did not change does not make the writes
// after it copy the tree.
func TestOverlayScanAllocations(t *testing.T) {
	o := newOverlay(newTestStore(t), newTestBudget())
	for i := range 1000 {
		if err := o.putOrdered(fmt.Appendf(nil, "a%04d", i), []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	lower, upper, key := []byte("b"), []byte("c"), []byte("a0500")
	allocs := testing.AllocsPerRun(100, func() {
		sc, err := o.scan(lower, upper)
		if err != nil || sc.next() || sc.close() != nil {
			t.Fatal("the scan found something")
		}
		if err := o.putOrdered(key, []byte("w")); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 6 {
		t.Errorf("%v allocations for an empty scan and a change, want at most 6", allocs)
	}
}

// An iterator that is used after its session was closed has failed; it has not
// come to its end.
func TestClosedScan(t *testing.T) {
	t.Parallel()
	o := newOverlay(newTestStore(t), newTestBudget())
	for _, key := range []string{"a", "b", "c"} {
		if err := o.putOrdered([]byte(key), nil); err != nil {
			t.Fatal(err)
		}
	}
	sc, err := o.scan([]byte("a"), []byte("z"))
	if err != nil || !sc.next() {
		t.Fatal(err)
	}
	if err := sc.close(); err != nil {
		t.Fatal(err)
	}
	if sc.next() || !errors.Is(sc.err(), ErrOutsideCallback) {
		t.Errorf("got %q, %v", sc.key, sc.err())
	}
	if err := sc.close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
