package table

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/tws-go/tws/schemas"
)

// tail follows the log of a table for a reader: it knows which files each version
// adds, and refuses versions that are no appends.
type tail struct {
	name string
	dir  string
	// want is the row type that is read.
	want *column

	// id, protocol, meta and row are the table's as of the newest version when it
	// was found, or as of a later one that was read; id is "" before.
	id       string
	newest   int64
	protocol *protocol
	meta     *tableMeta
	row      *column
	// snapshot is the content of the log checkpoint that the stream begins with,
	// as far as it has been read.
	snapshot map[int64][]addAction
	// seen is the newest commit that was read, and its size, by which a log that
	// was replaced is noticed; -1 if there is none.
	seen     int64
	seenSize int64
	// recent is the version that was asked for last, with what it adds: it is
	// mostly asked for again.
	recent      int64
	recentFiles []addAction
}

// attach finds the table. It returns false if there is none yet.
func (t *tail) attach(ctx context.Context) (bool, error) {
	if t.id != "" {
		return true, nil
	}
	l, err := listFolder(t.dir)
	if err != nil || l.newest < 0 && !l.ok {
		return false, err
	}
	s, err := t.replay(ctx, l)
	if err != nil {
		return false, err
	}
	if err := checkReadable(s.protocol, s.meta); err != nil {
		return false, err
	}
	if err := t.checkColumns(s.row, nil); err != nil {
		return false, err
	}
	if s.meta.ID == "" {
		return false, errors.New("the table's metadata gives it no id, by which a position could name it")
	}
	t.id, t.newest, t.protocol, t.meta, t.row = s.meta.ID, s.version, s.protocol, s.meta, s.row
	return true, nil
}

// replay reads the log up to its newest version: from the start if that is there,
// otherwise from the newest log checkpoint.
func (t *tail) replay(ctx context.Context, l logListing) (*logState, error) {
	if l.oldest == 0 {
		return openLog(t.dir, false)
	}
	if !l.ok {
		return nil, fmt.Errorf("the log is damaged: it begins at version %d, and there is no log checkpoint that has what was before: restore %s and what follows from a copy of the table",
			l.oldest, commitPath(t.dir, 0))
	}
	actions, err := l.checkpoint.read(ctx)
	if err != nil {
		return nil, err
	}
	s := &logState{dir: t.dir, version: l.checkpoint.version - 1, txns: map[string]txn{}, index: map[string]int{}}
	if err := s.apply(actions); err != nil {
		return nil, fmt.Errorf("the log checkpoint of version %d is damaged: %w", l.checkpoint.version, err)
	}
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if s.version < l.newest {
		return nil, l.missingVersion(t.dir, s.version+1)
	}
	return s, nil
}

// checkColumns makes sure that rows of a table with columns have can be read as
// rows of the type that is wanted. Of the columns in before, none may have gone.
func (t *tail) checkColumns(have, before *column) error {
	if diffs := readDifferences(t.want, have, before); len(diffs) > 0 {
		return &choiceError{"the table's columns are not the row type's: " + strings.Join(diffs, "; ") +
			": read it as a row type with the table's columns, or change the table back", ErrMismatch}
	}
	return nil
}

// readDifferences says, column by column, what keeps rows of a table with columns
// have from being read as rows of type want. before, if it is not nil, are the
// columns that the table had before.
func readDifferences(want, have, before *column) []string {
	var diffs []string
	for _, w := range want.children {
		h := have.child(w.name)
		var b *column
		if before != nil {
			b = before.child(w.name)
		}
		switch {
		case h == nil && b != nil:
			diffs = append(diffs, fmt.Sprintf("column %s (%s) is not in the table any more", w.path, w.typeText()))
		case h == nil && !w.optional:
			diffs = append(diffs, fmt.Sprintf("column %s (%s) is not in the table, and its field is no pointer that could be nil", w.path, w.typeText()))
		case h != nil:
			diffs = append(diffs, readTypeDifferences(w, h, b)...)
		}
	}
	return diffs
}

func readTypeDifferences(want, have, before *column) []string {
	switch {
	case want.kind == schemas.Struct && have.kind == schemas.Struct:
		if before != nil && before.kind != have.kind {
			before = nil
		}
		return readDifferences(want, have, before)
	case want.kind == schemas.List && have.kind == schemas.List:
		if before != nil && before.kind == have.kind {
			return readTypeDifferences(want.children[0], have.children[0], before.children[0])
		}
		return readTypeDifferences(want.children[0], have.children[0], nil)
	case want.typeText() != have.typeText():
		return []string{fmt.Sprintf("column %s is %s in the table and %s in the row type", want.path, have.typeText(), want.typeText())}
	}
	return nil
}

