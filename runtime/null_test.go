package tws_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream"
)

// takeBack emits each row, and takes its key back after it.
func takeBack(_ *probe, _ *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
	for r := range rows {
		if err := out.Emit(r); err != nil {
			return err
		}
	}
	return out.EmitNull(line{Key: key})
}

// EmitNull reaches a sink that has keys, in order.
func TestEmitNull(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(takeBack))
	b.row("a", "1", "2").mustRun()
	var got []string
	for _, r := range b.sink.Rows() {
		got = append(got, fmt.Sprint(r.Row.Key, r.Row.Text, r.Null))
	}
	if want := []string{"a1false", "a2false", "atrue"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// rowsOnly is a sink that takes rows and nothing else.
type rowsOnly struct{ inner tws.SinkImpl[line] }

func (s rowsOnly) SinkName() string { return s.inner.SinkName() }

func (s rowsOnly) OpenSink(ctx context.Context, env stream.SinkEnv[line]) (stream.Writer[line], error) {
	w, err := s.inner.OpenSink(ctx, env)
	return struct{ stream.Writer[line] }{w}, err
}

// EmitNull is refused, and fails the epoch even if the callback hides the error:
// by append mode, by a target without keys, by another processor.
func TestEmitNullRefused(t *testing.T) {
	t.Parallel()
	hidden := func(p *probe, ctx *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
		_ = takeBack(p, ctx, key, rows, out)
		return nil
	}
	for name, c := range map[string]struct {
		change func(b *bench)
		want   string
	}{
		"append mode": {func(b *bench) { b.probe.append = true }, "output=append"},
		"another processor": {func(b *bench) {
			b.declare = b.twoStages
		}, "which only a sink takes"},
		"sink without keys": {func(b *bench) {
			b.declare = func(p *tws.Pipeline) {
				tws.AppendFlow(p, tws.NewSink[line](rowsOnly{&b.sink}), "flow", b.flow)
			}
		}, "memory has no keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newProbe(hidden))
			c.change(b)
			b.row("a", "1").fails(c.want)
			b.wantOut()
		})
	}
}
