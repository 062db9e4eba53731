package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tws-go/tws/runtime/stream"
)

// reader reads the rows that an input finds.
type reader[T any] struct {
	*input
	row    *stream.Row[T]
	policy Policy
	// dropped counts the malformed lines of this run.
	dropped int64
	rec     stream.Record[T]
}

// Read yields rows; see [stream.Reader].
func (r *reader[T]) Read(ctx context.Context, from, to stream.Position, yield func(*stream.Record[T]) error) (stream.ReadStats, error) {
	var stats stream.ReadStats
	a, b, err := r.span(from, to)
	if err != nil {
		return stats, err
	}
	for n := range between(&a, &b) {
		lo, hi := r.ledger.offset(&a, n), r.ledger.offset(&b, n)
		if lo == hi {
			continue
		}
		if err := r.readFile(ctx, n, lo, hi, yield, &stats); err != nil {
			return stats, err
		}
		stats.Bytes += hi - lo
	}
	return stats, nil
}

// readFile yields the rows in the range [lo, hi) of file n.
func (r *reader[T]) readFile(ctx context.Context, n int32, lo, hi int64, yield func(*stream.Record[T]) error, stats *stream.ReadStats) error {
	f, err := r.open(r.ledger.files[n].name, hi)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := r.checkHead(f, &r.ledger.files[n]); err != nil {
		return err
	}
	r.lines.reset(f, lo, hi, r.maxLine)
	r.rec.Partition = n
	for count := 0; ; count++ {
		if count%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at := r.lines.offset()
		line, err := r.lines.line()
		switch {
		case err == io.EOF:
			return nil
		case err == errLongLine:
			err = fmt.Errorf("the line is longer than %d bytes, the limit MaxLineBytes", r.maxLine)
		case err != nil:
			return r.readError(n, hi, err)
		default:
			if line = trimLine(line, at); len(line) == 0 {
				continue
			}
			err = r.row.DecodeJSON(line, &r.rec.Row)
		}
		if err != nil {
			if err := r.malformed(f, n, at, err); err != nil {
				return err
			}
			stats.Malformed++
			continue
		}
		r.rec.Offset = at
		if err := yield(&r.rec); err != nil {
			return err
		}
		stats.Rows++
	}
}

// readError explains why a file could not be read.
func (r *reader[T]) readError(n int32, hi int64, err error) error {
	name := r.ledger.files[n].name
	if errors.Is(err, io.ErrUnexpectedEOF) { // it shrank while it was open
		if info, statErr := os.Stat(r.path(name)); statErr == nil {
			return r.shrunkError(name, hi, info.Size())
		}
	}
	return r.errorf("read %s: %w", r.path(name), err)
}

// malformed deals with a line that is not a row: it returns an error, or nil
// when the line is dropped. Line numbers are counted only here.
func (r *reader[T]) malformed(f *os.File, n int32, at int64, cause error) error {
	if r.policy == Drop {
		if r.dropped++; r.dropped > maxNamed {
			return nil
		}
	}
	where := r.path(r.ledger.files[n].name)
	if number, err := lineNumber(f, at); err == nil {
		where = fmt.Sprintf("%s:%d", where, number)
	} else {
		where = fmt.Sprintf("%s: byte %d", where, at)
	}
	if r.policy == Fail {
		return &stream.MalformedError{Where: where, Err: cause}
	}
	r.log.Warn("file: malformed row dropped", "where", where, "error", cause)
	if r.dropped == maxNamed {
		r.log.Warn("file: further malformed rows of this run are counted, but not logged")
	}
	return nil
}

// Close releases nothing: files are open only while they are read.
func (r *reader[T]) Close() error { return nil }
