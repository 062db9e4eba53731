package engine

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/stream"
)

// recover brings everything to the last decided epoch: an epoch in doubt settled
// with its sink, output published, stores replayed, plans beyond the first
// undecided epoch dropped. The undecided plan, if there is one, is run before
// anything new.
func (u *Unit) recover(ctx context.Context) error {
	if err := u.putMeta(); err != nil {
		return err
	}
	if err := u.settle(ctx); err != nil {
		return err
	}
	if u.last.Epoch > 0 {
		if err := u.publish(ctx, u.last); err != nil {
			return err
		}
	}
	if err := u.openPartitions(ctx); err != nil {
		return err
	}
	if err := u.dir.DiscardPlansAfter(u.last.Epoch + 1); err != nil {
		return err
	}
	plan, ok, err := u.dir.Plan(u.last.Epoch + 1)
	if err != nil || !ok {
		return err
	}
	if err := u.checkPlan(plan); err != nil {
		return err
	}
	u.undecided, u.inherited = &plan, true
	u.log.Info("an epoch was planned but not decided; it runs again as planned", "epoch", plan.Epoch)
	return nil
}

// checkPlan refuses to rerun a plan whose sources the flow no longer has. Behind
// the flow's own a plan carries the places of absent ones.
func (u *Unit) checkPlan(p checkpoint.Plan) error {
	same := len(p.Sources) >= len(u.flow.Sources)
	var planned []string
	for i, s := range p.Sources {
		switch {
		case i < len(u.flow.Sources):
			same = same && s.Name == u.flow.Sources[i].Name()
		default:
			same = same && s.From.Equal(s.To)
		}
		planned = append(planned, s.Name)
	}
	if same {
		return nil
	}
	return fmt.Errorf("%w: epoch %d is planned but not decided, with sources %q, which the flow no longer has in that order: let it finish with the sources it had, then change them",
		ErrFlowChanged, p.Epoch, planned)
}

func (u *Unit) openPartitions(ctx context.Context) error {
	for n := range u.meta.Partitions {
		if len(u.flow.Stages) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		st, err := u.openStore(n)
		if err != nil {
			return fmt.Errorf("state partition %d: %w", n, err)
		}
		p, err := openPartition(n, u.meta.Partitions, u.groups, st, u.flow.Stages, &u.budget)
		u.partitions = append(u.partitions, p)
		if err != nil {
			return fmt.Errorf("state partition %d: %w", n, err)
		}
	}
	return nil
}

// openStore opens a partition's store at the last decided epoch: the working
// store if it can be trusted, else one made from the newest snapshot, brought up
// to date from the changelogs.
func (u *Unit) openStore(n int) (store.Store, error) {
	st, from, err := u.openWorking(n)
	if err != nil {
		return nil, err
	}
	if st == nil {
		if st, from, err = u.restore(n); err != nil {
			return nil, err
		}
	}
	if err := u.replay(st, n, from); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	st.SetExpiryClock(u.last.Plan.ClockMicros)
	return st, nil
}

