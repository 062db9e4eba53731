package tws_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

var errBoom = errors.New("boom")

// failer returns a probe in which the callback named at does what fail does.
func failer(at string, fail func(p *probe, out tws.Emitter[line]) error) *probe {
	p := newProbe(func(p *probe, _ *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
		if at == "HandleInputRows" {
			return fail(p, out)
		}
		return p.Timer.Set(time.Unix(0, 0))
	})
	p.timer = func(p *probe, _ *tws.TimerContext, _ string, _ tws.ExpiredTimer, out tws.Emitter[line]) error {
		if at == "HandleExpiredTimer" {
			return fail(p, out)
		}
		return nil
	}
	if at == "Close" {
		p.close = func() error { return fail(nil, nil) }
	}
	return p
}

var callbacks = []string{"HandleInputRows", "HandleExpiredTimer", "Close"}

// C-175 C-176: an error of a callback names processor, callback and key, and
// reaches whoever runs the pipeline unchanged.
func TestCallbackError(t *testing.T) {
	t.Parallel()
	for _, at := range callbacks {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			own := &tws.ConfigError{Key: "mine", Reason: "classified"}
			b := newBench(t, failer(at, func(*probe, tws.Emitter[line]) error { return fmt.Errorf("%w: %w", errBoom, own) }))
			err := b.row("the key", "row").fails("probe."+at, "boom", "classified")
			var pe *tws.ProcessorError
			var ce *tws.ConfigError
			if !errors.Is(err, errBoom) || !errors.As(err, &ce) || ce != own {
				t.Errorf("the cause is lost: %v", err)
			}
			if !errors.As(err, &pe) || pe.Processor != "probe" || pe.Callback != at || pe.Stack != nil {
				t.Fatalf("got %+v", pe)
			}
			if want := map[bool]string{true: "", false: "the key"}[at == "Close"]; pe.Key != want {
				t.Errorf("key %q, want %q", pe.Key, want)
			}
			if at != "Close" {
				b.wantOut()
			}
		})
	}
}

// C-175: a panic is an error with the place it came from.
func TestCallbackPanic(t *testing.T) {
	t.Parallel()
	for _, at := range callbacks {
		for name, value := range map[string]any{"text": "boom", "error": errBoom, "runtime error": nil} {
			t.Run(at+" "+name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, failer(at, func(*probe, tws.Emitter[line]) error { panicWith(value); return nil }))
				err := b.row("key", "row").fails("probe."+at, "panic", "panicWith", "processor_test.go")
				var pe *tws.ProcessorError
				if !errors.As(err, &pe) || pe.Callback != at || len(pe.Stack) == 0 {
					t.Fatalf("got %+v", pe)
				}
				if name == "error" && !errors.Is(err, errBoom) {
					t.Error("the cause is lost")
				}
			})
		}
	}
}

func panicWith(v any) {
	if v == nil {
		var none []int
		v = none[len(none)]
	}
	panic(v)
}

// A failed epoch takes no effect, and the next start goes on from the last one
// that did, as if nothing had been.
func TestFailedEpochLeavesNothing(t *testing.T) {
	t.Parallel()
	fail := true
	b := newBench(t, newProbe(func(p *probe, ctx *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
		if err := echo(p, ctx, key, rows, out); err != nil || !fail || key != "b" {
			return err
		}
		return errBoom
	}))
	b.row("a", "1").mustRun()
	b.row("a", "2").row("b", "3")
	b.fails("boom")
	b.wantOut("1 a 10")
	fail = false
	b.mustRun()
	b.wantOut("1 a 10", "2 a 21", "2 b 30")
}

// C-19: a row that cannot be decoded, an emission that fails: the epoch fails,
// whatever the callback makes of it.
func TestHiddenErrors(t *testing.T) {
	t.Parallel()
	type input = func(p *probe, ctx *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error
	cases := map[string]struct {
		input  input
		broken io.Writer
		words  []string
	}{
		"row": {
			input: func(_ *probe, _ *tws.InputContext, _ string, rows iter.Seq[line], _ tws.Emitter[line]) error {
				for range rows {
				}
				return nil
			},
			words: []string{"the row cannot be decoded", "key a"},
		},
		"row, then another error": {
			input: func(_ *probe, _ *tws.InputContext, _ string, rows iter.Seq[line], _ tws.Emitter[line]) error {
				for range rows {
				}
				return errors.New("too few rows")
			},
			words: []string{"the row cannot be decoded", "too few rows"},
		},
		"emitter": {
			input: func(_ *probe, _ *tws.InputContext, key string, _ iter.Seq[line], out tws.Emitter[line]) error {
				out.Emit(line{key, "refused"})
				out.Emit(line{key, "fine"})
				return nil
			},
			words: []string{"the sink refuses"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newProbe(test.input))
			b.target = tws.NewSink(refusingSink{&b.sink})
			b.row("a", "undecodable").fails(append(test.words, "HandleInputRows")...)
		})
	}
}

