package engine

import "github.com/tws-go/tws/runtime/store"

// Elements are the entries of the ordered family below one key and state: a
// list's elements, a map's entries. suffix is what follows the state id in the
// store key: a sequence number or an encoded map key.

// Element returns one element's bytes, which must not be changed.
func (s *Session) Element(id int, suffix []byte) ([]byte, bool, error) {
	if s.phase == noSession {
		return nil, false, ErrOutsideCallback
	}
	return s.over.getOrdered(s.elementKey(id, suffix))
}

// PutElement sets one element. The bytes are copied.
func (s *Session) PutElement(id int, suffix, value []byte) error {
	if s.phase == noSession {
		return ErrOutsideCallback
	}
	s.metrics.puts++
	return s.over.putOrdered(s.elementKey(id, suffix), value)
}

// DeleteElement removes one element, which need not exist.
func (s *Session) DeleteElement(id int, suffix []byte) error {
	if s.phase == noSession {
		return ErrOutsideCallback
	}
	s.metrics.deletes++
	return s.over.deleteOrdered(s.elementKey(id, suffix))
}

// ScanElements iterates over elements with suffixes in [from, to) as they are
// now; a nil to means to the last. The session closes the scan at its end if the
// caller does not.
func (s *Session) ScanElements(id int, from, to []byte) (*Elements, error) {
	if s.phase == noSession {
		return nil, ErrOutsideCallback
	}
	lower := s.elementKey(id, from)
	prefix := len(lower) - len(from)
	if to == nil {
		s.high = store.PrefixEnd(s.high[:0], lower[:prefix])
	} else {
		s.high = append(append(s.high[:0], lower[:prefix]...), to...)
	}
	sc, err := s.over.scan(lower, s.high)
	if err != nil {
		return nil, err
	}
	s.scans = append(s.scans, sc)
	return &Elements{session: s, scan: sc, prefix: prefix}, nil
}

func (s *Session) elementKey(id int, suffix []byte) []byte {
	s.scratch = store.AppendPrefix(s.scratch[:0], s.op, store.KindElement, s.group, s.key)
	s.scratch = store.AppendID(s.scratch, uint16(id))
	s.scratch = append(s.scratch, suffix...)
	return s.scratch
}

// Elements iterates over elements in the order of their suffixes.
type Elements struct {
	session *Session
	scan    *scan
	prefix  int
}

// Next moves to the next element and reports whether there is one.
func (e *Elements) Next() bool { return e.scan.next() }

// Suffix returns the element's suffix, valid until Next or Close.
func (e *Elements) Suffix() []byte { return e.scan.key[e.prefix:] }

// Value returns the element's bytes, valid until Next or Close.
func (e *Elements) Value() []byte { return e.scan.value }

// Err returns what ended the iteration early, or nil.
func (e *Elements) Err() error { return e.scan.err() }

// Close ends the iteration. A second call does nothing.
func (e *Elements) Close() error {
	for i, sc := range e.session.scans {
		if sc == e.scan {
			e.session.scans = append(e.session.scans[:i], e.session.scans[i+1:]...)
			return e.scan.close()
		}
	}
	return nil
}
