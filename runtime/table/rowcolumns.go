package table

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// rowReader hands out the columns of one row after the other of a data file. The
// frames are the brackets that are open, the row itself the outermost. It
// implements [stream.RowReader].
type rowReader struct {
	root   *storedColumn
	cursor rowCursor
	frames []readFrame
	place  stream.RowPlace
	// where names the row for messages.
	where func() string
	// err is the row's first error; damaged says that it is the file's fault, not
	// that of a value.
	err     error
	damaged bool
}

// readFrame is an open bracket.
type readFrame struct {
	col *storedColumn
	// next is the number of the child that comes next.
	next int
	// rep is the repetition level of the surroundings of what comes next.
	rep int
	// Of a list: whether it has no elements, and whether one has been read.
	empty, begun bool
}

func newRowReader(root *storedColumn, where func() string) *rowReader {
	return &rowReader{
		root: root, where: where,
		cursor: rowCursor{values: make([][]parquet.Value, root.leaves), at: make([]int, root.leaves)},
	}
}

// start takes a new row.
func (r *rowReader) start(row parquet.Row, place stream.RowPlace) {
	r.cursor.start(row)
	r.place, r.err, r.damaged = place, nil, false
	r.frames = append(r.frames[:0], readFrame{col: r.root})
}

// Place implements [stream.RowReader].
func (r *rowReader) Place() stream.RowPlace { return r.place }

// EndRow implements [stream.RowReader].
func (r *rowReader) EndRow() error {
	if top := r.top(); r.err == nil && (len(r.frames) > 1 || top.next < len(top.col.children)) {
		r.fail(errors.New("not all of its columns were read"))
	}
	switch {
	case r.err == nil:
		return nil
	case r.damaged:
		return fmt.Errorf("%s: the file is damaged: %w", r.where(), r.err)
	}
	return &stream.MalformedError{Where: r.where(), Err: r.err}
}

func (r *rowReader) top() *readFrame { return &r.frames[len(r.frames)-1] }

