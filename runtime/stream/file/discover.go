package file

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tws-go/tws/runtime/stream"
)

// maxUnclosed is the number of sealed files from which on they are closed even
// without news, to keep positions small.
const maxUnclosed = 64

// finding is what a Discover is about to learn.
type finding struct {
	entry entry
	ends  []ending
	// news says that there are lines that no earlier end included.
	news bool
	// seals counts the files that are sealed but not closed.
	seals int
}

// ending is the new end of a file that is open.
type ending struct {
	file         int32
	end, scanned int64
}

// Discover lists the folder; see [stream.Reader].
func (in *input) Discover(ctx context.Context, from stream.Position, final bool) (stream.Position, []byte, error) {
	if in.once && in.ledger.complete {
		return in.ledger.end().encode(), nil, nil
	}
	at, err := in.ledger.resolve(from)
	if err != nil {
		return nil, nil, in.errorf("%w: restore the checkpoint from a copy", err)
	}
	files, err := in.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	f, err := in.examine(files, &at, final)
	if err != nil {
		return nil, nil, err
	}
	journal, err := in.learn(f)
	if err != nil {
		return nil, nil, err
	}
	return in.ledger.end().encode(), journal, nil
}

// examine compares a listing with the ledger, which it leaves as it is. at is
// where the next epoch begins.
func (in *input) examine(files []found, at *place, final bool) (*finding, error) {
	f := &finding{entry: entry{Version: entryVersion, Once: in.once}}
	present := make(map[int32]bool, len(in.ledger.listed))
	var fresh []found
	var changed []int32
	for _, file := range files {
		n, known := in.ledger.number[file.name]
		switch {
		case !known:
			fresh = append(fresh, file)
		case in.ledger.files[n].sealed && in.unread(n, at) && in.differs(n, file):
			present[n] = true
			if err := in.reopen(f, n, file, in.ledger.offset(at, n), final); err != nil {
				return nil, err
			}
		case in.ledger.files[n].sealed:
			if in.changed(n, file) {
				changed = append(changed, n)
			}
		default:
			present[n] = true
			if err := in.examineOpen(f, n, file, in.ledger.offset(at, n), final); err != nil {
				return nil, err
			}
		}
	}
	for _, n := range in.ledger.listed {
		if in.ledger.files[n].sealed && !present[n] {
			f.seals++
		} else if !present[n] {
			if err := in.examineGone(f, n, in.ledger.offset(at, n)); err != nil {
				return nil, err
			}
		}
	}
	if err := in.examineFresh(f, fresh, final); err != nil {
		return nil, err
	}
	in.warnChanged(changed)
	f.entry.Close = f.seals > 0 && (f.news || f.seals > maxUnclosed)
	return f, nil
}

// changed reports whether a sealed file is not what it was, and no warning of
// this run said so.
func (in *input) changed(n int32, file found) bool {
	return !in.ledger.files[n].warned && in.differs(n, file)
}

func (in *input) differs(n int32, file found) bool {
	k := &in.ledger.files[n]
	return file.size != k.end || file.modified != k.modified
}

// unread reports whether some of a sealed file is still to be read.
func (in *input) unread(n int32, at *place) bool {
	return in.ledger.offset(at, n) < in.ledger.files[n].end
}

// reopen looks at a file again that was sealed and changed before it was read to
// its end, as when somebody corrects a malformed line. What was read must still
// end with a line.
func (in *input) reopen(f *finding, n int32, file found, at int64, final bool) error {
	if err := in.checkRead(file, at); err != nil {
		return err
	}
	m, err := in.measure(file, &knownFile{name: file.name, end: at, taken: at}, final)
	if err != nil {
		return err
	}
	if at == 0 && m.end > 0 {
		err = in.noteHead(f, n, file, m.end)
	} else if at > 0 {
		err = in.noteHead(f, n, file, at)
	}
	if err != nil {
		return err
	}
	f.entry.Reopen = append(f.entry.Reopen, reopen{File: n, At: at})
	f.news = true
	in.log.Info("file: a file changed before it was read to its end; it is read on as it is now",
		"path", in.path(file.name), "offset", at)
	in.note(f, n, file, m)
	return nil
}

