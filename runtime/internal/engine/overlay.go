package engine

import (
	"bytes"

	"github.com/tidwall/btree"
	"github.com/tws-go/tws/runtime/store"
)

// overlay holds the changes of one epoch to one state partition, in front of the
// store, which stays as the last epoch left it until this one is decided. Reads
// see the overlay first.
//
// The ordered family is a copy-on-write tree: an iterator works on the tree as
// it was when the iterator began, and a later write copies only the path it
// touches. An iterator over what the epoch has not changed takes no copy.
type overlay struct {
	st     store.Store
	budget *budget

	points  keyIndex
	changes []change // by key number
	values  []byte   // arena of the point values

	ordered *btree.BTreeG[orderedEntry]
}

// change is the newest change to a point key.
type change struct {
	off, n int
	room   int // at off; a later value that fits takes the place of this one
	del    bool
}

type orderedEntry struct {
	key, value []byte
	del        bool
}

func newOverlay(st store.Store, b *budget) *overlay {
	o := &overlay{st: st, budget: b}
	o.reset()
	return o
}

func (o *overlay) reset() {
	o.points.reset()
	o.changes = o.changes[:0]
	o.values = o.values[:0]
	o.ordered = btree.NewBTreeGOptions(
		func(a, b orderedEntry) bool { return bytes.Compare(a.key, b.key) < 0 },
		btree.Options{NoLocks: true},
	)
}

func (o *overlay) empty() bool { return o.points.len() == 0 && o.ordered.Len() == 0 }

// changed returns the overlay's own word on a point key.
func (o *overlay) changed(key []byte) (value []byte, del, ok bool) {
	i := o.points.find(key)
	if i < 0 {
		return nil, false, false
	}
	c := o.changes[i]
	if c.del {
		return nil, true, true
	}
	return o.values[c.off : c.off+c.n : c.off+c.n], c.del, true
}

func (o *overlay) put(key, value []byte) error {
	return o.change(key, value, false)
}

func (o *overlay) delete(key []byte) error {
	return o.change(key, nil, true)
}

func (o *overlay) change(key, value []byte, del bool) error {
	i, added := o.points.add(key)
	size := len(value)
	if added {
		o.changes = append(o.changes, change{})
		size += len(key) + keyOverhead
	}
	c := &o.changes[i]
	c.del, c.n = del, len(value)
	if len(value) <= c.room {
		copy(o.values[c.off:], value)
		size -= len(value)
	} else {
		c.off, c.room = len(o.values), len(value)
		o.values = append(o.values, value...)
	}
	return o.budget.take(size)
}

const orderedOverhead = 96

// putOrdered copies key and value.
func (o *overlay) putOrdered(key, value []byte) error {
	both := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	return o.setOrdered(orderedEntry{key: both[:len(key):len(key)], value: both[len(key):]})
}

func (o *overlay) deleteOrdered(key []byte) error {
	return o.setOrdered(orderedEntry{key: bytes.Clone(key), del: true})
}

func (o *overlay) setOrdered(e orderedEntry) error {
	before, replaced := o.ordered.Set(e)
	if replaced {
		return o.budget.take(len(e.value) - len(before.value))
	}
	return o.budget.take(len(e.key) + len(e.value) + orderedOverhead)
}

// getOrdered looks up a key of the ordered family. The value must not be changed.
func (o *overlay) getOrdered(key []byte) (value []byte, ok bool, err error) {
	if e, found := o.ordered.Get(orderedEntry{key: key}); found {
		return e.value, !e.del, nil
	}
	return o.st.Get(store.Ordered, key)
}

// writeTo adds all changes to a batch: points in the order they were first
// changed, then the ordered family in key order.
func (o *overlay) writeTo(b *store.Batch) {
	for i, c := range o.changes {
		if c.del {
			b.Delete(store.Point, o.points.key(i))
		} else {
			b.Put(store.Point, o.points.key(i), o.values[c.off:c.off+c.n])
		}
	}
	o.ordered.Scan(func(e orderedEntry) bool {
		if e.del {
			b.Delete(store.Ordered, e.key)
		} else {
			b.Put(store.Ordered, e.key, e.value)
		}
		return true
	})
}

// scan iterates over the ordered family in [lower, upper) as it is now: changes
// made while the scan is open are not seen. The scan must be closed.
func (o *overlay) scan(lower, upper []byte) (*scan, error) {
	it, err := o.st.Scan(lower, upper)
	if err != nil {
		return nil, err
	}
	s := &scan{stored: it, upper: bytes.Clone(upper)}
	if o.changedWithin(lower, upper) {
		changes := o.ordered.Copy().Iter()
		s.changes = &changes
		s.haveChange = s.changes.Seek(orderedEntry{key: lower})
	}
	s.haveStored = it.Next()
	return s, nil
}

// changedWithin reports whether the epoch changed something in [lower, upper) of
// the ordered family.
func (o *overlay) changedWithin(lower, upper []byte) (changed bool) {
	o.ordered.Ascend(orderedEntry{key: lower}, func(e orderedEntry) bool {
		changed = bytes.Compare(e.key, upper) < 0
		return false
	})
	return changed
}

// scan merges the store's iterator with the overlay's.
type scan struct {
	stored     store.Iterator
	changes    *btree.IterG[orderedEntry]
	haveStored bool
	haveChange bool
	closed     bool
	upper      []byte

	// passStored and passChange say what the current entry came from. The scan
	// moves past it only when it goes on: the store's key is valid until then.
	passStored, passChange bool
	key, value             []byte
}

// next moves to the next entry. key and value are valid until it is called again.
func (s *scan) next() bool {
	for {
		s.pass()
		change, ok := s.change()
		if !ok {
			return s.takeStored()
		}
		c := 1
		if s.haveStored {
			c = bytes.Compare(s.stored.Key(), change.key)
		}
		if c < 0 {
			return s.takeStored()
		}
		s.passStored, s.passChange = c == 0, true
		s.key, s.value = change.key, change.value
		if !change.del {
			return true
		}
	}
}

func (s *scan) takeStored() bool {
	if !s.haveStored {
		return false
	}
	s.passStored = true
	s.key, s.value = s.stored.Key(), s.stored.Value()
	return true
}

func (s *scan) pass() {
	if s.passStored {
		s.haveStored = s.stored.Next()
	}
	if s.passChange {
		s.haveChange = s.changes.Next()
	}
	s.passStored, s.passChange = false, false
}

func (s *scan) change() (orderedEntry, bool) {
	if !s.haveChange {
		return orderedEntry{}, false
	}
	e := s.changes.Item()
	if bytes.Compare(e.key, s.upper) >= 0 {
		s.haveChange = false
		return orderedEntry{}, false
	}
	return e, true
}

// err returns what ended the scan early. Going on after the session has closed it
// is the use of state outside a callback.
func (s *scan) err() error {
	if s.closed {
		return ErrOutsideCallback
	}
	return s.stored.Err()
}

func (s *scan) close() error {
	if s.changes != nil {
		s.changes.Release()
		s.changes = nil
	}
	s.haveStored, s.haveChange, s.passStored, s.passChange, s.closed = false, false, false, false, true
	return s.stored.Close()
}
