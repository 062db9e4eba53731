package table

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/tws-go/tws/runtime/internal/durable"
	"github.com/tws-go/tws/runtime/stream"
)

// table is what all units of one store that write one table share: the state of
// its log and the queue of publications.
//
// Publications are committed by a leader: of the callers that wait, the one that
// gets the lead commits what all of them have queued, in one version of the log.
type table struct {
	name  string
	dir   string
	store *Store

	// lead is held by the one who reads or writes the log. It guards state.
	lead chan struct{}
	// state is the log as last read; nil if that has to be done anew.
	state *logState

	mu    sync.Mutex // guards queue
	queue []*publication
}

// ensure makes sure that the table exists and takes rows of the given type.
func (t *table) ensure(spec stream.TableSpec, row *column) error {
	t.lead <- struct{}{}
	defer func() { <-t.lead }()
	err := t.reload()
	if errors.Is(err, errNoTable) {
		if err := t.create(spec, row); err != nil {
			return err
		}
		err = t.reload()
	}
	if err != nil {
		return err
	}
	if err := checkWritable(t.state.protocol, t.state.meta, t.state.row); err != nil {
		return &choiceError{err.Error(), ErrMismatch}
	}
	added := t.state.addedByOthers()
	for _, c := range t.state.row.children {
		if row.child(c.name) == nil && added(c) {
			t.store.log.Warn("table has a column that rows do not have: it stays null", "table", t.name, "column", c.path)
		}
	}
	if diffs := differences(row, t.state.row, added); len(diffs) > 0 {
		return &choiceError{"the table's columns are not the row type's: " + strings.Join(diffs, "; ") +
			": a table's columns cannot be changed yet: take the change back, or write to a table of another name", ErrMismatch}
	}
	return nil
}

// earlier returns the other checkpoints of a unit's flow that have published to
// a table with rows, sorted, as long as the unit itself has not.
func (t *table) earlier(unit stream.Unit) ([]string, error) {
	t.lead <- struct{}{}
	defer func() { <-t.lead }()
	if err := t.reload(); err != nil {
		return nil, err
	}
	if _, known := t.state.txns[appID(unit)]; known {
		return nil, nil
	}
	var checkpoints []string
	for id := range t.state.txns {
		if c, ok := checkpointOf(id, unit.Flow); ok {
			checkpoints = append(checkpoints, c)
		}
	}
	if len(checkpoints) == 0 {
		return nil, nil
	}
	whole, err := openLog(t.dir, true)
	if err != nil || len(whole.content()) == 0 {
		return nil, err
	}
	slices.Sort(checkpoints)
	return checkpoints, nil
}

// addedByOthers accepts a column that another writer has added to a table that
// this package made: our rows have null there. A column that we gave the table
// and that the row type has lost is another matter.
func (s *logState) addedByOthers() func(*column) bool {
	known := map[string]bool{}
	note(s.ours, known)
	return func(c *column) bool { return s.ours != nil && c.nullable && !known[c.path] }
}

// note adds the paths of all columns below c.
func note(c *column, paths map[string]bool) {
	if c == nil {
		return
	}
	paths[c.path] = true
	for _, child := range c.children {
		note(child, paths)
	}
}

// reload brings the state up to date. After an error it is read from the start
// the next time.
func (t *table) reload() error {
	s := t.state
	t.state = nil
	var err error
	if s == nil {
		s, err = openLog(t.dir, false)
	} else if err = s.checkCurrent(); err == nil {
		err = s.refresh()
	}
	if err != nil {
		return err
	}
	t.state = s
	return nil
}

// create writes version 0. Losing a race for it is no error.
func (t *table) create(spec stream.TableSpec, row *column) error {
	if err := durable.MkdirAll(filepath.Join(t.dir, logFolder), !t.store.noSync); err != nil {
		return err
	}
	schema, err := schemaString(row)
	if err != nil {
		return err
	}
	now := t.store.now().UnixMilli()
	data, err := encodeActions([]action{
		{CommitInfo: &commitInfo{
			Timestamp: now, Operation: "CREATE TABLE", EngineInfo: engine, IsBlindAppend: true,
			OperationParameters: map[string]string{},
		}},
		{Protocol: &protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
		{MetaData: &tableMeta{
			ID: uuid.NewString(), Name: spec.Name, Description: spec.Comment,
			Format:           fileFormat{Provider: "parquet", Options: map[string]string{}},
			SchemaString:     schema,
			PartitionColumns: []string{}, Configuration: map[string]string{}, CreatedTime: now,
		}},
	})
	if err != nil {
		return err
	}
	err = durable.Create(commitPath(t.dir, 0), data, !t.store.noSync)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		t.store.log.Info("table created", "table", t.name, "path", t.dir)
	}
	return err
}

func (s *Store) syncDir(dir string) error {
	if s.noSync {
		return nil
	}
	return durable.SyncDir(dir)
}

// publish makes a publication visible, together with others that wait.
func (t *table) publish(ctx context.Context, p *publication) error {
	p.done = make(chan struct{})
	t.enqueue(p)
	for {
		if err := ctx.Err(); err != nil {
			t.dequeue(p)
			return err
		}
		select {
		case <-p.done:
			return p.err
		case <-ctx.Done():
			t.dequeue(p)
			return ctx.Err()
		case t.lead <- struct{}{}:
		}
		t.commitQueued(ctx)
		<-t.lead
	}
}

func (t *table) enqueue(ps ...*publication) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = append(t.queue, ps...)
}

// dequeue drops a publication that nobody waits for any more. If the leader has
// it already, it may become visible: publishing again tells.
func (t *table) dequeue(p *publication) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, q := range t.queue {
		if q == p {
			t.queue = append(t.queue[:i], t.queue[i+1:]...)
			return
		}
	}
}

func (t *table) takeQueue() []*publication {
	t.mu.Lock()
	defer t.mu.Unlock()
	ps := t.queue
	t.queue = nil
	return ps
}

// commitQueued settles the queued publications. The caller has the lead. If its
// context ends, what is left goes back to the queue for another leader, who has
// a context of its own.
func (t *table) commitQueued(ctx context.Context) {
	pending, err := t.commit(ctx, t.takeQueue())
	if err != nil && ctx.Err() != nil {
		t.enqueue(pending...)
		return
	}
	for _, p := range pending {
		p.settle(err)
	}
}