// begin returns the place where a stream of the table begins: the newest log
// checkpoint if there is one, or else version 0.
func (t *tail) begin() (place, error) {
	l, err := listFolder(t.dir)
	if err != nil {
		return place{}, err
	}
	at := place{Table: t.id}
	if l.ok {
		at.Snapshot = &l.checkpoint.version
	}
	return at.start(), nil
}

// files returns the files that come next at the version of a place, in order. ok
// is false if the log has no such version yet.
func (t *tail) files(ctx context.Context, at place) (files []addAction, ok bool, err error) {
	if at.inSnapshot() {
		files, err = t.snapshotFiles(ctx, at.Version)
		return files, err == nil, err
	}
	if t.recentFiles != nil && t.recent == at.Version {
		return t.recentFiles, true, nil
	}
	path := commitPath(t.dir, at.Version)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the log: %w", err)
	}
	actions, err := decodeActions(data)
	if err != nil {
		return nil, false, fmt.Errorf("the log is damaged: %s: %w: restore the file from a copy of the table", path, err)
	}
	if files, err = t.appended(at.Version, actions); err != nil {
		return nil, false, err
	}
	if at.Version > t.seen {
		t.seen, t.seenSize = at.Version, int64(len(data))
	}
	t.recent, t.recentFiles = at.Version, files
	return files, true, nil
}

// snapshotFiles returns the content of the log checkpoint of a version.
func (t *tail) snapshotFiles(ctx context.Context, version int64) ([]addAction, error) {
	if files, ok := t.snapshot[version]; ok {
		return files, nil
	}
	c, err := findCheckpoint(t.dir, version)
	if err != nil {
		return nil, err
	}
	actions, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	t.snapshot = map[int64][]addAction{version: addsOf(actions)}
	return t.snapshot[version], nil
}

// appended returns the files that the actions of a version add, which must be all
// that it changes.
func (t *tail) appended(version int64, actions []action) ([]addAction, error) {
	files := []addAction{}
	newer := version > t.newest
	for _, a := range actions {
		switch {
		case a.Remove != nil && a.Remove.DataChange:
			return nil, &choiceError{fmt.Sprintf("version %d removes the file %s and with it rows, which is no append: "+
				"bring the table back to the version before, or let its writer leave a log checkpoint of the version or a later one and begin anew with a fresh checkpoint, "+
				"which then reads the table as it is there", version, a.Remove.Path), ErrNotAppended}
		case a.Add != nil && a.Add.DataChange:
			files = append(files, *a.Add)
		case a.Protocol != nil && newer:
			t.protocol = a.Protocol
		case a.MetaData != nil:
			if err := t.newMeta(version, newer, a.MetaData); err != nil {
				return nil, err
			}
		}
	}
	if err := checkReadable(t.protocol, t.meta); err != nil {
		return nil, fmt.Errorf("since version %d: %w", version, err)
	}
	t.newest = max(t.newest, version)
	return files, nil
}

// newMeta accepts a change of the table's metadata if rows can still be read.
func (t *tail) newMeta(version int64, newer bool, m *tableMeta) error {
	if m.ID != t.id {
		return t.replaced(m.ID, t.id)
	}
	row, err := parseSchema(m.SchemaString)
	if err != nil {
		return fmt.Errorf("the log is damaged: %s: %w", commitPath(t.dir, version), err)
	}
	var before *column
	if newer {
		before = t.row // older versions may lack what came later
	}
	if err := t.checkColumns(row, before); err != nil {
		return fmt.Errorf("version %d changed the columns: %w", version, err)
	}
	if newer {
		t.meta, t.row = m, row
	}
	return nil
}

// replaced refuses a table that is not the one that was read before.
func (t *tail) replaced(now, before string) error {
	return &choiceError{fmt.Sprintf("the table in %s is another one (id %s) than the flow has read from (id %s): put that back, or begin anew with a fresh checkpoint",
		t.dir, now, before), ErrNotAppended}
}

// checkSeen makes sure that the newest commit that was read is still there.
func (t *tail) checkSeen() error {
	if t.seen < 0 {
		return nil
	}
	path := commitPath(t.dir, t.seen)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != t.seenSize {
		return fmt.Errorf("%s is not what it was: the table was deleted, set back or replaced while it was read; put it back, or begin anew with a fresh checkpoint", path)
	}
	return err
}

// see notes the newest commit, so that only the one after it need be looked for.
func (t *tail) see(version int64) error {
	info, err := os.Stat(commitPath(t.dir, version))
	if err == nil {
		t.seen, t.seenSize = version, info.Size()
	}
	return err
}

// ErrNotAppended marks an error of a reader that needs a person: the table was
// changed in another way than by appending rows. The message names the choices.
var ErrNotAppended = errors.New("the table was not only appended to")
