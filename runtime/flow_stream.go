package tws

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/tws-go/tws/runtime/internal/engine"
	"github.com/tws-go/tws/runtime/stream"
)

// Endless and Finite mark streams without and with an end.
type (
	Endless struct{}
	Finite  struct{}
)

// Stream is an endless stream of rows, Bounded one that ends.
type (
	Stream[T any]  = S[T, Endless]
	Bounded[T any] = S[T, Finite]
)

// S is a stream of rows of type T in a flow, endless or finite as B says. Use it
// under its names [Stream] and [Bounded]. A stream is consumed once: by an
// operator, or by being returned from the flow function.
type S[T, B any] struct {
	node *node[T]
}

// node is a place in a flow where rows of one type come out. Each lane of it has
// a consumer of its own, since lanes run at the same time.
type node[T any] struct {
	flow     *Flow
	consumer func(lane int) push[T]
	timed    bool   // WithWatermark lies before it
	after    string // the processor before it, if there is one
}

// push hands a row on, with what goes with it. Both belong to the caller.
type push[T any] func(row *T, meta *rowMeta) error

// rowMeta is what a flow knows of a row beside its columns.
type rowMeta struct {
	// key is the encoded grouping key that the row was emitted under, nil if it
	// comes from a source.
	key []byte
	// null says that the row stands for its key having no value any more.
	null bool

	// partition is the source's partition that the row is of, and time its
	// timestamp there, as far as the flow's watermark asks for them.
	partition int32
	time      time.Time
	// events knows of the row's event time, eventMicros; nil if it has none.
	events      *engine.EventLane
	eventMicros int64
}

// anyNode is a node of any row type.
type anyNode interface{ check() error }

func newNode[T any](f *Flow) *node[T] {
	n := &node[T]{flow: f}
	f.nodes = append(f.nodes, n)
	return n
}

// check fails for a stream that leads nowhere.
func (n *node[T]) check() error {
	if n.consumer != nil {
		return nil
	}
	return fmt.Errorf("a stream of %s is made but never used: return it from the flow function or drop it", reflect.TypeFor[T]())
}

// consume makes the stream's one consumer known.
func (s S[T, B]) consume(consumer func(lane int) push[T]) {
	if s.node == nil {
		return
	}
	if s.node.consumer != nil {
		s.node.flow.fail(fmt.Errorf("a stream of %s is used twice: a stream has one consumer; read the source a second time instead", reflect.TypeFor[T]()))
	}
	s.node.consumer = consumer
}

// made returns the node of a stream that some call made. It panics for the zero
// stream, which no flow knows of.
func (s S[T, B]) made(by string) *node[T] {
	if s.node == nil {
		panic(fmt.Sprintf("tws: %s of a zero stream of %s: begin with ReadStream or ReadBounded", by, reflect.TypeFor[T]()))
	}
	return s.node
}

// ReadStream reads an endless source.
func ReadStream[T any](f *Flow, s Source[T]) Stream[T] {
	return S[T, Endless]{read(f, s)}
}

// ReadBounded reads a source that has an end.
func ReadBounded[T any](f *Flow, s BoundedSource[T]) Bounded[T] {
	return S[T, Finite]{read[T](f, s)}
}

func read[T any](f *Flow, s Source[T]) *node[T] {
	name, known := s.SourceName(), s.SourceName()
	if t, ok := s.(*StreamingTable[T]); ok {
		s, known = t.in(f)
		name = s.SourceName()
	}
	if replace := f.pipeline.options.ReplaceSource; replace != nil {
		s = replaced[T](name, replace(known, reflect.TypeFor[T]()))
	}
	n := newNode[T](f)
	f.sources = append(f.sources, &source[T]{source: s, node: n})
	return n
}

// replaced returns the source that a test put in place of another, or an empty
// one if it put none. The name stays: it is the source's place in the checkpoint.
func replaced[T any](name string, other any) Source[T] {
	if s, ok := other.(Source[T]); ok {
		return renamed[T]{Source: s, name: name}
	}
	return emptySource[T]{name: name}
}

// renamed is a source under another name.
type renamed[T any] struct {
	Source[T]
	name string
}

func (s renamed[T]) SourceName() string { return s.name }

// emptySource has no rows.
type emptySource[T any] struct{ name string }

func (s emptySource[T]) SourceName() string { return s.name }

func (s emptySource[T]) Open(context.Context, stream.SourceEnv[T]) (stream.Reader[T], error) {
	return emptyReader[T]{}, nil
}

type emptyReader[T any] struct{}

