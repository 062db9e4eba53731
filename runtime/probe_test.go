package tws_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tws-go/tws/codec"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream/memory"
	"github.com/tws-go/tws/runtime/twstest"
	"github.com/tws-go/tws/schemas"
)

// line is the row type of these tests; its codecs are written by hand, as all that
// tws-gen would generate for the probe below.
type line struct{ Key, Text string }

func (*line) TWSRow() *tws.Row[line] {
	return &tws.Row[line]{
		Type: "tws_test.line",
		Append: func(dst []byte, v *line) []byte {
			return codec.AppendString(codec.AppendString(dst, v.Key), v.Text)
		},
		Decode: func(src []byte, v *line) error {
			var r codec.Reader
			r.Reset(src)
			v.Key, v.Text = r.String(), r.String()
			if v.Text == "undecodable" {
				return errors.New("the row cannot be decoded")
			}
			return r.Done()
		},
	}
}

// probe is a processor made of functions, with a state of each kind.
type probe struct {
	tws.Processor[string, line, line]

	Value tws.ValueState[string]
	List  tws.ListState[string]
	Map   tws.MapState[string, string]
	Timer tws.Timer

	name   string
	mode   string
	append bool          // output=append
	ttl    time.Duration // of all states
	plain  bool          // no list, no map, no timer
	input  func(p *probe, ctx *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error
	timer  func(p *probe, ctx *tws.TimerContext, key string, t tws.ExpiredTimer, out tws.Emitter[line]) error
	close  func() error
}

func (p *probe) HandleInputRows(ctx *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
	return p.input(p, ctx, key, rows, out)
}

func (p *probe) HandleExpiredTimer(ctx *tws.TimerContext, key string, t tws.ExpiredTimer, out tws.Emitter[line]) error {
	if p.timer == nil {
		return nil
	}
	return p.timer(p, ctx, key, t, out)
}

func (p *probe) Close() error {
	if p.close == nil {
		return nil
	}
	return p.close()
}

var texts = tws.ValueCodec[string]{
	Append: func(dst []byte, v *string) []byte { return codec.AppendString(dst, *v) },
	Decode: func(r *codec.Reader, v *string) { *v = r.String() },
}

var textKeys = tws.KeyCodec[string]{Append: codec.AppendKeyString, Read: (*codec.KeyReader).String}

func (p *probe) BindTWS(b *tws.Binder) tws.Binding[string, line, line] {
	text := schemas.Type{Kind: schemas.String}
	s := schemas.Processor{
		Name: p.name, TimeMode: p.mode, OutputMode: schemas.OutputUpdate, Key: text,
		States: []schemas.State{
			{ID: 1, Name: "theValue", Kind: schemas.ValueState, Value: text, Version: 1},
			{ID: 2, Name: "theList", Kind: schemas.ListState, Value: text, Version: 1},
			{ID: 3, Name: "theMap", Kind: schemas.MapState, Key: &text, Value: text, Version: 1},
		},
		Timers: []schemas.Timer{{ID: 1, Name: "theTimer"}},
	}
	if p.append {
		s.OutputMode = schemas.OutputAppend
	}
	for i := range s.States {
		s.States[i].TTLMicros = p.ttl.Microseconds()
	}
	states, timers := s.States, s.Timers
	if p.plain {
		s.States, s.Timers = s.States[:1], nil
	}
	value, list, table := new(tws.ValueCell[string]), new(tws.ListCell[string]), new(tws.MapCell[string, string])
	value.Bind(b, states[0], texts)
	list.Bind(b, states[1], texts)
	table.Bind(b, states[2], textKeys, texts)
	p.Value, p.List, p.Map, p.Timer = value, list, table, tws.NewTimer(b, timers[0])
	return tws.Binding[string, line, line]{Processor: s, Fingerprint: s.Fingerprint(), Key: textKeys, In: (*line)(nil).TWSRow(), Out: (*line)(nil).TWSRow()}
}

// newProbe returns a probe that calls input.
func newProbe(input func(p *probe, ctx *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error) *probe {
	return &probe{name: "probe", mode: schemas.TimeProcessing, input: input}
}

// bench runs a flow over one checkpoint.
type bench struct {
	t       testing.TB
	rows    memory.Rows[line]
	sink    memory.Sink[line]
	target  *tws.Sink[line]
	clock   *twstest.Clock
	options tws.Options
	epochs  atomic.Int64
	// declare adds the flows; by default one flow called flow sends rows through
	// probe.
	declare func(p *tws.Pipeline)
	probe   *probe
}

func newBench(t testing.TB, p *probe) *bench {
	t.Helper()
	b := &bench{t: t, clock: twstest.NewClock(time.Unix(0, 0)), probe: p}
	b.target = tws.NewSink(&b.sink)
	b.options = tws.Options{
		Checkpoint: t.TempDir(), Clock: b.clock, Stores: mem.New(), NoSync: true,
		Conf:    map[string]string{"tws.partitions": "2"},
		OnEpoch: func(epoch.Stats) { b.epochs.Add(1) },
	}
	b.declare = func(pipeline *tws.Pipeline) { tws.AppendFlow(pipeline, b.target, "flow", b.flow) }
	return b
}

func (b *bench) flow(f *tws.Flow) tws.Stream[line] {
	return through(tws.ReadStream(f, &b.rows), b.probe)
}

// through sends rows through copies of a probe.
func through[B any](rows tws.S[line, B], p *probe) tws.S[line, B] {
	return tws.TransformWithState(
		tws.GroupBy(rows, func(l line) string { return l.Key }),
		func() *probe { c := *p; return &c },
	)
}

// row appends a row for each text.
func (b *bench) row(key string, texts ...string) *bench {
	for _, text := range texts {
		b.rows.Append(line{key, text})
	}
	return b
}

func (b *bench) run() error { return b.runWith(context.Background()) }

func (b *bench) runWith(ctx context.Context) error {
	p := tws.NewPipeline(b.options)
	b.declare(p)
	return p.Run(ctx)
}

func (b *bench) mustRun() *bench {
	b.t.Helper()
	if err := b.run(); err != nil {
		b.t.Fatal(err)
	}
	return b
}

// fails runs and returns the error, which must hold the words.
func (b *bench) fails(words ...string) error {
	b.t.Helper()
	return wantError(b.t, b.run(), words...)
}

func wantError(t testing.TB, err error, words ...string) error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in the error:\n%v", word, err)
		}
	}
	return err
}

