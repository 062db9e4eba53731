package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"

	"github.com/tws-go/tws/runtime/stream"
)

// stagedState is the JSON of [stream.Staged]'s State.
type stagedState struct {
	// Unit is the commit unit that staged.
	Unit string `json:"unit"`
	// Required is the epoch that the table must be at, for this unit, before
	// this epoch is published; null if it must not know the unit.
	Required *int64 `json:"required"`
	// Next is what the following epoch requires: this epoch if it has rows,
	// else Required.
	Next *int64 `json:"next"`
	// Files are the data files to add, in order.
	Files []stagedFile `json:"files,omitempty"`
}

// sink is a table opened by one unit. It implements [stream.TableSink].
type sink struct {
	table  *table
	row    *column
	schema *parquet.Schema
	unit   stream.Unit
	limits fileLimits
	// earlier are the other checkpoints of the flow whose rows the table holds,
	// until that has been said, or nil if this one has published too.
	earlier []string

	lanes []*lane
	// attempt is the one that is open; its epoch is 0 if there is none.
	attempt  stream.Attempt
	required *int64
	prepared bool
	closed   bool

	mu sync.Mutex // guards staged: one epoch may be published while another begins
	// staged has the files that this sink has written and not yet published,
	// by epoch.
	staged map[int64][]string
}

var errClosed = errors.New("table: the sink is closed")

// Begin starts an attempt. It removes the files that this sink staged for
// earlier attempts at the same epoch or at later ones, which can no longer be
// decided. Files of earlier epochs stay: those are decided, published or not.
func (s *sink) Begin(_ context.Context, a stream.Attempt) error {
	if s.closed {
		return errClosed
	}
	if a.Epoch < 1 || a.Lanes < 1 {
		return fmt.Errorf("table: %s: begin epoch %d with %d lanes: both start at 1", s.table.name, a.Epoch, a.Lanes)
	}
	required, err := s.requiredBy(a)
	if err != nil {
		return fmt.Errorf("table: %s: begin epoch %d: %w", s.table.name, a.Epoch, err)
	}
	if err := s.removeFrom(a.Epoch); err != nil {
		return fmt.Errorf("table: %s: remove what an earlier attempt staged: %w", s.table.name, err)
	}
	for len(s.lanes) < a.Lanes {
		s.lanes = append(s.lanes, newLane(s.row, len(s.lanes)))
	}
	for _, l := range s.lanes {
		l.reset()
	}
	s.attempt, s.required, s.prepared = a, required, false
	s.warnOfEarlier()
	return nil
}

// warnOfEarlier warns once, at the first epoch of a checkpoint, that the table
// holds rows of the same flow already: a flow that begins anew, and reads its
// input again, doubles them. A fork has an epoch before its first, and goes on
// behind it.
func (s *sink) warnOfEarlier() {
	if len(s.earlier) > 0 && s.attempt.Prior == nil {
		s.table.store.log.Warn("the table holds rows that this flow wrote with another checkpoint, and this one is new: "+
			"input that it reads again comes into the table twice; go on with the old checkpoint, "+
			"or begin anew in a fresh --tables folder or with another name for the table",
			"table", s.table.name, "path", s.table.dir, "flow", s.unit.Flow, "checkpoint", strings.Join(s.earlier, ", "))
	}
	s.earlier = nil
}

// requiredBy returns the epoch that the table must be at before this one. What
// another unit staged says nothing about ours: a checkpoint that goes on under a
// new identity starts a progress of its own.
func (s *sink) requiredBy(a stream.Attempt) (*int64, error) {
	if a.Prior == nil {
		return nil, nil
	}
	prior, err := parseState(a.Prior)
	if err != nil || prior.Unit != s.unit.String() {
		return nil, err
	}
	if prior.Next != nil && *prior.Next >= a.Epoch {
		return nil, fmt.Errorf("the state of the epoch before says that epoch %d was published", *prior.Next)
	}
	return prior.Next, nil
}

