package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/tws-go/tws/runtime/stream"
)

// Out is a row that was published.
type Out[T any] struct {
	Epoch int64
	Lane  int
	Key   []byte
	Row   T
	// Null says that the row stands for its key having no value any more.
	Null bool
}

// Sink keeps published rows. The zero value is empty and ready to use. It must
// not be copied after first use. It may be the sink of several flows, and of
// the same flow again after a restart; all methods are safe for concurrent use.
type Sink[T any] struct {
	// Name is the sink's name for messages; "memory" if empty.
	Name string

	mu    sync.Mutex
	rows  []Out[T]
	units map[stream.Unit]*unit[T]
}

// unit is what the sink knows of a commit unit.
type unit[T any] struct {
	epoch    int64  // the last epoch published
	manifest string // its identity
	staged   map[attempt][]Out[T]
}

// attempt names what was staged.
type attempt struct {
	epoch  int64
	number int
}

// state is what the sink stages with an epoch: the epoch, and the one that must
// have been published last.
type state struct {
	Epoch int64 `json:"epoch"`
	After int64 `json:"after"`
}

// Rows returns what was published: epochs in the order in which they became
// visible, lanes in number order, rows in the order in which they were written.
// The slice belongs to the caller; what the rows refer to must not be changed.
func (s *Sink[T]) Rows() []Out[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows)
}

// SinkName returns Name or its default.
func (s *Sink[T]) SinkName() string { return cmp.Or(s.Name, "memory") }

// OpenSink opens the sink. With codecs, the sink keeps deep copies of the rows;
// without, the copies share what slices, maps and pointers refer to, but for rows of
// type []byte, which are copied.
func (s *Sink[T]) OpenSink(ctx context.Context, env stream.SinkEnv[T]) (stream.Writer[T], error) {
	w := &writer[T]{sink: s, row: env.Row, id: env.Unit}
	if w.row != nil && (w.row.Append == nil || w.row.Decode == nil) {
		w.row = nil
	}
	return w, ctx.Err()
}

// unit returns what is known of a commit unit. s.mu is held.
func (s *Sink[T]) unit(id stream.Unit) *unit[T] {
	if s.units == nil {
		s.units = map[stream.Unit]*unit[T]{}
	}
	if s.units[id] == nil {
		s.units[id] = &unit[T]{staged: map[attempt][]Out[T]{}}
	}
	return s.units[id]
}

// writer is an open Sink.
type writer[T any] struct {
	sink    *Sink[T]
	row     *stream.Row[T]
	id      stream.Unit
	attempt stream.Attempt
	lanes   []*lane[T] // pointers, so that lanes do not share cache lines
}

// lane is what one goroutine wrote.
type lane[T any] struct {
	rows  []Out[T]
	buf   []byte
	bytes int64
}

// Begin forgets this epoch's earlier attempts, and anything after it.
func (w *writer[T]) Begin(ctx context.Context, a stream.Attempt) error {
	w.attempt = a
	w.lanes = make([]*lane[T], a.Lanes)
	for i := range w.lanes {
		w.lanes[i] = new(lane[T])
	}
	w.sink.mu.Lock()
	defer w.sink.mu.Unlock()
	staged := w.sink.unit(w.id).staged
	for s := range staged {
		if s.epoch >= a.Epoch {
			delete(staged, s)
		}
	}
	return ctx.Err()
}

// Write adds a row to a lane.
func (w *writer[T]) Write(n int, key []byte, row *T) error {
	return w.add(n, key, row, false)
}

// WriteNull adds a row whose key has no value any more.
func (w *writer[T]) WriteNull(n int, key []byte, row *T) error {
	return w.add(n, key, row, true)
}

