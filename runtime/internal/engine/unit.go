package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"time"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/stream"
)

// Config is how a unit runs. The zero value of a field means its default.
type Config struct {
	Stores store.Engine
	Clock  epoch.Clock  // default epoch.SystemClock
	Log    *slog.Logger // default discards
	// Partitions is the number of state partitions of a flow that starts for the
	// first time; later the checkpoint says. Default 4.
	Partitions int
	// Limits bound what one epoch reads of one source. Bytes defaults to 64 MiB,
	// so that a large first input does not exceed the memory of an epoch.
	Limits stream.Limits
	// TimerLimit is how many timers of a state partition and stage fire in one
	// epoch. Default 100,000.
	TimerLimit int64
	// MemoryBytes bounds what an epoch holds in memory. Default 512 MiB.
	MemoryBytes int64
	// SnapshotEpochs and SnapshotBytes say after how many epochs or changelog
	// bytes a snapshot is taken. Defaults 1,000 and 64 MiB.
	SnapshotEpochs int64
	SnapshotBytes  int64
	// RetainEpochs is how many decided epochs stay recoverable. Default 100.
	RetainEpochs int64
	// InDoubt says what becomes of an epoch in doubt whose record the sink has
	// lost: stream.InDoubtRerun or stream.InDoubtCommitted. Without it, and without one that an
	// earlier start has left, the unit does not start.
	InDoubt string
	// MaxEpochs stops a run after that many epochs; 0 means never.
	MaxEpochs int64
	// OnEpoch is called after every epoch, and must not block.
	OnEpoch func(epoch.Stats)
	// AtPoint is called at every [epoch.Point] of the commit order; an error ends the
	// run there as a crash would. For tests.
	AtPoint func(epoch.Point) error
}

