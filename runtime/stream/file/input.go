package file

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// maxNamed is the number of things of one kind that warnings name one by one.
const maxNamed = 10

// input is the part of a reader that does not know the row type: it finds files
// and cuts epochs.
type input struct {
	dir      string
	once     bool
	settle   time.Duration
	maxLine  int
	maxFiles int
	now      func() time.Time
	log      *slog.Logger

	ledger ledger
	lines  lines
	// waiting says of files that have no number yet how far they were searched
	// for a line end.
	waiting map[string]int64
	// strange holds the names that were warned about.
	strange map[string]bool
}

// errorf returns an error of this package. It does not name the source: whoever
// has opened the source does, for sources of all kinds.
func (in *input) errorf(format string, args ...any) error {
	return fmt.Errorf("file: "+format, args...)
}

// open opens a file of which size bytes are needed.
func (in *input) open(name string, size int64) (*os.File, error) {
	f, err := os.Open(in.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, in.goneError(name)
	}
	if err != nil {
		return nil, in.errorf("open %s: %w", in.path(name), err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = in.errorf("look at %s: %w", in.path(name), err)
	case !info.Mode().IsRegular():
		err = in.errorf("%s was a file and is one no longer: put it back", in.path(name))
	case info.Size() < size:
		err = in.shrunkError(name, size, info.Size())
	default:
		return f, nil
	}
	f.Close()
	return nil, err
}

func (in *input) goneError(name string) error {
	return in.errorf("%s is gone, but it was not complete, or not read to its end: "+
		"put it back as it was, or start over with a new checkpoint", in.path(name))
}

func (in *input) shrunkError(name string, want, have int64) error {
	return in.errorf("%s has shrunk to %d bytes, but was read up to byte %d, or listed with that size: "+
		"put it back as it was and write new rows to a new file, or start over with a new checkpoint", in.path(name), have, want)
}

func (in *input) rewrittenError(name string, offset int64, err error) error {
	if err != nil {
		return in.errorf("read %s: %w", in.path(name), err)
	}
	return in.errorf("%s was rewritten while it was read, no line ends at byte %d any more: "+
		"put it back as it was and write new rows to a new file, or start over with a new checkpoint", in.path(name), offset)
}