func (w *writer[T]) add(n int, key []byte, row *T, null bool) error {
	if n < 0 || n >= len(w.lanes) {
		return w.errorf("lane %d does not exist, the attempt has %d", n, len(w.lanes))
	}
	l := w.lanes[n]
	out := Out[T]{Epoch: w.attempt.Epoch, Lane: n, Key: bytes.Clone(key), Null: null}
	if w.row == nil {
		out.Row = *row
		if b, ok := any(row).(*[]byte); ok { // which a source may use again
			*any(&out.Row).(*[]byte) = bytes.Clone(*b)
		}
	} else { // into a zero row: a decoder may reuse what a row refers to
		l.buf = w.row.Append(l.buf[:0], row)
		if err := w.row.Decode(l.buf, &out.Row); err != nil {
			return w.errorf("copy a row of type %s: %w", w.row.Type, err)
		}
		l.bytes += int64(len(l.buf))
	}
	l.rows = append(l.rows, out)
	return nil
}

// Prepare stages the rows in the sink, where they outlive this writer.
func (w *writer[T]) Prepare(ctx context.Context) (stream.Staged, error) {
	var rows []Out[T]
	var size int64
	for _, l := range w.lanes {
		rows = append(rows, l.rows...)
		size += l.bytes
	}
	var prior state
	if len(w.attempt.Prior) > 0 {
		if err := json.Unmarshal(w.attempt.Prior, &prior); err != nil {
			return stream.Staged{}, w.errorf("state of the last epoch is damaged: %w", err)
		}
	}
	note, err := json.Marshal(state{Epoch: w.attempt.Epoch, After: prior.Epoch})
	if err != nil {
		return stream.Staged{}, w.errorf("encode state: %w", err)
	}
	w.sink.mu.Lock()
	defer w.sink.mu.Unlock()
	w.sink.unit(w.id).staged[attempt{w.attempt.Epoch, w.attempt.Number}] = rows
	return stream.Staged{State: note, Rows: int64(len(rows)), Bytes: size}, ctx.Err()
}

// Publish makes the rows of a decided epoch visible.
func (w *writer[T]) Publish(ctx context.Context, p stream.Publication) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var at state
	if err := json.Unmarshal(p.Staged.State, &at); err != nil || at.Epoch != p.Epoch {
		return w.errorf("state %.200q of epoch %d is damaged: restore the checkpoint from a copy", p.Staged.State, p.Epoch)
	}
	w.sink.mu.Lock()
	defer w.sink.mu.Unlock()
	u := w.sink.unit(w.id)
	if u.epoch == p.Epoch && u.manifest == p.Manifest {
		return nil // done before
	}
	if u.epoch != at.After {
		return &stream.SinkMovedError{
			Sink: "sink " + w.sink.SinkName(), Unit: w.id,
			Want: epochText(at.After), Have: epochText(u.epoch),
		}
	}
	rows := u.staged[attempt{p.Epoch, p.Attempt}]
	if int64(len(rows)) != p.Staged.Rows {
		return w.errorf("the %d rows of epoch %d, attempt %d, were staged by another process, there are %d here: "+
			"a sink in memory cannot be recovered, start over with a new checkpoint", p.Staged.Rows, p.Epoch, p.Attempt, len(rows))
	}
	w.sink.rows = append(w.sink.rows, rows...)
	u.publish(p)
	return nil
}

// publish records that an epoch is visible, and forgets what was staged for it
// or before.
func (u *unit[T]) publish(p stream.Publication) {
	u.epoch, u.manifest = p.Epoch, p.Manifest
	for s := range u.staged {
		if s.epoch <= p.Epoch {
			delete(u.staged, s)
		}
	}
}

// Close forgets what was not prepared. What was may be decided, and stays.
func (w *writer[T]) Close() error {
	w.lanes = nil
	return nil
}

func (w *writer[T]) errorf(format string, args ...any) error {
	return fmt.Errorf("memory: sink %s: %w", w.sink.SinkName(), fmt.Errorf(format, args...))
}

// epochText says in words how far a sink is.
func epochText(epoch int64) string {
	if epoch == 0 {
		return "none"
	}
	return fmt.Sprintf("epoch %d", epoch)
}
