package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/stream"
)

// runEpoch lives through one epoch. The plan is durable. Nothing is visible
// before the decision, and the decision is the commit: from then on the epoch is
// only ever published, never computed again.
func (u *Unit) runEpoch(ctx context.Context, plan checkpoint.Plan) (epoch.Stats, error) {
	e := attempt{unit: u, plan: plan, inherited: u.inherited, stats: epoch.Stats{Flow: u.flow.Name, Epoch: plan.Epoch, Clock: time.UnixMicro(plan.ClockMicros).UTC()}}
	if w := instantOf(plan.WatermarkMicros); w.set && w.micros != endOfTime {
		e.stats.Watermark = time.UnixMicro(w.micros).UTC()
	}
	steps := []struct {
		took *time.Duration
		do   func(context.Context) error
	}{
		{&e.stats.Took.Begin, e.begin},
		{&e.stats.Took.Read, e.read},         // 2. read, decode, exchange
		{&e.stats.Took.Sessions, e.sessions}, // 3. input sessions, then due timers, stage by stage
		{&e.stats.Took.Prepare, e.prepare},   // 4. changelogs and the sink's output are durable
		{&e.stats.Took.Decide, e.decide},     // 5. the commit
		{&e.stats.Took.Publish, e.publish},   // 6. output visible, stores up to date
	}
	for _, step := range steps {
		start := u.config.Clock.Now()
		err := step.do(ctx)
		*step.took = u.config.Clock.Now().Sub(start)
		if err != nil {
			err = fmt.Errorf("engine: flow %s, epoch %d: %w", u.flow.Name, plan.Epoch, err)
			return e.stats, errors.Join(err, e.forgetPlan(err))
		}
	}
	for i, r := range u.readers {
		r.Settled(ctx, plan.Sources[i].To)
	}
	u.config.OnEpoch(e.stats)
	return e.stats, u.maintain(ctx)
}

// attempt is one try at an epoch.
type attempt struct {
	unit      *Unit
	plan      checkpoint.Plan
	inherited bool // the plan is of an earlier run
	malformed bool // a source found its input malformed
	number    int
	decision  checkpoint.Decision
	batches   [][]byte // by partition; nil where nothing changed
	stats     epoch.Stats
}

// forgetPlan drops the plan of an epoch that cannot succeed as planned: it is too
// large for its memory, or its input is malformed and will be corrected. The next
// run plans it anew, over the input as it is then. Both show before Prepare, so
// nobody has seen anything of the epoch; but a plan that an earlier run left
// behind stays, since that run may have come further.
func (e *attempt) forgetPlan(err error) error {
	if e.inherited || !e.malformed && !errors.Is(err, ErrEpochTooLarge) {
		return nil
	}
	u := e.unit
	if err := u.dir.DiscardPlansAfter(u.last.Epoch); err != nil || u.once {
		return err
	}
	return u.dir.ClearEnds()
}

func (e *attempt) begin(ctx context.Context) (err error) {
	u := e.unit
	err = u.between(epoch.BeforeAttempt, epoch.AfterAttempt, func() error {
		e.number, err = u.dir.StartAttempt(e.plan.Epoch)
		return err
	})
	if err != nil {
		return err
	}
	e.stats.Attempt = e.number
	u.budget.reset()
	for _, s := range u.flow.Stages {
		s.Exchange.reset()
	}
	for _, p := range u.partitions {
		p.beginEpoch(e.plan.ClockMicros, instantOf(e.plan.WatermarkMicros))
	}
	u.flow.Watermark.begin(u.watermarkBefore())
	return u.sink.Begin(ctx, stream.Attempt{
		Epoch: e.plan.Epoch, Number: e.number, Lanes: u.sinkLanes(), Prior: u.last.Sink.State,
	})
}

func (e *attempt) read(ctx context.Context) error {
	u := e.unit
	stats := make([]stream.ReadStats, len(u.readers))
	var work crew
	ctx = work.start(ctx)
	for i, r := range u.readers {
		from, to := e.plan.Sources[i].From, e.plan.Sources[i].To
		if from.Equal(to) {
			continue
		}
		work.add(func() (err error) {
			if stats[i], err = r.Read(ctx, from, to); err != nil {
				return fmt.Errorf("source %s: %w", u.flow.Sources[i].Name(), err)
			}
			return nil
		})
	}
	err := work.wait()
	var malformed *stream.MalformedError
	e.malformed = errors.As(err, &malformed)
	for _, s := range stats {
		e.stats.RowsIn += s.Rows
		e.stats.BytesIn += s.Bytes
		e.stats.Malformed += s.Malformed
	}
	e.stats.Late = u.flow.Watermark.late()
	return err
}

// sessions runs the stages one after the other. Stage k+1 starts when stage k
// has fired its timers, in the same epoch and at the same clock.
func (e *attempt) sessions(ctx context.Context) error {
	for i, stage := range e.unit.flow.Stages {
		err := e.eachPartition(ctx, func(ctx context.Context, p *partition) error {
			return p.runStage(ctx, i, e.unit.config.TimerLimit)
		})
		if err != nil {
			return fmt.Errorf("processor %s: %w", stage.Schema.Name, err)
		}
	}
	for _, p := range e.unit.partitions {
		for _, sp := range p.stages {
			sp.metrics.addTo(&e.stats)
		}
	}
	return e.unit.budget.check() // whatever a callback made of the error
}

