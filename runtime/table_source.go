package tws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tws-go/tws/runtime/stream"
)

// SourceName implements [Source]. A table is known by the name it is declared with
// to a pipeline, so that only [ReadStream] can tell it; by itself it has none.
func (*StreamingTable[T]) SourceName() string { return "" }

// Open implements [Source], as far as it can: a table is opened by the pipeline
// that [ReadStream] finds.
func (*StreamingTable[T]) Open(context.Context, stream.SourceEnv[T]) (stream.Reader[T], error) {
	return nil, fmt.Errorf("tws: a StreamingTable[%s] is opened outside of a flow: read it with ReadStream(f, &table)", reflect.TypeFor[T]())
}

// in returns the table as a source of a flow, and the name by which it is declared
// to the flow's pipeline, "" if it is not.
func (t *StreamingTable[T]) in(f *Flow) (s Source[T], known string) {
	f.reads = append(f.reads, t)
	o, ok := f.pipeline.tables[t]
	if !ok {
		// A flow under test may stand for itself.
		o.Name = fmt.Sprintf("table%d", len(f.reads))
		if f.pipeline.options.ReplaceSource == nil {
			f.fail(fmt.Errorf("the flow reads a StreamingTable[%s] that the pipeline does not know: mark its variable with //tws:table and run go generate ./..., or call AddTable", reflect.TypeFor[T]()))
		}
		return &tableSource[T]{pipeline: f.pipeline, options: o}, ""
	}
	return &tableSource[T]{pipeline: f.pipeline, options: o}, o.Name
}

// tableSource is a table as a source of the rows that are appended to it.
type tableSource[T any] struct {
	pipeline *Pipeline
	options  TableOptions
}

func (s *tableSource[T]) SourceName() string { return s.options.Name }

func (s *tableSource[T]) Open(ctx context.Context, env stream.SourceEnv[T]) (stream.Reader[T], error) {
	if env.Row == nil || env.Row.ReadColumns == nil {
		return nil, errNotGenerated("row type " + reflect.TypeFor[T]().String())
	}
	if s.pipeline.options.Tables == nil {
		return nil, errNoTables()
	}
	r, err := s.pipeline.options.Tables.OpenReader(ctx, stream.TableSpec{
		Name: s.options.Name, Comment: s.options.Comment, Columns: env.Row.Columns,
	})
	if err != nil {
		return nil, err
	}
	return &tableReader[T]{TableReader: r, row: env.Row}, nil
}

func errNoTables() error {
	return errors.New("tws: the pipeline has no table folder: set Options.Tables, or --tables on the command line")
}

// tableReader reads typed rows from a table.
type tableReader[T any] struct {
	stream.TableReader
	row *Row[T]
}

// Read implements stream.Reader.
func (r *tableReader[T]) Read(ctx context.Context, from, to stream.Position, yield func(*stream.Record[T]) error) (stream.ReadStats, error) {
	var rec stream.Record[T]
	return r.TableReader.Read(ctx, from, to, func(row stream.RowReader) error {
		r.row.ReadColumns(row, &rec.Row)
		if err := row.EndRow(); err != nil {
			return err
		}
		place := row.Place()
		rec.Partition, rec.Offset, rec.Time = place.Partition, place.Offset, place.Time
		return yield(&rec)
	})
}

// DeclareTables declares to p the tables and row types that register declares to a
// pipeline, without its flows. For test harnesses.
func DeclareTables(p *Pipeline, register func(*Pipeline)) {
	other := NewPipeline(Options{Conf: p.options.Conf})
	register(other)
	maps.Copy(p.tables, other.tables)
	maps.Copy(p.rows, other.rows)
	p.errs = append(p.errs, other.errs...)
}

// writersOf returns the numbers of the flows that write a table that a flow reads.
func (p *Pipeline) writersOf(f *builtFlow) []int {
	var writers []int
	for i, other := range p.flows {
		if slices.Contains(f.reads, other.writes) {
			writers = append(writers, i)
		}
	}
	return writers
}

// checkCircles refuses flows that read what they write, be it by way of others: they
// would feed themselves, and none could begin when those before it have ended.
func (p *Pipeline) checkCircles(flows []*builtFlow) []error {
	const open, done = 1, 2
	state := make([]int, len(flows)) // 0 before
	var path []string
	var errs []error
	var visit func(i int)
	visit = func(i int) {
		path = append(path, flows[i].Name)
		defer func() { path = path[:len(path)-1] }()
		switch state[i] {
		case open:
			circle := path[slices.Index(path, flows[i].Name):]
			errs = append(errs, fmt.Errorf("tws: flows read each other's tables in a circle: %s: a table cannot be made from itself; write one of them to another table",
				strings.Join(circle, " reads from ")))
			return
		case done:
			return
		}
		state[i] = open
		for _, w := range p.writersOf(flows[i]) {
			visit(w)
		}
		state[i] = done
	}
	for i := range flows {
		visit(i)
	}
	return errs
}