// checkRead makes sure that a file still has what was read of it, up to at.
func (in *input) checkRead(file found, at int64) error {
	if file.size < at {
		return in.shrunkError(file.name, at, file.size)
	}
	if at == 0 {
		return nil
	}
	r, err := in.open(file.name, at)
	if err != nil {
		return err
	}
	defer r.Close()
	if ok, err := endsLine(r, at); err != nil || !ok {
		return in.rewrittenError(file.name, at, err)
	}
	return nil
}

// warnChanged warns of sealed files that changed, in one message.
func (in *input) warnChanged(files []int32) {
	if len(files) == 0 {
		return
	}
	var paths []string
	for _, n := range files {
		k := &in.ledger.files[n]
		k.warned = true
		if len(paths) < maxNamed {
			paths = append(paths, in.path(k.name))
		}
	}
	in.log.Warn("file: files changed after they were complete; the changes are ignored, write new files instead",
		"count", len(files), "paths", paths)
}

// examineGone decides about a file that is gone before it settled. If everything
// that was ever seen of it has been read, it ends there.
func (in *input) examineGone(f *finding, n int32, at int64) error {
	k := &in.ledger.files[n]
	if at == 0 || at < k.end {
		return in.goneError(k.name)
	}
	in.log.Warn("file: a file is gone that was read as far as it was seen; lines that it may have got since are not read",
		"path", in.path(k.name), "offset", at)
	f.entry.Seal = append(f.entry.Seal, seal{File: n, Size: at})
	f.seals++
	return nil
}

// examineOpen looks how far a numbered file that is still open can be read.
func (in *input) examineOpen(f *finding, n int32, file found, at int64, final bool) error {
	k := &in.ledger.files[n]
	changed := k.head.Size > 0 && (k.seenSize != file.size || k.seenModified != file.modified)
	if changed && at > 0 {
		if err := in.checkOpen(file, k); err != nil {
			return err
		}
	}
	m, err := in.measure(file, k, final)
	if err != nil {
		return err
	}
	if changed && at == 0 && m.end > 0 { // nothing of it was read: it may be another file now
		if err := in.noteHead(f, n, file, m.end); err != nil {
			return err
		}
	}
	k.seenSize, k.seenModified = file.size, file.modified
	f.news = f.news || k.asked && m.end > k.end
	in.note(f, n, file, m)
	return nil
}

// examineFresh numbers the new files that have something to read.
func (in *input) examineFresh(f *finding, fresh []found, final bool) error {
	slices.SortFunc(fresh, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.modified, b.modified), strings.Compare(a.name, b.name))
	})
	waiting := make(map[string]int64)
	for _, file := range fresh {
		m, err := in.measure(file, &knownFile{name: file.name, scanned: in.waiting[file.name]}, final)
		if err != nil {
			if _, gone := os.Lstat(in.path(file.name)); errors.Is(gone, fs.ErrNotExist) {
				continue // it was renamed while we were looking
			}
			return err
		}
		if m.end == 0 { // a number would bind us to a file that may still be renamed
			waiting[file.name] = m.scanned
			continue
		}
		n := int32(len(in.ledger.files) + len(f.entry.Add))
		if err := in.noteHead(f, n, file, m.end); err != nil {
			return err
		}
		f.entry.Add = append(f.entry.Add, fileName(file.name))
		f.news = true
		in.note(f, n, file, m)
	}
	in.waiting = waiting
	return nil
}

// note puts what was measured of file n into the finding.
func (in *input) note(f *finding, n int32, file found, m measure) {
	switch {
	case m.sealed:
		f.entry.Seal = append(f.entry.Seal, seal{File: n, Size: m.end, ModifiedNanos: file.modified})
		f.seals++
		return
	case m.took:
		f.entry.Take = append(f.entry.Take, take{File: n, End: m.end})
	}
	f.ends = append(f.ends, ending{file: n, end: m.end, scanned: m.scanned})
}

// learn applies a finding and returns its journal entry, nil if there is
// nothing to remember.
func (in *input) learn(f *finding) ([]byte, error) {
	var journal []byte
	if !f.entry.empty() {
		var err error
		if journal, err = f.entry.encode(); err != nil {
			return nil, in.errorf("encode journal entry: %w", err)
		}
		if err := in.ledger.apply(&f.entry); err != nil {
			return nil, in.errorf("%w", err)
		}
	}
	for _, e := range f.ends {
		k := &in.ledger.files[e.file]
		k.end, k.scanned, k.asked = e.end, e.scanned, true
	}
	return journal, nil
}