// fail keeps the row's first error.
func (r *rowReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// peek returns the column that comes next, and its next entry: ok is false if
// that is null, or the row has failed.
func (r *rowReader) peek() (s *storedColumn, v parquet.Value, ok bool) {
	if r.err != nil {
		return nil, v, false
	}
	top := r.top()
	if top.next == len(top.col.children) {
		r.fail(fmt.Errorf("%s is read further than its %d columns", orRow(top.col.col.path), top.next))
		return nil, v, false
	}
	s = top.col.children[top.next]
	if s.node == nil {
		return s, v, false
	}
	if v, ok = r.cursor.peek(s.first); !ok {
		r.fail(fmt.Errorf("column %s has fewer values than its row", s.col.path))
		r.damaged = true
		return nil, v, false
	}
	return s, v, v.DefinitionLevel() >= s.node.MaxDefinitionLevel()
}

// pass passes the next column, which is null.
func (r *rowReader) pass(s *storedColumn) {
	top := r.top()
	if s.node != nil {
		r.cursor.skip(s, top.rep)
	}
	top.next++
}

// Null implements [stream.ColumnReader].
func (r *rowReader) Null() bool {
	s, _, ok := r.peek()
	if !ok && s != nil {
		r.pass(s)
	}
	return !ok
}

// enter opens the next column, a bracket. It returns false if there is nothing
// in it.
func (r *rowReader) enter(k schemas.Kind) (s *storedColumn, v parquet.Value, ok bool) {
	s, v, ok = r.peek()
	if s == nil {
		return nil, v, false
	}
	if s.col.kind != k {
		r.fail(fmt.Errorf("column %s of type %s is read as a %s", s.col.path, s.col.typeText(), k))
		return nil, v, false
	}
	return s, v, ok
}

// BeginStruct implements [stream.ColumnReader].
func (r *rowReader) BeginStruct() {
	s, _, ok := r.enter(schemas.Struct)
	if !ok {
		r.failNull(s)
		return
	}
	top := r.top()
	top.next++
	r.frames = append(r.frames, readFrame{col: s, rep: top.rep})
}

// EndStruct implements [stream.ColumnReader].
func (r *rowReader) EndStruct() {
	if r.err != nil {
		return
	}
	f := *r.top()
	if len(r.frames) == 1 || f.col.col.kind != schemas.Struct || f.next < len(f.col.children) {
		r.fail(fmt.Errorf("a struct ends in %s before its columns are read", orRow(f.col.col.path)))
		return
	}
	for _, other := range f.col.unread {
		r.cursor.skip(other, f.rep)
	}
	r.frames = r.frames[:len(r.frames)-1]
}

// BeginList implements [stream.ColumnReader].
func (r *rowReader) BeginList() {
	s, v, ok := r.enter(schemas.List)
	if s == nil {
		return
	}
	if !ok || v.DefinitionLevel() < s.repeated.MaxDefinitionLevel() {
		r.pass(s)
		r.frames = append(r.frames, readFrame{col: s, empty: true})
		return
	}
	r.top().next++
	r.frames = append(r.frames, readFrame{col: s, rep: s.repeated.MaxRepetitionLevel()})
}

// NextElem implements [stream.ColumnReader].
func (r *rowReader) NextElem() bool {
	if r.err != nil {
		return false
	}
	top := r.top()
	if len(r.frames) == 1 || top.col.col.kind != schemas.List {
		r.fail(fmt.Errorf("an element is read in %s, which is no list", orRow(top.col.col.path)))
		return false
	}
	more := !top.empty
	if top.begun {
		v, ok := r.cursor.peek(top.col.first)
		more = ok && v.RepetitionLevel() >= top.rep
	}
	if !more {
		r.frames = r.frames[:len(r.frames)-1]
		return false
	}
	top.begun, top.next = true, 0
	return true
}

func (r *rowReader) failNull(s *storedColumn) {
	if s != nil {
		r.fail(fmt.Errorf("column %s is null, which the row type has no value for: make its field a pointer", s.col.path))
	}
}

// scalar takes the next column's value, which must be there.
func (r *rowReader) scalar(as string, kinds ...schemas.Kind) (s *storedColumn, v parquet.Value, ok bool) {
	s, v, ok = r.peek()
	if !ok {
		r.failNull(s)
		return s, v, false
	}
	fits := false
	for _, k := range kinds {
		fits = fits || s.col.kind == k
	}
	if !fits {
		r.fail(fmt.Errorf("column %s of type %s is read as %s", s.col.path, s.col.typeText(), as))
		return s, v, false
	}
	if have, want := v.Kind(), s.node.Type().Kind(); have != want {
		r.fail(fmt.Errorf("column %s: a value is of kind %s and not %s", s.col.path, have, want))
		r.damaged = true
		return s, v, false
	}
	r.cursor.at[s.first]++
	r.top().next++
	return s, v, true
}

// Bool implements [stream.ColumnReader].
func (r *rowReader) Bool() bool {
	_, v, ok := r.scalar("a boolean", schemas.Bool)
	return ok && v.Boolean()
}

// Int implements [stream.ColumnReader].
func (r *rowReader) Int(size int) int64 {
	s, v, ok := r.scalar("an integer", schemas.Int8, schemas.Int16, schemas.Int32, schemas.Int64)
	if !ok {
		return 0
	}
	n := integer(s, v)
	if size < 64 && (n < -1<<(size-1) || n >= 1<<(size-1)) {
		r.fail(fmt.Errorf("column %s: %d does not fit an integer of %d bits", s.col.path, n, size))
		return 0
	}
	return n
}

// integer returns a value that is stored as one of Parquet's integers.
func integer(s *storedColumn, v parquet.Value) int64 {
	if s.node.Type().Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

// Uint implements [stream.ColumnReader].
func (r *rowReader) Uint(size int) uint64 {
	s, v, ok := r.scalar("an integer", schemas.Uint8, schemas.Uint16, schemas.Uint32, schemas.Uint64)
	if !ok {
		return 0
	}
	var n uint64
	if s.col.kind == schemas.Uint64 {
		d := decimal(v.ByteArray())
		if !d.IsUint64() {
			r.fail(fmt.Errorf("column %s: %d does not fit an unsigned integer of %d bits", s.col.path, d, size))
			return 0
		}
		n = d.Uint64()
	} else {
		i := integer(s, v)
		if i < 0 {
			r.fail(fmt.Errorf("column %s: %d does not fit an unsigned integer of %d bits", s.col.path, i, size))
			return 0
		}
		n = uint64(i)
	}
	if bits.Len64(n) > size {
		r.fail(fmt.Errorf("column %s: %d does not fit an unsigned integer of %d bits", s.col.path, n, size))
		return 0
	}
	return n
}

// Float implements [stream.ColumnReader].
func (r *rowReader) Float(size int) float64 {
	s, v, ok := r.scalar("a floating-point number", schemas.Float32, schemas.Float64)
	if !ok {
		return 0
	}
	if s.col.kind == schemas.Float32 {
		return float64(v.Float())
	}
	f := v.Double()
	if size == 32 && !math.IsNaN(f) && float64(float32(f)) != f {
		r.fail(fmt.Errorf("column %s: %v does not fit a floating-point number of 32 bits", s.col.path, f))
		return 0
	}
	return f
}

// String implements [stream.ColumnReader].
func (r *rowReader) String() string {
	if _, v, ok := r.scalar("a string", schemas.String); ok {
		return string(v.ByteArray())
	}
	return ""
}

// Bytes implements [stream.ColumnReader].
func (r *rowReader) Bytes() []byte {
	if r.Null() {
		return nil
	}
	_, v, ok := r.scalar("bytes", schemas.Bytes)
	if !ok {
		return nil
	}
	return append([]byte{}, v.ByteArray()...)
}

// Time implements [stream.ColumnReader].
func (r *rowReader) Time() time.Time {
	if s, v, ok := r.scalar("an instant", schemas.Timestamp); ok {
		return instant(v.Int64(), s.unit)
	}
	return time.Time{}
}

// Duration implements [stream.ColumnReader].
func (r *rowReader) Duration() time.Duration {
	if _, v, ok := r.scalar("a duration", schemas.Duration); ok {
		return time.Duration(v.Int64())
	}
	return 0
}
