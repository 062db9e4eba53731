package mem

import (
	"encoding/binary"
	"math"

	"github.com/tws-go/tws/runtime/store"
)

// sweep is the place at which the search for expired entries goes on.
type sweep struct {
	// any is true once an entry with an expiry was seen; until then there is
	// nothing to search for.
	any    bool
	family store.Family
	next   string
}

// extraSweep is how many more entries than its records a batch looks at. It
// makes the sweep faster than growth.
const extraSweep = 16

func (w *sweep) note(key, value []byte) {
	if _, ok := expiry(view(key), view(value)); ok {
		w.any = true
	}
}

// sweepSome removes what has expired among the next entries after those that
// earlier batches looked at.
func (s *Store) sweepSome(records int) {
	clock := s.clock.Load()
	if !s.sweep.any || clock == math.MinInt64 {
		return
	}
	var dead []string
	left := records + extraSweep
	t := s.trees[s.sweep.family]
	t.Ascend(s.sweep.next, func(key, value string) bool {
		if left == 0 {
			s.sweep.next = key
			return false
		}
		left--
		if expired(key, value, clock) {
			dead = append(dead, key)
		}
		return true
	})
	if left > 0 {
		s.sweep.family, s.sweep.next = (s.sweep.family+1)%families, ""
	}
	for _, key := range dead {
		t.Delete(key)
	}
}

// expired tells whether an entry may vanish.
func expired(key, value string, clock int64) bool {
	at, ok := expiry(key, value)
	return ok && at <= clock
}

// expiry reads when an entry expires. Only values, list heads and elements have
// the header that says so; the applied mark, timers and the time index do not.
// The header is a byte of flags, and if bit 0 is set, the instant in
// microseconds, 8 bytes big-endian.
func expiry(key, value string) (micros int64, ok bool) {
	if len(key) < 2 || len(value) < 9 || value[0]&1 == 0 {
		return 0, false
	}
	switch key[1] {
	case store.KindValue, store.KindListHead, store.KindElement:
		var b [8]byte
		copy(b[:], value[1:9])
		return int64(binary.BigEndian.Uint64(b[:])), true
	}
	return 0, false
}

// Compact removes everything that has expired by the expiry clock.
func (s *Store) Compact() error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	s.detach()
	s.dirty = true
	clock := s.clock.Load()
	for _, t := range s.trees {
		var dead []string
		t.Scan(func(key, value string) bool {
			if expired(key, value, clock) {
				dead = append(dead, key)
			}
			return true
		})
		for _, key := range dead {
			t.Delete(key)
		}
	}
	return nil
}