func (e *attempt) prepare(ctx context.Context) error {
	u := e.unit
	e.decision = checkpoint.Decision{
		Epoch: e.plan.Epoch, Attempt: e.number, Plan: e.plan,
		Changelogs: make([]stream.Artefact, len(u.partitions)),
		EventTimes: u.eventTimes(e.plan),
	}
	err := u.between(epoch.BeforeChangelogs, epoch.AfterChangelogs, func() error { return e.writeChangelogs(ctx) })
	if err != nil {
		return err
	}
	if err := u.at(epoch.BeforeStage); err != nil {
		return err
	}
	staged, err := u.sink.Prepare(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", u.flow.Target, err)
	}
	e.decision.Sink = staged
	e.stats.RowsOut, e.stats.BytesOut = staged.Rows, staged.Bytes
	return u.at(epoch.AfterStage)
}

// writeChangelogs makes the state changes durable, one record for each state
// partition that changed.
func (e *attempt) writeChangelogs(ctx context.Context) error {
	u := e.unit
	e.batches = make([][]byte, len(u.partitions))
	err := e.eachPartition(ctx, func(_ context.Context, p *partition) (err error) {
		if p.over.empty() {
			return nil
		}
		batch := p.changes(store.Mark{Epoch: e.plan.Epoch, Attempt: e.number})
		e.batches[p.number] = batch
		e.decision.Changelogs[p.number], err = u.dir.WriteChangelog(e.plan.Epoch, e.number, p.number, batch)
		return err
	})
	for _, b := range e.batches {
		e.stats.ChangelogBytes += int64(len(b))
	}
	return err
}

func (e *attempt) publish(ctx context.Context) error {
	u := e.unit
	if err := u.publish(ctx, e.decision); err != nil {
		return err
	}
	return u.between(epoch.BeforeApply, epoch.AfterApply, func() error {
		return e.eachPartition(ctx, func(_ context.Context, p *partition) error {
			return u.apply(p, e.decision, e.batches[p.number])
		})
	})
}

// eachPartition works on all partitions at once.
func (e *attempt) eachPartition(ctx context.Context, do func(context.Context, *partition) error) error {
	var work crew
	ctx = work.start(ctx)
	for _, p := range e.unit.partitions {
		work.add(func() error { return do(ctx, p) })
	}
	return work.wait()
}

// publish makes a decided epoch's output visible.
func (u *Unit) publish(ctx context.Context, d checkpoint.Decision) error {
	if err := u.at(epoch.BeforePublish); err != nil {
		return err
	}
	if err := u.sink.Publish(ctx, publication(d)); err != nil {
		return fmt.Errorf("%s: epoch %d is decided but not published: %w", u.flow.Target, d.Epoch, err)
	}
	return u.at(epoch.AfterPublish)
}

// apply brings a partition's store to a decided epoch. A partition that did not
// change still gets the epoch's mark.
func (u *Unit) apply(p *partition, d checkpoint.Decision, batch []byte) error {
	if batch == nil {
		var b store.Batch
		b.Reset(store.Mark{Epoch: d.Epoch, Attempt: d.Attempt})
		batch = b.Bytes()
	}
	p.st.SetExpiryClock(d.Plan.ClockMicros)
	return p.st.Apply(batch)
}

// plan makes the plan of the next epoch: how far to read of each source, limited,
// the clock and the watermark. It is nil if there is nothing to do: no row, no due timer. TTL
// alone starts no epoch.
func (u *Unit) plan(ctx context.Context, ends []stream.Position) (*checkpoint.Plan, error) {
	p := &checkpoint.Plan{Epoch: u.last.Epoch + 1}
	rows := false
	for i, r := range u.readers {
		from := u.position(i)
		to, err := r.Cut(ctx, from, ends[i], u.config.Limits)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", u.flow.Sources[i].Name(), err)
		}
		rows = rows || !from.Equal(to)
		p.Sources = append(p.Sources, checkpoint.SourceRange{Name: u.flow.Sources[i].Name(), From: from, To: to})
	}
	p.Sources = append(p.Sources, u.absentSources()...)
	p.ClockMicros = u.clock()
	u.planWatermark(p, ends, rows)
	if rows {
		return p, nil
	}
	due, err := u.anyDue(p.ClockMicros, instantOf(p.WatermarkMicros))
	if err != nil || !due {
		return nil, err
	}
	return p, nil
}

// absentSources are the places of sources that the flow read once and does not
// have now. Plans carry them on, so that a source that comes back goes on there.
func (u *Unit) absentSources() []checkpoint.SourceRange {
	var absent []checkpoint.SourceRange
	for _, r := range u.last.Plan.Sources {
		present := slices.ContainsFunc(u.flow.Sources, func(s Source) bool { return s.Name() == r.Name })
		if !present {
			absent = append(absent, checkpoint.SourceRange{Name: r.Name, From: r.To, To: r.To})
		}
	}
	return absent
}

// writePlan makes a plan durable, before any work.
func (u *Unit) writePlan(p *checkpoint.Plan) error {
	return u.between(epoch.BeforePlan, epoch.AfterPlan, func() error {
		err := u.dir.WritePlan(*p)
		if err == nil {
			u.undecided = p
		}
		return err
	})
}

// discover asks every source for its end and makes what they need to remember
// durable.
func (u *Unit) discover(ctx context.Context, final bool) ([]stream.Position, error) {
	ends := make([]stream.Position, len(u.readers))
	began := u.clock()
	u.polledMicros, u.endPartitions = make([]int64, len(u.readers)), nil
	for i, r := range u.readers {
		name := u.flow.Sources[i].Name()
		end, journal, err := r.Discover(ctx, u.position(i), final)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", name, err)
		}
		ends[i] = slices.Clone(end)
		u.polledMicros[i] = u.polled(r, began)
		if journal == nil {
			continue
		}
		err = u.between(epoch.BeforeJournal, epoch.AfterJournal, func() error { return u.dir.AppendJournal(name, journal) })
		if err != nil {
			return nil, err
		}
	}
	return ends, nil
}
