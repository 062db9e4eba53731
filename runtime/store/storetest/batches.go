package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tws-go/tws/runtime/store"
)

func testEmpty(h *harness) {
	h.open()
	h.check()
	if value, ok, err := h.store.Get(store.Point, []byte("nothing")); value != nil || ok || err != nil {
		h.Errorf("get: %q, %v, %v", value, ok, err)
	}
	h.reopen()
	h.check()
}

func testBatch(h *harness) {
	h.open()
	h.apply(
		put(store.Point, "1v-a", "A"), put(store.Ordered, "1e-a", "a"),
		put(store.Point, "1v-b", "B"), put(store.Ordered, "1e-b", "b"),
	)
	h.check()
	h.apply(
		put(store.Point, "1v-a", "A2"), del(store.Point, "1v-b"),
		put(store.Ordered, "1e-a", "a2"), del(store.Ordered, "1e-b"),
		del(store.Point, "1v-never"), del(store.Ordered, "1e-never"),
	)
	h.check()
	h.apply() // an epoch without changes moves the mark
	h.check()
	// The families are apart: one key can be in both.
	h.apply(put(store.Point, "same", "point"), put(store.Ordered, "same", "ordered"))
	h.check()
	h.apply(del(store.Point, "same"))
	h.check()
	h.reopen()
	h.check()
}

func testLastRecordWins(h *harness) {
	h.open()
	for _, f := range []store.Family{store.Point, store.Ordered} {
		h.apply(put(f, "k", "1"), put(f, "k", "2"), del(f, "k"), put(f, "k", "3"), put(f, "l", "1"), del(f, "l"))
		h.check()
	}
}

// A batch that is damaged anywhere changes nothing, not even its mark.
func testBadBatch(h *harness) {
	h.open()
	h.apply(put(store.Point, "1v-a", "A"), put(store.Ordered, "1e-a", "a"))
	m := h.model.clone()
	good := m.apply([]change{put(store.Point, "1v-a", "changed"), put(store.Ordered, "1e-a", "changed"), del(store.Point, "1v-a")})
	bad := map[string][]byte{"nothing": nil, "header only": good[:12]}
	for n := range good {
		bad[fmt.Sprintf("cut to %d", n)] = good[:n]
	}
	bad["trailing byte"] = append(append([]byte{}, good...), 0)
	for name, at := range map[string]int{"count": 8, "mark's type": 12, "mark's length": 13, "mark's key": 14, "last type": len(good) - 6} {
		flipped := append([]byte{}, good...)
		flipped[at] ^= 0x40
		bad["flipped "+name] = flipped
	}
	for name, data := range bad {
		if err := h.store.Apply(data); !errors.Is(err, store.ErrCorrupt) {
			h.Errorf("%s: apply returned %v, want an error that matches ErrCorrupt", name, err)
		}
		if err := h.model.compare(h.store); err != nil {
			h.Fatalf("%s: the store changed: %v", name, err)
		}
	}
	h.must(h.store.Apply(good))
	h.must(m.compare(h.store))
}

// B-89: values that are empty are there, and stay there.
func testEmptyValues(h *harness) {
	h.open()
	h.apply(put(store.Point, "p", ""), put(store.Ordered, "o", ""), put(store.Ordered, "", "empty key"))
	h.check()
	for _, f := range []store.Family{store.Point, store.Ordered} {
		key := map[store.Family]string{store.Point: "p", store.Ordered: "o"}[f]
		if value, ok, err := h.store.Get(f, []byte(key)); len(value) != 0 || !ok || err != nil {
			h.Errorf("family %d: got %q, %v, %v, want an empty value", f, value, ok, err)
		}
	}
	h.reopen()
	h.check()
}

// C style strings, long keys and large values must not hurt.
func testAwkwardKeys(h *harness) {
	h.open()
	long := strings.Repeat("k", 70_000)
	large := strings.Repeat("value", 300_000)
	var changes []change
	for _, f := range []store.Family{store.Point, store.Ordered} {
		changes = append(changes,
			put(f, "\x00", "\x00"), put(f, "b\x00b", "nul"), put(f, "b", "b"), put(f, "b\x00", "b nul"),
			put(f, "\xff\xff", "high"), put(f, long, "long key"), put(f, long+"\x00", "longer key"), put(f, "large", large))
	}
	h.apply(changes...)
	h.check()
	h.reopen()
	h.check()
}

func testMultiGet(h *harness) {
	h.open()
	var changes []change
	for i := range 500 {
		changes = append(changes, put(store.Point, fmt.Sprintf("1v%03d", 2*i), fmt.Sprint(i)))
	}
	h.apply(changes...)
	// Every key twice, the missing ones between them too.
	var keys [][]byte
	for i := range 1002 {
		key := []byte(fmt.Sprintf("1v%03d", i))
		if len(key) > 5 {
			break // four digits do not sort after three
		}
		keys = append(keys, key, key)
	}
	next := 0
	h.must(h.store.MultiGet(keys, func(i int, value []byte) error {
		if i != next || string(value) != fmt.Sprint(i/4) {
			return fmt.Errorf("found index %d with %q, want index %d", i, value, next)
		}
		if next++; i%2 == 1 {
			next = i + 3 // over the missing pair
		}
		return nil
	}))
	if next != len(keys) {
		h.Errorf("ended before index %d of %d", next, len(keys))
	}
	h.must(h.store.MultiGet(nil, func(int, []byte) error { return errors.New("found something") }))
}

func testMultiGetStops(h *harness) {
	h.open()
	h.apply(put(store.Point, "1v", ""), put(store.Point, "2v", ""))
	stop := errors.New("stop")
	calls := 0
	err := h.store.MultiGet([][]byte{[]byte("1v"), []byte("2v")}, func(int, []byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		h.Errorf("%d calls, %v, want one call and its error", calls, err)
	}
}

// B-88: bytes that were handed out are the caller's: writing into them changes
// nothing, and what Get returned stays as it is.
func testCopies(h *harness) {
	h.open()
	h.apply(put(store.Point, "pv", "value"), put(store.Ordered, "oe", "value"), put(store.Ordered, "of", "other"))
	scribble := func(b []byte) {
		for i := range b {
			b[i] = 'X'
		}
		_ = append(b, "beyond the end"...)
	}
	kept, _, err := h.store.Get(store.Point, []byte("pv"))
	h.must(err)
	again, _, err := h.store.Get(store.Point, []byte("pv"))
	h.must(err)
	scribble(again)
	h.must(h.store.MultiGet([][]byte{[]byte("pv")}, func(_ int, value []byte) error { scribble(value); return nil }))
	it, err := h.store.Scan([]byte(""), []byte("z"))
	h.must(err)
	for it.Next() {
		scribble(it.Value())
		scribble(it.Key())
	}
	h.must(errors.Join(it.Err(), it.Close()))
	h.check()
	data := h.model.apply([]change{put(store.Point, "pv", "changed")})
	h.must(h.store.Apply(data))
	scribble(data) // the batch's bytes are the caller's too
	h.check()
	h.close()
	if string(kept) != "value" {
		h.Errorf("a value kept from Get became %q", kept)
	}
}
