// Package memory has a source and a sink that live in the memory of one process:
// rows given by a program, and rows kept for it to look at. They are made for
// tests.
//
// # Source
//
// [Rows] is a growing list. A position is the number of rows before it. A
// pipeline that is restarted over the same Rows goes on where it was; another
// process has other Rows, and a position beyond their end is an error.
//
// # Sink
//
// [Sink] keeps what is published. Rows that are written become visible with
// their epoch's Publish, all at once and once only, however often an epoch is
// tried, published or recovered, as long as the same Sink is used. A Sink that
// is not where the checkpoint left it, such as a new one over an old
// checkpoint, refuses to publish with a [stream.SinkMovedError].
package memory

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/tws-go/tws/runtime/stream"
)

// Rows is a source of rows in memory. The zero value has no rows and is ready to
// use. It must not be copied after first use. Rows may be appended while it is
// read; all methods are safe for concurrent use.
type Rows[T any] struct {
	// Name is the source's name within its flow; "memory" if empty.
	Name string

	mu   sync.Mutex
	rows []timed[T]
}

// timed is a row and its timestamp, zero if it has none.
type timed[T any] struct {
	row T
	at  time.Time
}

// NewRows returns a source with the given name and rows.
func NewRows[T any](name string, rows ...T) *Rows[T] {
	r := &Rows[T]{Name: name}
	r.Append(rows...)
	return r
}

// Append adds rows without a timestamp to the end. What slices, maps and pointers in
// the rows refer to belongs to the source from then on.
func (r *Rows[T]) Append(rows ...T) { r.AppendAt(time.Time{}, rows...) }

// AppendAt is Append with the source's timestamp of the rows, as a message queue
// keeps for each message.
func (r *Rows[T]) AppendAt(at time.Time, rows ...T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range rows {
		r.rows = append(r.rows, timed[T]{row, at})
	}
}

// Len returns the number of rows.
func (r *Rows[T]) Len() int { return len(r.all()) }

// all returns the rows so far, which nobody changes.
func (r *Rows[T]) all() []timed[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows
}

// SourceName returns Name or its default.
func (r *Rows[T]) SourceName() string { return cmp.Or(r.Name, "memory") }

// Open opens the source. It needs no codecs.
func (r *Rows[T]) Open(ctx context.Context, _ stream.SourceEnv[T]) (stream.Reader[T], error) {
	return &reader[T]{rows: r}, ctx.Err()
}

// reader reads Rows.
type reader[T any] struct {
	rows *Rows[T]
	rec  stream.Record[T]
}

// Discover returns the number of rows. Nothing needs to be remembered.
func (r *reader[T]) Discover(ctx context.Context, _ stream.Position, _ bool) (stream.Position, []byte, error) {
	return encodeCount(r.rows.Len()), nil, ctx.Err()
}

// Cut counts rows. They have no size in bytes, so limits.Bytes does not matter.
func (r *reader[T]) Cut(ctx context.Context, from, end stream.Position, limits stream.Limits) (stream.Position, error) {
	lo, hi, err := r.span(from, end)
	if err != nil {
		return nil, err
	}
	if limits.Rows > 0 && int64(hi-lo) > limits.Rows {
		return encodeCount(lo + int(limits.Rows)), ctx.Err()
	}
	return end, ctx.Err()
}

// Read yields copies of the rows, which share what they refer to.
func (r *reader[T]) Read(ctx context.Context, from, to stream.Position, yield func(*stream.Record[T]) error) (stream.ReadStats, error) {
	var stats stream.ReadStats
	lo, hi, err := r.span(from, to)
	if err != nil {
		return stats, err
	}
	for i, row := range r.rows.all()[lo:hi] {
		if err := ctx.Err(); err != nil {
			return stats, err
		}
		r.rec = stream.Record[T]{Row: row.row, Offset: int64(lo + i), Time: row.at}
		if err := yield(&r.rec); err != nil {
			return stats, err
		}
		stats.Rows++
	}
	return stats, nil
}

// Close has nothing to release.
func (r *reader[T]) Close() error { return nil }

// span decodes two positions and checks that they are within the rows.
func (r *reader[T]) span(from, to stream.Position) (lo, hi int, err error) {
	if lo, err = decodeCount(from); err == nil {
		hi, err = decodeCount(to)
	}
	switch n := r.rows.Len(); {
	case err != nil:
		return 0, 0, fmt.Errorf("memory: source %s: %w", r.rows.SourceName(), err)
	case lo > hi || hi > n:
		return 0, 0, fmt.Errorf("memory: source %s: there are %d rows, not those from %d to %d: "+
			"the checkpoint was made with other rows, use a new one", r.rows.SourceName(), n, lo, hi)
	}
	return lo, hi, nil
}

// encodeCount returns the position after n rows.
func encodeCount(n int) stream.Position {
	if n == 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

func decodeCount(p stream.Position) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := strconv.Atoi(string(p))
	if err != nil || n < 1 || !encodeCount(n).Equal(p) {
		return 0, fmt.Errorf("position %.200q is damaged: it is not a number of rows", p)
	}
	return n, nil
}
