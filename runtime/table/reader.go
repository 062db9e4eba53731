package table

import (
	"context"
	"fmt"
	"math"

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
