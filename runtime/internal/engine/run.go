package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/stream"
)

// errStopped ends a run that was asked to stop; it never leaves the package.
var errStopped = errors.New("engine: stopped")

// errFailed is for whoever runs a unit again after an error: what the failed
// epoch left in memory is not what the last decision says.
var errFailed = errors.New("a run has failed before: close the flow and open it again, it goes on from its last decided epoch")

// RunInterval runs an epoch every interval, if there is something to do, until
// stop is closed, MaxEpochs have run, or something fails. An epoch that takes
// longer than the interval is followed by the next at once.
func (u *Unit) RunInterval(ctx context.Context, stop <-chan struct{}, interval time.Duration) error {
	return u.ended(u.runInterval(ctx, stop, interval))
}

func (u *Unit) runInterval(ctx context.Context, stop <-chan struct{}, interval time.Duration) error {
	if u.failed {
		return u.wrap(errFailed)
	}
	if err := u.dropEnds(); err != nil {
		return err
	}
	for epochs := int64(0); ; {
		start := u.config.Clock.Now()
		ran, err := u.tick(ctx)
		if err != nil {
			return err
		}
		if ran {
			epochs++
		}
		if u.config.MaxEpochs > 0 && epochs >= u.config.MaxEpochs {
			return nil
		}
		rest := interval - u.config.Clock.Now().Sub(start)
		if err := u.wait(ctx, stop, rest); err != nil {
			return err
		}
	}
}

// tick runs the next epoch, if there is something to do.
func (u *Unit) tick(ctx context.Context) (ran bool, err error) {
	if u.undecided != nil {
		_, err := u.runEpoch(ctx, *u.undecided)
		return true, err
	}
	ends, err := u.discover(ctx, false)
	if err != nil {
		return false, u.wrap(err)
	}
	plan, err := u.plan(ctx, ends)
	if err != nil || plan == nil {
		return false, u.wrap(err)
	}
	_, err = u.run(ctx, plan)
	return true, err
}

// run makes a plan durable and runs its epoch.
func (u *Unit) run(ctx context.Context, plan *checkpoint.Plan) (epoch.Stats, error) {
	if err := u.writePlan(plan); err != nil {
		return epoch.Stats{}, u.wrap(err)
	}
	return u.runEpoch(ctx, *plan)
}

func (u *Unit) wait(ctx context.Context, stop <-chan struct{}, d time.Duration) error {
	select {
	case <-stop:
		return errStopped
	default:
	}
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-stop:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	case <-u.config.Clock.After(d):
		return nil
	}
}

// RunAvailable reads everything that is there when it is called, fires the
// timers that are due, and returns. Where it reads to is durable before its
// first epoch, so a run that is cut short is finished to the same place by the
// next.
func (u *Unit) RunAvailable(ctx context.Context, stop <-chan struct{}) error {
	err := u.runAvailable(ctx, stop)
	if err == nil {
		err = u.dropEnds()
	}
	return u.ended(err)
}

// RunOnce is RunAvailable for a flow that never reads further than its first run
// found: its ends stay.
func (u *Unit) RunOnce(ctx context.Context, stop <-chan struct{}) error {
	u.once = true
	return u.ended(u.runAvailable(ctx, stop))
}

func (u *Unit) runAvailable(ctx context.Context, stop <-chan struct{}) error {
	if u.failed {
		return u.wrap(errFailed)
	}
	ends, err := u.ends(ctx)
	if err != nil {
		return u.wrap(err)
	}
	epochs := int64(0)
	if u.undecided != nil {
		epochs++
		if _, err := u.runEpoch(ctx, *u.undecided); err != nil {
			return err
		}
	}
	for rounds := (timerRounds{}); ; epochs++ {
		if rounds.done > 1 {
			u.warnEndless()
			return nil
		}
		plan, err := u.plan(ctx, ends)
		if err == nil && plan == nil {
			u.tellWaiting()
		}
		if err != nil || plan == nil {
			return u.wrap(err)
		}
		if u.config.MaxEpochs > 0 && epochs >= u.config.MaxEpochs {
			return errStopped
		}
		if err := u.wait(ctx, stop, 0); err != nil {
			return err
		}
		stats, err := u.run(ctx, plan)
		if err != nil {
			return err
		}
		if err := rounds.count(u, stats, ends); err != nil {
			return u.wrap(err)
		}
	}
}

