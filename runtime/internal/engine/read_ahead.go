package engine

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tws-go/tws/runtime/store"
)

// chunkKeys is how many sessions are read ahead with one look-up.
const chunkKeys = 512

// readAhead reads the point entries of the next sessions with one batched
// look-up. Slots that no session of the chunk before used are left out; a
// session that needs one after all reads it alone.
type readAhead struct {
	session *Session

	keys   [][]byte  // store keys, ascending
	places []place   // what each of keys is
	arena  []byte    // bytes of keys
	spans  []span    // by session of the chunk, then slot
	values []byte    // arena of the values found
	wanted []int32   // slots to read
	sorted []int32   // sessions of the chunk in the order of their keys
	reader []int32   // by session: the one that reads for all of its key
	order  []keyName // group and key of the chunk's sessions
}

type place struct{ session, slot int32 }

type span struct {
	off, n int
	state  slotState
}

type keyName struct {
	group uint16
	key   []byte
}

func newReadAhead(s *Session) *readAhead { return &readAhead{session: s} }

// start forgets the last chunk; its keys are then added one by one.
func (r *readAhead) start() {
	r.order = r.order[:0]
	r.wanted = r.wanted[:0]
	for i := range r.session.slots {
		if sl := &r.session.slots[i]; sl.used {
			r.wanted = append(r.wanted, int32(i))
			sl.used = false
		}
	}
}

// add names the key of the chunk's next session. key must stay valid until read.
func (r *readAhead) add(group uint16, key []byte) {
	r.order = append(r.order, keyName{group, key})
}

// read looks everything up.
func (r *readAhead) read() error {
	slots := len(r.session.slots)
	r.spans = append(r.spans[:0], make([]span, len(r.order)*slots)...)
	r.sortSessions()
	r.buildKeys()
	r.values = r.values[:0]
	for _, p := range r.places {
		r.spans[int(p.session)*slots+int(p.slot)].state = slotAbsent
	}
	return r.session.over.st.MultiGet(r.keys, func(i int, value []byte) error {
		p := r.places[i]
		r.spans[int(p.session)*slots+int(p.slot)] = span{off: len(r.values), n: len(value), state: slotPresent}
		r.values = append(r.values, value...)
		return nil
	})
}

// sortSessions puts the chunk's sessions in key order, which input sessions are
// in already and timer sessions are not. Of timer sessions, several may have one
// key; the first reads for all.
func (r *readAhead) sortSessions() {
	r.sorted, r.reader = r.sorted[:0], r.reader[:0]
	for i := range r.order {
		r.sorted = append(r.sorted, int32(i))
		r.reader = append(r.reader, int32(i))
	}
	slices.SortStableFunc(r.sorted, func(a, b int32) int {
		if c := cmp.Compare(r.order[a].group, r.order[b].group); c != 0 {
			return c
		}
		return bytes.Compare(r.order[a].key, r.order[b].key)
	})
	for n := 1; n < len(r.sorted); n++ {
		before, i := r.sorted[n-1], r.sorted[n]
		if bytes.Equal(r.order[before].key, r.order[i].key) {
			r.reader[i] = r.reader[before]
		}
	}
}

// buildKeys makes the store keys in ascending order: slots are sorted by kind,
// kinds come first in a key, the session's key next, ids last.
func (r *readAhead) buildKeys() {
	r.keys, r.places, r.arena = r.keys[:0], r.places[:0], r.arena[:0]
	s := r.session
	size := 0
	for _, k := range r.order {
		size += len(k.key) + 6
	}
	if need := size * len(r.wanted); cap(r.arena) < need {
		r.arena = make([]byte, 0, need)
	}
	for from := 0; from < len(r.wanted); {
		to := from
		for to < len(r.wanted) && s.slots[r.wanted[to]].kind == s.slots[r.wanted[from]].kind {
			to++
		}
		for _, i := range r.sorted {
			if r.reader[i] == i {
				r.addKeys(i, r.wanted[from:to])
			}
		}
		from = to
	}
}

func (r *readAhead) addKeys(session int32, slots []int32) {
	name := r.order[session]
	for _, i := range slots {
		sl := &r.session.slots[i]
		at := len(r.arena)
		r.arena = store.AppendPrefix(r.arena, r.session.op, sl.kind, name.group, name.key)
		r.arena = store.AppendID(r.arena, sl.id)
		r.keys = append(r.keys, r.arena[at:len(r.arena):len(r.arena)])
		r.places = append(r.places, place{session: session, slot: i})
	}
}

// lookup returns what was read of a slot for the chunk's n-th session.
func (r *readAhead) lookup(n, slot int) (value []byte, state slotState) {
	if n >= len(r.reader) {
		return nil, slotUnknown
	}
	sp := r.spans[int(r.reader[n])*len(r.session.slots)+slot]
	return r.values[sp.off : sp.off+sp.n], sp.state
}

// sortSlots orders slots by kind and id, the order of their keys in the store.
func (s *Session) sortSlots() {
	slices.SortFunc(s.slots, func(a, b slot) int {
		if c := cmp.Compare(a.kind, b.kind); c != 0 {
			return c
		}
		return cmp.Compare(a.id, b.id)
	})
	for i := range s.slots {
		s.slotOf[kindOf(s.slots[i].kind)][s.slots[i].id] = int32(i)
	}
}
