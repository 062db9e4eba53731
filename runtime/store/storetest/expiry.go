package storetest

import (
	"fmt"

	"github.com/tws-go/tws/runtime/store"
)

// clock sets the expiry clock of the store and the model.
func (h *harness) clock(micros int64) {
	h.store.SetExpiryClock(micros)
	h.model.clock = micros
}

// present counts the entries of a family that the store still has.
func (h *harness) present(f store.Family) int {
	h.Helper()
	n := 0
	for key := range h.model.families[f] {
		_, ok, err := h.store.Get(f, []byte(key))
		h.must(err)
		if ok {
			n++
		}
	}
	return n
}

// expiryKinds are keys of the kinds whose values have a header.
func expiryKinds(i int) [3]change {
	return [3]change{
		{family: store.Point, key: fmt.Sprintf("\x01v%05d", i)},
		{family: store.Point, key: fmt.Sprintf("\x01l%05d", i)},
		{family: store.Ordered, key: fmt.Sprintf("\x01e%05d", i)},
	}
}

// testExpiryNeverEarly fills a store with what must not vanish at clock 500,
// including what looks like it had expired.
func testExpiryNeverEarly(h *harness) {
	h.open()
	past := expiring(100, "")
	keep := []change{
		// Kinds without a header.
		put(store.Point, "\x01nkey", past), put(store.Ordered, "\x01rkey", past),
		put(store.Ordered, "\x01tkey", past), put(store.Point, "v", past), put(store.Ordered, "e", past),
		put(store.Point, "", past), put(store.Ordered, "", past),
		// Too short to have an expiry, or flags without that bit.
		put(store.Point, "\x01v1", past[:8]), put(store.Point, "\x01v2", ""), put(store.Point, "\x01v3", "\x01"),
		put(store.Ordered, "\x01e1", "\x00"+past[1:]), put(store.Ordered, "\x01e2", "\x02"+past[1:]),
	}
	for i, at := range []int64{501, 1000, 1 << 62} {
		for _, c := range expiryKinds(i) {
			keep = append(keep, put(c.family, c.key, expiring(at, "body")))
		}
	}
	for _, c := range expiryKinds(99) {
		keep = append(keep, put(c.family, c.key, lasting("body body body")))
	}
	h.apply(keep...)
	h.clock(500)
	exact := h.model.clone()
	exact.clock = 0 // nothing of this may vanish
	for i := range 4 {
		h.apply(put(store.Point, "\x01v-new", lasting(fmt.Sprint(i))))
		exact.apply([]change{put(store.Point, "\x01v-new", lasting(fmt.Sprint(i)))})
		h.must(h.store.Snapshot(h.path(fmt.Sprint("snapshot", i))))
		h.compact()
		h.must(exact.compare(h.store))
		h.reopen()
		h.must(exact.compare(h.store))
		h.clock(500)
	}
	h.restore("snapshot3")
	h.must(exact.compare(h.store))
}

// testExpiryEventually sees expired entries go, and others stay.
func testExpiryEventually(h *harness) {
	h.open()
	const n = 300
	for i := range n {
		var changes []change
		for _, c := range expiryKinds(i) {
			changes = append(changes, put(c.family, c.key, expiring(int64(i), "body")))
		}
		h.apply(changes...)
	}
	h.must(h.store.Snapshot(h.path("before")))
	h.check()
	h.clock(n/2 - 1) // half of them, the last one just so
	h.compact()
	h.check()
	if got := h.present(store.Point); got != 2*n/2 {
		h.Errorf("%d point entries are left, want %d", got, 2*n/2)
	}
	if got := h.present(store.Ordered); got != n/2 {
		h.Errorf("%d ordered entries are left, want %d", got, n/2)
	}
	h.reopen()
	h.check()
	// The older snapshot has them all.
	h.restore("before")
	if got := h.present(store.Ordered); got != n {
		h.Errorf("%d ordered entries are in the older snapshot, want %d", got, n)
	}
}

// testExpiryInSnapshot sees that what may vanish never makes a snapshot or a
// store that is opened again differ otherwise.
func testExpiryInSnapshot(h *harness) {
	h.open()
	for i := range 50 {
		var changes []change
		for _, c := range expiryKinds(i % 10) {
			changes = append(changes, put(c.family, c.key, expiring(int64(i+20), fmt.Sprint(i))))
		}
		h.apply(changes...)
		h.clock(int64(i))
		h.check()
		if i%10 == 9 {
			h.must(h.store.Snapshot(h.path(fmt.Sprint(i))))
			h.restore(fmt.Sprint(i))
			h.check()
			h.clock(int64(i))
		}
	}
}

// testExpiryOfOlderVersions writes entries again with another expiry. An old
// expiry never removes a new entry, and an expired new entry never uncovers an
// older one.
func testExpiryOfOlderVersions(h *harness) {
	h.open()
	versions := []string{expiring(100, "early"), expiring(1000, "late"), lasting("for ever")}
	write := func(shift int) {
		for i := range 3 {
			for j := range 3 {
				v := []int{i, j}[shift]
				for _, c := range expiryKinds(10*i + j) {
					h.apply(put(c.family, c.key, versions[v]))
				}
			}
		}
	}
	write(0)
	h.must(h.store.Snapshot(h.path("first")))
	h.compact()
	write(1)
	h.must(h.store.Snapshot(h.path("second")))
	h.clock(500)
	h.compact()
	h.check()
	for i := range 3 {
		for j := range 3 {
			for _, c := range expiryKinds(10*i + j) {
				_, ok, err := h.store.Get(c.family, []byte(c.key))
				h.must(err)
				if ok != (j != 0) {
					h.Errorf("version %d over version %d: there is %v", j, i, ok)
				}
			}
		}
	}
	// Written again, what vanished stays.
	for i := range 3 {
		for _, c := range expiryKinds(10 * i) {
			h.apply(put(c.family, c.key, expiring(501, "again")))
		}
	}
	exact := h.model.clone()
	exact.clock = 0
	h.compact()
	h.must(exact.compare(h.store))
	h.reopen()
	h.must(exact.compare(h.store))
}
