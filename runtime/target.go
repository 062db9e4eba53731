package tws

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/tws-go/tws/runtime/stream"
)

// Target is where a flow's rows go: a *[StreamingTable] or a *[Sink].
type Target[T any] interface {
	// targetName says what the target is, for messages and the checkpoint.
	targetName(p *Pipeline) string
	openTarget(ctx context.Context, p *Pipeline, unit stream.Unit, log *slog.Logger) (stream.Writer[T], error)
}

// StreamingTable is a table that flows append to: a Delta table in the
// pipeline's table folder, which any Delta reader opens. Declare it as a package
// variable with the directive //tws:table and pass it by address. It is a
// [Target] of flows, and a [Source] of the rows that are appended to it.
type StreamingTable[T any] struct {
	_ [0]func(T)
	_ byte // a type without size would let two variables have one address
}

// TableOptions are a table's declarations; generated code fills them in.
type TableOptions struct {
	Name    string
	Comment string
}

// TableStore opens the tables of a pipeline.
type TableStore interface {
	// Open opens a table to be written by a commit unit.
	Open(ctx context.Context, spec stream.TableSpec, unit stream.Unit) (stream.TableSink, error)
	// OpenReader opens a table to be read. It need not exist yet.
	OpenReader(ctx context.Context, spec stream.TableSpec) (stream.TableReader, error)
}

// AddTable declares a table to the pipeline. Generated code calls it.
func AddTable[T any](p *Pipeline, t *StreamingTable[T], o TableOptions) {
	if !validName(o.Name) {
		p.fail(fmt.Errorf("tws: table name %q: use letters, digits, '-', '_' and '.' only", o.Name))
	}
	for other, declared := range p.tables {
		if declared.Name == o.Name && other != any(t) {
			p.fail(fmt.Errorf("tws: two tables are called %s", o.Name))
		}
	}
	p.tables[t] = o
}

func (t *StreamingTable[T]) targetName(p *Pipeline) string { return "table " + p.tables[t].Name }

func (t *StreamingTable[T]) openTarget(ctx context.Context, p *Pipeline, unit stream.Unit, _ *slog.Logger) (stream.Writer[T], error) {
	o, ok := p.tables[t]
	if !ok {
		return nil, fmt.Errorf("tws: a flow writes a StreamingTable[%s] that the pipeline does not know: mark its variable with //tws:table and run go generate ./..., or call AddTable", reflect.TypeFor[T]())
	}
	row := rowOf[T](p)
	if row == nil {
		return nil, errNotGenerated("row type " + reflect.TypeFor[T]().String())
	}
	if p.options.Tables == nil {
		return nil, errNoTables()
	}
	sink, err := p.options.Tables.Open(ctx, stream.TableSpec{Name: o.Name, Comment: o.Comment, Columns: row.Columns}, unit)
	if err != nil {
		return nil, err
	}
	return &tableWriter[T]{TableSink: sink, row: row}, nil
}

// tableWriter writes typed rows to a table.
type tableWriter[T any] struct {
	stream.TableSink
	row *Row[T]
}

// Write implements stream.Writer.
func (w *tableWriter[T]) Write(lane int, _ []byte, row *T) error {
	l := w.Lane(lane)
	l.BeginRow()
	w.row.AppendColumns(l, row)
	return l.EndRow()
}

// Sink is an output of the user's choice. Declare it as a package variable, made
// by [NewSink], with the directive //tws:sink.
type Sink[T any] struct{ impl SinkImpl[T] }

// NewSink makes a sink of an implementation.
func NewSink[T any](impl SinkImpl[T]) *Sink[T] { return &Sink[T]{impl: impl} }

func (s *Sink[T]) targetName(*Pipeline) string { return s.impl.SinkName() }

func (s *Sink[T]) openTarget(ctx context.Context, p *Pipeline, unit stream.Unit, log *slog.Logger) (stream.Writer[T], error) {
	return s.impl.OpenSink(ctx, stream.SinkEnv[T]{Row: rowOf[T](p), Unit: unit, Clusters: p.options.Clusters, Log: log})
}
