package mem

import (
	"errors"

	"github.com/tidwall/btree"
	"github.com/tws-go/tws/runtime/store"
)

// iterator is one scan. It implements [store.Iterator].
type iterator struct {
	s          *Store
	at         btree.MapIter[string, string]
	lower      string
	upper      string
	begun      bool
	closed     bool
	valid      bool
	err        error
	key, value []byte
}

// Scan implements [store.Store].
func (s *Store) Scan(lower, upper []byte) (store.Iterator, error) {
	if s.closed.Load() {
		return nil, store.ErrClosed
	}
	if lower == nil || upper == nil {
		return nil, errors.New("mem: scan: both bounds are required")
	}
	s.scans.Add(1)
	return &iterator{s: s, at: s.trees[store.Ordered].Iter(), lower: string(lower), upper: string(upper)}, nil
}

// Next implements [store.Iterator].
func (it *iterator) Next() bool {
	it.valid = it.step()
	return it.valid
}

func (it *iterator) step() bool {
	switch {
	case it.closed || it.err != nil || it.begun && !it.valid:
		return false
	case it.s.closed.Load():
		it.err = store.ErrClosed
		return false
	}
	ok := false
	if it.begun {
		ok = it.at.Next()
	} else {
		it.begun = true
		ok = it.at.Seek(it.lower)
	}
	if !ok || it.at.Key() >= it.upper {
		return false
	}
	// Copies, so that a caller who writes into them does no harm.
	it.key = append(it.key[:0], it.at.Key()...)
	it.value = append(it.value[:0], it.at.Value()...)
	return true
}

// Key implements [store.Iterator].
func (it *iterator) Key() []byte { return it.key[:len(it.key):len(it.key)] }

// Value implements [store.Iterator].
func (it *iterator) Value() []byte { return it.value[:len(it.value):len(it.value)] }

// Err implements [store.Iterator].
func (it *iterator) Err() error { return it.err }

// Close implements [store.Iterator].
func (it *iterator) Close() error {
	if !it.closed {
		it.closed = true
		it.at = btree.MapIter[string, string]{}
		it.s.scans.Add(-1)
	}
	return nil
}
