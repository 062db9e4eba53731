package file

import (
	"context"
	"io"

	"github.com/tws-go/tws/runtime/stream"
)

// Cut ends an epoch; see [stream.Reader]. A line that is not blank counts as a
// row. Files are only looked into when a limit may not leave them whole.
func (in *input) Cut(ctx context.Context, from, end stream.Position, limits stream.Limits) (stream.Position, error) {
	a, b, err := in.span(from, end)
	if err != nil {
		return nil, err
	}
	c := &cut{in: in, limits: limits}
	if in.maxRows(&a, &b) <= limits.Rows {
		c.limits.Rows = 0
	}
	at := place{next: a.next}
	whole := true
	for n := range between(&a, &b) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lo, hi := in.ledger.offset(&a, n), in.ledger.offset(&b, n)
		to := lo
		if whole && lo < hi {
			if to, err = c.take(n, lo, hi); err != nil {
				return nil, err
			}
			whole = to == hi
		}
		at.put(n, to, hi, &b)
		if !whole && n >= a.next {
			break
		}
	}
	if whole {
		return end, nil
	}
	return at.encode(), nil
}

// put records that file n is at offset; end is where b has it. A file that is
// there is mentioned if b mentions it.
func (p *place) put(n int32, offset, end int64, b *place) {
	p.next = max(p.next, n+1)
	if _, open := b.find(n); open || offset < end {
		p.open = append(p.open, openFile{file: n, offset: offset})
	}
}

// span resolves two positions and checks that to is not before from.
func (in *input) span(from, to stream.Position) (a, b place, err error) {
	if a, err = in.ledger.resolve(from); err == nil {
		b, err = in.ledger.resolve(to)
	}
	if err != nil {
		return a, b, in.errorf("%w: restore the checkpoint from a copy", err)
	}
	if b.next < a.next {
		return a, b, in.errorf("position %s is beyond the end %s: restore the checkpoint from a copy", from, to)
	}
	for n := range between(&a, &b) {
		lo, hi := in.ledger.offset(&a, n), in.ledger.offset(&b, n)
		if lo > hi {
			return a, b, in.shrunkError(in.ledger.files[n].name, lo, hi)
		}
	}
	return a, b, nil
}

// maxRows returns the largest number of rows that there can be between two
// places. The shortest row is {} and a newline, which the last one may lack.
func (in *input) maxRows(a, b *place) int64 {
	var rows int64
	for n := range between(a, b) {
		rows += (in.ledger.offset(b, n) - in.ledger.offset(a, n) + 1) / 3
	}
	return rows
}

// cut counts what one epoch has taken.
type cut struct {
	in     *input
	limits stream.Limits
	rows   int64
	bytes  int64
	files  int
}

// take returns how far between lo and hi file n can be taken.
func (c *cut) take(n int32, lo, hi int64) (int64, error) {
	overBytes := c.limits.Bytes > 0 && hi-lo > c.limits.Bytes-c.bytes
	switch {
	case c.in.maxFiles > 0 && c.files == c.in.maxFiles, c.limits.Rows > 0 && c.rows >= c.limits.Rows:
		return lo, nil
	case overBytes || c.limits.Rows > 0:
		var err error
		if hi, err = c.search(n, lo, hi, overBytes); err != nil {
			return lo, err
		}
	}
	if hi > lo {
		c.files++
	}
	c.bytes += hi - lo
	return hi, nil
}

// search looks into file n for a line end within the limits.
func (c *cut) search(n int32, lo, hi int64, overBytes bool) (int64, error) {
	name := c.in.ledger.files[n].name
	f, err := c.in.open(name, hi)
	if err != nil {
		return lo, err
	}
	defer f.Close()
	if overBytes {
		hi, err = c.searchBytes(f, lo, hi)
	}
	if err == nil && c.limits.Rows > 0 && hi > lo {
		hi, err = c.searchRows(f, lo, hi)
	}
	if err != nil {
		return lo, c.in.errorf("read %s: %w", c.in.path(name), err)
	}
	return hi, nil
}

// searchBytes returns the last line end within the byte limit, or, to make
// progress, the first one.
func (c *cut) searchBytes(f io.ReaderAt, lo, hi int64) (int64, error) {
	end, err := lastLineEnd(f, lo, lo+max(0, c.limits.Bytes-c.bytes))
	if err == nil && end == lo && c.bytes == 0 {
		return firstLineEnd(f, lo, hi)
	}
	return end, err
}

// searchRows returns the line end at which the row limit is reached, or hi.
func (c *cut) searchRows(f io.ReaderAt, lo, hi int64) (int64, error) {
	l := &c.in.lines
	for l.reset(f, lo, hi, c.in.maxLine); c.rows < c.limits.Rows; {
		at := l.offset()
		line, err := l.line()
		switch {
		case err == io.EOF:
			return hi, nil
		case err != nil && err != errLongLine:
			return lo, err
		case err == errLongLine || len(trimLine(line, at)) > 0:
			c.rows++
		}
	}
	return l.offset(), nil
}
