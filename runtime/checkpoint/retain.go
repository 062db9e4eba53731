package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/tws-go/tws/runtime/internal/durable"
)

// remover holds the calls that make files vanish or move, so that tests can
// interrupt them.
type remover struct {
	remove, removeAll func(path string) error
	rename            func(from, to string) error
}

var systemRemover = remover{remove: os.Remove, removeAll: os.RemoveAll, rename: os.Rename}

// Retain removes history that is no longer needed: everything older than the
// newest snapshot that is at least keep epochs older than the last decision, and
// what was prepared for epochs that are decided.
// Recovery, and whoever looks back, starts from that snapshot, so at least the
// last keep decided epochs can be brought back. Without such a snapshot nothing
// is removed.
//
// The removal may be interrupted anywhere and is taken up by the next call, also
// of another process. Its order sees to that:
//
//  1. older snapshots, each first renamed so that it is never seen in part;
//  2. decisions, oldest first: what has no decision cannot be asked for;
//  3. when that is durable, changelogs, attempts and plans, which by now nobody
//     refers to.
//
// It is cheap to call after every epoch.
func (f *Flow) Retain(keep int64) error {
	if keep < 0 {
		return fmt.Errorf("checkpoint: retain %d epochs: want 0 or more", keep)
	}
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	// What was prepared for a decided epoch is settled.
	if err := f.removeFiles(kindPrepared, f.last+1); err != nil {
		return err
	}
	before := f.retainFrom(keep)
	if before <= f.retained {
		return nil
	}
	if err := f.removeSnapshots(before); err != nil {
		return err
	}
	f.first = max(f.first, before)
	if err := f.removeFiles(kindDecision, before); err != nil {
		return err
	}
	if err := f.c.syncDir(f.path("decisions")); err != nil {
		return err
	}
	for _, k := range []kind{kindChangelog, kindAttempt, kindPlan} {
		if err := f.removeFiles(k, before); err != nil {
			return err
		}
	}
	f.retained = before
	return nil
}

// retainFrom returns the oldest epoch to keep; 0 keeps all.
func (f *Flow) retainFrom(keep int64) int64 {
	var from int64
	for _, s := range f.snapshots {
		if s <= f.last-keep {
			from = s
		}
	}
	return from
}

// removeSnapshots removes the snapshots older than before.
func (f *Flow) removeSnapshots(before int64) error {
	for len(f.snapshots) > 0 && f.snapshots[0] < before {
		name := epochName(f.snapshots[0])
		temp := f.path("snapshots", durable.TempPrefix+"removed-"+name)
		if err := f.c.remover.rename(f.path("snapshots", name), temp); err != nil {
			return fmt.Errorf("checkpoint: remove snapshot: %w", err)
		}
		f.snapshots = slices.Delete(f.snapshots, 0, 1)
		if err := f.c.syncDir(f.path("snapshots")); err != nil {
			return err
		}
		if err := f.c.remover.removeAll(temp); err != nil {
			return fmt.Errorf("checkpoint: remove snapshot: %w", err)
		}
	}
	return nil
}

// removeFiles removes the files of one kind that belong to epochs older than
// before, oldest first.
func (f *Flow) removeFiles(k kind, before int64) error {
	for _, epoch := range f.files.epochs(k) {
		if epoch >= before {
			break
		}
		for paths := f.files[k][epoch]; len(paths) > 0; paths = f.files[k][epoch] {
			err := f.c.remover.remove(f.path(paths[0]))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("checkpoint: remove old %s: %w", k, err)
			}
			f.files[k][epoch] = paths[1:]
		}
		delete(f.files[k], epoch)
	}
	return nil
}
