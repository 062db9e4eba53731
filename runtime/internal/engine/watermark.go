package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/stream"
)

// A flow's watermark says how far event time has come. That of epoch N follows
// from what the epochs before N saw: for every partition of every source the
// largest event time, and the clock of the newest epoch that had rows of it. Both
// are part of an epoch's decision (see [checkpoint.SourceTimes]); the watermark
// that was made of them is part of the plan, so a retry has the same. The
// watermark by which rows of epoch N are late is that of N-1, which a retry finds
// in the decision of N-1.

// idleAfter is how long a partition must have been seen without rows for the
// watermark not to wait for it.
const idleAfter = int64(time.Minute / time.Microsecond)

// endOfTime is the watermark of a flow whose input has ended for good.
const endOfTime = math.MaxInt64

// Watermark is how a flow knows event time.
type Watermark struct {
	// DelayMicros is how far the watermark stays behind the largest event time.
	DelayMicros int64

	lanes []*EventLane
}

// EventLane takes the event times of one source's rows. One goroutine at a time
// uses it.
type EventLane struct {
	limit   instant // rows before it are late
	dropped int64
	seen    []instant // by partition: the largest event time of the epoch
}

// instant is a point in time, in microseconds since 1970, or none.
type instant struct {
	micros int64
	set    bool
}

func instantOf(micros *int64) instant {
	if micros == nil {
		return instant{}
	}
	return instant{micros: *micros, set: true}
}

func (i instant) pointer() *int64 {
	if !i.set {
		return nil
	}
	return &i.micros
}

// reaches reports whether i is at a point in time, or after it.
func (i instant) reaches(micros int64) bool { return i.set && micros <= i.micros }

// latest returns the later of two instants.
func latest(a, b instant) instant {
	if !a.set || b.set && b.micros > a.micros {
		return b
	}
	return a
}

// Lane returns the lane of source i.
func (w *Watermark) Lane(i int) *EventLane { return w.lanes[i] }

// open makes the lanes; a flow without a watermark has none.
func (w *Watermark) open(lanes int) {
	if w == nil {
		return
	}
	w.lanes = make([]*EventLane, lanes)
	for i := range w.lanes {
		w.lanes[i] = new(EventLane)
	}
}

// begin forgets the epoch before. Rows before limit are late.
func (w *Watermark) begin(limit instant) {
	if w == nil {
		return
	}
	for _, l := range w.lanes {
		l.limit, l.dropped, l.seen = limit, 0, l.seen[:0]
	}
}

// late returns how many rows were dropped since begin.
func (w *Watermark) late() (rows int64) {
	if w == nil {
		return 0
	}
	for _, l := range w.lanes {
		rows += l.dropped
	}
	return rows
}

// See takes note of a row's event time.
func (l *EventLane) See(partition int32, micros int64) error {
	if partition < 0 {
		return fmt.Errorf("engine: a row is of partition %d: partitions are numbered from 0", partition)
	}
	for int(partition) >= len(l.seen) {
		l.seen = append(l.seen, instant{})
	}
	if s := &l.seen[partition]; !s.set || micros > s.micros {
		*s = instant{micros: micros, set: true}
	}
	return nil
}

// Drop reports whether a row of that event time is late. It counts those that are:
// the caller passes over them.
func (l *EventLane) Drop(micros int64) bool {
	if l.limit.set && micros < l.limit.micros {
		l.dropped++
		return true
	}
	return false
}

// planWatermark fixes the watermark of the epoch that p plans, once its ranges and
// its clock are known. rows says that it reads any.
func (u *Unit) planWatermark(p *checkpoint.Plan, ends []stream.Position, rows bool) {
	if u.flow.Watermark == nil {
		return
	}
	for i := range u.flow.Sources {
		r := &p.Sources[i]
		r.Partitions = u.knownPartitions(i)
		if r.To.Equal(ends[i]) {
			r.PolledMicros = u.polledMicros[i]
		}
	}
	if u.once && !rows {
		p.WatermarkMicros = instant{micros: endOfTime, set: true}.pointer()
		return
	}
	p.WatermarkMicros = latest(u.watermarkBefore(), u.seenWatermark(p)).pointer()
}

// polled returns when the end that a reader has returned was known to be that of
// all there was: when it was asked, unless the reader knows better. 0 is never.
func (u *Unit) polled(r Reader, asked int64) int64 {
	p, ok := r.(stream.Polled)
	if !ok || u.flow.Watermark == nil {
		return asked
	}
	at, ok := p.PolledAt()
	if !ok {
		return 0
	}
	return min(at.UnixMicro(), asked)
}

