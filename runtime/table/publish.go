package table

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tws-go/tws/runtime/internal/durable"
	"github.com/tws-go/tws/runtime/stream"
)

// publication is one unit's request to make an epoch visible.
type publication struct {
	unit  stream.Unit
	appID string
	// inherited says that the epoch was decided under an earlier identity of
	// the checkpoint, which unit and appID then are: the checkpoint was forked.
	// apart says that the earlier identity has gone its own way since, so that
	// the epoch is added beside its progress.
	inherited, apart bool
	row              *column
	epoch            int64
	staged           stagedState
	by               published

	done chan struct{}
	err  error
}

// settle tells the caller the outcome.
func (p *publication) settle(err error) {
	p.err = err
	close(p.done)
}

// commit settles what it can and commits the rest in one version of the log,
// trying the next version for as long as others are faster. It returns what is
// not settled, with the reason.
func (t *table) commit(ctx context.Context, pending []*publication) ([]*publication, error) {
	for try := 0; ; try++ {
		if err := t.reload(); err != nil {
			return pending, fmt.Errorf("table: %s: %w", t.name, err)
		}
		var later []*publication
		pending, later = t.review(pending)
		t.enqueue(later...)
		if len(pending) == 0 {
			return nil, nil
		}
		err := t.append(pending)
		if err == nil {
			for _, p := range pending {
				p.settle(nil)
			}
			return nil, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			t.state = nil // whether the version exists is unknown
			return pending, fmt.Errorf("table: %s: commit: %w", t.name, err)
		}
		if err := pause(ctx, try); err != nil {
			return pending, err
		}
	}
}