func (emptyReader[T]) Discover(context.Context, stream.Position, bool) (stream.Position, []byte, error) {
	return nil, nil, nil
}

func (emptyReader[T]) Cut(_ context.Context, from, _ stream.Position, _ stream.Limits) (stream.Position, error) {
	return from, nil
}

func (emptyReader[T]) Read(context.Context, stream.Position, stream.Position, func(*stream.Record[T]) error) (stream.ReadStats, error) {
	return stream.ReadStats{}, nil
}

func (emptyReader[T]) Close() error { return nil }

// Map applies fn to every row. fn must depend on nothing but the row, and must
// be safe for concurrent use.
func Map[T, U, B any](s S[T, B], fn func(T) U) S[U, B] {
	in := s.made("Map")
	out := newNode[U](in.flow)
	out.timed, out.after = in.timed, in.after
	s.consume(func(lane int) push[T] {
		down := out.consumer(lane)
		var mapped U
		return func(row *T, meta *rowMeta) error {
			mapped = fn(*row)
			return down(&mapped, meta)
		}
	})
	return S[U, B]{out}
}

// Filter keeps the rows for which keep returns true. keep must depend on nothing but
// the row, and must be safe for concurrent use.
func Filter[T, B any](s S[T, B], keep func(T) bool) S[T, B] {
	in := s.made("Filter")
	out := newNode[T](in.flow)
	out.timed, out.after = in.timed, in.after
	s.consume(func(lane int) push[T] {
		down := out.consumer(lane)
		return func(row *T, meta *rowMeta) error {
			if !keep(*row) {
				return nil
			}
			return down(row, meta)
		}
	})
	return S[T, B]{out}
}

// Grouped is a stream whose rows have a key.
type Grouped[K, T, B any] struct {
	stream S[T, B]
	key    func(T) K
}

// GroupBy gives every row a key. key must depend on nothing but the row, and
// must be safe for concurrent use.
func GroupBy[T, B, K any](s S[T, B], key func(T) K) Grouped[K, T, B] {
	return Grouped[K, T, B]{stream: s, key: key}
}

// source connects a typed source with the engine.
type source[T any] struct {
	source Source[T]
	node   *node[T]
}

// Name implements engine.Source.
func (s *source[T]) Name() string { return s.source.SourceName() }

// Open implements engine.Source.
func (s *source[T]) Open(ctx context.Context, env engine.SourceEnv) (engine.Reader, error) {
	r, err := s.source.Open(ctx, stream.SourceEnv[T]{
		Row: rowOf[T](s.node.flow.pipeline), Log: env.Log, Now: env.Now, Journal: env.Journal,
		Unit: env.Unit, Clusters: s.node.flow.pipeline.options.Clusters,
	})
	if err != nil {
		return nil, err
	}
	f := s.node.flow
	partitioned, _ := r.(stream.Partitioned)
	pushing := &reader[T]{
		Reader: r, push: s.node.consumer(env.Lane), partitioned: partitioned,
		timed: f.watermark != nil, sourceTimes: f.sourceTimes,
	}
	if p, ok := r.(stream.Polled); ok {
		return &polledReader[T]{pushing, p}, nil
	}
	return pushing, nil
}

// reader pushes what a typed reader yields.
type reader[T any] struct {
	stream.Reader[T]
	push        push[T]
	partitioned stream.Partitioned // the same reader; nil if it is not Partitioned
	timed       bool               // the flow has a watermark
	sourceTimes bool               // made of the source's timestamps
}

// polledReader is the reader of a source that is [stream.Polled].
type polledReader[T any] struct {
	*reader[T]
	stream.Polled
}

// Settled implements engine.Reader.
func (r *reader[T]) Settled(ctx context.Context, upTo stream.Position) {
	if s, ok := r.Reader.(stream.Settler); ok {
		s.Settled(ctx, upTo)
	}
}

// Read implements engine.Reader. A panic in a function of the user on the rows'
// way becomes an error.
func (r *reader[T]) Read(ctx context.Context, from, to stream.Position) (stats stream.ReadStats, err error) {
	var at stream.Record[T]
	var meta rowMeta
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("row at partition %d, offset %d: panic: %v\n%s", at.Partition, at.Offset, p, debug.Stack())
		}
	}()
	return r.Reader.Read(ctx, from, to, func(rec *stream.Record[T]) error {
		at.Partition, at.Offset = rec.Partition, rec.Offset
		if r.timed {
			if err := r.place(rec, &meta); err != nil {
				return err
			}
		}
		return r.push(&rec.Row, &meta)
	})
}