// watermarkBefore is the watermark of the last epoch. A flow that ended for good
// and now reads on anyway, as another kind of flow, begins with none.
func (u *Unit) watermarkBefore() instant {
	w := instantOf(u.last.Plan.WatermarkMicros)
	if w.set && w.micros == endOfTime && !u.once {
		return instant{}
	}
	return w
}

// seenWatermark is what the event times of all epochs so far come to: the least of
// the partitions' largest, but for idle ones. A partition that is not idle and has
// had no row yet holds it back. If all are idle, it is the largest of all, so that
// it does not matter which of them went idle first.
func (u *Unit) seenWatermark(p *checkpoint.Plan) instant {
	var least, most instant
	waits, active := false, false
	for i := range u.flow.Sources {
		r := p.Sources[i]
		known := u.timesOf(r.Name)
		quietAt := known.PolledMicros // until when it is known who had no rows
		if r.From.Equal(r.To) {
			quietAt = max(quietAt, r.PolledMicros)
		}
		for n := range r.Partitions {
			if n >= len(known.Partitions) { // new
				waits, active = true, true
				continue
			}
			part := known.Partitions[n]
			most = latest(most, instantOf(part.MaxMicros))
			if quietAt-part.RowsMicros >= idleAfter {
				continue
			}
			active = true
			switch at := instantOf(part.MaxMicros); {
			case !at.set:
				waits = true
			case !least.set || at.micros < least.micros:
				least = at
			}
		}
	}
	switch {
	case waits:
		return instant{}
	case !active:
		least = most
	}
	if least.set {
		least.micros = subMicros(least.micros, u.flow.Watermark.DelayMicros)
	}
	return least
}

// subMicros subtracts without running over the beginning of time.
func subMicros(at, d int64) int64 {
	if at < math.MinInt64+d {
		return math.MinInt64
	}
	return at - d
}

// timesOf returns what is known of a source's event times.
func (u *Unit) timesOf(name string) checkpoint.SourceTimes {
	for _, t := range u.last.EventTimes {
		if t.Name == name {
			return t
		}
	}
	return checkpoint.SourceTimes{Name: name}
}

// knownPartitions returns how many partitions of source i are known.
func (u *Unit) knownPartitions(i int) int {
	n := 1
	if p, ok := u.readers[i].(stream.Partitioned); ok {
		n = p.Partitions()
	}
	n = max(n, len(u.timesOf(u.flow.Sources[i].Name()).Partitions))
	if u.endPartitions != nil {
		n = max(n, u.endPartitions[i])
	}
	return n
}

// eventTimes is what is known after an epoch: what was known before, and what its
// rows brought.
func (u *Unit) eventTimes(p checkpoint.Plan) []checkpoint.SourceTimes {
	if u.flow.Watermark == nil {
		return nil
	}
	all := make([]checkpoint.SourceTimes, len(u.flow.Sources))
	for i, r := range p.Sources[:len(all)] {
		t := u.timesOf(r.Name)
		t.Partitions = slices.Clone(t.Partitions)
		seen := u.flow.Watermark.lanes[i].seen
		for len(t.Partitions) < max(r.Partitions, len(seen)) {
			t.Partitions = append(t.Partitions, checkpoint.PartitionTimes{RowsMicros: p.ClockMicros})
		}
		for n, s := range seen {
			if part := &t.Partitions[n]; s.set {
				part.MaxMicros = latest(instantOf(part.MaxMicros), s).pointer()
				part.RowsMicros = p.ClockMicros
			}
		}
		t.PolledMicros = max(t.PolledMicros, r.PolledMicros)
		all[i] = t
	}
	return all
}

// advances reports whether the watermark of an epoch without rows would be beyond
// that of the last epoch.
func (u *Unit) advances(ends []stream.Position) bool {
	if u.flow.Watermark == nil {
		return false
	}
	var next checkpoint.Plan
	for i, s := range u.flow.Sources {
		at := u.position(i)
		next.Sources = append(next.Sources, checkpoint.SourceRange{Name: s.Name(), From: at, To: at})
	}
	u.planWatermark(&next, ends, false)
	now, then := instantOf(u.last.Plan.WatermarkMicros), instantOf(next.WatermarkMicros)
	return then.set && (!now.set || then.micros > now.micros)
}
