package tws

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/internal/engine"
	"github.com/tws-go/tws/runtime/stream"
)

// everyReader is all that a reader may be, as a source that opens to itself.
type everyReader struct {
	emptyReader[int]
	settled stream.Position
}

func (r *everyReader) SourceName() string { return "every" }

func (r *everyReader) Open(context.Context, stream.SourceEnv[int]) (stream.Reader[int], error) {
	return r, nil
}

func (r *everyReader) Partitions() int                                 { return 7 }
func (r *everyReader) PolledAt() (time.Time, bool)                     { return time.Unix(7, 0), true }
func (r *everyReader) Settled(_ context.Context, upTo stream.Position) { r.settled = upTo }

// besidesReader are the interfaces of package stream that a reader may have beside
// its own. Each reports whether what the engine was given answers as inner does.
var besidesReader = map[string]func(given engine.Reader, inner *everyReader) bool{
	"Partitioned": func(given engine.Reader, _ *everyReader) bool {
		p, ok := given.(stream.Partitioned)
		return ok && p.Partitions() == 7
	},
	"Polled": func(given engine.Reader, _ *everyReader) bool {
		p, ok := given.(stream.Polled)
		if !ok {
			return false
		}
		at, ok := p.PolledAt()
		return ok && at.Equal(time.Unix(7, 0))
	},
	"Settler": func(given engine.Reader, inner *everyReader) bool {
		s, ok := given.(stream.Settler)
		if !ok {
			return false
		}
		s.Settled(context.Background(), stream.Position("7"))
		return string(inner.settled) == "7"
	},
}

// notReaders are the other interfaces of package stream: what is a reader's own, and
// what sources, sinks and rows are.
var notReaders = []string{
	"BoundedSource", "ColumnReader", "ColumnWriter", "Committer", "Decider", "NullWriter", "Reader",
	"RowReader", "RowWriter", "SinkImpl", "Source", "TableReader", "TableSink", "Writer",
}

// TestAdaptorHidesNothing: the engine sees of a source's reader all that it is. The
// adaptor between them embeds an interface, which hides whatever else the reader can
// do, so each such thing must be passed on by hand.
func TestAdaptorHidesNothing(t *testing.T) {
	t.Parallel()
	inner := &everyReader{}
	given := openInFlow(t, inner)
	for name, answers := range besidesReader {
		if !answers(given, inner) {
			t.Errorf("a reader is stream.%s, and the engine does not learn of it: pass it on in reader[T]", name)
		}
	}
	known := slices.Sorted(maps.Keys(besidesReader))
	known = append(known, notReaders...)
	slices.Sort(known)
	if diff := cmp.Diff(known, streamInterfaces(t)); diff != "" {
		t.Errorf("what a reader may be belongs into besidesReader, other interfaces into notReaders (-known +package stream):\n%s", diff)
	}
}

// TestAdaptorInventsNothing: a reader that is no more than a reader is taken for one.
func TestAdaptorInventsNothing(t *testing.T) {
	t.Parallel()
	given := openInFlow(t, emptySource[int]{name: "plain"})
	if _, ok := given.(stream.Polled); ok {
		t.Error("it is Polled: the engine would wait for an instant that nobody knows")
	}
	if p, ok := given.(stream.Partitioned); ok && p.Partitions() != 1 {
		t.Errorf("it has %d partitions, want 1", p.Partitions())
	}
	given.Settled(context.Background(), nil)
}

// openInFlow opens a source as the engine does.
func openInFlow(t *testing.T, s Source[int]) engine.Reader {
	t.Helper()
	f := &Flow{pipeline: NewPipeline(Options{})}
	n := read(f, s)
	n.consumer = func(int) push[int] { return func(*int, *rowMeta) error { return nil } }
	r, err := f.sources[0].Open(context.Background(), engine.SourceEnv{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// streamInterfaces returns the names of the interfaces that package stream exports,
// sorted.
func streamInterfaces(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("stream/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if _, ok := spec.Type.(*ast.InterfaceType); ok && spec.Name.IsExported() {
				names = append(names, spec.Name.Name)
			}
			return false
		})
	}
	slices.Sort(names)
	return names
}
