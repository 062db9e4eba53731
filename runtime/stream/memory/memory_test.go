package memory

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
)

var background = context.Background()

var (
	_ stream.Source[int]   = (*Rows[int])(nil)
	_ stream.SinkImpl[int] = (*Sink[int])(nil)
)

func openRows(t *testing.T, r *Rows[int]) stream.Reader[int] {
	t.Helper()
	reader, err := r.Open(background, stream.SourceEnv[int]{})
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

func discover(t *testing.T, r stream.Reader[int]) stream.Position {
	t.Helper()
	end, journal, err := r.Discover(background, nil, false)
	if err != nil || journal != nil {
		t.Fatalf("discover: journal %q, %v", journal, err)
	}
	return end
}

func read(t *testing.T, r stream.Reader[int], from, to stream.Position) []int {
	t.Helper()
	var rows []int
	stats, err := r.Read(background, from, to, func(rec *stream.Record[int]) error {
		if rec.Partition != 0 || rec.Offset != int64(rec.Row) {
			t.Errorf("row %d has partition %d, offset %d", rec.Row, rec.Partition, rec.Offset)
		}
		rows = append(rows, rec.Row)
		return nil
	})
	if err != nil || stats != (stream.ReadStats{Rows: int64(len(rows))}) {
		t.Fatalf("read: %+v, %v", stats, err)
	}
	return rows
}

func TestRows(t *testing.T) {
	t.Parallel()
	var rows Rows[int]
	r := openRows(t, &rows)
	if end := discover(t, r); end != nil {
		t.Errorf("the end of no rows is %q, want the start", end)
	}
	rows.Append(0, 1, 2, 3, 4)
	end := discover(t, r)
	rows.Append(5)
	if string(end) != "5" {
		t.Errorf("end %q, want 5", end)
	}
	mid, err := r.Cut(background, nil, end, stream.Limits{Rows: 3, Bytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	r = openRows(t, &rows) // positions hold across readers
	if got := read(t, r, nil, mid); !reflect.DeepEqual(got, []int{0, 1, 2}) {
		t.Errorf("first rows %v", got)
	}
	last, err := r.Cut(background, mid, end, stream.Limits{Rows: 3})
	if err != nil || !last.Equal(end) {
		t.Errorf("second cut %q, %v, want the end", last, err)
	}
	if got := read(t, r, mid, end); !reflect.DeepEqual(got, []int{3, 4}) {
		t.Errorf("last rows %v", got)
	}
	if rows.SourceName() != "memory" || NewRows[int]("given").SourceName() != "given" {
		t.Error("wrong names")
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
}

func TestAppendWhileReading(t *testing.T) {
	t.Parallel()
	rows := NewRows[int]("growing")
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range 1000 {
			rows.Append(i)
		}
	})
	r := openRows(t, rows)
	var at stream.Position
	for n := 0; n < 1000; {
		end := discover(t, r)
		n += len(read(t, r, at, end))
		at = end
	}
	writer.Wait()
}

func TestRowsRefuses(t *testing.T) {
	t.Parallel()
	r := openRows(t, NewRows("given", 0, 1))
	for pos, want := range map[string]string{
		"3": "there are 2 rows", "x": "damaged", "0": "damaged", "01": "damaged", "-1": "damaged", "1.5": "damaged",
	} {
		for _, span := range [][2]stream.Position{{nil, stream.Position(pos)}, {stream.Position(pos), stream.Position("2")}} {
			_, err := r.Read(background, span[0], span[1], nil)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "source given") {
				t.Errorf("from %q to %q: error %v, want one with %q", span[0], span[1], err, want)
			}
			if _, err := r.Cut(background, span[0], span[1], stream.Limits{}); err == nil {
				t.Errorf("cut from %q to %q: no error", span[0], span[1])
			}
		}
	}
	stop := errors.New("stop")
	if _, err := r.Read(background, nil, stream.Position("2"), func(*stream.Record[int]) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the caller's error", err)
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := r.Read(ctx, nil, stream.Position("2"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want cancellation", err)
	}
}

// flow drives a Sink as the engine does.
type flow struct {
	t     *testing.T
	sink  *Sink[[]int]
	unit  stream.Unit
	row   *stream.Row[[]int]
	w     stream.Writer[[]int]
	prior stream.Staged
}

func newFlow(t *testing.T, sink *Sink[[]int], name string) *flow {
	f := &flow{t: t, sink: sink, unit: stream.Unit{Checkpoint: "c", Flow: name}}
	f.open()
	return f
}

func (f *flow) open() {
	f.t.Helper()
	w, err := f.sink.OpenSink(background, stream.SinkEnv[[]int]{Unit: f.unit, Row: f.row})
	if err != nil {
		f.t.Fatal(err)
	}
	f.w = w
}

// prepare stages one row for each number in its own lane, last lane first.
func (f *flow) prepare(epoch int64, number int, rows ...int) stream.Publication {
	f.t.Helper()
	a := stream.Attempt{Epoch: epoch, Number: number, Lanes: len(rows), Prior: f.prior.State}
	if err := f.w.Begin(background, a); err != nil {
		f.t.Fatal(err)
	}
	key, row := []byte{0}, []int{0}
	for lane := len(rows) - 1; lane >= 0; lane-- {
		key[0], row[0] = byte('a'+lane), rows[lane]
		if err := f.w.Write(lane, key, &row); err != nil {
			f.t.Fatal(err)
		}
		if f.row == nil {
			row = []int{0}
		}
	}
	staged, err := f.w.Prepare(background)
	if err != nil || staged.Rows != int64(len(rows)) {
		f.t.Fatalf("prepare: %+v, %v", staged, err)
	}
	return stream.Publication{Epoch: epoch, Attempt: number, Manifest: "m", Staged: staged}
}

func (f *flow) publish(p stream.Publication) {
	f.t.Helper()
	if err := f.w.Publish(background, p); err != nil {
		f.t.Fatal(err)
	}
	f.prior = p.Staged
}

func (f *flow) want(want ...int) {
	f.t.Helper()
	var got []int
	for _, r := range f.sink.Rows() {
		got = append(got, r.Row[0])
	}
	if !reflect.DeepEqual(got, want) {
		f.t.Errorf("rows %v, want %v", got, want)
	}
}

func TestSinkPublishes(t *testing.T) {
	t.Parallel()
	f := newFlow(t, new(Sink[[]int]), "f")
	f.prepare(1, 1, 90, 91)
	p := f.prepare(1, 2, 1, 2)
	f.want()
	f.publish(p)
	f.publish(p)
	f.want(1, 2)
	f.publish(f.prepare(2, 1))
	f.publish(f.prepare(3, 1, 3))
	f.want(1, 2, 3)
	got := f.sink.Rows()[1]
	if want := (Out[[]int]{Epoch: 1, Lane: 1, Key: []byte("b"), Row: []int{2}}); !reflect.DeepEqual(got, want) {
		t.Errorf("row %+v, want %+v", got, want)
	}
	if n := len(f.sink.units[f.unit].staged); n != 0 {
		t.Errorf("%d attempts are still staged", n)
	}
}

func TestSinkKeepsDeepCopies(t *testing.T) {
	t.Parallel()
	f := newFlow(t, new(Sink[[]int]), "f")
	f.row = &stream.Row[[]int]{
		Append: func(dst []byte, v *[]int) []byte { return append(dst, byte((*v)[0])) },
		Decode: func(src []byte, v *[]int) error { *v = []int{int(src[0])}; return nil },
	}
	f.open()
	p := f.prepare(1, 1, 5, 6) // reuses one row and one key
	if p.Staged.Bytes != 2 {
		t.Errorf("staged %d bytes, want 2", p.Staged.Bytes)
	}
	f.publish(p)
	f.want(5, 6)
}

func TestSinkCopyFails(t *testing.T) {
	t.Parallel()
	f := newFlow(t, new(Sink[[]int]), "f")
	broken := errors.New("broken")
	f.row = &stream.Row[[]int]{
		Type:   "memory.row",
		Append: func(dst []byte, _ *[]int) []byte { return dst },
		Decode: func([]byte, *[]int) error { return broken },
	}
	f.open()
	if err := f.w.Begin(background, stream.Attempt{Epoch: 1, Number: 1, Lanes: 1}); err != nil {
		t.Fatal(err)
	}
	err := f.w.Write(0, nil, new([]int))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "memory.row") {
		t.Errorf("error %v, want one with the type and the cause", err)
	}
}

func TestSinkSurvivesARestart(t *testing.T) {
	t.Parallel()
	f := newFlow(t, new(Sink[[]int]), "f")
	p := f.prepare(1, 1, 1)
	if err := f.w.Close(); err != nil { // a crash after the decision
		t.Fatal(err)
	}
	f.open()
	f.publish(p)
	f.publish(p)
	undecided := f.prepare(2, 1, 2)
	f.open()
	f.publish(f.prepare(2, 2, 3))
	f.want(1, 3)
	if err := f.w.Publish(background, undecided); err != nil {
		t.Errorf("an epoch that is published already: %v", err)
	}
	f.want(1, 3)
}

func TestSinkOfSeveralFlows(t *testing.T) {
	t.Parallel()
	sink := new(Sink[[]int])
	f, g := newFlow(t, sink, "f"), newFlow(t, sink, "g")
	p, q := f.prepare(1, 1, 1), g.prepare(1, 1, 2)
	g.publish(q)
	f.publish(p)
	f.want(2, 1)
}

func TestSinkMoved(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		make func(f *flow) stream.Publication
		want string
	}{
		{"new sink over an old checkpoint", func(f *flow) stream.Publication {
			f.publish(f.prepare(1, 1, 1))
			p := f.prepare(2, 1, 2)
			f.sink = &Sink[[]int]{Name: "other"}
			f.open()
			return p
		}, "the last epoch written by c/f/0 is none, but this checkpoint continues from epoch 1"},
		{"copy of a checkpoint that moved on", func(f *flow) stream.Publication {
			f.publish(f.prepare(1, 1, 1))
			p := f.prepare(2, 1, 2)
			f.publish(p)
			p.Manifest = "another"
			return p
		}, "the last epoch written by c/f/0 is epoch 2, but this checkpoint continues from epoch 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, new(Sink[[]int]), "f")
			p := c.make(f)
			before := len(f.sink.Rows())
			err := f.w.Publish(background, p)
			var moved *stream.SinkMovedError
			if !errors.As(err, &moved) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if n := len(f.sink.Rows()); n != before {
				t.Errorf("%d rows, want %d", n, before)
			}
		})
	}
}

func TestSinkRefuses(t *testing.T) {
	t.Parallel()
	f := newFlow(t, new(Sink[[]int]), "f")
	p := f.prepare(1, 1, 1)
	f.sink = new(Sink[[]int]) // another process
	f.open()
	if err := f.w.Publish(background, p); err == nil || !strings.Contains(err.Error(), "staged by another process") {
		t.Errorf("lost rows: error %v", err)
	}
	for _, s := range []string{"", "{", `{"epoch":7}`} {
		p.Staged.State = []byte(s)
		if err := f.w.Publish(background, p); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("state %q: error %v", s, err)
		}
	}
	if err := f.w.Begin(background, stream.Attempt{Epoch: 1, Lanes: 1, Prior: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.w.Prepare(background); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("prior state: error %v", err)
	}
	for _, lane := range []int{-1, 1} {
		if err := f.w.Write(lane, nil, new([]int)); err == nil {
			t.Errorf("lane %d was accepted", lane)
		}
	}
	if f.sink.SinkName() != "memory" || (&Sink[int]{Name: "kept"}).SinkName() != "kept" {
		t.Error("wrong names")
	}
}
