package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// handClock is a clock that tests move.
type handClock struct {
	mu  sync.Mutex
	now time.Time
	// passed is called by After, with the lock free; a clock of tests never
	// waits: what is waited for has come.
	passed func()
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) set(micros int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = time.UnixMicro(micros)
}

func (c *handClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	c.now = c.now.Add(d)
	ch := make(chan time.Time, 1)
	ch <- c.now
	c.mu.Unlock()
	if c.passed != nil {
		c.passed()
	}
	return ch
}

// keyed is a row as the test source has it. In a rig with a watermark it happens at
// an instant, in a partition of the source.
type keyed struct {
	key, row  string
	partition int32
	at        int64
}

// listSource pushes rows of a list into the exchange of the first stage, or into
// the sink.
type listSource struct {
	name       string
	rows       []keyed
	push       func(lane int) func(keyed) error
	settled    int // rows that have taken effect, as the engine says
	partitions int // if the rig has a watermark; 0 until it is known
	lag        *lag
}

// lag makes a source's reader one that hands out only some of its rows, and knows
// at times only when that was all.
type lag struct {
	handed int
	polled instant
}

func (s *listSource) Name() string { return s.name }

func (s *listSource) Open(_ context.Context, env SourceEnv) (Reader, error) {
	r := &listReader{source: s, push: s.push(env.Lane)}
	if s.lag != nil {
		return &laggingReader{r}, nil
	}
	return r, nil
}

type laggingReader struct{ *listReader }

func (r *laggingReader) Discover(context.Context, stream.Position, bool) (stream.Position, []byte, error) {
	return position(r.source.lag.handed), nil, nil
}

func (r *laggingReader) PolledAt() (time.Time, bool) {
	at := r.source.lag.polled
	return time.UnixMicro(at.micros), at.set
}

type listReader struct {
	source *listSource
	push   func(keyed) error
}

func position(n int) stream.Position {
	if n == 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

func count(p stream.Position) int {
	n, _ := strconv.Atoi(string(p))
	return n
}

func (r *listReader) Discover(context.Context, stream.Position, bool) (stream.Position, []byte, error) {
	return position(len(r.source.rows)), nil, nil
}

func (r *listReader) Cut(_ context.Context, from, end stream.Position, limits stream.Limits) (stream.Position, error) {
	if limits.Rows > 0 && int64(count(end)-count(from)) > limits.Rows {
		return position(count(from) + int(limits.Rows)), nil
	}
	return end, nil
}

func (r *listReader) Read(_ context.Context, from, to stream.Position) (stats stream.ReadStats, err error) {
	for _, row := range r.source.rows[count(from):count(to)] {
		if err := r.push(row); err != nil {
			return stats, err
		}
		stats.Rows++
	}
	return stats, nil
}

func (r *listReader) Settled(_ context.Context, upTo stream.Position) { r.source.settled = count(upTo) }

func (r *listReader) Close() error { return nil }

func (r *listReader) Partitions() int { return r.source.partitions }

// listSink keeps what is published, lane by lane.
type listSink struct {
	epoch   int64
	lanes   [][]string
	staged  map[int64][][]string
	out     [][]string // by epoch
	onBegin func(stream.Attempt) error
}

func (s *listSink) Begin(_ context.Context, a stream.Attempt) error {
	s.epoch, s.lanes = a.Epoch, make([][]string, a.Lanes)
	if s.onBegin != nil {
		return s.onBegin(a)
	}
	return nil
}

func (s *listSink) write(lane int, line string) error {
	s.lanes[lane] = append(s.lanes[lane], line)
	return nil
}

func (s *listSink) Prepare(context.Context) (stream.Staged, error) {
	if s.staged == nil {
		s.staged = map[int64][][]string{}
	}
	s.staged[s.epoch] = s.lanes
	return stream.Staged{Rows: int64(len(slices.Concat(s.lanes...)))}, nil
}

func (s *listSink) Publish(_ context.Context, p stream.Publication) error {
	if int64(len(s.out)) >= p.Epoch {
		return nil
	}
	s.out = append(s.out, slices.Concat(s.staged[p.Epoch]...))
	return nil
}

func (s *listSink) Close() error { return nil }

// handler is an operator made of functions. emit sends a line to the sink, or a
// row with a key to the next stage.
type handler struct {
	schema schemas.Processor
	input  func(s *Session, key string, rows []string, emit func(key, row string) error) error
	timer  func(s *Session, key string, t FiredTimer, emit func(key, row string) error) error
}

// schema has a value (1), a list (2), a map (3) and two named timers.
func testSchema(name string) schemas.Processor {
	return schemas.Processor{
		Name: name, TimeMode: schemas.TimeProcessing, OutputMode: schemas.OutputUpdate,
		Key: schemas.Type{Kind: schemas.String},
		States: []schemas.State{
			{ID: 1, Name: "value", Kind: schemas.ValueState, Value: schemas.Type{Kind: schemas.String}, Version: 1},
			{ID: 2, Name: "list", Kind: schemas.ListState, Value: schemas.Type{Kind: schemas.String}, Version: 1},
			{ID: 3, Name: "map", Kind: schemas.MapState, Key: &schemas.Type{Kind: schemas.String}, Value: schemas.Type{Kind: schemas.String}, Version: 1},
			{ID: 5, Name: "other", Kind: schemas.ValueState, Value: schemas.Type{Kind: schemas.String}, Version: 1},
		},
		Timers: []schemas.Timer{{ID: 1, Name: "alarm"}, {ID: 3, Name: "snooze"}},
	}
}

// instance runs a handler in one partition.
type instance struct {
	h       *handler
	session *Session
	emit    func(key, row string) error
}

func (i *instance) Input(_ context.Context, key []byte, rows *Rows) error {
	var all []string
	for row, ok := rows.Next(); ok; row, ok = rows.Next() {
		all = append(all, string(row))
	}
	if i.h.input == nil {
		return nil
	}
	return i.h.input(i.session, string(key), all, i.emit)
}

func (i *instance) Timer(_ context.Context, key []byte, t FiredTimer) error {
	if i.h.timer == nil {
		return nil
	}
	return i.h.timer(i.session, string(key), t, i.emit)
}

func (i *instance) Close() error { return nil }

// rig runs handlers over one checkpoint.
type rig struct {
	t       testing.TB
	dir     string
	clock   *handClock
	stores  store.Engine
	sources []*listSource
	stages  []*handler
	sink    *listSink
	ledger  *ledger // if set, the sink decides and commits here
	config  Config
	epochs  []epoch.Stats
	delay   int64 // of the watermark
	timed   bool  // there is one

	checkpoint *checkpoint.Checkpoint
	unit       *Unit
}

func newRig(t testing.TB, stages ...*handler) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), clock: &handClock{now: time.UnixMicro(0)}, stores: mem.New(), stages: stages, sink: &listSink{}}
	r.sources = []*listSource{{name: "in"}}
	for i, h := range stages {
		if h.schema.Name == "" {
			h.schema = testSchema(fmt.Sprintf("stage%d", i+1))
		}
	}
	t.Cleanup(func() { r.close() })
	return r
}