func (c Config) withDefaults() Config {
	set := func(p *int64, d int64) {
		if *p == 0 {
			*p = d
		}
	}
	if c.Clock == nil {
		c.Clock = epoch.SystemClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Partitions == 0 {
		c.Partitions = 4
	}
	set(&c.Limits.Bytes, 64<<20)
	set(&c.TimerLimit, 100_000)
	set(&c.MemoryBytes, 512<<20)
	set(&c.SnapshotEpochs, 1_000)
	set(&c.SnapshotBytes, 64<<20)
	set(&c.RetainEpochs, 100)
	if c.OnEpoch == nil {
		c.OnEpoch = func(epoch.Stats) {}
	}
	if c.AtPoint == nil {
		c.AtPoint = func(epoch.Point) error { return nil }
	}
	return c
}

// Unit is a commit unit: one flow in one process, with its own epochs, plans,
// decisions and directory in the checkpoint. It is used by one goroutine.
type Unit struct {
	flow   *Flow
	config Config
	log    *slog.Logger
	groups int
	id     stream.Unit

	dir        *checkpoint.Flow
	meta       checkpoint.FlowMeta
	readers    []Reader
	sink       stream.Committer
	partitions []*partition
	budget     budget

	last      checkpoint.Decision // the newest decision; Epoch 0 if there is none
	undecided *checkpoint.Plan    // a plan of a run before, to be done first
	inherited bool                // undecided is of an earlier run
	once      bool                // the ends of the first run are the flow's for good
	rebuild   bool                // the working stores are another engine's
	// metaChanged says that meta is not written down yet.
	metaChanged bool
	snapshot    snapshotState
	// polledMicros is, by source, when the end that is read to was known to be that
	// of all there was, 0 if it is not known when, or if; endPartitions how many
	// partitions the ends of an earlier run had.
	polledMicros  []int64
	endPartitions []int
	failed        bool // a run failed: the unit can only be closed
}

// NewUnit returns a flow's unit as its checkpoint left it. Then follow
// [Unit.OpenSources], [Unit.OpenSink] and [Unit.Recover]: each for all the units of a
// process before the next, so that what cannot be opened is known before anything is
// made or changed outside. Close must be called whatever happens later, but not after
// an error.
func NewUnit(c *checkpoint.Checkpoint, flow *Flow, config Config) (*Unit, error) {
	u := &Unit{flow: flow, config: config.withDefaults(), groups: c.KeyGroups()}
	u.log = u.config.Log.With("flow", flow.Name)
	u.budget.limit = u.config.MemoryBytes
	u.id = stream.Unit{Checkpoint: c.UID(), Flow: flow.Name}
	var err error
	if u.dir, err = c.Flow(flow.Name); err != nil {
		return nil, fmt.Errorf("engine: flow %s: %w", flow.Name, err)
	}
	if err := u.open(); err != nil {
		return nil, u.wrap(err)
	}
	return u, nil
}

func (u *Unit) open() (err error) {
	if u.last, _, err = u.dir.LastDecision(); err != nil {
		return err
	}
	if err := u.openMeta(); err != nil {
		return err
	}
	u.openExchanges()
	return nil
}

// OpenSources opens what the flow reads.
func (u *Unit) OpenSources(ctx context.Context) error { return u.wrap(u.openSources(ctx)) }

// OpenSink opens what the flow writes.
func (u *Unit) OpenSink(ctx context.Context) (err error) {
	u.sink, err = u.flow.OpenSink(ctx, u.id, u.log)
	return u.wrap(err)
}

// Recover brings the unit to its last decided epoch: it can run then.
func (u *Unit) Recover(ctx context.Context) error { return u.wrap(u.recover(ctx)) }

// openMeta compares the flow with what its checkpoint was made with.
func (u *Unit) openMeta() error {
	declared := u.declaredMeta()
	stored, ok, err := u.dir.Meta()
	if err != nil {
		return err
	}
	if !ok {
		u.meta, u.metaChanged = declared, true
		return nil
	}
	if err := compatibleMeta(stored, declared); err != nil {
		return err
	}
	if err := u.checkStore(stored, declared); err != nil {
		return err
	}
	u.rebuild = stored.Store != declared.Store
	u.warnRenamed(stored, declared)
	if stored.Partitions != declared.Partitions {
		u.log.Info("the checkpoint keeps its number of state partitions", "partitions", stored.Partitions, "configured", declared.Partitions)
		declared.Partitions = stored.Partitions
	}
	u.meta, u.metaChanged = declared, !reflect.DeepEqual(stored, declared)
	return nil
}

// putMeta writes down what the flow's checkpoint is made with from now on: once its
// sources and its sink are open, so that a start that fails leaves no trace.
func (u *Unit) putMeta() error {
	if !u.metaChanged {
		return nil
	}
	u.metaChanged = false
	return u.between(epoch.BeforeMeta, epoch.AfterMeta, func() error { return u.dir.PutMeta(u.meta) })
}

func (u *Unit) openExchanges() {
	lanes := len(u.flow.Sources)
	u.flow.Watermark.open(lanes)
	for _, stage := range u.flow.Stages {
		stage.Exchange.open(lanes, u.meta.Partitions, u.groups, &u.budget)
		lanes = u.meta.Partitions
	}
}

// sinkLanes is how many lanes of the sink are written.
func (u *Unit) sinkLanes() int {
	if len(u.flow.Stages) == 0 {
		return len(u.flow.Sources)
	}
	return u.meta.Partitions
}

func (u *Unit) openSources(ctx context.Context) error {
	for lane, s := range u.flow.Sources {
		journal, err := u.dir.Journal(s.Name())
		if err != nil {
			return err
		}
		r, err := s.Open(ctx, SourceEnv{
			Lane: lane, Unit: u.id, Log: u.log.With("source", s.Name()), Now: u.config.Clock.Now, Journal: journal,
		})
		if err != nil {
			return fmt.Errorf("source %s: %w", s.Name(), err)
		}
		u.readers = append(u.readers, r)
	}
	return nil
}

// Epoch returns the number of the last decided epoch, 0 before the first.
func (u *Unit) Epoch() int64 { return u.last.Epoch }

// position returns where the next epoch begins to read source i.
func (u *Unit) position(i int) stream.Position {
	for _, r := range u.last.Plan.Sources {
		if r.Name == u.flow.Sources[i].Name() {
			return r.To
		}
	}
	return nil
}

// clock reads the clock for a new epoch. It never goes back, not even between
// runs on machines whose clocks differ.
func (u *Unit) clock() int64 {
	return max(u.config.Clock.Now().UnixMicro(), u.last.Plan.ClockMicros)
}

// NextTimer returns the instant of the flow's earliest processing-time timer; ok
// is false if there is none.
func (u *Unit) NextTimer() (at time.Time, ok bool, err error) {
	next, err := u.nextTimer()
	if err != nil || next == math.MaxInt64 {
		return time.Time{}, false, err
	}
	return time.UnixMicro(next).UTC(), true, nil
}

// nextTimer is the earliest instant that the clock has to reach, or math.MaxInt64.
func (u *Unit) nextTimer() (int64, error) {
	earliest := int64(math.MaxInt64)
	for _, p := range u.partitions {
		for _, sp := range p.stages {
			if sp.session.eventTime() {
				continue
			}
			at, err := sp.timers.next()
			if err != nil {
				return 0, err
			}
			earliest = min(earliest, at)
		}
	}
	return earliest, nil
}

// anyDue reports whether a timer is due in an epoch with that clock and watermark.
func (u *Unit) anyDue(clockMicros int64, watermark instant) (bool, error) {
	for _, p := range u.partitions {
		for _, sp := range p.stages {
			at, err := sp.timers.next()
			if err != nil {
				return false, err
			}
			if at < math.MaxInt64 && sp.session.threshold(clockMicros, watermark).reaches(at) {
				return true, nil
			}
		}
	}
	return false, nil
}

func (u *Unit) at(p epoch.Point) error { return u.config.AtPoint(p) }

// between does a durable step between two points.
func (u *Unit) between(before, after epoch.Point, step func() error) error {
	if err := u.at(before); err != nil {
		return err
	}
	if err := step(); err != nil {
		return err
	}
	return u.at(after)
}

// Close releases everything. State stores stay as the last decided epoch left
// them; a failed epoch leaves no trace in them.
func (u *Unit) Close() error {
	var errs []error
	for _, p := range u.partitions {
		errs = append(errs, p.close())
	}
	for _, r := range u.readers {
		errs = append(errs, r.Close())
	}
	if u.sink != nil {
		errs = append(errs, u.sink.Close())
	}
	u.partitions, u.readers, u.sink = nil, nil, nil
	return errors.Join(errs...)
}
