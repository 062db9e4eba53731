package tws_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/memory"
)

// bounded makes a source of rows in memory one that ends.
type bounded struct{ *memory.Rows[line] }

func (bounded) IsBounded() {}

func (b *bench) onceFlow(f *tws.Flow) tws.Bounded[line] {
	return through(tws.ReadBounded(f, bounded{&b.rows}), b.probe)
}

// B-105: a once flow reads what was there at its first run, whatever comes later
// and however often it runs, by Run or by Drain.
func TestOnce(t *testing.T) {
	t.Parallel()
	for _, drain := range []bool{false, true} {
		b := newBench(t, newProbe(echo))
		b.declare = func(p *tws.Pipeline) { tws.AppendOnce(p, b.target, "once", b.onceFlow) }
		b.row("a", "x")
		for range 3 {
			p := tws.NewPipeline(b.options)
			b.declare(p)
			r, err := p.Open(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if drain {
					err = r.Drain(context.Background())
				} else {
					err = r.Run(context.Background())
				}
				if err != nil {
					t.Fatal(err)
				}
				b.row("a", "later")
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		b.wantOut("1 a x0")
	}
}

// B-105: cut short, it is finished by the next run, to where the first found the
// end.
func TestOnceCutShort(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(echo))
	b.declare = func(p *tws.Pipeline) { tws.AppendOnce(p, b.target, "once", b.onceFlow) }
	b.options.Conf["tws.max-rows"], b.options.MaxEpochs = "1", 2
	b.row("a", "1", "2", "3", "4", "5")
	for range 2 {
		b.mustRun().row("a", "later")
	}
	b.options.MaxEpochs = 0
	b.mustRun().mustRun()
	b.wantOut("1 a 10", "2 a 21", "3 a 32", "4 a 43", "5 a 54")
}

// B-105: beside a flow that goes on, the once flow ends, and the other does not.
func TestOnceBesideInterval(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(echo))
	var live memory.Rows[line]
	ctx, cancel := context.WithCancel(context.Background())
	b.declare = func(p *tws.Pipeline) {
		tws.AppendOnce(p, b.target, "once", b.onceFlow)
		tws.AppendFlow(p, b.target, "live", func(f *tws.Flow) tws.Stream[line] { return through(tws.ReadStream(f, &live), b.probe) })
	}
	b.options.Trigger = tws.ProcessingTime(time.Second)
	b.options.OnEpoch = func(e epoch.Stats) {
		if e.Flow == "live" && e.Epoch == 3 {
			cancel()
			return
		}
		if e.Flow == "live" {
			live.Append(line{"l", fmt.Sprint(e.Epoch + 1)})
			b.row("o", "later")
		}
	}
	b.row("o", "x")
	live.Append(line{"l", "1"})
	go func() {
		for ctx.Err() == nil {
			b.clock.Advance(time.Second)
		}
	}()
	if err := b.runWith(ctx); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(b.out(), ", ")
	for _, want := range []string{"1 l 10", "2 l 21", "3 l 32", "1 o x0"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if strings.Contains(got, "later") {
		t.Errorf("the once flow read on: %s", got)
	}
}

// The limit on epochs is one of each flow, for every trigger.
func TestMaxEpochs(t *testing.T) {
	t.Parallel()
	for name, trigger := range map[string]tws.Trigger{"available": tws.AvailableNow(), "interval": tws.ProcessingTime(time.Nanosecond)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newProbe(echo))
			b.options.Trigger, b.options.MaxEpochs, b.options.Conf["tws.max-rows"] = trigger, 2, "1"
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				for ctx.Err() == nil {
					b.clock.Advance(time.Second)
				}
			}()
			b.row("a", "1", "2", "3").mustRun()
			b.wantOut("1 a 10", "2 a 21")
			if name == "available" {
				b.mustRun()
				b.wantOut("1 a 10", "2 a 21", "3 a 32")
			}
		})
	}
}