// parseState reads a State that this package wrote, and nothing else.
func parseState(text json.RawMessage) (stagedState, error) {
	var has map[string]json.RawMessage
	var state stagedState
	if err := json.Unmarshal(text, &has); err != nil {
		return state, fmt.Errorf("staged state %s: %w", excerpt(string(text)), err)
	}
	for _, key := range []string{"unit", "required", "next"} {
		if _, ok := has[key]; !ok {
			return state, fmt.Errorf("staged state %s is not a table's: %q is missing", excerpt(string(text)), key)
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return state, fmt.Errorf("staged state %s: %w", excerpt(string(text)), err)
	}
	return state, nil
}

// Lane returns the writer of lane i of the attempt that is open. It stays valid
// for the sink's life.
func (s *sink) Lane(i int) stream.RowWriter { return s.lanes[i] }

// Prepare writes the rows of all lanes to data files and makes them durable.
func (s *sink) Prepare(ctx context.Context) (stream.Staged, error) {
	if s.closed {
		return stream.Staged{}, errClosed
	}
	if s.attempt.Epoch == 0 || s.prepared {
		return stream.Staged{}, fmt.Errorf("table: %s: prepare without begin", s.table.name)
	}
	for _, l := range s.lanes {
		if l.open {
			return stream.Staged{}, fmt.Errorf("table: %s: prepare epoch %d: row %d of lane %d is not ended",
				s.table.name, s.attempt.Epoch, l.rows+1, l.number)
		}
	}
	files, err := s.writeFiles(ctx)
	if err != nil {
		return stream.Staged{}, fmt.Errorf("table: %s: prepare epoch %d: %w", s.table.name, s.attempt.Epoch, err)
	}
	s.prepared = true
	return s.stage(files)
}

func (s *sink) writeFiles(ctx context.Context) ([]stagedFile, error) {
	id := uuid.NewString()
	set := &fileSet{
		dir: s.table.dir, row: s.row, schema: s.schema, limits: s.limits, noSync: s.table.store.noSync,
		name: func(n int) string {
			return fmt.Sprintf("part-%020d-%d-%s.c%03d.snappy.parquet", s.attempt.Epoch, s.attempt.Number, id, n)
		},
	}
	files, err := set.writeLanes(ctx, s.lanes)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	now := s.table.store.now().UnixMilli()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range files {
		files[i].ModifiedMillis = now
		s.staged[s.attempt.Epoch] = append(s.staged[s.attempt.Epoch], files[i].Path)
	}
	return files, s.table.store.syncDir(s.table.dir)
}

// stage describes the files to the engine.
func (s *sink) stage(files []stagedFile) (stream.Staged, error) {
	state := stagedState{Unit: s.unit.String(), Required: s.required, Next: s.required, Files: files}
	var staged stream.Staged
	for _, f := range files {
		state.Next = &s.attempt.Epoch
		staged.Artefacts = append(staged.Artefacts, f.artefact())
		staged.Rows += f.Rows
		staged.Bytes += f.Size
	}
	var err error
	staged.State, err = marshal(state)
	return staged, err
}

// Publish adds the files of a decided epoch to the table. It needs the
// publication only. Sinks of other units may publish at the same time: they
// share commits.
func (s *sink) Publish(ctx context.Context, p stream.Publication) error {
	if s.closed {
		return errClosed
	}
	state, err := parseState(p.Staged.State)
	if err != nil {
		return fmt.Errorf("table: %s: publish epoch %d: %w", s.table.name, p.Epoch, err)
	}
	if err := s.checkPublication(p, state); err != nil {
		return fmt.Errorf("table: %s: publish epoch %d: %w", s.table.name, p.Epoch, err)
	}
	by, _ := s.stagedBy(state)
	err = s.table.publish(ctx, &publication{
		unit: by, appID: appID(by), inherited: by != s.unit, row: s.row, epoch: p.Epoch, staged: state,
		by: published{AppID: appID(by), Epoch: p.Epoch, Attempt: p.Attempt, Manifest: p.Manifest},
	})
	if err == nil {
		s.forget(p.Epoch)
	}
	return err
}

// stagedBy returns the unit that staged: this one, or the same flow under an
// earlier identity of its checkpoint.
func (s *sink) stagedBy(state stagedState) (stream.Unit, bool) {
	other := s.unit
	var ok bool
	other.Checkpoint, ok = strings.CutSuffix(state.Unit, strings.TrimPrefix(s.unit.String(), s.unit.Checkpoint))
	return other, ok && other.Checkpoint != ""
}

// checkPublication refuses a publication that is not one of this unit's.
func (s *sink) checkPublication(p stream.Publication, state stagedState) error {
	if _, ok := s.stagedBy(state); !ok {
		return fmt.Errorf("it was staged by %s, and the table is open for %s", state.Unit, s.unit)
	}
	switch {
	case len(state.Files) == 0:
		return nil
	case p.Manifest == "":
		return errors.New("the publication has no manifest")
	case state.Next == nil || *state.Next != p.Epoch:
		return fmt.Errorf("its files were staged for %s", describeEpoch(state.Next))
	}
	for _, f := range state.Files {
		if path, err := localPath(f.Path); err != nil || path != f.Path {
			return fmt.Errorf("%q cannot be the path of a staged file", f.Path)
		}
	}
	return nil
}

// forget leaves the files of a published epoch to the table.
func (s *sink) forget(epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.staged, epoch)
}

// Close releases the sink. Files of an attempt that was prepared last stay,
// since the sink cannot know whether it was decided: a decision without its
// files could not be published any more.
func (s *sink) Close() error {
	s.closed, s.lanes = true, nil
	return nil
}

// removeFrom removes the staged files of the given epoch and later ones.
func (s *sink) removeFrom(epoch int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e, files := range s.staged {
		if e < epoch {
			continue
		}
		for _, f := range files {
			if err := os.Remove(filepath.Join(s.table.dir, f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		delete(s.staged, e)
	}
	return nil
}
