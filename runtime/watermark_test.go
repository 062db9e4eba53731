package tws_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/memory"
	"github.com/tws-go/tws/runtime/twstest"
	"github.com/tws-go/tws/schemas"
)

// eventTime reads the instant of a row, in seconds, off its text.
func eventTime(l line) time.Time {
	var seconds int64
	fmt.Sscan(l.Text, &seconds)
	return time.Unix(seconds, 0)
}

// timedProbe emits its rows with the watermark, in some time mode.
func timedProbe(mode string) *probe {
	p := newProbe(func(p *probe, ctx *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
		shown := "unset"
		if at, ok := ctx.Watermark(); ok {
			shown = fmt.Sprint(at.Unix())
		}
		for row := range rows {
			if err := out.Emit(line{key, row.Text + " at " + shown}); err != nil {
				return err
			}
		}
		return nil
	})
	p.mode = mode
	return p
}

func timedFlow(mode string, delay time.Duration) func(*tws.Flow) tws.Stream[line] {
	return func(f *tws.Flow) tws.Stream[line] {
		rows := tws.ReadStream(f, &memory.Rows[line]{Name: "in"})
		return through(tws.WithWatermark(rows, eventTime, delay), timedProbe(mode))
	}
}

// C-144 C-145 C-146 C-150: in every time mode a flow with a watermark starts and
// tells it; rows from before it are late in time mode event alone, and counted.
func TestLateRows(t *testing.T) {
	t.Parallel()
	for mode, late := range map[string]int64{schemas.TimeNone: 0, schemas.TimeProcessing: 0, schemas.TimeEvent: 2} {
		r := twstest.Run(t, timedFlow(mode, 5*time.Second),
			twstest.Rows(line{"a", "11"}),
			twstest.Rows(line{"a", "20"}),
			twstest.Restart(),
			twstest.Rows(line{"a", "4"}, line{"a", "1"}, line{"a", "6"}),
		)
		want := []line{{"a", "11 at unset"}, {"a", "20 at 6"}, {"a", "6 at 15"}}
		if late == 0 {
			want = slices.Insert(want, 2, line{"a", "4 at 15"}, line{"a", "1 at 15"})
		}
		r.Want(want...)
		stats := r.Stats()
		if last := stats[len(stats)-1]; len(stats) != 3 || last.Late != late || last.RowsIn != 3 {
			t.Errorf("time=%s: %d epochs, %d of %d rows late in the last, want %d", mode, len(stats), last.Late, last.RowsIn, late)
		}
	}
}

// C-146: mistakes with watermarks fail the start and say what to do.
func TestWatermarkMistakes(t *testing.T) {
	t.Parallel()
	rows := func(f *tws.Flow) tws.Stream[line] { return tws.ReadStream(f, &memory.Rows[line]{}) }
	same := func(l line) line { return l }
	for name, test := range map[string]struct {
		flow  func(f *tws.Flow) tws.Stream[line]
		words []string
	}{
		"none": {
			func(f *tws.Flow) tws.Stream[line] { return through(rows(f), timedProbe(schemas.TimeEvent)) },
			[]string{"processor probe", "time=event needs a watermark", "WithWatermark between the source", "time=processing"},
		},
		"two": {
			func(f *tws.Flow) tws.Stream[line] {
				once := tws.Map(tws.WithWatermark(rows(f), eventTime, 0), same)
				return through(tws.WithWatermark(once, eventTime, 0), timedProbe(schemas.TimeEvent))
			},
			[]string{"WithWatermark of a stream of tws_test.line", "has a watermark already"},
		},
		"after a processor": {
			func(f *tws.Flow) tws.Stream[line] {
				return tws.WithWatermark(tws.Map(through(rows(f), newProbe(echo)), same), eventTime, 0)
			},
			[]string{"comes after processor probe", "first TransformWithState"},
		},
		"a negative delay": {
			func(f *tws.Flow) tws.Stream[line] {
				return through(tws.WithWatermark(rows(f), eventTime, -time.Second), timedProbe(schemas.TimeEvent))
			},
			[]string{"the delay is -1s", "negative"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.declare = func(p *tws.Pipeline) { tws.AppendFlow(p, b.target, "theFlow", test.flow) }
			b.fails(append(test.words, "flow theFlow")...)
		})
	}
}

