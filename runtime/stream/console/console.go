// Package console writes rows as JSON lines to standard output, or to any other
// writer.
//
// # Delivery
//
// Output is delivered at least once. Rows are collected while an epoch runs and
// written when it is prepared, which is before it is decided: an epoch that
// fails or crashes after that is written again, with the same rows, when it is
// tried again. Rows of an attempt that fails before it is prepared are not
// written.
//
// The rows of lane 0 come first, then those of lane 1, and so on; within a lane
// the order is kept. The memory taken is that of one epoch's output.
package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/tws-go/tws/runtime/stream"
)

// keptBuffer is the largest buffer a lane keeps from one epoch to the next.
const keptBuffer = 1 << 20

// JSON is a sink that writes each row as one line of JSON.
type JSON[T any] struct {
	// Out is where the lines go; nil means standard output. Several sinks may
	// share a writer that is safe for concurrent use, such as an *os.File: lines
	// are only written whole.
	Out io.Writer
}

// SinkName returns "console".
func (s JSON[T]) SinkName() string { return "console" }

// OpenSink checks that T can be written as JSON.
func (s JSON[T]) OpenSink(ctx context.Context, env stream.SinkEnv[T]) (stream.Writer[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if env.Row == nil || env.Row.AppendJSON == nil {
		return nil, fmt.Errorf("console: type %s has no JSON encoder: run go generate in its package", reflect.TypeFor[T]())
	}
	out := s.Out
	if out == nil {
		out = os.Stdout
	}
	return &writer[T]{out: out, row: env.Row}, nil
}

// writer collects the lines of one epoch.
type writer[T any] struct {
	out   io.Writer
	row   *stream.Row[T]
	lanes []*lane // pointers, so that lanes do not share cache lines
}

// lane is what one goroutine wrote.
type lane struct {
	lines []byte
	rows  int64
}

// Begin starts an attempt with nothing written.
func (w *writer[T]) Begin(ctx context.Context, a stream.Attempt) error {
	for len(w.lanes) < a.Lanes {
		w.lanes = append(w.lanes, new(lane))
	}
	w.lanes = w.lanes[:a.Lanes]
	for _, l := range w.lanes {
		l.rows = 0
		if l.lines = l.lines[:0]; cap(l.lines) > keptBuffer {
			l.lines = nil
		}
	}
	return ctx.Err()
}

// Write adds a line to a lane.
func (w *writer[T]) Write(n int, _ []byte, row *T) error {
	if n < 0 || n >= len(w.lanes) {
		return fmt.Errorf("console: lane %d does not exist, the attempt has %d", n, len(w.lanes))
	}
	l := w.lanes[n]
	lines, err := w.row.AppendJSON(l.lines, row)
	if err != nil {
		return fmt.Errorf("console: encode a row of type %s as JSON: %w", w.row.Type, err)
	}
	l.lines = append(lines, '\n')
	l.rows++
	return nil
}

// Prepare writes the lines out.
func (w *writer[T]) Prepare(ctx context.Context) (stream.Staged, error) {
	var staged stream.Staged
	for _, l := range w.lanes {
		if err := ctx.Err(); err != nil {
			return stream.Staged{}, err
		}
		if len(l.lines) == 0 {
			continue
		}
		n, err := w.out.Write(l.lines)
		if err == nil && n < len(l.lines) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return stream.Staged{}, fmt.Errorf("console: write rows of type %s: %w", w.row.Type, err)
		}
		staged.Rows += l.rows
		staged.Bytes += int64(len(l.lines))
	}
	return staged, nil
}

// Publish has nothing left to do.
func (w *writer[T]) Publish(context.Context, stream.Publication) error { return nil }

// Close forgets what was not written. It leaves the output open.
func (w *writer[T]) Close() error {
	w.lanes = nil
	return nil
}