// pause waits before the next try, longer from try to try up to a bound. The
// first tries do not wait: there the other writer is done already.
func pause(ctx context.Context, try int) error {
	if try < 3 {
		return ctx.Err()
	}
	timer := time.NewTimer(min(time.Millisecond<<(min(try, 10)-3), 50*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// review settles the publications that need no commit or get none, and returns
// those to append now, and those that must wait because the same unit is
// already among them.
func (t *table) review(pending []*publication) (now, later []*publication) {
	units := map[string]bool{}
	for _, p := range pending {
		needed, err := t.needed(p)
		switch {
		case err != nil || !needed:
			p.settle(err)
		case units[p.appID]:
			later = append(later, p)
		default:
			units[p.appID] = true
			now = append(now, p)
		}
	}
	return now, later
}

// needed reports whether a publication must be appended; if not, it is there
// already or an empty one. An error refuses it.
func (t *table) needed(p *publication) (bool, error) {
	current, known := t.state.txns[p.appID]
	at := epochOf(current, known)
	switch {
	case equalEpochs(at, p.staged.Required):
		if len(p.staged.Files) == 0 {
			return false, nil
		}
		return true, t.checkAppend(p)
	case at != nil && *at == p.epoch && len(p.staged.Files) > 0 && current.by.Manifest == p.by.Manifest && p.by.Manifest != "":
		// The commit may be younger than the last flush of its folder.
		return false, t.store.syncDir(filepath.Join(t.dir, logFolder))
	case p.inherited:
		return t.neededApart(p)
	}
	moved := &stream.SinkMovedError{
		Sink: "table " + t.name, Unit: p.unit,
		Want: describeEpoch(p.staged.Required), Have: t.describe(at, current, p.epoch),
	}
	if !known {
		moved.Location = "folder " + t.dir
	}
	return false, moved
}

// neededApart is needed for an epoch that a fork brings along while its parent
// is elsewhere. The parent may have published it too, if it was decided before
// the fork; otherwise it is added without touching the parent's progress. Should
// both add it, it is there once: the files are the same.
func (t *table) neededApart(p *publication) (bool, error) {
	if len(p.staged.Files) == 0 {
		return false, nil
	}
	done, err := t.state.names(p.by)
	if err != nil || done {
		return false, err
	}
	p.apart = true
	return true, t.checkAppend(p)
}

func epochOf(current txn, known bool) *int64 {
	if !known {
		return nil
	}
	return &current.version
}

func equalEpochs(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func describeEpoch(e *int64) string {
	if e == nil {
		return "no epoch"
	}
	return "epoch " + strconv.FormatInt(*e, 10)
}

// describe names the place that the table is at. If that is the epoch to
// publish, only the manifest tells them apart.
func (t *table) describe(at *int64, current txn, epoch int64) string {
	text := describeEpoch(at)
	if at != nil && *at == epoch {
		text += fmt.Sprintf(" with another content (attempt %d, version %d of the table)", current.by.Attempt, current.commit)
	}
	return text
}

// checkAppend makes sure that the table takes the rows as it is now, and that
// they are there.
func (t *table) checkAppend(p *publication) error {
	if err := checkWritable(t.state.protocol, t.state.meta, t.state.row); err != nil {
		return unpublished(err.Error(), "change the table back")
	}
	nullable := func(c *column) bool { return c.nullable }
	if diffs := differences(p.row, t.state.row, nullable); len(diffs) > 0 {
		return unpublished(fmt.Sprintf("version %d changed its columns: %s", t.state.metaCommit, strings.Join(diffs, "; ")),
			"change the columns back")
	}
	for _, f := range p.staged.Files {
		if reason := t.missing(p, f); reason != "" {
			return unpublished(reason, "put the file back from a copy of the table's folder")
		}
	}
	return nil
}

// missing says what is wrong with a staged file, "" if nothing is.
func (t *table) missing(p *publication, f stagedFile) string {
	path, size := filepath.Join(t.dir, filepath.FromSlash(f.Path)), f.Size
	info, err := os.Stat(path)
	_, known := t.state.txns[p.appID]
	switch {
	case errors.Is(err, fs.ErrNotExist) && !known:
		return fmt.Sprintf("folder %s has nothing of %s yet, and no staged file %s: is it the right folder (--tables)? If it is, the file was removed, maybe by a VACUUM",
			t.dir, p.unit, f.Path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("the staged file %s is missing (a VACUUM removes files that no version names after some days)", path)
	case err != nil:
		return fmt.Sprintf("the staged file cannot be read: %v", err)
	case info.Size() != size:
		return fmt.Sprintf("the staged file %s has %d bytes and not %d", path, info.Size(), size)
	}
	return ""
}

// unpublished refuses a publication. It leaves to whoever publishes to say which
// table and which epoch it is, and that the epoch is decided.
func unpublished(reason, choice string) error {
	return &choiceError{"table: " + reason + ": " + choice + " and start again, or write to another table with a fresh checkpoint", ErrUnpublished}
}

// choiceError stops a unit until a person has chosen. It matches kind, and its
// text names the choices.
type choiceError struct {
	text string
	kind error
}

func (e *choiceError) Error() string { return e.text }

func (e *choiceError) Is(target error) bool { return target == e.kind }

// append commits the publications as the log's next version.
func (t *table) append(ps []*publication) error {
	actions := t.actions(ps)
	data, err := encodeActions(actions)
	if err != nil {
		return err
	}
	if err := durable.Create(commitPath(t.dir, t.state.version+1), data, !t.store.noSync); err != nil {
		return err
	}
	t.state.size = int64(len(data))
	return t.state.apply(actions)
}

// actions returns what a commit of the publications holds.
func (t *table) actions(ps []*publication) []action {
	now := t.store.now().UnixMilli()
	info := &commitInfo{
		Timestamp: now, Operation: "STREAMING UPDATE", EngineInfo: engine, IsBlindAppend: true,
		OperationParameters: map[string]string{"outputMode": "Append"},
	}
	actions := []action{{CommitInfo: info}}
	for _, p := range ps {
		info.Publications = append(info.Publications, p.by)
		if !p.apart {
			actions = append(actions, action{Txn: &txnAction{AppID: p.appID, Version: p.epoch, LastUpdated: now}})
		}
		for _, f := range p.staged.Files {
			actions = append(actions, action{Add: &addAction{
				Path: f.Path, PartitionValues: map[string]string{}, Size: f.Size,
				ModificationTime: f.ModifiedMillis, DataChange: true, Stats: f.Stats,
				Tags: map[string]string{sumTag: f.Sum},
			}})
		}
	}
	return actions
}
