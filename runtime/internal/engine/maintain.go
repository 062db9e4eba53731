package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/epoch"
)

// snapshotState counts what a snapshot would save a recovery from replaying.
type snapshotState struct {
	known bool
	epoch int64 // of the newest snapshot, 0 if there is none
	bytes int64 // of changelogs since

	verified int64 // the snapshot that was found whole, 0 if none was
}

// maintain takes a snapshot when one is due and drops what no recovery needs any
// more.
func (u *Unit) maintain(ctx context.Context) error {
	if err := u.countChangelogs(); err != nil {
		return err
	}
	due := u.last.Epoch-u.snapshot.epoch >= u.config.SnapshotEpochs || u.snapshot.bytes >= u.config.SnapshotBytes
	if due {
		if err := u.takeSnapshot(ctx); err != nil {
			return fmt.Errorf("engine: flow %s: snapshot of epoch %d: %w", u.flow.Name, u.last.Epoch, err)
		}
	}
	return u.between(epoch.BeforeRetain, epoch.AfterRetain, func() error { return u.dir.Retain(u.config.RetainEpochs) })
}

func (u *Unit) countChangelogs() error {
	if !u.snapshot.known {
		epoch, _, err := u.dir.NewestSnapshot(u.last.Epoch)
		if err != nil {
			return err
		}
		u.snapshot.known, u.snapshot.epoch = true, epoch
		return u.countSince(epoch)
	}
	u.snapshot.count(u.last)
	return nil
}

// countSince counts what earlier runs have written since the last snapshot, and
// the present epoch.
func (u *Unit) countSince(snapshot int64) error {
	for e := snapshot + 1; e <= u.last.Epoch; e++ {
		d, ok, err := u.dir.Decision(e)
		if err != nil {
			return err
		}
		if ok {
			u.snapshot.count(d)
		}
	}
	return nil
}

func (s *snapshotState) count(d checkpoint.Decision) {
	for _, c := range d.Changelogs {
		s.bytes += c.Size
	}
}

func (u *Unit) takeSnapshot(ctx context.Context) error {
	if err := u.at(epoch.BeforeSnapshot); err != nil {
		return err
	}
	s, err := u.dir.BeginSnapshot(u.last.Epoch)
	if err != nil {
		return err
	}
	for _, p := range u.partitions {
		if err := errors.Join(ctx.Err(), p.st.Snapshot(s.PartitionDir(p.number))); err != nil {
			return errors.Join(err, s.Abort())
		}
	}
	if err := s.Commit(); err != nil {
		return errors.Join(err, s.Abort())
	}
	u.snapshot.epoch, u.snapshot.bytes = u.last.Epoch, 0
	return u.at(epoch.AfterSnapshot)
}