// stamped is a source whose rows have timestamps and partitions of their own.
type stamped struct {
	memory.Rows[line]
	partitions int
}

func (s *stamped) Open(ctx context.Context, env stream.SourceEnv[line]) (stream.Reader[line], error) {
	r, err := s.Rows.Open(ctx, env)
	return &stampedReader{Reader: r, source: s}, err
}

type stampedReader struct {
	stream.Reader[line]
	source *stamped
}

func (r *stampedReader) Partitions() int { return r.source.partitions }

// Read takes a row's partition and timestamp from its text, such as "1 20".
func (r *stampedReader) Read(ctx context.Context, from, to stream.Position, yield func(*stream.Record[line]) error) (stream.ReadStats, error) {
	return r.Reader.Read(ctx, from, to, func(rec *stream.Record[line]) error {
		var seconds int64
		fmt.Sscan(rec.Row.Text, &rec.Partition, &seconds)
		rec.Time = time.Time{}
		if seconds > 0 {
			rec.Time = time.Unix(seconds, 0)
		}
		return yield(rec)
	})
}

// S-62: without a function the source's timestamps are the event times, by
// partition; a source that has none for a row is named.
func TestSourceTimes(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	source := &stamped{partitions: 2}
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
			timed := tws.WithWatermark(tws.ReadStream(f, source), nil, time.Second)
			return through(tws.Map(timed, func(l line) line { return l }), timedProbe(schemas.TimeEvent))
		})
	}
	source.Append(line{"a", "0 20"}, line{"b", "1 10"})
	b.mustRun()
	source.Append(line{"a", "0 30"}, line{"b", "1 40"})
	b.mustRun()
	source.Append(line{"a", "1 9"}, line{"b", "0 29"})
	b.mustRun()
	source.Append(line{"a", "0 8"})
	b.mustRun()
	b.wantOut("1 a 0 20 at unset", "1 b 1 10 at unset", "2 a 0 30 at 9", "2 b 1 40 at 9", "3 a 1 9 at 29", "3 b 0 29 at 29")
	source.Append(line{"a", "1 0"})
	b.fails("source memory", "partition 1, offset 7", "no timestamp", "WithWatermark a function")
}

// An event time that microseconds cannot hold fails the epoch, as does a function
// that panics.
func TestBadEventTime(t *testing.T) {
	t.Parallel()
	for word, at := range map[string]func(line) time.Time{
		"out of range":                func(line) time.Time { return time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"offset 0: panic: no time of": func(l line) time.Time { panic("no time of " + l.Text) },
	} {
		b := newBench(t, nil)
		b.declare = func(p *tws.Pipeline) {
			tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
				return through(tws.WithWatermark(tws.ReadStream(f, &b.rows), at, 0), timedProbe(schemas.TimeEvent))
			})
		}
		b.row("a", "x")
		b.fails("source memory", word)
	}
}

// S-60: a once flow ends with the watermark at the end of time, so that a timer
// that lies ahead of it fires, at its end and only once.
func TestOnceFiresEventTimers(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	p := timedProbe(schemas.TimeEvent)
	p.input = func(p *probe, _ *tws.InputContext, _ string, rows iter.Seq[line], _ tws.Emitter[line]) error {
		for row := range rows {
			if err := p.Timer.Set(eventTime(row).Add(time.Hour)); err != nil {
				return err
			}
		}
		return nil
	}
	p.timer = func(_ *probe, ctx *tws.TimerContext, key string, at tws.ExpiredTimer, out tws.Emitter[line]) error {
		end, ok := ctx.Watermark()
		return out.Emit(line{key, strings.Join([]string{fmt.Sprint(at.Time().Unix()), fmt.Sprint(ok, end.Year() > 200000)}, " ")})
	}
	rows := bounded{new(memory.Rows[line])}
	rows.Append(line{"a", "100"}, line{"b", "50"})
	b.declare = func(pl *tws.Pipeline) {
		tws.AppendOnce(pl, b.target, "flow", func(f *tws.Flow) tws.Bounded[line] {
			return through(tws.WithWatermark(tws.ReadBounded[line](f, rows), eventTime, time.Minute), p)
		})
	}
	b.mustRun().mustRun()
	b.wantOut("2 a 3700 true true", "2 b 3650 true true")
}