// timerRounds counts rounds of timers after the input has ended. A timer that a
// callback sets for now fires in the round after; a second such round would never
// end. A round that the limit on timers cuts takes several epochs.
type timerRounds struct {
	done int
	owed int64 // what the round still has to fire, if it was cut
}

func (r *timerRounds) count(u *Unit, stats epoch.Stats, ends []stream.Position) (err error) {
	for i := range u.readers {
		if !u.position(i).Equal(ends[i]) {
			return nil
		}
	}
	if u.advances(ends) {
		return nil // what the input brought is not all due yet
	}
	switch {
	case stats.Timers == 0:
		return nil
	case !u.cut():
		r.owed = 0
	case r.owed == 0:
		r.owed, err = u.owedTimers()
	default:
		r.owed = max(0, r.owed-stats.Timers)
	}
	if r.owed == 0 {
		r.done++
	}
	return err
}

// cut reports whether the limit on timers ended a timer phase of the last epoch.
func (u *Unit) cut() bool {
	for _, p := range u.partitions {
		for _, sp := range p.stages {
			if sp.cut {
				return true
			}
		}
	}
	return false
}

// owedTimers counts the timers that were due when the last epoch began and have
// not fired.
func (u *Unit) owedTimers() (owed int64, err error) {
	for _, p := range u.partitions {
		for _, sp := range p.stages {
			due := sp.session.due
			if !due.set {
				continue
			}
			n, err := sp.timers.count(due.micros)
			if err != nil {
				return 0, err
			}
			owed += n - sp.again
		}
	}
	return max(0, owed), nil
}

func (u *Unit) warnEndless() {
	if due, err := u.anyDue(u.clock(), instantOf(u.last.Plan.WatermarkMicros)); err == nil && due {
		u.log.Warn("a timer callback keeps registering timers that are due at once; they wait for the next run", "epoch", u.last.Epoch)
	}
}

// ends returns where an available-now run reads to: the ends of an earlier run
// that was cut short, or new ones, made durable.
func (u *Unit) ends(ctx context.Context) ([]stream.Position, error) {
	stored, ok, err := u.dir.Ends()
	if err != nil {
		return nil, err
	}
	if ok {
		return u.storedEnds(stored)
	}
	ends, err := u.discover(ctx, true)
	if err != nil {
		return nil, err
	}
	var e checkpoint.Ends
	for i, end := range ends {
		source := checkpoint.SourceEnd{Name: u.flow.Sources[i].Name(), End: end}
		if u.flow.Watermark != nil {
			source.Partitions = u.knownPartitions(i)
		}
		e.Sources = append(e.Sources, source)
	}
	return ends, u.between(epoch.BeforeEnds, epoch.AfterEnds, func() error { return u.dir.WriteEnds(e) })
}

func (u *Unit) storedEnds(stored checkpoint.Ends) ([]stream.Position, error) {
	byName := map[string]checkpoint.SourceEnd{}
	for _, s := range stored.Sources {
		byName[s.Name] = s
	}
	u.polledMicros, u.endPartitions = make([]int64, len(u.flow.Sources)), make([]int, len(u.flow.Sources))
	ends := make([]stream.Position, len(u.flow.Sources))
	for i, s := range u.flow.Sources {
		end, ok := byName[s.Name()]
		if !ok {
			return nil, fmt.Errorf("an available-now run was cut short before source %s was added: let it finish without it, or run with an interval trigger once", s.Name())
		}
		ends[i], u.endPartitions[i] = end.End, end.Partitions
	}
	u.log.Info("an available-now run was cut short; this one finishes it to the same place")
	return ends, nil
}

// dropEnds forgets the ends of an available-now run that is finished, or that a
// run with another trigger has made pointless.
func (u *Unit) dropEnds() error {
	if err := u.between(epoch.BeforeDropEnds, epoch.AfterDropEnds, u.dir.ClearEnds); err != nil {
		return u.wrap(err)
	}
	return nil
}

func (u *Unit) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("engine: flow %s: %w", u.flow.Name, err)
}

// ended notes how a run ended.
func (u *Unit) ended(err error) error {
	if errors.Is(err, errStopped) {
		return nil
	}
	u.failed = u.failed || err != nil
	return err
}
