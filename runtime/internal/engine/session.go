package engine

import (
	"errors"
	"fmt"

	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/schemas"
)

// ErrOutsideCallback is returned by every use of state or timers while no
// callback of the processor runs: only there is a key whose state is meant.
var ErrOutsideCallback = errors.New("engine: state and timers can be used only inside a callback of the processor")

// phase is what a session is for.
type phase uint8

const (
	noSession phase = iota
	inputPhase
	timerPhase
)

// Session is an operator's view of one key in one state partition. The engine
// moves it from key to key; what the operator reads and writes through it is
// that key's state. It is used by one goroutine.
//
// Point entries of the key are kept in slots while the session lasts: read once
// (mostly ahead, with those of other keys), changed in memory, written to the
// overlay once, when the session ends.
type Session struct {
	op      byte
	schema  schemas.Processor
	over    *overlay
	timers  *timerIndex
	metrics *sessionMetrics

	phase     phase
	number    int // of the session in its chunk
	group     uint16
	key       []byte
	nowMicros int64
	watermark instant
	due       instant // timers through it are due

	slots   []slot
	slotOf  [3][]int32 // by kind (see slotKind), then id; -1 if there is none
	touched []int32    // slots that are not unknown
	ahead   *readAhead
	scans   []*scan // opened in this session, closed at its end
	scratch []byte
	high    []byte
}

// slot is one point entry of the session's key.
type slot struct {
	kind  byte
	id    uint16
	state slotState
	dirty bool
	value []byte
	used  bool // read or written by some session of the present chunk
}

type slotState uint8

const (
	slotUnknown slotState = iota
	slotAbsent
	slotPresent
)

// Kinds of point entries, in the order of their keys in the store.
const (
	headSlot = iota
	namedSlot
	valueSlot
)

func newSession(op byte, schema schemas.Processor, over *overlay, timers *timerIndex, m *sessionMetrics) *Session {
	s := &Session{op: op, schema: schema, over: over, timers: timers, metrics: m}
	for _, st := range schema.States {
		switch st.Kind {
		case schemas.ListState:
			s.addSlot(headSlot, store.KindListHead, st.ID)
		case schemas.ValueState:
			s.addSlot(valueSlot, store.KindValue, st.ID)
		}
	}
	for _, t := range schema.Timers {
		s.addSlot(namedSlot, store.KindNamed, t.ID)
	}
	s.sortSlots()
	s.ahead = newReadAhead(s)
	return s
}

// Schema returns what the operator declared.
func (s *Session) Schema() schemas.Processor { return s.schema }

// NowMicros returns the processing time of the epoch in microseconds since 1970.
func (s *Session) NowMicros() int64 { return s.nowMicros }

// Watermark returns the epoch's watermark in microseconds since 1970; ok is false
// if it is unset, or the flow has none.
func (s *Session) Watermark() (micros int64, ok bool) { return s.watermark.micros, s.watermark.set }

// eventTime reports whether the operator's timers wait for the watermark.
func (s *Session) eventTime() bool { return s.schema.TimeMode == schemas.TimeEvent }

// threshold returns what makes the operator's timers due: the clock or the
// watermark.
func (s *Session) threshold(clockMicros int64, watermark instant) instant {
	if s.eventTime() {
		return watermark
	}
	return instant{micros: clockMicros, set: true}
}

// setTime begins an epoch.
func (s *Session) setTime(nowMicros int64, watermark instant) {
	s.nowMicros, s.watermark = nowMicros, watermark
	s.due = s.threshold(nowMicros, watermark)
}

// Active reports whether a callback is running.
func (s *Session) Active() bool { return s.phase != noSession }

// begin starts a session for a key, the n-th of the chunk that was read ahead.
func (s *Session) begin(p phase, group uint16, key []byte, n int) {
	s.phase, s.group, s.number = p, group, n
	s.key = append(s.key[:0], key...)
}

// end writes the changed slots to the overlay and closes what the callback left
// open. After an error the session's changes are of no further use: the epoch
// fails as a whole.
func (s *Session) end() error {
	err := s.closeScans()
	for _, i := range s.touched {
		sl := &s.slots[i]
		if sl.dirty && err == nil {
			err = s.writeSlot(sl)
		}
		sl.state, sl.dirty, sl.value = slotUnknown, false, sl.value[:0]
	}
	s.touched = s.touched[:0]
	s.phase = noSession
	return err
}

func (s *Session) writeSlot(sl *slot) error {
	key := s.pointKey(sl)
	if sl.state == slotPresent {
		return s.over.put(key, sl.value)
	}
	return s.over.delete(key)
}

func (s *Session) closeScans() error {
	var err error
	for _, sc := range s.scans {
		err = errors.Join(err, sc.err(), sc.close())
	}
	s.scans = s.scans[:0]
	return err
}

