package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync/atomic"
	"time"

	"github.com/tws-go/tws/codec"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/console"
	"github.com/tws-go/tws/runtime/stream/file"
	"github.com/tws-go/tws/schemas"
)

// reading is the row type of the tests. Its codecs are what tws-gen would emit.
type reading struct {
	ID   int64
	Name string
}

func (*reading) TWSRow() *tws.Row[reading] { return readingRow }

var readingRow = &tws.Row[reading]{
	Type: "app.reading",
	Columns: []schemas.Field{
		{ID: 1, Name: "id", Type: schemas.Type{Kind: schemas.Int64}},
		{ID: 2, Name: "name", Type: schemas.Type{Kind: schemas.String}},
	},
	Append: func(dst []byte, v *reading) []byte {
		return codec.AppendString(codec.AppendInt(codec.AppendArrayHeader(dst, 2), v.ID), v.Name)
	},
	Decode: func(src []byte, v *reading) error {
		var r codec.Reader
		r.Reset(src)
		r.Struct(2)
		*v = reading{}
		v.ID, v.Name = r.Int64(), r.String()
		r.EndStruct()
		return r.Done()
	},
	AppendJSON: func(dst []byte, v *reading) ([]byte, error) {
		dst = codec.AppendJSONInt(append(dst, `{"id":`...), v.ID)
		dst = codec.AppendJSONString(append(dst, `,"name":`...), v.Name)
		return append(dst, '}'), nil
	},
	DecodeJSON: func(src []byte, v *reading) error {
		var r codec.JSONReader
		*v = reading{}
		r.Reset(src)
		r.BeginObject()
		for r.NextField() {
			switch string(r.Name()) {
			case "id":
				v.ID = r.Int(64)
			case "name":
				v.Name = r.String()
			default:
				r.Skip()
			}
		}
		return r.End()
	},
	AppendColumns: func(w tws.ColumnWriter, v *reading) {
		w.Int(v.ID)
		w.String(v.Name)
	},
}

// counter emits the last row of each key, and for each key once more when a
// timer fires that it sets for the same epoch.
type counter struct {
	tws.Processor[int64, reading, reading]
}

func (*counter) BindTWS(*tws.Binder) tws.Binding[int64, reading, reading] {
	processor := schemas.Processor{
		Name: "counter", TimeMode: schemas.TimeProcessing, OutputMode: schemas.OutputAppend,
		Key: schemas.Type{Kind: schemas.Int64},
	}
	return tws.Binding[int64, reading, reading]{
		Processor: processor, Fingerprint: processor.Fingerprint(),
		Key: tws.KeyCodec[int64]{Append: codec.AppendKeyInt64, Read: (*codec.KeyReader).Int64},
		In:  readingRow, Out: readingRow,
	}
}

func (*counter) HandleInputRows(ctx *tws.InputContext, _ int64, rows iter.Seq[reading], out tws.Emitter[reading]) error {
	var last reading
	for r := range rows {
		last = r
	}
	return errors.Join(out.Emit(last), ctx.RegisterTimer(ctx.ProcessingTime()))
}

func (*counter) HandleExpiredTimer(_ *tws.TimerContext, key int64, _ tws.ExpiredTimer, out tws.Emitter[reading]) error {
	return out.Emit(reading{ID: key, Name: "timer"})
}

// readings reads the folder that the configuration names.
func readings(f *tws.Flow) tws.Stream[reading] {
	policy := file.Fail
	if f.Bool("drop", false) {
		policy = file.Drop
	}
	return tws.ReadStream(f, file.JSON[reading]{
		Path: f.String("input", "no-such-folder"), Name: "readings", OnMalformed: policy,
	})
}

// copyToTable is a pipeline with one flow, "copy", from a folder to the table
// "copies".
func copyToTable(p *tws.Pipeline) {
	var copies tws.StreamingTable[reading]
	tws.AddTable(p, &copies, tws.TableOptions{Name: "copies", Comment: "Copies of readings."})
	tws.AppendFlow(p, &copies, "copy", readings)
}

// copyToWriter is a pipeline with one flow, "copy", to a console sink whose
// standard output is w.
func copyToWriter(p *tws.Pipeline, w io.Writer) {
	tws.AppendFlow(p, tws.NewSink(console.JSON[reading]{Out: w}), "copy", readings)
}