// row appends rows to the first source.
func (r *rig) row(key string, rows ...string) *rig {
	for _, row := range rows {
		r.sources[0].rows = append(r.sources[0].rows, keyed{key: key, row: row})
	}
	return r
}

// open opens the unit if it is not open.
func (r *rig) open() error {
	if r.unit != nil {
		return nil
	}
	var err error
	if r.checkpoint, err = checkpoint.Open(r.dir, checkpoint.Options{NoSync: true}); err != nil {
		return err
	}
	c := r.config
	c.Stores, c.Clock = r.stores, r.clock
	c.OnEpoch = func(s epoch.Stats) { r.epochs = append(r.epochs, s) }
	if r.unit, err = openUnit(r.checkpoint, r.flow(), c); err != nil {
		return errors.Join(err, r.checkpoint.Close())
	}
	return nil
}

func (r *rig) flow() *Flow {
	f := &Flow{Name: "flow", Target: "list", OpenSink: func(context.Context, stream.Unit, *slog.Logger) (stream.Committer, error) {
		if r.ledger != nil {
			return &deciding{listSink: r.sink, ledger: r.ledger}, nil
		}
		return r.sink, nil
	}}
	if r.timed {
		f.Watermark = &Watermark{DelayMicros: r.delay}
	}
	for _, h := range r.stages {
		f.Stages = append(f.Stages, &Stage{Schema: h.schema, Exchange: new(Exchange)})
	}
	for i, stage := range f.Stages {
		stage.Open = func(partition int, s *Session) (Instance, error) {
			emit := func(_, row string) error { return r.sink.write(partition, row) }
			if i+1 < len(f.Stages) {
				lane := f.Stages[i+1].Exchange.Lane(partition)
				emit = func(key, row string) error { return lane.Put([]byte(key), []byte(row)) }
			}
			return &instance{h: r.stages[i], session: s, emit: emit}, nil
		}
	}
	for _, s := range r.sources {
		s.push = func(lane int) func(keyed) error {
			if len(f.Stages) == 0 {
				return func(k keyed) error { return r.sink.write(lane, k.row) }
			}
			l := f.Stages[0].Exchange.Lane(lane)
			if f.Watermark != nil {
				return r.timedPush(f.Watermark.Lane(lane), l)
			}
			return func(k keyed) error { return l.Put([]byte(k.key), []byte(k.row)) }
		}
		f.Sources = append(f.Sources, s)
	}
	return f
}

// timedPush pushes rows that are not late.
func (r *rig) timedPush(events *EventLane, l *Lane) func(keyed) error {
	return func(k keyed) error {
		if err := events.See(k.partition, k.at); err != nil {
			return err
		}
		if r.stages[0].schema.TimeMode == schemas.TimeEvent && events.Drop(k.at) {
			return nil
		}
		return l.Put([]byte(k.key), []byte(k.row))
	}
}

// run runs to where nothing is left to do.
func (r *rig) run() error {
	if err := r.open(); err != nil {
		return err
	}
	return r.unit.RunAvailable(context.Background(), nil)
}

// mustRun runs, and returns the lines that were published by it.
func (r *rig) mustRun() []string {
	r.t.Helper()
	before := len(r.sink.out)
	if err := r.run(); err != nil {
		r.t.Fatal(err)
	}
	return slices.Concat(r.sink.out[before:]...)
}

func (r *rig) close() {
	r.t.Helper()
	if r.unit == nil {
		return
	}
	if err := errors.Join(r.unit.Close(), r.checkpoint.Close()); err != nil {
		r.t.Error(err)
	}
	r.unit = nil
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// counter counts rows in the value with id 1, and emits key=count.
func counter() *handler {
	return &handler{input: func(s *Session, key string, rows []string, emit func(key, row string) error) error {
		n, err := addTo(s, 1, uint64(len(rows)))
		if err != nil {
			return err
		}
		return emit(key, fmt.Sprintf("%s=%d", key, n))
	}}
}

// addTo adds to a number in a value.
func addTo(s *Session, id int, d uint64) (uint64, error) {
	old, ok, err := s.Value(id)
	if err != nil {
		return 0, err
	}
	if ok {
		d += binary.BigEndian.Uint64(old)
	}
	return d, s.PutValue(id, binary.BigEndian.AppendUint64(nil, d))
}