// Value returns a single value's bytes. They are valid until the session ends or
// the value changes, and must not be changed.
func (s *Session) Value(id int) ([]byte, bool, error) { return s.get(valueSlot, id) }

// PutValue sets a single value. The bytes are copied.
func (s *Session) PutValue(id int, value []byte) error {
	s.metrics.puts++
	return s.set(valueSlot, id, value)
}

// DeleteValue removes a single value.
func (s *Session) DeleteValue(id int) error {
	removed, err := s.remove(valueSlot, id)
	if removed {
		s.metrics.deletes++
	}
	return err
}

// ListHead returns the bytes of a list's head, as Value does.
func (s *Session) ListHead(id int) ([]byte, bool, error) { return s.get(headSlot, id) }

// PutListHead sets a list's head.
func (s *Session) PutListHead(id int, head []byte) error { return s.set(headSlot, id, head) }

// DeleteListHead removes a list's head.
func (s *Session) DeleteListHead(id int) error {
	_, err := s.remove(headSlot, id)
	return err
}

func (s *Session) get(kind, id int) ([]byte, bool, error) {
	sl, err := s.load(kind, id)
	if err != nil {
		return nil, false, err
	}
	return sl.value, sl.state == slotPresent, nil
}

func (s *Session) set(kind, id int, value []byte) error {
	sl, err := s.slot(kind, id)
	if err != nil {
		return err
	}
	sl.value = append(sl.value[:0], value...)
	s.change(sl, slotPresent)
	return nil
}

func (s *Session) remove(kind, id int) (removed bool, err error) {
	sl, err := s.load(kind, id)
	if err != nil || sl.state == slotAbsent {
		return false, err
	}
	sl.value = sl.value[:0]
	s.change(sl, slotAbsent)
	return true, nil
}

func (s *Session) change(sl *slot, state slotState) {
	s.touch(sl)
	sl.state, sl.dirty, sl.used = state, true, true
}

func (s *Session) slot(kind, id int) (*slot, error) {
	if s.phase == noSession {
		return nil, ErrOutsideCallback
	}
	if id < 0 || id >= len(s.slotOf[kind]) || s.slotOf[kind][id] < 0 {
		return nil, fmt.Errorf("engine: processor %s has no state or timer with id %d", s.schema.Name, id)
	}
	return &s.slots[s.slotOf[kind][id]], nil
}

// load returns a slot whose content is known.
func (s *Session) load(kind, id int) (*slot, error) {
	sl, err := s.slot(kind, id)
	if err != nil {
		return nil, err
	}
	sl.used = true
	if sl.state != slotUnknown {
		return sl, nil
	}
	key := s.pointKey(sl)
	if value, del, ok := s.over.changed(key); ok {
		s.fillSlot(sl, value, !del)
		return sl, nil
	}
	if value, state := s.ahead.lookup(s.number, int(s.slotOf[kind][id])); state != slotUnknown {
		s.fillSlot(sl, value, state == slotPresent)
		return sl, nil
	}
	value, ok, err := s.over.st.Get(store.Point, key)
	if err != nil {
		return nil, err
	}
	s.fillSlot(sl, value, ok)
	return sl, nil
}

func (s *Session) fillSlot(sl *slot, value []byte, present bool) {
	s.touch(sl)
	sl.value = append(sl.value[:0], value...)
	sl.state = slotAbsent
	if present {
		sl.state = slotPresent
	}
}

func (s *Session) touch(sl *slot) {
	if sl.state == slotUnknown {
		s.touched = append(s.touched, s.slotOf[kindOf(sl.kind)][sl.id])
	}
}

func (s *Session) pointKey(sl *slot) []byte {
	s.scratch = store.AppendPrefix(s.scratch[:0], s.op, sl.kind, s.group, s.key)
	s.scratch = store.AppendID(s.scratch, sl.id)
	return s.scratch
}

func (s *Session) corrupt(what string, id int, b []byte) error {
	return fmt.Errorf("%w: processor %s, %s %d of key %x holds %x", store.ErrCorrupt, s.schema.Name, what, id, s.key, b)
}

func (s *Session) addSlot(kind int, storeKind byte, id int) {
	for len(s.slotOf[kind]) <= id {
		s.slotOf[kind] = append(s.slotOf[kind], -1)
	}
	s.slotOf[kind][id] = 0
	s.slots = append(s.slots, slot{kind: storeKind, id: uint16(id), used: true})
}

func kindOf(storeKind byte) int {
	switch storeKind {
	case store.KindListHead:
		return headSlot
	case store.KindNamed:
		return namedSlot
	default:
		return valueSlot
	}
}
