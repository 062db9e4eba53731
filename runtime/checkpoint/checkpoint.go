// Package checkpoint keeps what a pipeline must not forget, as files in a
// directory on a local disk: for each flow its plans, changelogs, decisions,
// source journals and state snapshots.
//
// # Model
//
// A [Checkpoint] is a directory with a UID, locked by the one process that has
// it open. A [Flow] in it is one commit unit: its epochs are numbered from 1
// without gaps. Of an epoch there is first a [Plan], then a changelog for each
// state partition, then a [Decision]. The decision is the commit: with it the
// epoch happened, without it the epoch did not, whatever else lies around.
//
// # Layout
//
//	checkpoint                              UID, key groups, layout version
//	fork-0001                               a UID that replaces it
//	LOCK                                    flock(2); names the holder
//	flows/<flow>/meta/<version>             FlowMeta
//	flows/<flow>/plans/<epoch>              Plan
//	flows/<flow>/attempts/<epoch>-<attempt> attempt numbers that are used up
//	flows/<flow>/changelogs/<partition>/<epoch>-<attempt>
//	flows/<flow>/decisions/<epoch>          Decision
//	flows/<flow>/ends                       Ends
//	flows/<flow>/choice                     Choice
//	flows/<flow>/sources/<source>.journal   entries of one source
//	flows/<flow>/snapshots/<epoch>/         manifest and <partition>/…
//	flows/<flow>/store/<partition>          working store, not part of the record
//
// docs/internals/checkpoint.md describes every file byte by byte. All paths in
// files are relative, so a copy of the directory is a checkpoint too.
//
// # Invariants
//
//   - K1: a record appears whole and durable under its final name, once, and
//     never changes. Only journals grow, and only at their end.
//   - K2: the decisions that a Flow shows have no gaps, begin no later than where
//     recovery starts, and all the changelogs they list are there.
//   - K3: an attempt number is never given out twice for an epoch, across any
//     number of crashes, so files of a dead attempt are never taken for those of
//     a living one.
//   - K4: damage is an error that matches [ErrCorrupt] and names the file, and
//     changes nothing. The exceptions are what a crash leaves: temporary files,
//     the plan of an undecided epoch, and the unfinished last entry of a journal.
//     They are dropped, the latter two with a warning.
//   - K5: what a killed process has created but not yet synced is made durable
//     before anybody acts on it.
//
// Names that are not in the layout are ignored.
package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tws-go/tws/runtime/internal/durable"
)

var (
	// ErrCorrupt marks damage found in a checkpoint. It is never repaired in
	// silence; the message names the file and what can be done.
	ErrCorrupt = errors.New("checkpoint: corrupt")
	// ErrNewer marks a file that a newer version of the software wrote.
	ErrNewer = errors.New("checkpoint: newer format")
	// ErrLocked marks a checkpoint that another process, or another Open in
	// this one, is using.
	ErrLocked = errors.New("checkpoint: in use")
	// ErrDecided marks the decision of an epoch that has one.
	ErrDecided = errors.New("checkpoint: epoch is decided")
	// ErrClosed marks the use of a closed checkpoint.
	ErrClosed = errors.New("checkpoint: closed")
)

const (
	// DefaultKeyGroups is the number of key groups unless Options say otherwise.
	DefaultKeyGroups = 256
	// MaxKeyGroups is the largest number that fits a store key.
	MaxKeyGroups = 1 << 16
)

// Options say how to open a checkpoint.
type Options struct {
	// KeyGroups is the number of key groups of a new checkpoint, at most
	// [MaxKeyGroups]; 0 means [DefaultKeyGroups]. An existing checkpoint keeps
	// the number it was made with.
	KeyGroups int
	// NoSync skips every fsync, for tests: the checkpoint survives the end of
	// the process but not of the machine.
	NoSync bool
	// Fork gives an existing checkpoint a new UID, so that sinks take it for a
	// pipeline of its own.
	Fork bool
	// Log receives warnings; nil discards them.
	Log *slog.Logger
}

// Checkpoint is an open checkpoint. Its methods are safe for concurrent use.
type Checkpoint struct {
	dir      string
	identity identity
	sync     bool
	log      *slog.Logger
	remover  remover
	lock     *os.File
	closed   atomic.Bool

	mu    sync.Mutex
	flows map[string]*Flow
}