// An error that a callback returns as it got it is told once.
func TestErrorToldOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(func(_ *probe, _ *tws.InputContext, key string, _ iter.Seq[line], out tws.Emitter[line]) error {
		return out.Emit(line{key, "refused"})
	}))
	b.target = tws.NewSink(refusingSink{&b.sink})
	err := b.row("a", "row").fails("the sink refuses")
	if n := strings.Count(err.Error(), "the sink refuses"); n != 1 {
		t.Errorf("told %d times: %v", n, err)
	}
}

// refusingSink refuses rows with the text refused.
type refusingSink struct{ tws.SinkImpl[line] }

func (s refusingSink) OpenSink(ctx context.Context, env stream.SinkEnv[line]) (stream.Writer[line], error) {
	w, err := s.SinkImpl.OpenSink(ctx, env)
	return refusingWriter{w}, err
}

type refusingWriter struct{ stream.Writer[line] }

func (w refusingWriter) Write(lane int, key []byte, row *line) error {
	if row.Text == "refused" {
		return errors.New("the sink refuses")
	}
	return w.Writer.Write(lane, key, row)
}

// B-40: an iteration that the store ends with an error fails the epoch, whatever
// the callback returns, for every way to iterate.
func TestIteratorError(t *testing.T) {
	t.Parallel()
	drains := map[string]func(p *probe) error{
		"list all":   func(p *probe) error { return drain(p.List.All()) },
		"map keys":   func(p *probe) error { return drain(p.Map.Keys()) },
		"map values": func(p *probe) error { return drain(p.Map.Values()) },
		"map all":    func(p *probe) error { return drain2(p.Map.All()) },
		"map range":  func(p *probe) error { return drain2(p.Map.Range("a", "z")) },
		"map clear":  func(p *probe) error { return p.Map.Clear() },
		"hidden": func(p *probe) error {
			drain(p.List.All())
			return errors.New("the list is too short")
		},
	}
	for name, do := range drains {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores := &damagedStores{Engine: mem.New()}
			p := newProbe(func(p *probe, _ *tws.InputContext, _ string, rows iter.Seq[line], _ tws.Emitter[line]) error {
				for row := range rows {
					if row.Text == "drain" {
						return do(p)
					}
					if err := errors.Join(p.List.Append(row.Text), p.Map.Update(row.Text, row.Text)); err != nil {
						return err
					}
				}
				return nil
			})
			b := newBench(t, p)
			b.options.Stores = stores
			b.row("a", "b", "c", "d").mustRun()
			stores.scanErr = errBoom
			err := b.row("a", "drain").fails("tws: state the", "boom", "key a")
			var se *tws.StateError
			if !errors.As(err, &se) || !errors.Is(err, errBoom) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func drain[T any](seq iter.Seq[T]) error {
	for range seq {
	}
	return nil
}

func drain2[K, V any](seq iter.Seq2[K, V]) error {
	for range seq {
	}
	return nil
}

// C-21 C-54 C-72 C-114: outside a callback there is no state, no timer and no
// output: not before the first, not between two, not in Close, not after the run.
func TestOutsideCallback(t *testing.T) {
	t.Parallel()
	var kept *probe
	var emitter tws.Emitter[line]
	var ctx *tws.InputContext
	inClose := map[string]error{}
	p := newProbe(func(p *probe, c *tws.InputContext, key string, _ iter.Seq[line], out tws.Emitter[line]) error {
		kept, emitter, ctx = p, out, c
		return errors.Join(p.Value.Update("v"), p.List.Append("v"), p.Map.Update("k", "v"))
	})
	p.close = func() error {
		inClose["value"] = kept.Value.Update("late")
		return nil
	}
	b := newBench(t, p)
	b.row("a", "row").mustRun()
	uses := outsideUses(kept)
	uses["emit"] = func() error { return emitter.Emit(line{}) }
	uses["register timer"] = func() error { return ctx.RegisterTimer(time.Unix(0, 0)) }
	uses["delete timer"] = func() error { return ctx.DeleteTimer(time.Unix(0, 0)) }
	uses["list timers"] = func() error { _, err := ctx.ListTimers(); return err }
	for name, use := range uses {
		if err := use(); !errors.Is(err, tws.ErrOutsideCallback) {
			t.Errorf("%s after the run: %v", name, err)
		}
	}
	if err := inClose["value"]; !errors.Is(err, tws.ErrOutsideCallback) {
		t.Errorf("in Close: %v", err)
	}
	unrun := newProbe(nil)
	unrun.BindTWS(&tws.Binder{})
	for name, use := range outsideUses(unrun) {
		if err := use(); !errors.Is(err, tws.ErrOutsideCallback) {
			t.Errorf("%s of a processor that nothing runs: %v", name, err)
		}
	}
}

func outsideUses(p *probe) map[string]func() error {
	return map[string]func() error{
		"value get":    func() error { _, _, err := p.Value.Get(); return err },
		"value exists": func() error { _, err := p.Value.Exists(); return err },
		"value update": func() error { return p.Value.Update("x") },
		"value clear":  func() error { return p.Value.Clear() },
		"list len":     func() error { _, err := p.List.Len(); return err },
		"list exists":  func() error { _, err := p.List.Exists(); return err },
		"list put":     func() error { return p.List.Put([]string{"x"}) },
		"list append":  func() error { return p.List.Append("x") },
		"list appends": func() error { return p.List.AppendAll(nil) },
		"list clear":   func() error { return p.List.Clear() },
		"map get":      func() error { _, _, err := p.Map.Get("x"); return err },
		"map contains": func() error { _, err := p.Map.Contains("x"); return err },
		"map exists":   func() error { _, err := p.Map.Exists(); return err },
		"map update":   func() error { return p.Map.Update("x", "x") },
		"map remove":   func() error { return p.Map.Remove("x") },
		"map clear":    func() error { return p.Map.Clear() },
		"timer set":    func() error { return p.Timer.Set(time.Unix(0, 0)) },
		"timer stop":   func() error { return p.Timer.Stop() },
		"timer get":    func() error { _, _, err := p.Timer.Get(); return err },
	}
}

// An iteration that a callback leaves in the middle and another goes on with is
// an error, not the end of the data.
func TestIteratorOutlivesCallback(t *testing.T) {
	t.Parallel()
	var next func() (string, bool)
	stopped := func() {}
	p := newProbe(func(p *probe, _ *tws.InputContext, key string, rows iter.Seq[line], _ tws.Emitter[line]) error {
		for row := range rows {
			switch row.Text {
			case "begin":
				next, stopped = iter.Pull(p.List.All())
				next()
			case "go on":
				if v, ok := next(); ok {
					return fmt.Errorf("it went on with %q", v)
				}
			default:
				if err := p.List.Append(row.Text); err != nil {
					return err
				}
			}
		}
		return nil
	})
	defer func() { stopped() }()
	b := newBench(t, p)
	b.options.Conf["tws.partitions"], b.options.Conf["tws.max-rows"] = "1", "4"
	b.row("a", "x", "y", "z", "begin").row("b", "go on") // two epochs
	if err := b.fails(); !errors.Is(err, tws.ErrOutsideCallback) {
		t.Errorf("got %v", err)
	}
}

// C-113: without a time mode there are no timers.
func TestTimeModeNone(t *testing.T) {
	t.Parallel()
	operations := map[string]func(ctx *tws.InputContext) error{
		"register_timer": func(ctx *tws.InputContext) error { return ctx.RegisterTimer(time.Unix(1, 0)) },
		"delete_timer":   func(ctx *tws.InputContext) error { return ctx.DeleteTimer(time.Unix(1, 0)) },
		"list_timers":    func(ctx *tws.InputContext) error { _, err := ctx.ListTimers(); return err },
	}
	for operation, do := range operations {
		p := newProbe(func(_ *probe, ctx *tws.InputContext, _ string, _ iter.Seq[line], _ tws.Emitter[line]) error {
			return do(ctx)
		})
		p.mode = schemas.TimeNone
		var te *tws.TimeModeError
		err := newBench(t, p).row("a", "row").fails(operation, "time=processing")
		if !errors.As(err, &te) || te.Operation != operation {
			t.Errorf("%s: got %v", operation, err)
		}
	}
}

// Instants that no timer can have are refused, not wrapped around.
func TestTimerRange(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{time.Unix(1<<60, 0), time.Unix(-1<<60, 0), time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		p := newProbe(func(p *probe, ctx *tws.InputContext, _ string, _ iter.Seq[line], _ tws.Emitter[line]) error {
			if err := ctx.RegisterTimer(at); err == nil {
				return errors.New("a raw timer took it")
			}
			return p.Timer.Set(at)
		})
		newBench(t, p).row("a", "row").fails("out of the range of timers", "theTimer")
	}
}

// Year 1, the zero time, is an instant like others.
func TestZeroTimeTimer(t *testing.T) {
	t.Parallel()
	p := newProbe(func(p *probe, _ *tws.InputContext, _ string, _ iter.Seq[line], _ tws.Emitter[line]) error {
		return p.Timer.Set(time.Time{})
	})
	p.timer = func(_ *probe, _ *tws.TimerContext, key string, t tws.ExpiredTimer, out tws.Emitter[line]) error {
		return out.Emit(line{key, fmt.Sprint(t.Name(), " ", t.Time().IsZero())})
	}
	newBench(t, p).row("a", "row").mustRun().wantOut("1 a theTimer true")
}

// C-18: every partition has an instance of its own, and each is closed once.
func TestInstances(t *testing.T) {
	t.Parallel()
	made, closed := 0, 0
	p := newProbe(echo)
	p.close = func() error { closed++; return nil }
	b := newBench(t, p)
	b.declare = func(pipeline *tws.Pipeline) {
		tws.AppendFlow(pipeline, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
			return tws.TransformWithState(
				tws.GroupBy(tws.ReadStream(f, &b.rows), func(l line) string { return l.Key }),
				func() *probe { made++; c := *p; return &c },
			)
		})
	}
	b.row("a", "row").mustRun()
	if made != 3 || closed != 2 {
		t.Errorf("%d made, %d closed, want one for the declaration and one for each of two partitions", made, closed)
	}
}

// A factory that returns one processor for all partitions would mix their states.
func TestSharedInstance(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	one := newProbe(echo)
	b.declare = func(pipeline *tws.Pipeline) {
		tws.AppendFlow(pipeline, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
			return tws.TransformWithState(
				tws.GroupBy(tws.ReadStream(f, &b.rows), func(l line) string { return l.Key }),
				func() *probe { return one },
			)
		})
	}
	b.row("a", "row").fails("processor probe", "make a new one in each call")
}