// B-92: a run that is cancelled in the middle of an epoch finishes it, and ends
// without an error; the next run goes on.
func TestCancelledRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	b := newBench(t, newProbe(func(p *probe, c *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
		cancel()
		if err := c.Context().Err(); err != nil {
			return fmt.Errorf("the callback's context ended with the run's: %w", err)
		}
		return echo(p, c, key, rows, out)
	}))
	b.options.Conf["tws.max-rows"] = "2"
	b.row("a", "1").row("b", "2").row("a", "3")
	if err := b.runWith(ctx); err != nil {
		t.Fatal(err)
	}
	b.wantOut("1 a 10", "1 b 20")
	b.mustRun()
	b.wantOut("1 a 10", "1 b 20", "2 a 31")
}

// B-92: an epoch that does not end within the grace period is dropped, plainly,
// and the checkpoint is as if it had never begun.
func TestGraceAbort(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hang := true
	b := newBench(t, nil)
	b.probe = newProbe(func(p *probe, c *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
		if err := echo(p, c, key, rows, out); err != nil || !hang {
			return err
		}
		cancel()
		for c.Context().Err() == nil { // the grace period begins when the run hears of it
			b.clock.Advance(time.Second)
		}
		return c.Context().Err()
	})
	b.options.Grace = time.Minute
	b.row("a", "1")
	wantError(t, b.runWith(ctx), "did not finish within the grace period of 1m0s", "runs again")
	b.wantOut()
	hang = false
	b.row("a", "2").mustRun() // to where the first run wanted to get
	b.wantOut("1 a 10")
	b.mustRun()
	b.wantOut("1 a 10", "2 a 21")
}

// When a flow fails, the others finish their epochs, and the error is told.
func TestOneFlowFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(echo))
	inEpoch, failed := make(chan struct{}), make(chan struct{})
	slow := newProbe(func(p *probe, c *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
		close(inEpoch)
		<-failed
		return echo(p, c, key, rows, out)
	})
	bad := newProbe(func(*probe, *tws.InputContext, string, iter.Seq[line], tws.Emitter[line]) error {
		<-inEpoch
		defer close(failed)
		return errBoom
	})
	b.options.Conf["tws.max-rows"] = "1"
	b.declare = func(p *tws.Pipeline) {
		for name, processor := range map[string]*probe{"slow": slow, "bad": bad} {
			tws.AppendFlow(p, b.target, name, func(f *tws.Flow) tws.Stream[line] {
				return through(tws.ReadStream(f, &b.rows), processor)
			})
		}
	}
	b.row("a", "1")
	if err := b.fails("flow bad, epoch 1"); !errors.Is(err, errBoom) {
		t.Error(err)
	}
	b.wantOut("1 a 10")
}

// The runner tells when the next timer is due, over all flows.
func TestNextTimer(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(func(p *probe, _ *tws.InputContext, _ string, rows iter.Seq[line], _ tws.Emitter[line]) error {
		for row := range rows {
			d, err := time.ParseDuration(row.Text)
			if err != nil {
				return p.Timer.Stop()
			}
			if err := p.Timer.Set(time.Unix(0, 0).Add(d)); err != nil {
				return err
			}
		}
		return nil
	}))
	var other memory.Rows[line]
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, "one", b.flow)
		tws.AppendFlow(p, b.target, "two", func(f *tws.Flow) tws.Stream[line] { return through(tws.ReadStream(f, &other), b.probe) })
	}
	p := tws.NewPipeline(b.options)
	b.declare(p)
	r, err := p.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, step := range []struct {
		rows *memory.Rows[line]
		row  line
		want string
	}{
		{&other, line{"a", "50s"}, "50s"},
		{&b.rows, line{"a", "30s"}, "30s"},
		{&b.rows, line{"b", "20s"}, "20s"},
		{&b.rows, line{"b", "stop"}, "30s"},
		{&b.rows, line{"a", "40s"}, "40s"},
		{&b.rows, line{"a", "stop"}, "50s"},
		{&other, line{"a", "stop"}, "none"},
	} {
		step.rows.Append(step.row)
		if err := r.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		at, ok, err := r.NextTimer()
		got := "none"
		if ok {
			got = at.Sub(time.Unix(0, 0)).String()
		}
		if err != nil || got != step.want {
			t.Errorf("after %v: %s, %v, want %s", step.row, got, err, step.want)
		}
	}
}

