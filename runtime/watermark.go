package tws

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/tws-go/tws/runtime/internal/engine"
	"github.com/tws-go/tws/runtime/stream"
)

// WithWatermark gives a stream event time: at returns when a row happened, and the
// watermark stays delay behind the latest such instant, that of the source's
// slowest partition. Processors behind it may have time=event: their timers wait
// for the watermark, and rows older than the watermark of the epoch before are late
// and dropped. The watermark of an epoch comes of the rows of earlier epochs, so a row
// is first late two epochs after the one that moved it.
//
// A partition without rows holds the watermark back until it has had none for a
// minute of the pipeline's clock; then it is idle and does not count.
//
// If at is nil, the source's own timestamps count, such as those of Kafka records;
// a source that has none fails the epoch. at must depend on nothing but the row, and
// must be safe for concurrent use.
//
// It is called once for a stream, between its source and the first
// TransformWithState; later processors share the watermark.
func WithWatermark[T, B any](s S[T, B], at func(T) time.Time, delay time.Duration) S[T, B] {
	in := s.made("WithWatermark")
	f, out := in.flow, newNode[T](in.flow)
	out.timed = true
	if err := checkWatermark(in.timed, in.after, delay); err != nil {
		f.fail(fmt.Errorf("WithWatermark of a stream of %s: %w", reflect.TypeFor[T](), err))
	}
	// A delay is rounded up to a microsecond.
	micros := int64((delay + time.Microsecond - 1) / time.Microsecond)
	f.watermark, f.sourceTimes = &engine.Watermark{DelayMicros: micros}, at == nil
	w := f.watermark
	s.consume(func(lane int) push[T] { return stamp(w.Lane(lane), at, out.consumer(lane)) })
	return S[T, B]{out}
}

func checkWatermark(timed bool, after string, delay time.Duration) error {
	switch {
	case delay < 0:
		return fmt.Errorf("the delay is %s: it must not be negative", delay)
	case after != "":
		return fmt.Errorf("it comes after processor %s: put it between the source and the first TransformWithState; later processors share its watermark", after)
	case timed:
		return errors.New("the stream has a watermark already: keep one of the two calls")
	}
	return nil
}

// stamp gives rows their event time.
func stamp[T any](events *engine.EventLane, at func(T) time.Time, down push[T]) push[T] {
	return func(row *T, meta *rowMeta) error {
		when := meta.time
		if at != nil {
			when = at(*row)
		}
		if when.Year() < -290000 || when.Year() > 294000 {
			return fmt.Errorf("tws: event time %s is out of range", when)
		}
		meta.events, meta.eventMicros = events, when.UnixMicro()
		if err := events.See(meta.partition, meta.eventMicros); err != nil {
			return err
		}
		return down(row, meta)
	}
}

// late reports whether a row comes too late for a processor with time=event. Rows
// that a processor emitted have no event time and are never late.
func (m *rowMeta) late() bool { return m.events != nil && m.events.Drop(m.eventMicros) }

// Watermark returns the epoch's watermark: the same for every call in an epoch,
// and the same again when the epoch is retried. It never goes back. ok is false as
// long as it is unset, which it is until the epoch after the first rows, and
// always in a flow without WithWatermark. When a flow that reads once has come to
// the end of its input, it is the last instant that there is.
func (c *callContext) Watermark() (at time.Time, ok bool) {
	micros, ok := c.session.Watermark()
	if !ok {
		return time.Time{}, false
	}
	return time.UnixMicro(micros).UTC(), true
}

// Partitions implements [stream.Partitioned] for every reader.
func (r *reader[T]) Partitions() int {
	if r.partitioned == nil {
		return 1
	}
	return r.partitioned.Partitions()
}

// place notes what a flow with a watermark must know of a record beside its row.
func (r *reader[T]) place(rec *stream.Record[T], meta *rowMeta) error {
	if r.partitioned != nil {
		meta.partition = rec.Partition
	}
	if !r.sourceTimes {
		return nil
	}
	if meta.time = rec.Time; meta.time.IsZero() {
		return fmt.Errorf("the row at partition %d, offset %d has no timestamp of its source: give WithWatermark a function that returns the row's event time", rec.Partition, rec.Offset)
	}
	return nil
}
