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

// OpenReader opens a table as a source of the rows that are appended to it. The
// table need not exist: until it does, it has no rows. spec's columns are those
// that are read; columns that only the table has are passed over.
//
// A stream begins with the table's newest log checkpoint, as far as another writer
// has left one, or with version 0, and goes on version by version. Once it has
// begun, its positions say where it began.
func (s *Store) OpenReader(ctx context.Context, spec stream.TableSpec) (stream.TableReader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkTableName(spec.Name); err != nil {
		return nil, err
	}
	row, err := rowOf(spec.Columns)
	if err != nil {
		return nil, fmt.Errorf("table: %s: %w", spec.Name, err)
	}
	r := &reader{tail: tail{name: spec.Name, dir: s.Path(spec.Name), want: row, seen: -1, newest: -1}}
	if _, err := r.tail.attach(ctx); err != nil {
		return nil, fmt.Errorf("table: open %s: %w", spec.Name, err)
	}
	return r, nil
}

// reader reads the rows that are appended to a table. It implements
// [stream.TableReader].
type reader struct {
	tail tail
	// open is the data file that was read last; its next rows are mostly wanted
	// next.
	open *openFile
	// rowBytes is the size of a row in memory, from the rows read last; 0 before.
	rowBytes int64
	// checked is the place up to which Discover has looked.
	checked *place
}

// openFile is a data file from which rows are being read.
type openFile struct {
	path string
	data *openedData
	rows *rowReader
	// row is the row that is read, for messages.
	row int64
}

// Close implements [stream.TableReader].
func (r *reader) Close() error {
	if r.open == nil {
		return nil
	}
	f := r.open
	r.open = nil
	return f.data.close()
}

func (r *reader) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table: %s %s: %w", doing, r.tail.name, err)
}

// Discover implements [stream.TableReader].
func (r *reader) Discover(ctx context.Context, from stream.Position, _ bool) (stream.Position, []byte, error) {
	end, err := r.discover(ctx, from)
	return end, nil, r.wrap("read", err)
}

func (r *reader) discover(ctx context.Context, from stream.Position) (stream.Position, error) {
	there, err := r.tail.attach(ctx)
	if err != nil {
		return nil, err
	}
	if !there && from == nil {
		return nil, nil
	}
	at, err := r.from(from)
	if err != nil {
		return nil, err
	}
	if err := r.tail.checkSeen(); err != nil {
		return nil, err
	}
	rows := from != nil
	if r.checked != nil && at.sameStream(*r.checked) == nil && at.before(*r.checked) {
		at, rows = *r.checked, true
	}
	for ; ; at = at.nextVersion() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		files, ok, err := r.tail.files(ctx, at)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		rows = rows || len(files) > 0
	}
	if err := r.checkEnd(at); err != nil {
		return nil, err
	}
	if !rows {
		return nil, nil // an empty table is like none
	}
	r.checked = &at
	return at.position(), nil
}

// checkEnd makes sure that a version that is not there is the next one.
func (r *reader) checkEnd(at place) error {
	if at.Version == r.tail.seen+1 {
		return nil
	}
	l, err := listFolder(r.tail.dir)
	if err != nil {
		return err
	}
	switch fresh := at.File == 0 && at.Row == 0; {
	case fresh && l.newest >= 0 && at.Version == l.newest+1:
		return r.tail.see(l.newest)
	case fresh && l.ok && l.newest < l.checkpoint.version && at.Version == l.checkpoint.version+1:
		return nil // the log checkpoint is all there is
	}
	return l.missingVersion(r.tail.dir, at.Version)
}

// from returns the place of a position, the stream's beginning for none.
func (r *reader) from(p stream.Position) (place, error) {
	if p == nil {
		return r.tail.begin()
	}
	return r.place(p)
}

// place reads a position of the table.
func (r *reader) place(p stream.Position) (place, error) {
	at, err := parsePlace(p)
	if err != nil {
		return place{}, err
	}
	if r.tail.id == "" {
		return place{}, logListing{newest: -1}.missingVersion(r.tail.dir, at.Version)
	}
	if at.Table != r.tail.id {
		return place{}, r.tail.replaced(r.tail.id, at.Table)
	}
	return at, nil
}

// span returns the places of two positions, in that order, of which the second is
// not nil.
func (r *reader) span(ctx context.Context, from, to stream.Position) (a, b place, err error) {
	if _, err = r.tail.attach(ctx); err != nil {
		return a, b, err
	}
	if b, err = r.place(to); err != nil {
		return a, b, err
	}
	if from == nil {
		return b.start(), b, nil
	}
	if a, err = r.place(from); err != nil {
		return a, b, err
	}
	if err = a.sameStream(b); err == nil && b.before(a) {
		err = fmt.Errorf("position %s lies after %s", from, to)
	}
	return a, b, err
}

// Cut implements [stream.TableReader]. The bytes of a row are those it takes in
// memory, estimated from rows that were read before.
func (r *reader) Cut(ctx context.Context, from, end stream.Position, limits stream.Limits) (stream.Position, error) {
	if from.Equal(end) || limits == (stream.Limits{}) {
		return end, nil
	}
	cut, err := r.cut(ctx, from, end, limits)
	return cut, r.wrap("read", err)
}

