package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tws-go/tws/runtime/stream"
)

// openFile is a data file from which rows are being read.
type openFile struct {
	path string
	data *openedData
	rows *rowReader
	// row is the row that is read, for messages.
	row int64
}

// openFile opens the file of a piece, unless it is open.
func (r *reader) openFile(p piece) error {
	if r.open != nil && r.open.path == p.file.Path {
		return nil
	}
	if err := r.Close(); err != nil {
		return err
	}
	data, err := openData(r.tail.dir, p.file)
	if err != nil {
		return err
	}
	var bound *storedColumn
	err = guard(func() (err error) {
		bound, err = bindRow(r.tail.want, data.parquet.Root())
		return err
	})
	if err != nil {
		return errors.Join(err, data.close())
	}
	o := &openFile{path: p.file.Path, data: data}
	o.rows = newRowReader(bound, func() string {
		return fmt.Sprintf("%s, row %d", filepath.Join(r.tail.dir, filepath.FromSlash(o.path)), o.row+1)
	})
	r.open = o
	return nil
}

// readPiece calls f with the rows of a piece, each of which is the row of the open
// file's row reader while f runs.
func (r *reader) readPiece(ctx context.Context, p piece, f func(parquet.Row) error) error {
	if p.at.Version > math.MaxInt32 {
		return fmt.Errorf("version %d is beyond what a row's partition can tell", p.at.Version)
	}
	if err := r.openFile(p); err != nil {
		return r.inFile(p.at, p.file, err)
	}
	o := r.open
	place := stream.RowPlace{Partition: int32(p.at.Version), Time: time.UnixMilli(p.file.ModificationTime).UTC()}
	first := int64(0)
	for _, group := range o.data.parquet.RowGroups() {
		n := group.NumRows()
		from, to := max(p.from, first), min(p.to, first+n)
		if from < to {
			o.row = from
			err := eachRow(ctx, group, from-first, to-first, func(row parquet.Row) error {
				place.Offset = int64(p.at.File)<<40 | o.row
				o.rows.start(row, place)
				if err := f(row); err != nil {
					return &rowError{err}
				}
				o.row++
				return nil
			})
			var ofRow *rowError
			if errors.As(err, &ofRow) {
				return ofRow.err
			}
			if err != nil {
				return r.inFile(p.at, p.file, err)
			}
		}
		first += n
	}
	return nil
}

// rowError carries an error of whoever takes the rows past those of the file.
type rowError struct{ err error }

func (e *rowError) Error() string { return e.err.Error() }

// inFile names the file that an error is about.
func (r *reader) inFile(at place, file addAction, err error) error {
	return fmt.Errorf("%s of %s: %w", filepath.Join(r.tail.dir, filepath.FromSlash(file.Path)), at.version(), err)
}
