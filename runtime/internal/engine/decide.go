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

// decide commits the epoch. With a sink that decides, the sink's commit is the
// decision and the record only says so; otherwise the record is.
func (e *attempt) decide(ctx context.Context) error {
	u := e.unit
	if sink, ok := u.sink.(stream.Decider); ok {
		if err := e.commit(ctx, sink); err != nil {
			return fmt.Errorf("%s: %w", u.flow.Target, err)
		}
	}
	return u.between(epoch.BeforeDecide, epoch.AfterDecide, func() error {
		if err := u.dir.Decide(e.decision); err != nil {
			return err
		}
		u.last, u.undecided, u.inherited = e.decision, nil, false
		return nil
	})
}

// How often an attempt's output is delivered before the run gives up, and the
// first pause between two tries, which doubles.
const (
	maxDeliveries   = 5
	deliveryBackoff = 100 * time.Millisecond
)

// commit lets the sink commit. What the sink throws away is delivered again, as it
// was staged: once its outcome is settled.
func (e *attempt) commit(ctx context.Context, sink stream.Decider) error {
	u := e.unit
	standing := u.standing()
	e.decision.CommittedAs = u.id.String()
	err := u.between(epoch.BeforePrepared, epoch.AfterPrepared, func() error { return u.dir.WritePrepared(e.decision) })
	if err != nil {
		return err
	}
	p := publication(e.decision)
	standing.Doubt = &p
	for try := 1; ; try++ {
		passing, err := u.deliver(ctx, sink, p)
		if err != nil || passing == nil {
			return err
		}
		committed, err := sink.Settle(ctx, standing)
		switch {
		case err != nil:
			return errors.Join(passing, err)
		case committed:
			u.log.Warn("the commit failed, but the epoch is committed", "epoch", p.Epoch, "error", passing)
			return u.at(epoch.AfterCommit)
		case try == maxDeliveries:
			return fmt.Errorf("epoch %d is not committed after %d tries: %w", p.Epoch, try, passing)
		}
		u.log.Warn("the epoch was not committed; its output is delivered again", "epoch", p.Epoch, "try", try, "error", passing)
		if err := u.wait(ctx, nil, deliveryBackoff<<(try-1)); err != nil {
			return errors.Join(passing, err)
		}
	}
}

// deliver delivers and commits once. A passing error leaves the outcome to Settle.
func (u *Unit) deliver(ctx context.Context, sink stream.Decider, p stream.Publication) (passing, err error) {
	err = u.between(epoch.BeforeDeliver, epoch.AfterDeliver, func() error {
		passing = sink.Deliver(ctx, p)
		return passing
	})
	if errors.Is(passing, stream.ErrNotDelivered) {
		return passing, nil
	}
	if err != nil {
		return nil, err
	}
	err = u.between(epoch.BeforeCommit, epoch.AfterCommit, func() error {
		passing = sink.Commit(ctx, p)
		return passing
	})
	if passing != nil {
		return passing, nil
	}
	return nil, err
}

// settle asks a sink that decides whether the epoch after the last one is
// committed, and takes it over if it is.
func (u *Unit) settle(ctx context.Context) error {
	sink, ok := u.sink.(stream.Decider)
	if !ok {
		return nil
	}
	doubt, err := u.doubt()
	if err != nil {
		return err
	}
	standing := u.standing()
	if doubt != nil {
		p := publication(*doubt)
		standing.Doubt = &p
	}
	committed, err := sink.Settle(ctx, standing)
	missing := (*stream.RecordMissingError)(nil)
	switch {
	case errors.As(err, &missing):
		committed, err = u.overrule(ctx, sink, standing, missing)
	case err == nil && u.config.InDoubt != "":
		u.log.Warn("the sink has its record, so nothing needs to be decided by hand: leave in-doubt away, or it decides by itself one day", "in-doubt", u.config.InDoubt)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", u.flow.Target, err)
	}
	if committed {
		if missing == nil {
			u.log.Info("the last run ended before it knew that an epoch was committed; it is", "epoch", doubt.Epoch)
		}
		if err := u.adopt(*doubt); err != nil {
			return err
		}
	}
	return u.dropChoice()
}

// doubt returns the decision that the last run was about to make, if its sink may have
// committed it; nil if there is none.
func (u *Unit) doubt() (*checkpoint.Decision, error) {
	prepared, ok, err := u.dir.Prepared()
	if err != nil || !ok || prepared.CommittedAs != u.id.String() {
		return nil, err
	}
	return &prepared, nil
}

// adopt writes the decision of an epoch that is committed.
func (u *Unit) adopt(prepared checkpoint.Decision) error {
	return u.between(epoch.BeforeDecide, epoch.AfterDecide, func() error {
		if err := u.dir.Adopt(prepared); err != nil {
			return err
		}
		u.last = prepared
		return nil
	})
}

// standing is what the checkpoint knows of the sink's commits.
func (u *Unit) standing() stream.Standing {
	if u.last.Epoch == 0 {
		return stream.Standing{}
	}
	return stream.Standing{Last: publication(u.last), Unknown: u.last.CommittedAs != u.id.String()}
}

// publication is what a sink is told of a decision.
func publication(d checkpoint.Decision) stream.Publication {
	return stream.Publication{Epoch: d.Epoch, Attempt: d.Attempt, Manifest: d.Manifest(), Staged: d.Sink}
}
