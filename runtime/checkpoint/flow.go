package checkpoint

import (
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/tws-go/tws/runtime/internal/durable"
)

// Flow is one commit unit of an open checkpoint. Its methods are safe for
// concurrent use, except that those of one epoch make sense in one order only:
// WritePlan, StartAttempt, WriteChangelog for each partition, WritePrepared if the
// sink decides, Decide.
//
// What a Flow knows about its directory it reads once, when it is opened; from
// then on it keeps count, and no call but [Checkpoint.Flow] lists a directory.
type Flow struct {
	c   *Checkpoint
	dir string

	// mu guards what follows and orders changes of the directory.
	mu   sync.Mutex
	meta FlowMeta
	// metaVersion is the number of the newest meta record; 0 means none.
	metaVersion int
	// first and last are the first and the last epoch that have a decision, as
	// have all between them; 0 means none.
	first, last int64
	// lastDecision is the record of last, once it has been read or written.
	lastDecision *Decision
	// unsettled is set when it is unknown whether a decision became durable.
	unsettled error
	// files are the record files there are, by kind and epoch.
	files inventory
	// tried is, for each undecided epoch, the highest attempt number of which
	// there may be traces, here or in a sink.
	tried map[int64]int
	// running is, for each undecided epoch, the attempt this process is at.
	running map[int64]int
	// snapshots are the epochs of the committed snapshots, ascending.
	snapshots []int64
	// taking is the snapshot that has begun and has not ended.
	taking *Snapshot
	// partitionDirs are the changelog directories known to exist.
	partitionDirs map[int]bool
	// journals are the sizes of the journals that have been read.
	journals map[string]int64
	// retained is the epoch before which Retain has removed everything.
	retained int64
}

// The directories of a flow. changelogs has one more level, by partition.
var flowDirs = [...]string{"meta", "plans", "attempts", "changelogs", "prepared", "decisions", "sources", "snapshots"}

// openFlow reads what there is before it touches anything, so that a flow that
// is damaged or too new stays as it is.
func openFlow(c *Checkpoint, name string) (*Flow, error) {
	f := &Flow{
		c: c, dir: c.flowDir(name),
		files: newInventory(), tried: map[int64]int{}, running: map[int64]int{},
		partitionDirs: map[int]bool{}, journals: map[string]int64{},
	}
	if err := f.readMeta(); err != nil {
		return nil, err
	}
	if err := f.scan(); err != nil {
		return nil, err
	}
	for _, d := range flowDirs {
		dir := filepath.Join(f.dir, d)
		if err := durable.MkdirAll(dir, c.sync); err != nil {
			return nil, err
		}
		// What a killed process created may not have been synced yet.
		if err := c.syncDir(dir); err != nil {
			return nil, err
		}
	}
	return f, c.syncDir(f.dir)
}

// removeFlowTemps removes what crashes left in a flow's directories. A flow
// that cannot be opened is left alone.
func removeFlowTemps(dir string) error {
	f := &Flow{dir: dir}
	if f.readMeta() != nil {
		return nil // Checkpoint.Flow reports it
	}
	dirs := []string{dir, filepath.Join(dir, "store")} // of a store that was being made anew
	for _, d := range flowDirs {
		dirs = append(dirs, filepath.Join(dir, d))
	}
	partitions, err := listNames(filepath.Join(dir, "changelogs"))
	if err != nil {
		return err
	}
	for _, p := range partitions {
		if parsePartition(p) {
			dirs = append(dirs, filepath.Join(dir, "changelogs", p))
		}
	}
	for _, d := range dirs {
		if err := durable.RemoveTemps(d); err != nil {
			return err
		}
	}
	return nil
}

// enter locks the flow for a change.
func (f *Flow) enter() error {
	f.mu.Lock()
	if f.c.closed.Load() {
		f.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// path is the place of a file of this flow.
func (f *Flow) path(elem ...string) string {
	return filepath.Join(f.dir, filepath.Join(elem...))
}

// StoreDir is where the working store of a state partition belongs. It is not
// part of the record: whoever deletes it loses time only.
func (f *Flow) StoreDir(partition int) string {
	return f.path("store", strconv.Itoa(partition))
}

// Meta returns the newest version of what the flow was made with; ok is false
// if the flow has never started. The caller does not change it.
func (f *Flow) Meta() (m FlowMeta, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.metaVersion == 0 && f.last > 0 {
		return m, false, corrupt(f.path("meta", metaName(1)), "the file is missing")
	}
	return f.meta, f.metaVersion > 0, nil
}

// PutMeta records a new version of what the flow is made with. Older versions
// stay.
func (f *Flow) PutMeta(m FlowMeta) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	version := f.metaVersion + 1
	if err := f.c.createJSON(f.path("meta", metaName(version)), kindMeta, m); err != nil {
		return err
	}
	f.meta, f.metaVersion = m, version
	return nil
}

// readMeta reads the newest meta record and makes sure that none is missing.
func (f *Flow) readMeta() error {
	names, err := listNames(f.path("meta"))
	if err != nil {
		return err
	}
	var highest, count int64
	for _, name := range names {
		if n, ok := parseNumber(name, metaDigits); ok {
			highest = max(highest, n)
			count++
		}
	}
	if highest == 0 {
		return nil
	}
	if count != highest {
		return corrupt(f.path("meta"), "there are %d versions but the newest is %d: files are missing", count, highest)
	}
	f.metaVersion = int(highest)
	return readJSON(f.path("meta", metaName(f.metaVersion)), kindMeta, &f.meta)
}

// checkEpoch refuses numbers that are no epochs.
func checkEpoch(epoch int64) error {
	if epoch < 1 {
		return fmt.Errorf("checkpoint: epoch %d: epochs are numbered from 1", epoch)
	}
	return nil
}
