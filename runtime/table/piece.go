package table

import (
	"context"
	"errors"
	"fmt"
)

// piece is a range of rows of one file.
type piece struct {
	// at is the place of the file's first row.
	at       place
	file     addAction
	from, to int64
}

// errEnough ends an iteration; it never leaves the package.
var errEnough = errors.New("enough")

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
