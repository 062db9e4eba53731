package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// logFolder is the folder of a table's log, in the table's folder.
const logFolder = "_delta_log"

// commitPath returns the name of the log's file for a version.
func commitPath(dir string, version int64) string {
	return filepath.Join(dir, logFolder, fmt.Sprintf("%020d.json", version))
}

// txn is how far an application has come, and by which commit.
type txn struct {
	version int64
	commit  int64
	// by is the decision that the commit names; zero if it names none.
	by published
}

// activeFile is a file of the table's content.
type activeFile struct {
	addAction
	commit int64
}

// logState is what replaying the log up to a version gives.
type logState struct {
	dir     string
	version int64 // -1 before the first commit
	// size is the size of the newest commit's file, by which a log that was
	// replaced is noticed.
	size     int64
	protocol *protocol
	meta     *tableMeta
	row      *column
	// metaCommit is the version that set meta.
	metaCommit int64
	// ours is the row type that this package gave the table last; nil if the
	// table was made by another writer.
	ours *column
	txns map[string]txn
	// files is the table's content in log order, and kept only on request:
	// publishing needs none of it.
	keepFiles bool
	files     []activeFile
	index     map[string]int
}

// errNoTable says that a folder holds no table.
var errNoTable = errors.New("there is no table")

// openLog replays a table's whole log. Without a log it returns an error that
// matches errNoTable.
func openLog(dir string, keepFiles bool) (*logState, error) {
	newest, err := listLog(dir)
	if err != nil {
		return nil, err
	}
	if newest < 0 {
		return nil, fmt.Errorf("%w in %s", errNoTable, dir)
	}
	s := &logState{dir: dir, version: -1, txns: map[string]txn{}, keepFiles: keepFiles, index: map[string]int{}}
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if s.version < newest {
		return nil, fmt.Errorf("the log is damaged: %s is missing, and there is a version %d: restore the file from a copy of the table",
			commitPath(dir, s.version+1), newest)
	}
	return s, nil
}

// listLog returns the newest version of a log that this package can read, -1 if
// there is no log.
func listLog(dir string) (int64, error) {
	newest := int64(-1)
	entries, err := os.ReadDir(filepath.Join(dir, logFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return newest, nil
	}
	if err != nil {
		return newest, fmt.Errorf("list the log: %w", err)
	}
	checkpoint := ""
	for _, e := range entries {
		if v, ok := parseCommitName(e.Name()); ok {
			newest = max(newest, v)
		} else if strings.Contains(e.Name(), ".checkpoint.") || e.Name() == "_last_checkpoint" {
			checkpoint = e.Name()
		}
	}
	if checkpoint == "" {
		return newest, nil
	}
	if _, err := os.Stat(commitPath(dir, 0)); errors.Is(err, fs.ErrNotExist) {
		return newest, fmt.Errorf("the log in %s does not begin at version 0: the rest is in a log checkpoint (%s), which this build cannot read; write to a new table",
			filepath.Join(dir, logFolder), checkpoint)
	}
	return newest, nil
}

func parseCommitName(name string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, ".json")
	if !ok || len(digits) != 20 {
		return 0, false
	}
	var v int64
	for _, r := range digits {
		if r < '0' || r > '9' || v > (1<<62)/10 {
			return 0, false
		}
		v = v*10 + int64(r-'0')
	}
	return v, true
}

// refresh reads the commits that are newer than the state.
func (s *logState) refresh() error {
	for {
		if more, err := s.advance(); err != nil || !more {
			return err
		}
	}
}

// advance reads the next commit, if there is one.
func (s *logState) advance() (bool, error) {
	path := commitPath(s.dir, s.version+1)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the log: %w", err)
	}
	actions, err := decodeActions(data)
	if err == nil {
		err = s.apply(actions)
	}
	if err != nil {
		return false, fmt.Errorf("the log is damaged: %s: %w: restore the file from a copy of the table", path, err)
	}
	s.size = int64(len(data))
	return true, nil
}

// names reports whether some commit up to the state's version names a decision.
// It reads the whole log, since the state keeps only each unit's last one.
func (s *logState) names(by published) (bool, error) {
	for v := range s.version + 1 {
		path := commitPath(s.dir, v)
		data, err := os.ReadFile(path)
		if err != nil {
			return false, fmt.Errorf("read the log: %w", err)
		}
		actions, err := decodeActions(data)
		if err != nil {
			return false, fmt.Errorf("the log is damaged: %s: %w", path, err)
		}
		for _, a := range actions {
			if a.CommitInfo != nil && slices.Contains(a.CommitInfo.Publications, by) {
				return true, nil
			}
		}
	}
	return false, nil
}

// checkCurrent makes sure that the newest commit is still there, so that
// nothing is appended to a log that was deleted or replaced.
func (s *logState) checkCurrent() error {
	path := commitPath(s.dir, s.version)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != s.size {
		return fmt.Errorf("%s is not what it was: the table was deleted or replaced while it was written; start the pipeline again", path)
	}
	return err
}

// apply brings the state to the next version, whose actions are given. On an
// error the state is of no use any more.
func (s *logState) apply(actions []action) error {
	s.version++
	var by []published
	ours := false
	for _, a := range actions {
		if a.CommitInfo != nil {
			by, ours = a.CommitInfo.Publications, a.CommitInfo.EngineInfo == engine
		}
	}
	for _, a := range actions {
		switch {
		case a.Protocol != nil:
			s.protocol = a.Protocol
		case a.MetaData != nil:
			if err := s.setMeta(a.MetaData, ours); err != nil {
				return err
			}
		case a.Txn != nil:
			t := txn{version: a.Txn.Version, commit: s.version}
			if i := slices.IndexFunc(by, func(p published) bool { return p.AppID == a.Txn.AppID }); i >= 0 {
				t.by = by[i]
			}
			s.txns[a.Txn.AppID] = t
		case s.keepFiles && a.Add != nil:
			s.remove(a.Add.Path)
			s.index[a.Add.Path] = len(s.files)
			s.files = append(s.files, activeFile{*a.Add, s.version})
		case s.keepFiles && a.Remove != nil:
			s.remove(a.Remove.Path)
		}
	}
	if s.protocol == nil || s.meta == nil {
		return errors.New("the first version of a table must hold a protocol and a metaData action")
	}
	return nil
}

func (s *logState) setMeta(m *tableMeta, ours bool) error {
	row, err := parseSchema(m.SchemaString)
	if err != nil {
		return err
	}
	s.meta, s.row, s.metaCommit = m, row, s.version
	if ours {
		s.ours = row
	}
	return nil
}

// remove takes a file out of the content and leaves a hole in its place.
func (s *logState) remove(path string) {
	if i, ok := s.index[path]; ok {
		s.files[i] = activeFile{}
		delete(s.index, path)
	}
}

// content returns the table's files in log order.
func (s *logState) content() []activeFile {
	return slices.DeleteFunc(slices.Clone(s.files), func(f activeFile) bool { return f.Path == "" })
}
