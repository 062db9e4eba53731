// Package file reads folders of JSON-lines files.
//
// # Model
//
// A source is a folder and its sub-folders. Every file in it is a sequence of
// lines, every line that is not blank is one row. Files may appear at any time
// and may be appended to while they are read; what was written stays as it is.
// docs/reference/files.md tells users what that means for them.
//
// Each file gets a number when it is first seen with something to read, in the
// order of modification time, then name. Rows are read in the order of (number,
// byte offset), and these two are what a row's record carries.
//
// A file goes through three states:
//
//   - open: its end is the end of its last complete line, and may still move;
//   - sealed: it has not changed for the settle time; its size is its end, once
//     and for all, with or without a last newline;
//   - closed: it is sealed, and positions no longer mention it.
//
// Sealing needs a journal entry, because it must come out the same after a
// restart. Closing is a step of its own so that a file that merely came to rest
// does not change the source's position, which would make an epoch of no rows:
// sealed files are closed when there is news anyway, or when there are many.
//
// # Layout
//
// The journal is a list of JSON entries; see [entry]. A position is, for example,
//
//	{"next":12,"open":{"10":4096}}
//
// Files from number next on have not been read. Of the files before, those in
// open have been read up to that byte offset, the others to their sealed size. A
// position's size depends on the number of files being written, not on how many
// there are.
//
// # Invariants
//
//   - F1: an offset in a position is the end of a line, or the end of a file's
//     unfinished last line that was taken as a row.
//   - F2: a position together with the journal determines an offset in every
//     file, whatever happens to the files later.
//   - F3: Discover changes what the reader knows only when it succeeds, and then
//     exactly as the journal entry says that it returns.
package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/tws-go/tws/runtime/stream"
)

const (
	// DefaultMaxLineBytes is the longest line taken unless the source says
	// otherwise: 64 MiB.
	DefaultMaxLineBytes = 64 << 20
	// DefaultSettle is the time without change after which a file counts as
	// complete unless the source says otherwise.
	DefaultSettle = 10 * time.Second
)

// Policy says what happens to a line that is not a row.
type Policy uint8

const (
	// Fail stops with a [stream.MalformedError] that names file and line.
	Fail Policy = iota
	// Drop passes over the line, counts it and logs the first few of a run.
	Drop
)

// JSON is a source of the rows in a folder of JSON-lines files. The zero value
// of every field but Path is a good choice.
type JSON[T any] struct {
	// Path is the folder. It must exist when the source is opened.
	Path string
	// Name is the source's name within its flow, under which the checkpoint
	// remembers what was read: letters, digits, '-', '_' and '.'. Defaults to
	// the last element of Path, with '_' for every other character.
	Name string
	// OnMalformed says what happens to lines that are not rows.
	OnMalformed Policy
	// MaxLineBytes is the length of the longest line that can be a row, without
	// its newline; a longer one is malformed. It bounds the memory that reading
	// takes. Defaults to DefaultMaxLineBytes.
	MaxLineBytes int
	// Settle is how long a file must stay unchanged to count as complete: then
	// a last line without a newline is taken, and later changes are ignored
	// with a warning. Defaults to DefaultSettle.
	Settle time.Duration
	// MaxFiles bounds the number of files that one epoch reads from. Zero means
	// no bound.
	MaxFiles int
}

// SourceName returns Name, or the name made of Path.
func (s JSON[T]) SourceName() string {
	if s.Name != "" {
		return s.Name
	}
	return nameOf(s.Path)
}

// Once returns a source of what is in the folder when the source is first asked,
// and nothing that comes later: new files and new lines are not read, also after
// a restart. A last line without a newline is a row.
func (s JSON[T]) Once() Listing[T] { return Listing[T]{source: s} }

// Open checks the settings and that the folder exists.
func (s JSON[T]) Open(ctx context.Context, env stream.SourceEnv[T]) (stream.Reader[T], error) {
	return s.open(ctx, env, false)
}

func (s JSON[T]) open(ctx context.Context, env stream.SourceEnv[T], once bool) (stream.Reader[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	if env.Row == nil || env.Row.DecodeJSON == nil {
		return nil, fmt.Errorf("file: type %s has no JSON decoder: run go generate in its package", reflect.TypeFor[T]())
	}
	in := &input{
		dir:      filepath.Clean(s.Path),
		once:     once,
		settle:   cmp.Or(s.Settle, DefaultSettle),
		maxLine:  cmp.Or(s.MaxLineBytes, DefaultMaxLineBytes),
		maxFiles: s.MaxFiles,
		now:      env.Now,
		log:      env.Log,
		waiting:  map[string]int64{},
		strange:  map[string]bool{},
	}
	if err := in.ledger.load(env.Journal); err != nil {
		return nil, in.errorf("%w", err)
	}
	return &reader[T]{input: in, row: env.Row, policy: s.OnMalformed}, nil
}

// check reports settings that cannot work.
func (s JSON[T]) check() error {
	switch {
	case s.Name != "" && s.Name != stream.LegalName(s.Name):
		return fmt.Errorf("name %q: use letters, digits, '-', '_' and '.' only", s.Name)
	case s.OnMalformed > Drop:
		return fmt.Errorf("field OnMalformed is %d: use file.Fail or file.Drop", s.OnMalformed)
	case s.MaxLineBytes < 0:
		return fmt.Errorf("field MaxLineBytes is %d: it must not be negative", s.MaxLineBytes)
	case s.Settle < 0:
		return fmt.Errorf("field Settle is %s: it must not be negative", s.Settle)
	case s.MaxFiles < 0:
		return fmt.Errorf("field MaxFiles is %d: it must not be negative", s.MaxFiles)
	case s.Path == "":
		return errors.New("field Path is empty: name the folder to read")
	}
	return checkFolder(s.Path)
}

// checkFolder reports a path that is not a folder, and what to do.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("folder %s does not exist: create it, it may be empty", dir)
	case err != nil:
		return fmt.Errorf("folder %s cannot be read: %w", dir, err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder: give the folder that holds the file", dir)
	}
	return nil
}

// nameOf makes a source name of a folder's path.
func nameOf(dir string) string {
	name := stream.LegalName(filepath.Base(filepath.Clean(dir)))
	if strings.Trim(name, "._") == "" {
		return "files"
	}
	return name
}

// Listing is a [JSON] source that has an end; see [JSON.Once].
type Listing[T any] struct{ source JSON[T] }

// SourceName returns the name of the source that was listed.
func (l Listing[T]) SourceName() string { return l.source.SourceName() }

// Open checks the settings and that the folder exists.
func (l Listing[T]) Open(ctx context.Context, env stream.SourceEnv[T]) (stream.Reader[T], error) {
	return l.source.open(ctx, env, true)
}

// IsBounded marks the source as one that has an end.
func (l Listing[T]) IsBounded() {}
