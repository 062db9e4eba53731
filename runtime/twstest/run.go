package twstest

import (
	"cmp"
	"context"
	"errors"
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
	inputs  inputs
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
	var wrong *testError
	if errors.As(err, &wrong) {
		t.Fatalf("twstest: %v", err)
	}
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
		t: t, clock: NewClock(Start), inputs: newInputs(),
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
	if err := h.setUp(steps); err != nil {
		return err
	}
	h.options.Clock = h.clock
	h.options.ReplaceSource = h.inputs.replace
	h.options.OnEpoch = func(s epoch.Stats) { h.stats = append(h.stats, s) }
	if err := h.open(ctx); err != nil {
		return err
	}
	defer func() { h.runner.Close() }()
	if err := h.inputs.check(); err != nil {
		return err
	}
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

// setUp does what the steps say about the run as a whole.
func (h *harness) setUp(steps []Step) error {
	happened := ""
	for _, s := range steps {
		switch {
		case s.wrong != "":
			return &testError{s.name + ": " + s.wrong}
		case s.first && happened != "":
			return &testError{s.name + " comes after " + happened + ": it holds for the whole run, so put it before the steps in which something happens"}
		case !s.first:
			happened = s.name
		}
		if s.setUp != nil {
			s.setUp(h)
		}
	}
	return nil
}

// open builds the pipeline, from its checkpoint if there is one.
func (h *harness) open(ctx context.Context) error {
	p := tws.NewPipeline(h.options)
	for _, register := range h.tables {
		tws.DeclareTables(p, register)
	}
	h.declare(p)
	r, err := p.Open(ctx)
	if wrong := h.inputs.err; wrong != nil {
		if err == nil {
			err = r.Close()
		}
		return cmp.Or(wrong, err)
	}
	if err != nil {
		return err
	}
	h.runner = r
	return nil
}
