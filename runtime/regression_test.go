package tws_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/memory"
)

// A source that the flow does without for a while goes on where it was when it
// comes back.
func TestAbsentSourceComesBack(t *testing.T) {
	t.Parallel()
	sources := map[string]*memory.Rows[line]{"a": {Name: "a"}, "b": {Name: "b"}}
	b := newBench(t, newProbe(echo))
	read := "a"
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
			return through(tws.ReadStream(f, sources[read]), b.probe)
		})
	}
	for i, name := range []string{"a", "b", "b", "a", "b"} {
		read = name
		sources[name].Append(line{"k", fmt.Sprint(name, i)})
		b.mustRun()
	}
	var got []string
	for _, o := range b.sink.Rows() {
		got = append(got, o.Row.Text[:2])
	}
	if want := "[a0 b1 b2 a3 b4]"; fmt.Sprint(got) != want {
		t.Errorf("got rows %v, want %v", got, want)
	}
}

// A callback that ignores the error of a state variable does not get its epoch
// committed without the write.
func TestIgnoredStateError(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(func(p *probe, _ *tws.InputContext, key string, _ iter.Seq[line], out tws.Emitter[line]) error {
		_ = p.List.Append(string(make([]byte, 3<<20)))
		return out.Emit(line{key, "done"})
	}))
	b.options.Conf["tws.epoch-memory-mb"] = "1"
	b.row("k", "1")
	if err := b.run(); !errors.Is(err, tws.ErrEpochTooLarge) {
		t.Errorf("got %v, want ErrEpochTooLarge", err)
	}
	if rows := b.sink.Rows(); len(rows) > 0 {
		t.Errorf("rows came out: %v", rows)
	}
}

// Changelogs of earlier runs count for the size after which a snapshot is taken.
func TestSnapshotOverRestarts(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(func(p *probe, _ *tws.InputContext, _ string, _ iter.Seq[line], _ tws.Emitter[line]) error {
		return p.Value.Update(string(make([]byte, 300<<10)))
	}))
	b.options.Conf["tws.snapshot-mb"] = "1"
	for range 8 {
		b.row("k", "1").mustRun()
	}
	snapshots, err := os.ReadDir(filepath.Join(b.options.Checkpoint, "flows", "flow", "snapshots"))
	if err != nil || len(snapshots) == 0 {
		t.Errorf("no snapshot after 2.4 MB of changes: %v", err)
	}
}

// What a callback does to its goroutine is an error, not the end of its work.
func TestGoexit(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(func(*probe, *tws.InputContext, string, iter.Seq[line], tws.Emitter[line]) error {
		runtime.Goexit()
		return nil
	}))
	b.row("k", "1")
	if err := b.run(); err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("got %v", err)
	}
	b.probe.input = echo
	if got := b.mustRun().sink.Rows(); len(got) != 1 {
		t.Errorf("afterwards: %d rows", len(got))
	}
}

// The grace period bounds a callback that never returns, too.
func TestGraceOverACallbackThatHangs(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	b := newBench(t, newProbe(func(*probe, *tws.InputContext, string, iter.Seq[line], tws.Emitter[line]) error {
		cancel()
		<-hang
		return nil
	}))
	b.options.Clock, b.options.Grace = nil, time.Millisecond
	b.row("k", "1")
	p := tws.NewPipeline(b.options)
	b.declare(p)
	if err := p.Run(ctx); err == nil || !strings.Contains(err.Error(), "does not return") {
		t.Errorf("got %v", err)
	}
}

// A renamed flow or source begins anew; the log says what that means.
func TestRenamedIsTold(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := newBench(t, newProbe(echo))
	b.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	rows := &memory.Rows[line]{Name: "a"}
	rows.Append(line{"k", "1"})
	name := "one"
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, name, func(f *tws.Flow) tws.Stream[line] {
			return through(tws.ReadStream(f, rows), b.probe)
		})
	}
	b.mustRun()
	refuse := true
	read := func(f *tws.Flow) tws.Stream[line] { return tws.ReadStream(f, rows) }
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, name, func(f *tws.Flow) tws.Stream[line] {
			if refuse {
				return through(tws.ReadStream(f, &opening{name: "wrong", tell: func(string) error { return errors.New("refused") }}), b.probe)
			}
			return through(read(f), b.probe)
		})
	}
	b.fails("refused")
	refuse = false
	log.Reset()
	b.mustRun() // nothing has come of the wrong name
	rows.Name = "b"
	b.mustRun() // reads the row again
	rows.Name = "a"
	b.mustRun() // it goes on where it was
	name = "two"
	b.mustRun()
	for _, want := range []string{"sources are new in this flow", "flows are new in this checkpoint"} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log lacks %q once:\n%s", want, &log)
		}
	}
}

// Mistakes of a flow function are errors that name the flow.
func TestFlowFunctionFails(t *testing.T) {
	t.Parallel()
	for want, fn := range map[string]func(b *bench, f *tws.Flow) tws.Stream[line]{
		"flow flow: the flow function panicked: boom": func(*bench, *tws.Flow) tws.Stream[line] { panic("boom") },
		"the factory of *tws_test.probe returns nil": func(b *bench, f *tws.Flow) tws.Stream[line] {
			return tws.TransformWithState(tws.GroupBy(tws.ReadStream(f, &b.rows), func(l line) string { return l.Key }),
				func() *probe { return nil })
		},
	} {
		b := newBench(t, nil)
		b.declare = func(p *tws.Pipeline) {
			tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] { return fn(b, f) })
		}
		if err := b.run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Timers that a callback sets for now and takes back do not hide those that the
// limit left over: a run ends when all that were due have fired.
func TestTimersTakenBack(t *testing.T) {
	t.Parallel()
	pr := newProbe(func(p *probe, ctx *tws.InputContext, _ string, _ iter.Seq[line], _ tws.Emitter[line]) error {
		return p.Timer.Set(ctx.ProcessingTime().Add(time.Minute))
	})
	pr.timer = func(p *probe, ctx *tws.TimerContext, key string, _ tws.ExpiredTimer, out tws.Emitter[line]) error {
		for i := range 3 {
			if err := p.Timer.Set(ctx.ProcessingTime().Add(-time.Duration(i) * time.Second)); err != nil {
				return err
			}
		}
		return errors.Join(p.Timer.Stop(), out.Emit(line{key, "fired"}))
	}
	b := newBench(t, pr)
	b.options.Conf["tws.partitions"], b.options.Conf["tws.max-timers"] = "1", "10"
	const keys = 40
	for i := range keys {
		b.row(fmt.Sprint("k", i), "x")
	}
	b.mustRun()
	b.clock.Advance(time.Hour)
	b.mustRun()
	if got := len(b.sink.Rows()); got != keys {
		t.Errorf("%d of %d timers fired", got, keys)
	}
}
