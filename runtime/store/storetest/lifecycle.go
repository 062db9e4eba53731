package storetest

import (
	"errors"
	"fmt"

	"github.com/tws-go/tws/runtime/store"
)

// B-89: a closed store says so and does nothing else.
func testClosed(h *harness) {
	h.open()
	h.apply(put(store.Point, "1v", "x"), put(store.Ordered, "1e", "x"))
	s := h.store
	h.close()
	h.must(s.Close())
	batch := h.model.clone().apply(nil)
	_, _, appliedErr := s.Applied()
	_, _, getErr := s.Get(store.Point, []byte("1v"))
	_, scanErr := s.Scan([]byte("a"), []byte("b"))
	for name, err := range map[string]error{
		"Applied":  appliedErr,
		"Get":      getErr,
		"MultiGet": s.MultiGet([][]byte{[]byte("1v")}, func(int, []byte) error { return nil }),
		"Scan":     scanErr,
		"Apply":    s.Apply(batch),
		"Snapshot": s.Snapshot(h.path("snapshot")),
	} {
		if !errors.Is(err, store.ErrClosed) {
			h.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	s.SetExpiryClock(1)
	h.open()
	h.must(s.Close()) // does nothing to the store that is open now
	h.check()
}

// B-89: scans that were left open, half-way or not begun, end with an error
// when the store is closed, and nothing crashes.
func testCloseWithLiveScans(h *harness) {
	h.open()
	for i := range 100 {
		h.apply(put(store.Ordered, fmt.Sprintf("1e%02d", i), "x"))
	}
	var scans []store.Iterator
	for i := range 5 {
		it, err := h.store.Scan([]byte("1e"), []byte("1f"))
		h.must(err)
		for range 10 * i {
			if !it.Next() {
				h.Fatal(it.Err())
			}
		}
		scans = append(scans, it)
	}
	h.must(scans[4].Close())
	func() {
		// A panic in the loop leaves an iterator behind as well.
		defer func() {
			if recover() == nil {
				h.Error("the loop did not panic")
			}
		}()
		it, err := h.store.Scan([]byte("1e"), []byte("1f"))
		h.must(err)
		for it.Next() {
			panic("in the loop")
		}
	}()
	h.close()
	for i, it := range scans[:4] {
		if it.Next() {
			h.Errorf("scan %d goes on after the store was closed", i)
		}
		if !errors.Is(it.Err(), store.ErrClosed) {
			h.Errorf("scan %d ended with %v, want ErrClosed", i, it.Err())
		}
		h.must(it.Close())
		h.must(it.Close())
	}
	h.open()
	h.check()
}

func testEngineClose(h *harness) {
	if name := h.engine.Name(); name != "rocks" && name != "mem" {
		h.Errorf("the engine's name is %q", name)
	}
	h.open()
	if err := h.engine.Close(); err == nil {
		h.Error("the engine closed although a store is open")
	}
	h.apply(put(store.Point, "1v", "x"))
	h.must(h.store.Snapshot(h.path("snapshot")))
	h.check()
	h.close()
	h.must(h.engine.Close())
	h.must(h.engine.Close())
	if _, err := h.engine.Open(h.dir); !errors.Is(err, store.ErrClosed) {
		h.Errorf("open after the engine was closed: %v, want ErrClosed", err)
	}
	if err := h.engine.Restore(h.path("snapshot"), h.path("new")); !errors.Is(err, store.ErrClosed) {
		h.Errorf("restore after the engine was closed: %v, want ErrClosed", err)
	}
}