func (r *reader) cut(ctx context.Context, from, end stream.Position, limits stream.Limits) (stream.Position, error) {
	a, b, err := r.span(ctx, from, end)
	if err != nil {
		return nil, err
	}
	left := int64(math.MaxInt64)
	if limits.Rows > 0 {
		left = limits.Rows
	}
	if limits.Bytes > 0 {
		size, err := r.sizeOfRow(ctx, a, b)
		if err != nil {
			return nil, err
		}
		left = min(left, max(1, limits.Bytes/size))
	}
	cut := end
	err = r.eachPiece(ctx, a, b, func(p piece) error {
		if p.to-p.from <= left {
			left -= p.to - p.from
			return nil
		}
		at := p.at
		at.Row = p.from + left
		cut = at.position()
		if left == 0 {
			cut = p.at.position()
		}
		return errEnough
	})
	return cut, err
}

// errEnough ends an iteration; it never leaves the package.
var errEnough = errors.New("enough")

// sizeOfRow returns the size of a row in memory: what rows had that were read last,
// or else what the first rows between the places have.
func (r *reader) sizeOfRow(ctx context.Context, a, b place) (int64, error) {
	const sample = 1024
	if r.rowBytes > 0 {
		return r.rowBytes, nil
	}
	rows, size := int64(0), int64(0)
	err := r.eachPiece(ctx, a, b, func(p piece) error {
		p.to = min(p.to, p.from+sample-rows)
		err := r.readPiece(ctx, p, func(row parquet.Row) error {
			rows, size = rows+1, size+sizeOf(row)
			return nil
		})
		if err == nil && rows == sample {
			err = errEnough
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return max(1, size/max(1, rows)), nil
}

// sizeOf estimates the size of a row in memory.
func sizeOf(row parquet.Row) int64 {
	size := int64(0)
	for _, v := range row {
		switch v.Kind() {
		case parquet.ByteArray, parquet.FixedLenByteArray:
			size += 4 + int64(len(v.ByteArray()))
		default:
			size += 8
		}
	}
	return size
}

// Read implements [stream.TableReader].
func (r *reader) Read(ctx context.Context, from, to stream.Position, each func(stream.RowReader) error) (stream.ReadStats, error) {
	var stats stream.ReadStats
	if from.Equal(to) {
		return stats, nil
	}
	a, b, err := r.span(ctx, from, to)
	if err == nil {
		err = r.eachPiece(ctx, a, b, func(p piece) error {
			return r.readPiece(ctx, p, func(row parquet.Row) error {
				stats.Rows++
				stats.Bytes += sizeOf(row)
				return each(r.open.rows)
			})
		})
	}
	if stats.Rows > 0 {
		r.rowBytes = max(1, stats.Bytes/stats.Rows)
	}
	return stats, r.wrap("read", err)
}

// piece is a range of rows of one file.
type piece struct {
	// at is the place of the file's first row.
	at       place
	file     addAction
	from, to int64
}

// eachPiece calls f with the ranges of rows between two places, in order.
func (r *reader) eachPiece(ctx context.Context, a, b place, f func(piece) error) error {
	err := r.pieces(ctx, a, b, f)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (r *reader) pieces(ctx context.Context, a, b place, f func(piece) error) error {
	for at := a; at.before(b); at = at.nextVersion() {
		files, ok, err := r.tail.files(ctx, at)
		if err != nil {
			return err
		}
		if !ok {
			l, err := listFolder(r.tail.dir)
			if err != nil {
				return err
			}
			return l.missingVersion(r.tail.dir, at.Version)
		}
		if at.File > 0 && at.File >= len(files) || b.Version == at.Version && b.File >= len(files) {
			return fmt.Errorf("a position names file %d of %s, which adds %d: the table was replaced", max(at.File, b.File), at.version(), len(files))
		}
		for ; at.File < len(files) && at.before(b); at.File, at.Row = at.File+1, 0 {
			if err := r.pieceOf(ctx, at, b, files[at.File], f); err != nil {
				return err
			}
		}
	}
	return nil
}

// pieceOf calls f with the rows of a file from a place on, as far as they lie
// before b.
func (r *reader) pieceOf(ctx context.Context, at, b place, file addAction, f func(piece) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	rows, err := countRows(r.tail.dir, file)
	if err != nil {
		return r.inFile(at, file, err)
	}
	p := piece{at: at, file: file, from: at.Row, to: rows}
	if b.Version == at.Version && b.File == at.File {
		p.to = b.Row
	}
	if p.from > 0 && p.from >= rows || p.to > rows {
		return r.inFile(at, file, fmt.Errorf("a position names row %d, and the file has %d: the table was replaced", max(p.from, p.to), rows))
	}
	p.at.Row = 0
	return f(p)
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

// inFile names the file that an error is about.
func (r *reader) inFile(at place, file addAction, err error) error {
	return fmt.Errorf("%s of %s: %w", filepath.Join(r.tail.dir, filepath.FromSlash(file.Path)), at.version(), err)
}
