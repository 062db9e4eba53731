package twstest

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream/memory"
)

// harness is one test run of a flow.
type harness struct {
	t       testing.TB
	clock   *Clock
	options tws.Options
	inputs  map[inputName]*input
	declare func(*tws.Pipeline)
	tables  []func(*tws.Pipeline) // declare tables
	runner  *tws.Runner
	stats   []epoch.Stats
}

// Run runs a flow through the steps and returns what it emitted. It fails the
// test if the flow cannot be built or an epoch fails. The clock begins at [Start].
func Run[T, B any](t testing.TB, flow func(*tws.Flow) tws.S[T, B], steps ...Step) *Result[T] {
	t.Helper()
	r, err := run(t, flow, steps)
	if err != nil {
		t.Fatalf("twstest: %v", err)
	}
	return r
}

// RunError runs a flow like [Run], but expects it to fail, and returns the error.
func RunError[T, B any](t testing.TB, flow func(*tws.Flow) tws.S[T, B], steps ...Step) error {
	t.Helper()
	_, err := run(t, flow, steps)
	if err == nil {
		t.Fatalf("twstest: the flow ran without an error")
	}
	return err
}

func run[T, B any](t testing.TB, flow func(*tws.Flow) tws.S[T, B], steps []Step) (*Result[T], error) {
	t.Helper()
	sink := &memory.Sink[T]{}
	target := tws.NewSink(sink)
	h := &harness{
		t: t, clock: NewClock(Start), inputs: map[inputName]*input{},
		declare: func(p *tws.Pipeline) { tws.AppendTestFlow(p, target, "test", flow) },
		options: tws.Options{Checkpoint: t.TempDir(), Stores: mem.New(), NoSync: true, Conf: map[string]string{}},
	}
	if err := h.run(context.Background(), steps); err != nil {
		return nil, err
	}
	out := sink.Rows()
	slices.SortStableFunc(out, func(a, b memory.Out[T]) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), slices.Compare(a.Key, b.Key))
	})
	r := &Result[T]{t: t, stats: h.stats}
	for _, o := range out {
		r.rows = append(r.rows, o.Row)
		r.nulls = append(r.nulls, o.Null)
		r.epochs = append(r.epochs, o.Epoch)
	}
	return r, nil
}

func (h *harness) run(ctx context.Context, steps []Step) error {
	for _, s := range steps {
		if s.setUp != nil {
			s.setUp(h)
		}
	}
	h.options.Clock = h.clock
	h.options.ReplaceSource = h.replace
	h.options.OnEpoch = func(s epoch.Stats) { h.stats = append(h.stats, s) }
	if err := h.open(ctx); err != nil {
		return err
	}
	defer func() { h.runner.Close() }()
	h.checkInputs()
	for _, s := range steps {
		if s.run != nil {
			if err := s.run(h); err != nil {
				return err
			}
		}
		if err := h.runner.Drain(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open builds the pipeline, from its checkpoint if there is one.
func (h *harness) open(ctx context.Context) error {
	h.t.Helper()
	p := tws.NewPipeline(h.options)
	for _, register := range h.tables {
		tws.DeclareTables(p, register)
	}
	h.declare(p)
	r, err := p.Open(ctx)
	if err != nil {
		return err
	}
	h.runner = r
	return nil
}

// replace gives a source the test's rows: those for its name, else those for any
// source of its row type.
func (h *harness) replace(name string, row reflect.Type) any {
	if name == "" {
		return h.replaceTable(row)
	}
	in := h.inputs[inputName{name, row}]
	if in == nil {
		in = h.inputs[inputName{"", row}]
	}
	if in == nil {
		return nil
	}
	if in.used != "" && in.used != name {
		h.t.Fatalf("twstest: the sources %q and %q both read %s: say with RowsTo which of them the rows are for", in.used, name, row)
	}
	in.used = name
	return in.rows
}

// replaceTable gives a table whose name is not known the test's rows of its type, if
// there is no doubt which.
func (h *harness) replaceTable(row reflect.Type) any {
	const table = "(a table)"
	var found *input
	for name, in := range h.inputs {
		if name.row != row || in.used != "" && in.used != table {
			continue
		}
		if found != nil {
			h.t.Fatalf("twstest: the flow reads a table of %s, and there are rows for several sources of that type: say with Tables(Register) which table is which", row)
		}
		found = in
	}
	if found == nil {
		return nil
	}
	found.used = table
	return found.rows
}

// checkInputs fails for rows that no source of the flow takes.
func (h *harness) checkInputs() {
	h.t.Helper()
	for _, name := range slices.SortedFunc(maps.Keys(h.inputs), func(a, b inputName) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.row.String(), b.row.String()))
	}) {
		if h.inputs[name].used == "" {
			h.t.Fatalf("twstest: the flow reads no source %q of %s", name.source, name.row)
		}
	}
}
