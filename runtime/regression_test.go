package tws_test

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
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