// C-172: two processors in one flow: the second sees the rows of the first in the
// same epoch, in one order whatever the number of partitions.
func TestTwoProcessors(t *testing.T) {
	t.Parallel()
	for _, partitions := range []string{"1", "2", "5"} {
		first := newProbe(func(p *probe, ctx *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
			if err := p.Timer.Set(ctx.ProcessingTime()); err != nil {
				return err
			}
			return echo(p, ctx, key, rows, out)
		})
		first.timer = func(_ *probe, _ *tws.TimerContext, key string, _ tws.ExpiredTimer, out tws.Emitter[line]) error {
			return out.Emit(line{key, "timer"})
		}
		second := newProbe(echo)
		second.name = "second"
		b := newBench(t, nil)
		b.options.Conf["tws.partitions"] = partitions
		b.declare = func(pipeline *tws.Pipeline) {
			tws.AppendFlow(pipeline, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
				upper := tws.Map(through(tws.ReadStream(f, &b.rows), first), func(l line) line {
					return line{"all", l.Key + strings.ToUpper(l.Text)}
				})
				return through(upper, second)
			})
		}
		var want []string
		for i, text := range []string{"aX0", "bX0", "cX0", "aTIMER", "bTIMER", "cTIMER"} {
			want = append(want, fmt.Sprintf("1 all %s%d", text, i))
		}
		for i, text := range []string{"aY1", "aTIMER"} {
			want = append(want, fmt.Sprintf("2 all %s%d", text, i+6))
		}
		b.row("c", "x").row("a", "x").row("b", "x").mustRun()
		b.row("a", "y").mustRun()
		got := b.out()
		// Keys of one stage come in the order of their groups, not of their text.
		slices.Sort(got[:3])
		for i := range got {
			got[i] = strings.TrimRight(got[i], "0123456789")
			want[i] = strings.TrimRight(want[i], "0123456789")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s partitions:\n got %q\nwant %q", partitions, got, want)
		}
	}
}

// The library logs lifecycle, never rows.
func TestLogHasNoRows(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := newBench(t, newProbe(echo))
	b.options.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.row("secretKey", "secretText").mustRun()
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log tells: %s", log.String())
	}
}