// Open opens the checkpoint in dir for this process alone and creates it if
// there is none. If somebody else has it open, the error matches [ErrLocked].
func Open(dir string, o Options) (*Checkpoint, error) {
	if o.KeyGroups < 0 || o.KeyGroups > MaxKeyGroups {
		return nil, fmt.Errorf("checkpoint: open %s: %d key groups: want 1 to %d", dir, o.KeyGroups, MaxKeyGroups)
	}
	// Read before anything is touched: what is damaged or too new stays as it is.
	_, exists, err := readIdentity(dir)
	if err != nil {
		return nil, err
	}
	if o.Fork && !exists {
		return nil, fmt.Errorf("checkpoint: fork %s: there is no checkpoint to fork", dir)
	}
	if err := durable.MkdirAll(dir, !o.NoSync); err != nil {
		return nil, err
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{
		dir: dir, sync: !o.NoSync, log: o.Log, remover: systemRemover, lock: lock,
		flows: map[string]*Flow{},
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if err := c.load(o); err != nil {
		return nil, errors.Join(err, releaseLock(lock))
	}
	return c, nil
}

// load reads or writes the identity and tidies up, under the lock.
func (c *Checkpoint) load(o Options) error {
	id, exists, err := readIdentity(c.dir)
	if err != nil {
		return err
	}
	if !exists {
		id, err = c.writeIdentity(o.KeyGroups)
	} else if o.Fork {
		id, err = c.writeFork(id)
	}
	if err != nil {
		return err
	}
	c.identity = id
	if err := durable.RemoveTemps(c.dir); err != nil {
		return err
	}
	names, err := c.Flows()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := removeFlowTemps(c.flowDir(name)); err != nil {
			return err
		}
	}
	return c.syncDir(c.dir)
}

// UID identifies the checkpoint to its sinks. It changes only by a fork.
func (c *Checkpoint) UID() string { return c.identity.uid }

// KeyGroups is the number of key groups that keys are hashed to.
func (c *Checkpoint) KeyGroups() int { return c.identity.keyGroups }

// Flow opens the flow of that name, creating its directory if there is none. A
// name consists of letters, digits, '-', '_' and '.'. Every call with one name
// returns the same Flow.
func (c *Checkpoint) Flow(name string) (*Flow, error) {
	if err := checkName("flow", name); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return nil, ErrClosed
	}
	if f := c.flows[name]; f != nil {
		return f, nil
	}
	f, err := openFlow(c, name)
	if err != nil {
		return nil, err
	}
	c.flows[name] = f
	return f, nil
}

// Flows returns the names of the flows that have a directory, sorted.
func (c *Checkpoint) Flows() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(c.dir, "flows"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("checkpoint: list flows: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && checkName("flow", e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Close releases the checkpoint. Afterwards every method that would change it
// returns [ErrClosed]. A second call does nothing. No changelog or snapshot may
// be in the middle of being written.
func (c *Checkpoint) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	// A flow that is in the middle of a change finishes it under the lock.
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.flows {
		f.mu.Lock()
		defer f.mu.Unlock()
	}
	if err := releaseLock(c.lock); err != nil {
		return fmt.Errorf("checkpoint: close %s: %w", c.dir, err)
	}
	return nil
}

func (c *Checkpoint) flowDir(name string) string {
	return filepath.Join(c.dir, "flows", name)
}

func (c *Checkpoint) syncDir(dir string) error {
	if !c.sync {
		return nil
	}
	return durable.SyncDir(dir)
}

// checkName accepts what is the same file name everywhere. A leading '.' would
// hide the file, or make it a temporary one.
func checkName(what, name string) error {
	const maxLen = 200 // leaves room for suffixes below the usual limit of 255
	if name == "" || len(name) > maxLen || name[0] == '.' {
		return fmt.Errorf("checkpoint: %s name %q: want 1 to %d characters and no '.' at the start", what, name, maxLen)
	}
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && !(r >= '0' && r <= '9') && r != '-' && r != '_' && r != '.' {
			return fmt.Errorf("checkpoint: %s name %q: want letters, digits, '-', '_' and '.' only", what, name)
		}
	}
	return nil
}
