package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/stream"
)

// errStopped ends a run that was asked to stop; it never leaves the package.
var errStopped = errors.New("engine: stopped")

// RunInterval runs an epoch every interval, if there is something to do, until
// stop is closed, MaxEpochs have run, or something fails. An epoch that takes
// longer than the interval is followed by the next at once.
func (u *Unit) RunInterval(ctx context.Context, stop <-chan struct{}, interval time.Duration) error {
	return stopped(u.runInterval(ctx, stop, interval))
}

func (u *Unit) runInterval(ctx context.Context, stop <-chan struct{}, interval time.Duration) error {
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
	_, ran, err = u.next(ctx, ends)
	return ran, err
}

// next plans and runs an epoch up to ends, if there is something to do.
func (u *Unit) next(ctx context.Context, ends []stream.Position) (EpochStats, bool, error) {
	plan, err := u.plan(ctx, ends)
	if err != nil || plan == nil {
		return EpochStats{}, false, u.wrap(err)
	}
	if err := u.writePlan(plan); err != nil {
		return EpochStats{}, false, u.wrap(err)
	}
	stats, err := u.runEpoch(ctx, *plan)
	return stats, true, err
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
	if err := u.runAvailable(ctx, stop); err != nil {
		return stopped(err)
	}
	return u.dropEnds()
}

// RunOnce is RunAvailable for a flow that never reads further than its first run
// found: its ends stay.
func (u *Unit) RunOnce(ctx context.Context, stop <-chan struct{}) error {
	return stopped(u.runAvailable(ctx, stop))
}

func (u *Unit) runAvailable(ctx context.Context, stop <-chan struct{}) error {
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
	for rounds := 0; ; epochs++ {
		if u.config.MaxEpochs > 0 && epochs >= u.config.MaxEpochs {
			return errStopped
		}
		if err := u.wait(ctx, stop, 0); err != nil {
			return err
		}
		if rounds > 1 {
			u.warnEndless()
			return nil
		}
		stats, ran, err := u.next(ctx, ends)
		if err != nil || !ran {
			return err
		}
		rounds = u.timerRounds(rounds, stats, ends)
	}
}

// timerRounds counts the epochs that fired timers after the input had ended. A
// timer that a callback sets for now fires in the round after; a second such
// round would never end. A round cut short by the limit does not count.
func (u *Unit) timerRounds(rounds int, stats EpochStats, ends []stream.Position) int {
	for i := range u.readers {
		if !u.position(i).Equal(ends[i]) {
			return 0
		}
	}
	if stats.Timers == 0 || stats.Timers >= u.config.TimerLimit {
		return rounds
	}
	return rounds + 1
}

func (u *Unit) warnEndless() {
	if next, err := u.nextTimer(u.clock()); err == nil && next <= u.clock() {
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
		e.Sources = append(e.Sources, checkpoint.SourceEnd{Name: u.flow.Sources[i].Name(), End: end})
	}
	return ends, u.dir.WriteEnds(e)
}

func (u *Unit) storedEnds(stored checkpoint.Ends) ([]stream.Position, error) {
	byName := map[string]stream.Position{}
	for _, s := range stored.Sources {
		byName[s.Name] = s.End
	}
	ends := make([]stream.Position, len(u.flow.Sources))
	for i, s := range u.flow.Sources {
		end, ok := byName[s.Name()]
		if !ok {
			return nil, fmt.Errorf("an available-now run was cut short before source %s was added: let it finish without it, or run with an interval trigger once", s.Name())
		}
		ends[i] = end
	}
	u.log.Info("an available-now run was cut short; this one finishes it to the same place")
	return ends, nil
}

// dropEnds forgets the ends of an available-now run that is finished, or that a
// run with another trigger has made pointless.
func (u *Unit) dropEnds() error {
	if err := u.dir.ClearEnds(); err != nil {
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

func stopped(err error) error {
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}
