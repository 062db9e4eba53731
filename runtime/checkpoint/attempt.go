package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tws-go/tws/runtime/internal/durable"
	"github.com/tws-go/tws/runtime/stream"
)

// attemptRecord says that an attempt's number is used up.
type attemptRecord struct {
	Epoch   int64 `json:"epoch"`
	Attempt int   `json:"attempt"`
}

// StartAttempt begins the next attempt at a planned, undecided epoch and returns
// its number: 1, 2, … It is a number that no earlier attempt had, in this
// process or one that crashed.
//
// The first attempt under a plan that this process wrote costs nothing. Every
// other one is durable before StartAttempt returns: the plan, found at start,
// says that there may have been a first attempt; the record of attempt n, that
// there may have been attempts up to n.
func (f *Flow) StartAttempt(epoch int64) (attempt int, err error) {
	if err := f.enter(); err != nil {
		return 0, err
	}
	defer f.mu.Unlock()
	if f.unsettled != nil {
		return 0, f.unsettled
	}
	if epoch <= f.last {
		return 0, fmt.Errorf("checkpoint: attempt at epoch %d: epoch %d is decided", epoch, f.last)
	}
	if !f.files.has(kindPlan, epoch) {
		return 0, fmt.Errorf("checkpoint: attempt at epoch %d: it has no plan", epoch)
	}
	n := f.tried[epoch] + 1
	if n > 1 {
		if err := f.writeAttempt(epoch, n); err != nil {
			return 0, err
		}
	}
	f.tried[epoch], f.running[epoch] = n, n
	return n, nil
}

func relAttempt(epoch int64, n int) string { return "attempts/" + attemptName(epoch, n) }

// writeAttempt makes it durable that attempt n is used up.
func (f *Flow) writeAttempt(epoch int64, n int) error {
	path := relAttempt(epoch, n)
	if err := f.c.createJSON(f.path(path), kindAttempt, attemptRecord{Epoch: epoch, Attempt: n}); err != nil {
		return err
	}
	f.files.add(kindAttempt, epoch, path)
	return nil
}

// checkRunning refuses work for an attempt that has been given up.
func (f *Flow) checkRunning(epoch int64, attempt int) error {
	if n := f.running[epoch]; attempt < 1 || n != attempt {
		return fmt.Errorf("checkpoint: epoch %d attempt %d is not under way (attempt %d is)", epoch, attempt, n)
	}
	return nil
}

// WriteChangelog makes the changes of one state partition durable, for the
// attempt that is under way. The partitions of an attempt may be written
// concurrently.
func (f *Flow) WriteChangelog(epoch int64, attempt, partition int, batch []byte) (stream.Artefact, error) {
	if partition < 0 {
		return stream.Artefact{}, fmt.Errorf("checkpoint: changelog of partition %d: partitions are numbered from 0", partition)
	}
	if err := f.prepareChangelog(epoch, attempt, partition); err != nil {
		return stream.Artefact{}, err
	}
	path := changelogPath(epoch, attempt, partition)
	header := appendHeader(nil, kindChangelog, formatVersion, batch)
	if err := durable.CreateParts(f.path(path), f.c.sync, header, batch); err != nil {
		return stream.Artefact{}, fmt.Errorf("checkpoint: write changelog: %w", err)
	}
	f.mu.Lock()
	f.files.add(kindChangelog, epoch, path)
	f.mu.Unlock()
	return stream.Artefact{
		Path: filepath.ToSlash(path),
		Size: int64(len(header) + len(batch)),
		Sum:  sum(header, batch),
	}, nil
}

// prepareChangelog checks the attempt and makes the partition's directory.
func (f *Flow) prepareChangelog(epoch int64, attempt, partition int) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if err := f.checkRunning(epoch, attempt); err != nil {
		return err
	}
	if f.partitionDirs[partition] {
		return nil
	}
	dir := f.path("changelogs", strconv.Itoa(partition))
	if err := durable.MkdirAll(dir, f.c.sync); err != nil {
		return err
	}
	// It may have been made, but not synced, by a process that was killed.
	if err := f.c.syncDir(f.path("changelogs")); err != nil {
		return err
	}
	f.partitionDirs[partition] = true
	return nil
}

// ReadChangelog returns the batch in a changelog that a decision lists. A file
// that is missing or differs from what the decision says is an error that
// matches [ErrCorrupt].
func (f *Flow) ReadChangelog(a stream.Artefact) ([]byte, error) {
	rel := filepath.FromSlash(a.Path)
	if !filepath.IsLocal(rel) || !strings.HasPrefix(a.Path, "changelogs/") {
		return nil, fmt.Errorf("%w: changelog %q lies outside its directory", ErrCorrupt, a.Path)
	}
	path := f.path(rel)
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, corrupt(path, "the file is missing, but a decision lists it")
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read changelog: %w", err)
	}
	batch, rest, err := openEnvelope(data, kindChangelog)
	if err != nil {
		return nil, atFile(path, kindChangelog, err)
	}
	if got := sum(data); len(rest) > 0 || int64(len(data)) != a.Size || got != a.Sum {
		return nil, corrupt(path, "it has %d bytes with checksum %s, the decision says %d bytes with %s: it is another attempt's file",
			len(data), got, a.Size, a.Sum)
	}
	return batch, nil
}
