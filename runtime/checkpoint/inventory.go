package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// inventory is the list of a flow's record files that belong to an epoch: paths
// relative to the flow, by kind and epoch. It is as long as the history that is
// retained.
type inventory map[kind]map[int64][]string

func newInventory() inventory {
	return inventory{kindPlan: {}, kindAttempt: {}, kindChangelog: {}, kindPrepared: {}, kindDecision: {}}
}

func (v inventory) add(k kind, epoch int64, path string) {
	v[k][epoch] = append(v[k][epoch], path)
}

func (v inventory) has(k kind, epoch int64) bool { return len(v[k][epoch]) > 0 }

// epochs returns the epochs that have files of a kind, ascending.
func (v inventory) epochs(k kind) []int64 { return slices.Sorted(maps.Keys(v[k])) }

// scan lists the flow's directories, once.
func (f *Flow) scan() error {
	for _, k := range []struct {
		dir  string
		kind kind
	}{{"plans", kindPlan}, {"decisions", kindDecision}} {
		if err := f.scanEpochs(k.dir, k.kind); err != nil {
			return err
		}
	}
	if err := f.scanSnapshots(); err != nil {
		return err
	}
	if decided := f.files.epochs(kindDecision); len(decided) > 0 {
		f.last = decided[len(decided)-1]
	}
	if err := f.findFirst(); err != nil {
		return err
	}
	if err := f.scanAttempts("attempts", kindAttempt); err != nil {
		return err
	}
	if err := f.scanAttempts("prepared", kindPrepared); err != nil {
		return err
	}
	partitions, err := listNames(f.path("changelogs"))
	if err != nil {
		return err
	}
	for _, p := range partitions {
		if parsePartition(p) {
			if err := f.scanAttempts(filepath.Join("changelogs", p), kindChangelog); err != nil {
				return err
			}
		}
	}
	f.scanTried()
	return nil
}

func (f *Flow) scanEpochs(dir string, k kind) error {
	names, err := listNames(f.path(dir))
	if err != nil {
		return err
	}
	for _, name := range names {
		if epoch, ok := parseEpoch(name); ok {
			f.files.add(k, epoch, filepath.Join(dir, name))
		}
	}
	return nil
}

func (f *Flow) scanAttempts(dir string, k kind) error {
	names, err := listNames(f.path(dir))
	if err != nil {
		return err
	}
	for _, name := range names {
		epoch, attempt, ok := parseAttempt(name)
		if !ok {
			continue
		}
		f.files.add(k, epoch, filepath.Join(dir, name))
		if epoch > f.last {
			f.tried[epoch] = max(f.tried[epoch], attempt)
		}
	}
	return nil
}

// scanSnapshots finds the committed snapshots: those with a manifest.
func (f *Flow) scanSnapshots() error {
	names, err := listNames(f.path("snapshots"))
	if err != nil {
		return err
	}
	for _, name := range names {
		epoch, ok := parseEpoch(name)
		if !ok {
			continue
		}
		_, err := os.Lstat(f.path("snapshots", name, manifestName))
		if err == nil {
			f.snapshots = append(f.snapshots, epoch)
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("checkpoint: list snapshots: %w", err)
		}
	}
	return nil
}

// scanTried takes the plan of an undecided epoch as a trace of a first attempt:
// a first attempt leaves no record of its own.
func (f *Flow) scanTried() {
	for epoch := range f.files[kindPlan] {
		if epoch > f.last {
			f.tried[epoch] = max(f.tried[epoch], 1)
		}
	}
}

// recoveryBase is the first epoch whose decision recovery needs.
func (f *Flow) recoveryBase() int64 {
	base := int64(1)
	for _, s := range f.snapshots {
		if s <= f.last {
			base = s
		}
	}
	return base
}

// findFirst finds the first decision that has all later ones after it. What is
// older is what an interrupted Retain has left. Every decision must be there that
// recovery needs.
func (f *Flow) findFirst() error {
	f.first = f.last
	for f.first > 1 && f.files.has(kindDecision, f.first-1) {
		f.first--
	}
	if f.last > 0 && f.first > f.recoveryBase() {
		return corrupt(f.path(relDecision(f.first-1)), "the file is missing, but epoch %d is decided", f.last)
	}
	return nil
}
