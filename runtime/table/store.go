package table

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tws-go/tws/runtime/stream"
)

// Options tune a [Store]. The zero value is right for most.
type Options struct {
	// Log receives warnings and lifecycle messages; nil means nobody.
	Log *slog.Logger
	// NoSync leaves out every flush to the disk: what is written survives the
	// end of the process, but not a power failure. For tests.
	NoSync bool
	// Now reads the clock for the times in the log, nil means time.Now. They
	// are for people: nothing is decided by them.
	Now func() time.Time
}

// Store is a folder of tables. Its methods are safe for concurrent use, also by
// several Stores and processes on one folder.
type Store struct {
	dir    string
	log    *slog.Logger
	noSync bool
	now    func() time.Time
	limits fileLimits

	mu     sync.Mutex
	tables map[string]*table
}

// NewStore returns the store of the tables in dir, which need not exist yet.
func NewStore(dir string, o Options) *Store {
	s := &Store{dir: dir, log: o.Log, noSync: o.NoSync, now: o.Now, limits: defaultLimits(), tables: map[string]*table{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Path returns the folder of the table with the given name.
func (s *Store) Path(name string) string { return filepath.Join(s.dir, name) }

// Open opens a table for one commit unit and creates it if there is none. It
// refuses a table whose columns differ from spec's and one that asks more of a
// writer than this package does, with an error that matches [ErrMismatch].
func (s *Store) Open(ctx context.Context, spec stream.TableSpec, unit stream.Unit) (stream.TableSink, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkOpen(spec, unit); err != nil {
		return nil, err
	}
	row, err := rowOf(spec.Columns)
	if err != nil {
		return nil, fmt.Errorf("table: %s: %w", spec.Name, err)
	}
	t := s.table(spec.Name)
	if err := t.ensure(spec, row); err != nil {
		return nil, fmt.Errorf("table: open %s: %w", spec.Name, err)
	}
	earlier, err := t.earlier(unit)
	if err != nil {
		return nil, fmt.Errorf("table: open %s: %w", spec.Name, err)
	}
	return &sink{
		table: t, row: row, schema: parquetSchema(row), unit: unit, limits: s.limits,
		earlier: earlier, staged: map[int64][]string{},
	}, nil
}

// checkOpen refuses names that cannot be a folder's or an application's.
func checkOpen(spec stream.TableSpec, unit stream.Unit) error {
	if err := checkTableName(spec.Name); err != nil {
		return err
	}
	if unit.Checkpoint == "" || unit.Flow == "" {
		return fmt.Errorf("table: open %s: the commit unit %q lacks a checkpoint or a flow", spec.Name, unit)
	}
	return nil
}

func checkTableName(name string) error {
	if name == "" || strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fmt.Errorf("table: the name %q cannot be a table's: it must be the name of a folder and not start with '.' or '_'", name)
	}
	return nil
}

// table returns the one object of this store for a table.
func (s *Store) table(name string) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[name]
	if t == nil {
		t = &table{name: name, dir: s.Path(name), store: s, lead: make(chan struct{}, 1)}
		s.tables[name] = t
	}
	return t
}

// appID is the name under which a unit's progress stands in the log. The last
// part is the unit's state partition, when a flow is scaled out. It must not
// change.
func appID(u stream.Unit) string { return "tws/" + u.String() }

// checkpointOf returns the checkpoint of the unit of a flow that an application
// is; ok is false if it is none.
func checkpointOf(appID, flow string) (checkpoint string, ok bool) {
	rest, ours := strings.CutPrefix(appID, "tws/")
	checkpoint, ok = strings.CutSuffix(rest, "/"+flow+"/0")
	return checkpoint, ours && ok && checkpoint != "" && !strings.Contains(checkpoint, "/")
}

// ErrMismatch marks an error of Open that needs a person: the table's columns are
// not the row type's, or it asks more of a writer than this package does. Nothing
// was written.
var ErrMismatch = errors.New("the table does not take these rows")

// ErrUnpublished marks an error of Publish that needs a person: the epoch is
// decided, its rows are staged, and the table does not take them as it is.
// Nothing is lost and nothing was written; the message names the choices.
var ErrUnpublished = errors.New("decided, unpublished")