// out returns the texts emitted so far, in the order of epoch and key.
func (b *bench) out() []string {
	rows := b.sink.Rows()
	slices.SortStableFunc(rows, func(x, y memory.Out[line]) int {
		if x.Epoch != y.Epoch {
			return int(x.Epoch - y.Epoch)
		}
		return strings.Compare(x.Row.Key, y.Row.Key)
	})
	var all []string
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%d %s %s", r.Epoch, r.Row.Key, r.Row.Text))
	}
	return all
}

func (b *bench) wantOut(want ...string) {
	b.t.Helper()
	if got := b.out(); !slices.Equal(got, want) {
		b.t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// echo emits its rows, each with the number of rows of the key before it.
func echo(p *probe, _ *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
	seen, _, err := p.Value.Get()
	if err != nil {
		return err
	}
	for r := range rows {
		if err := out.Emit(line{key, fmt.Sprint(r.Text, len(seen))}); err != nil {
			return err
		}
		seen += "x"
	}
	return p.Value.Update(seen)
}

// damagedStores is a store engine that changes what reads find.
type damagedStores struct {
	store.Engine
	scanErr error // after one entry
}

func (d *damagedStores) Open(dir string) (store.Store, error) {
	s, err := d.Engine.Open(dir)
	return &damagedStore{Store: s, damage: d}, err
}

type damagedStore struct {
	store.Store
	damage *damagedStores
}

func (s *damagedStore) Scan(lower, upper []byte) (store.Iterator, error) {
	it, err := s.Store.Scan(lower, upper)
	if len(lower) < 2 || lower[1] != store.KindElement || s.damage.scanErr == nil {
		return it, err
	}
	return &damagedScan{Iterator: it, err: s.damage.scanErr}, err
}

type damagedScan struct {
	store.Iterator
	err error
	n   int
}

func (s *damagedScan) Next() bool {
	s.n++
	return s.n == 1 && s.Iterator.Next()
}

func (s *damagedScan) Err() error { return s.err }
