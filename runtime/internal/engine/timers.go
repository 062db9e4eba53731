package engine

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"math"

	"github.com/tws-go/tws/runtime/store"
)

// rawTimerID is the timer id of raw timers in the time index.
const rawTimerID = 0

// FiredTimer is a due timer whose turn it is.
type FiredTimer struct {
	Micros int64 // the instant it was set to
	ID     int   // 0 for a raw timer
}

// timerIndex knows of one operator in one state partition where its next timers
// are: for each key group a lower bound of its earliest instant. The bound is
// lowered by every registration and raised when what is due has fired, so an
// instant registered in the past is never passed over, and entries long fired are
// never walked again.
type timerIndex struct {
	op       byte
	from     int     // first key group
	earliest []int64 // by key group - from; math.MaxInt64 if there is none
	loose    []bool  // by key group - from: the bound may be below the earliest instant
	over     *overlay
	// added holds the time index keys registered during the timer phase: they
	// wait for the next epoch even when they are due.
	added map[string]struct{}
}

func newTimerIndex(op byte, from, to int, over *overlay) (*timerIndex, error) {
	x := &timerIndex{op: op, from: from, earliest: make([]int64, to-from), loose: make([]bool, to-from), over: over, added: map[string]struct{}{}}
	for i := range x.earliest {
		x.earliest[i] = math.MinInt64
		if err := x.peek(i); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// peek makes the bound of a key group exact.
func (x *timerIndex) peek(i int) error {
	sc, err := x.scan(i, x.earliest[i], math.MaxInt64)
	if err != nil {
		return err
	}
	x.earliest[i], x.loose[i] = math.MaxInt64, false
	if sc.next() {
		micros, _, _, err := store.SplitTimeIndex(sc.key)
		if err != nil {
			sc.close()
			return err
		}
		x.earliest[i] = micros
	}
	if err := sc.err(); err != nil {
		sc.close()
		return err
	}
	return sc.close()
}

// scan iterates over a key group's time index from one instant through another.
func (x *timerIndex) scan(i int, from, through int64) (*scan, error) {
	lower := store.AppendInstant(x.prefix(i), from)
	upper := x.prefix(i)
	if through == math.MaxInt64 {
		upper = store.PrefixEnd(nil, upper)
	} else {
		upper = store.AppendInstant(upper, through+1)
	}
	return x.over.scan(lower, upper)
}

func (x *timerIndex) prefix(i int) []byte {
	return store.AppendPrefix(make([]byte, 0, 16), x.op, store.KindTimeIndex, uint16(x.from+i), nil)
}

// next returns the earliest instant of all timers, or math.MaxInt64.
func (x *timerIndex) next() (int64, error) {
	earliest := int64(math.MaxInt64)
	for i := range x.earliest {
		if x.loose[i] {
			if err := x.peek(i); err != nil {
				return 0, err
			}
		}
		earliest = min(earliest, x.earliest[i])
	}
	return earliest, nil
}

func (x *timerIndex) lower(group uint16, micros int64) {
	i := int(group) - x.from
	x.earliest[i] = min(x.earliest[i], micros)
}

// cancelled notes that a timer is gone; if it was the earliest, another is now.
func (x *timerIndex) cancelled(group uint16, micros int64) {
	i := int(group) - x.from
	x.loose[i] = x.loose[i] || x.earliest[i] == micros
}

// count returns the number of timers that are due.
func (x *timerIndex) count(now int64) (n int64, err error) {
	for i, earliest := range x.earliest {
		if earliest > now {
			continue
		}
		sc, err := x.scan(i, earliest, now)
		if err != nil {
			return 0, err
		}
		for sc.next() {
			n++
		}
		if err := errors.Join(sc.err(), sc.close()); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// dueTimer is one entry of the time index.
type dueTimer struct {
	group  uint16
	micros int64
	key    []byte // the grouping key
	id     uint16
}

// dueScan merges the time index of all key groups: due timers of a partition in
// the order (time, key, timer id), as they stood when it was opened.
type dueScan struct {
	index *timerIndex
	heads []*groupScan
}

type groupScan struct {
	i    int
	scan *scan
	at   dueTimer
}

// due opens the scan. What it finds counts as fired, unless it is closed before.
// The end of time is reached by all timers but those at math.MaxInt64, which stands
// for none.
func (x *timerIndex) due(now int64) (*dueScan, error) {
	now = min(now, math.MaxInt64-1)
	d := &dueScan{index: x}
	for i, earliest := range x.earliest {
		if earliest > now {
			continue
		}
		sc, err := x.scan(i, earliest, now)
		if err != nil {
			d.close()
			return nil, err
		}
		x.earliest[i], x.loose[i] = now+1, true
		g := &groupScan{i: i, scan: sc, at: dueTimer{group: uint16(x.from + i), micros: earliest}}
		d.heads = append(d.heads, g)
		if err := d.advance(len(d.heads) - 1); err != nil {
			d.close()
			return nil, err
		}
	}
	heap.Init(d)
	return d, nil
}

// advance moves the scan at place i of heads on, removing it at its end.
func (d *dueScan) advance(i int) error {
	g := d.heads[i]
	if g.scan.next() {
		micros, key, id, err := store.SplitTimeIndex(g.scan.key)
		if err != nil {
			return err
		}
		g.at = dueTimer{group: uint16(d.index.from + g.i), micros: micros, key: append(g.at.key[:0], key...), id: id}
		return nil
	}
	err := g.scan.err()
	d.heads = append(d.heads[:i], d.heads[i+1:]...)
	if err == nil {
		return g.scan.close()
	}
	g.scan.close()
	return err
}

// next appends the next due timer's parts to dst and moves on.
func (d *dueScan) next(arena []byte) (t dueTimer, _ []byte, ok bool, err error) {
	if len(d.heads) == 0 {
		return dueTimer{}, arena, false, nil
	}
	t = d.heads[0].at
	at := len(arena)
	arena = append(arena, t.key...)
	t.key = arena[at:len(arena):len(arena)]
	before := len(d.heads)
	if err := d.advance(0); err != nil {
		return dueTimer{}, arena, false, err
	}
	if len(d.heads) < before {
		heap.Init(d)
	} else {
		heap.Fix(d, 0)
	}
	return t, arena, true, nil
}

// close ends the scan. The timers that it did not come to stay due.
func (d *dueScan) close() {
	for _, g := range d.heads {
		d.index.lower(g.at.group, g.at.micros)
		g.scan.close()
	}
	d.heads = nil
}

func (d *dueScan) Len() int { return len(d.heads) }

func (d *dueScan) Less(i, j int) bool {
	a, b := d.heads[i].at, d.heads[j].at
	if a.micros != b.micros {
		return a.micros < b.micros
	}
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c < 0
	}
	return a.id < b.id
}

func (d *dueScan) Swap(i, j int) { d.heads[i], d.heads[j] = d.heads[j], d.heads[i] }

// Push is part of heap.Interface; the heap only ever shrinks.
func (d *dueScan) Push(g any) { d.heads = append(d.heads, g.(*groupScan)) }

// Pop is part of heap.Interface.
func (d *dueScan) Pop() any {
	g := d.heads[len(d.heads)-1]
	d.heads = d.heads[:len(d.heads)-1]
	return g
}

// SetTimer sets a named timer of the session's key to an instant, replacing the
// one it was set to.
func (s *Session) SetTimer(id int, micros int64) error {
	old, ok, err := s.NamedTimer(id)
	if err != nil || ok && old == micros {
		return err
	}
	if ok {
		if err := s.unindexTimer(old, uint16(id)); err != nil {
			return err
		}
	}
	var value [8]byte
	binary.BigEndian.PutUint64(value[:], uint64(micros))
	if err := s.set(namedSlot, id, value[:]); err != nil {
		return err
	}
	return s.indexTimer(micros, uint16(id))
}

// StopTimer cancels a named timer, if it is set.
func (s *Session) StopTimer(id int) error {
	micros, ok, err := s.NamedTimer(id)
	if err != nil || !ok {
		return err
	}
	if _, err := s.remove(namedSlot, id); err != nil {
		return err
	}
	return s.unindexTimer(micros, uint16(id))
}

// NamedTimer returns the instant a named timer is set to.
func (s *Session) NamedTimer(id int) (micros int64, ok bool, err error) {
	value, ok, err := s.get(namedSlot, id)
	if err != nil || !ok {
		return 0, false, err
	}
	if len(value) != 8 {
		return 0, false, s.corrupt("named timer", id, value)
	}
	return int64(binary.BigEndian.Uint64(value)), true, nil
}

// RegisterTimer registers a raw timer of the session's key; one that exists
// already stays.
func (s *Session) RegisterTimer(micros int64) error {
	exists, err := s.hasRawTimer(micros)
	if err != nil || exists {
		return err
	}
	if err := s.over.putOrdered(s.rawTimerKey(micros), nil); err != nil {
		return err
	}
	return s.indexTimer(micros, rawTimerID)
}

// DeleteTimer removes a raw timer, if it exists.
func (s *Session) DeleteTimer(micros int64) error {
	exists, err := s.hasRawTimer(micros)
	if err != nil || !exists {
		return err
	}
	if err := s.over.deleteOrdered(s.rawTimerKey(micros)); err != nil {
		return err
	}
	return s.unindexTimer(micros, rawTimerID)
}

// RawTimers returns the instants of the key's raw timers in ascending order.
func (s *Session) RawTimers() ([]int64, error) {
	if s.phase == noSession {
		return nil, ErrOutsideCallback
	}
	lower := s.rawTimerPrefix()
	sc, err := s.over.scan(lower, store.PrefixEnd(nil, lower))
	if err != nil {
		return nil, err
	}
	defer sc.close()
	var all []int64
	for sc.next() {
		if len(sc.key) != len(lower)+8 {
			return nil, s.corrupt("raw timer", rawTimerID, sc.key)
		}
		all = append(all, store.Instant(sc.key[len(lower):]))
	}
	return all, sc.err()
}

func (s *Session) hasRawTimer(micros int64) (bool, error) {
	if s.phase == noSession {
		return false, ErrOutsideCallback
	}
	_, ok, err := s.over.getOrdered(s.rawTimerKey(micros))
	return ok, err
}

// indexTimer enters a timer in the time index.
func (s *Session) indexTimer(micros int64, id uint16) error {
	s.metrics.timersSet++
	s.timers.lower(s.group, micros)
	key := s.timeIndexKey(micros, id)
	if s.phase == timerPhase && s.due.reaches(micros) {
		s.timers.added[string(key)] = struct{}{}
	}
	return s.over.putOrdered(key, nil)
}

// unindexTimer removes a timer from the time index.
func (s *Session) unindexTimer(micros int64, id uint16) error {
	s.metrics.timersCancelled++
	s.timers.cancelled(s.group, micros)
	key := s.timeIndexKey(micros, id)
	delete(s.timers.added, string(key))
	return s.over.deleteOrdered(key)
}

// take removes a due timer before its handler runs. It reports false if the
// timer is no longer pending, or was registered only in this timer phase.
func (s *Session) take(t dueTimer) (bool, error) {
	key := s.timeIndexKey(t.micros, t.id)
	if _, added := s.timers.added[string(key)]; added {
		return false, nil
	}
	_, pending, err := s.over.getOrdered(key)
	if err != nil || !pending {
		return false, err
	}
	s.metrics.timersCancelled-- // it fires
	if t.id != rawTimerID {
		return true, s.StopTimer(int(t.id))
	}
	return true, s.DeleteTimer(t.micros)
}

func (s *Session) timeIndexKey(micros int64, id uint16) []byte {
	s.scratch = store.AppendTimeIndex(s.scratch[:0], s.op, s.group, micros, s.key, id)
	return s.scratch
}

func (s *Session) rawTimerPrefix() []byte {
	return store.AppendPrefix(nil, s.op, store.KindRawTimer, s.group, s.key)
}

func (s *Session) rawTimerKey(micros int64) []byte {
	s.scratch = store.AppendPrefix(s.scratch[:0], s.op, store.KindRawTimer, s.group, s.key)
	s.scratch = store.AppendInstant(s.scratch, micros)
	return s.scratch
}