// After an error a runner can only be closed, and says so.
func TestRunnerAfterError(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(func(*probe, *tws.InputContext, string, iter.Seq[line], tws.Emitter[line]) error { return errBoom }))
	b.row("a", "x")
	p := tws.NewPipeline(b.options)
	b.declare(p)
	r, err := p.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Drain(context.Background()); !errors.Is(err, errBoom) {
		t.Errorf("got %v", err)
	}
	wantError(t, r.Drain(context.Background()), "open it again")
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// A second pipeline on a checkpoint in use is refused.
func TestCheckpointInUse(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(echo))
	p := tws.NewPipeline(b.options)
	b.declare(p)
	r, err := p.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b.fails("in use")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	b.mustRun()
}

// opening is a source, a sink and a table store that tell when they are opened.
type opening struct {
	memory.Rows[line]
	name string
	tell func(name string) error
}

func (o *opening) SourceName() string { return o.name }

func (o *opening) Open(ctx context.Context, env stream.SourceEnv[line]) (stream.Reader[line], error) {
	if err := o.tell("source " + o.name); err != nil {
		return nil, err
	}
	return o.Rows.Open(ctx, env)
}

type openingSink struct{ *opening }

func (o openingSink) SinkName() string { return "sink " + o.name }

func (o openingSink) OpenSink(ctx context.Context, env stream.SinkEnv[line]) (stream.Writer[line], error) {
	if err := o.tell("sink " + o.name); err != nil {
		return nil, err
	}
	return new(memory.Sink[line]).OpenSink(ctx, env)
}

type openingTables struct {
	tws.TableStore
	tell func(name string) error
}

func (o openingTables) Open(_ context.Context, spec stream.TableSpec, _ stream.Unit) (stream.TableSink, error) {
	return nil, cmp.Or(o.tell("table "+spec.Name), errors.New("a table was made"))
}

// Tables, which are made when they are opened, come last: a cluster that refuses
// another flow, or a source of the same one, leaves none behind.
func TestTablesAreOpenedLast(t *testing.T) {
	t.Parallel()
	order := []string{"source a", "source b", "sink b", "table a"}
	refused := errors.New("refused")
	for i, refuses := range order {
		var opened []string
		tell := func(name string) error {
			opened = append(opened, name)
			if name == refuses {
				return refused
			}
			return nil
		}
		var table tws.StreamingTable[line]
		b := newBench(t, newProbe(echo))
		b.options.Tables = openingTables{tell: tell}
		b.declare = func(p *tws.Pipeline) {
			tws.AddTable(p, &table, tws.TableOptions{Name: "a"})
			tws.UseRow(p, (*line)(nil).TWSRow())
			flow := func(f *tws.Flow) tws.Stream[line] {
				return tws.ReadStream(f, &opening{name: f.Name(), tell: tell})
			}
			tws.AppendFlow(p, &table, "a", flow)
			tws.AppendFlow(p, tws.NewSink(openingSink{&opening{name: "b", tell: tell}}), "b", flow)
		}
		err := b.runWith(t.Context())
		if !errors.Is(err, refused) || !strings.Contains(err.Error(), "flow "+refuses[len(refuses)-1:]) {
			t.Errorf("%s refuses: %v", refuses, err)
		}
		if want := order[:i+1]; !slices.Equal(opened, want) {
			t.Errorf("%s refuses: opened %q, want %q", refuses, opened, want)
		}
	}
}