// openWorking opens the working store, unless it cannot be trusted: its mark is
// not a decision of this checkpoint, or the changelogs after it are gone.
func (u *Unit) openWorking(n int) (store.Store, int64, error) {
	dir := u.dir.StoreDir(n)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if u.rebuild {
		u.log.Info("the last run used another state store; state is made anew from the checkpoint", "partition", n, "store", u.config.Stores.Name())
		return nil, 0, nil
	}
	st, err := u.config.Stores.Open(dir)
	if errors.Is(err, store.ErrCorrupt) {
		u.log.Warn("the working state store is damaged; it is made anew from snapshot and changelogs", "partition", n, "error", err)
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	mark, ok, err := st.Applied()
	if err != nil {
		return nil, 0, errors.Join(err, st.Close())
	}
	trusted, err := u.trusts(mark, ok)
	if err != nil {
		return nil, 0, errors.Join(err, st.Close())
	}
	if trusted {
		return st, mark.Epoch, nil
	}
	if ok {
		u.log.Info("the working state store is not at a decided epoch of this checkpoint; it is made anew", "partition", n, "epoch", mark.Epoch, "attempt", mark.Attempt)
	}
	return nil, 0, st.Close()
}

func (u *Unit) trusts(mark store.Mark, ok bool) (bool, error) {
	if !ok || mark.Epoch > u.last.Epoch {
		return false, nil
	}
	d, ok, err := u.dir.Decision(mark.Epoch)
	return ok && d.Attempt == mark.Attempt, err
}

// restore makes the working store anew, from the newest snapshot or empty.
func (u *Unit) restore(n int) (store.Store, int64, error) {
	dir := u.dir.StoreDir(n)
	if err := os.RemoveAll(dir); err != nil {
		return nil, 0, err
	}
	epoch, ok, err := u.dir.NewestSnapshot(u.last.Epoch)
	if err != nil {
		return nil, 0, err
	}
	if ok {
		if err := u.verifySnapshot(epoch); err != nil {
			return nil, 0, err
		}
		if err := u.config.Stores.Restore(u.dir.SnapshotDir(epoch, n), dir); err != nil {
			return nil, 0, err
		}
	}
	st, err := u.config.Stores.Open(dir)
	if err != nil {
		return nil, 0, err
	}
	if err := u.checkRestored(st, epoch); err != nil {
		return nil, 0, errors.Join(err, st.Close())
	}
	return st, epoch, nil
}

// verifySnapshot checks a snapshot's files, once for all partitions.
func (u *Unit) verifySnapshot(epoch int64) error {
	if u.snapshot.verified == epoch {
		return nil
	}
	if err := u.dir.VerifySnapshot(epoch); err != nil {
		return err
	}
	u.snapshot.verified = epoch
	return nil
}

// checkRestored makes sure that a store made from a snapshot is at its epoch, and
// one made of nothing is empty.
func (u *Unit) checkRestored(st store.Store, epoch int64) error {
	mark, ok, err := st.Applied()
	if err != nil {
		return err
	}
	if mark.Epoch != epoch || ok != (epoch > 0) {
		return fmt.Errorf("%w: the snapshot of epoch %d holds epoch %d, attempt %d: restore the checkpoint from a copy", checkpoint.ErrCorrupt, epoch, mark.Epoch, mark.Attempt)
	}
	return nil
}

// replay applies the changelogs of the epochs after from.
func (u *Unit) replay(st store.Store, n int, from int64) error {
	for e := from + 1; e <= u.last.Epoch; e++ {
		d, ok, err := u.dir.Decision(e)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("%w: the decision of epoch %d is missing, and no snapshot covers it: restore the checkpoint from a copy", checkpoint.ErrCorrupt, e)
		}
		if n >= len(d.Changelogs) {
			return fmt.Errorf("%w: the decision of epoch %d lists %d changelogs, state partition %d has none", checkpoint.ErrCorrupt, e, len(d.Changelogs), n)
		}
		if err := u.replayEpoch(st, d, d.Changelogs[n]); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unit) replayEpoch(st store.Store, d checkpoint.Decision, log stream.Artefact) error {
	want := store.Mark{Epoch: d.Epoch, Attempt: d.Attempt}
	if log.Path == "" { // nothing changed
		var b store.Batch
		b.Reset(want)
		return st.Apply(b.Bytes())
	}
	batch, err := u.dir.ReadChangelog(log)
	if err != nil {
		return err
	}
	if err := store.EachRecord(batch, func(store.Family, []byte, []byte, bool) {}); err != nil {
		return fmt.Errorf("changelog %s: %w", log.Path, err)
	}
	mark, err := store.BatchMark(batch)
	if err != nil {
		return fmt.Errorf("changelog %s: %w", log.Path, err)
	}
	if mark != want {
		return fmt.Errorf("%w: changelog %s is of epoch %d, attempt %d", checkpoint.ErrCorrupt, log.Path, mark.Epoch, mark.Attempt)
	}
	return st.Apply(batch)
}