// countToTable is a pipeline with one stateful flow, "count".
func countToTable(p *tws.Pipeline) {
	var counts tws.StreamingTable[reading]
	tws.AddTable(p, &counts, tws.TableOptions{Name: "counts"})
	tws.AppendFlow(p, &counts, "count", func(f *tws.Flow) tws.Stream[reading] {
		byID := tws.GroupBy(readings(f), func(r reading) int64 { return r.ID })
		return tws.TransformWithState(byID, func() *counter { return &counter{} })
	})
}

// recounter is counter with another name, which its stored state does not fit.
type recounter struct{ counter }

func (r *recounter) BindTWS(b *tws.Binder) tws.Binding[int64, reading, reading] {
	binding := r.counter.BindTWS(b)
	binding.Processor.Name = "recounter"
	binding.Fingerprint = binding.Processor.Fingerprint()
	return binding
}

// recountToTable is countToTable after its processor was renamed.
func recountToTable(p *tws.Pipeline) {
	var counts tws.StreamingTable[reading]
	tws.AddTable(p, &counts, tws.TableOptions{Name: "counts"})
	tws.AppendFlow(p, &counts, "count", func(f *tws.Flow) tws.Stream[reading] {
		byID := tws.GroupBy(readings(f), func(r reading) int64 { return r.ID })
		return tws.TransformWithState(byID, func() *recounter { return &recounter{} })
	})
}

// copyToOther is copyToTable after its table was renamed.
func copyToOther(p *tws.Pipeline) {
	var other tws.StreamingTable[reading]
	tws.AddTable(p, &other, tws.TableOptions{Name: "other"})
	tws.AppendFlow(p, &other, "copy", readings)
}

// narrow is a reading whose row type has lost the column name.
type narrow reading

func (*narrow) TWSRow() *tws.Row[narrow] {
	return &tws.Row[narrow]{
		Type: "app.narrow", Columns: readingRow.Columns[:1],
		DecodeJSON:    func(src []byte, v *narrow) error { return readingRow.DecodeJSON(src, (*reading)(v)) },
		AppendColumns: func(w tws.ColumnWriter, v *narrow) { w.Int(v.ID) },
	}
}

// narrowToTable is copyToTable after its rows lost a column.
func narrowToTable(p *tws.Pipeline) {
	var copies tws.StreamingTable[narrow]
	tws.AddTable(p, &copies, tws.TableOptions{Name: "copies"})
	tws.AppendFlow(p, &copies, "copy", func(f *tws.Flow) tws.Stream[narrow] {
		return tws.ReadStream(f, file.JSON[narrow]{Path: f.String("input", ""), Name: "readings"})
	})
}

// panicking is a pipeline whose flow function panics.
func panicking(p *tws.Pipeline) {
	tws.AppendFlow(p, tws.NewSink(console.JSON[reading]{}), "bad", func(*tws.Flow) tws.Stream[reading] { panic("flow function") })
}

// slow is a source with one row whose Read takes until its context ends. It
// says on standard error, or by closing reading, that it has begun.
type slow struct{ reading chan struct{} }

func (slow) SourceName() string { return "slow" }

func (s slow) Open(context.Context, stream.SourceEnv[reading]) (stream.Reader[reading], error) {
	return &slowReader{source: s}, nil
}

type slowReader struct {
	source slow
	begun  atomic.Bool
}

func (*slowReader) Discover(context.Context, stream.Position, bool) (stream.Position, []byte, error) {
	return stream.Position("1"), nil, nil
}

func (*slowReader) Cut(_ context.Context, _, end stream.Position, _ stream.Limits) (stream.Position, error) {
	return end, nil
}

func (r *slowReader) Read(ctx context.Context, _, _ stream.Position, _ func(*stream.Record[reading]) error) (stream.ReadStats, error) {
	if r.source.reading == nil {
		fmt.Fprintln(os.Stderr, "reading")
	} else if r.begun.CompareAndSwap(false, true) {
		close(r.source.reading)
	}
	<-ctx.Done()
	return stream.ReadStats{}, ctx.Err()
}

func (*slowReader) Close() error { return nil }

// slowToConsole returns a pipeline whose only epoch never ends by itself.
func slowToConsole(begun chan struct{}) func(*tws.Pipeline) {
	return func(p *tws.Pipeline) {
		tws.AppendFlow(p, tws.NewSink(console.JSON[reading]{}), "slow", func(f *tws.Flow) tws.Stream[reading] {
			return tws.ReadStream(f, slow{reading: begun})
		})
	}
}

// still is a clock that stands at one instant and never lets a wait end.
type still struct{ at time.Time }

func (s still) Now() time.Time { return s.at }

func (still) After(time.Duration) <-chan time.Time { return nil }
