package table

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/tws-go/tws/schemas"
)

// lane takes rows column by column and keeps them as column buffers. It walks
// the row type as the calls come in: the frames are the brackets that are open,
// the row itself the outermost. It implements [stream.RowWriter].
type lane struct {
	row     *column
	buffers []buffer
	frames  []frame
	number  int
	// rows counts the rows that are complete.
	rows int64
	// open is true between BeginRow and EndRow; err is the open row's first
	// error.
	open bool
	err  error
}

// frame is an open bracket.
type frame struct {
	col *column
	// next is the number of the child that comes next.
	next int
	// rep is the repetition level of what comes next: that of the surroundings
	// until something has been written.
	rep uint8
	// want is the announced length of a list.
	want int
}

func newLane(row *column, number int) *lane {
	l := &lane{row: row, number: number, buffers: make([]buffer, row.leaves)}
	for i, c := range row.leafColumns() {
		l.buffers[i].col = c
	}
	return l
}

// keepBytes is how much memory an idle lane keeps for the next epoch.
const keepBytes = 8 << 20

// reset forgets all rows.
func (l *lane) reset() {
	keep := l.size() <= keepBytes
	for i := range l.buffers {
		if keep {
			l.buffers[i].reset()
		} else {
			l.buffers[i] = buffer{col: l.buffers[i].col}
		}
	}
	l.rows, l.open, l.err, l.frames = 0, false, nil, l.frames[:0]
}

// size is the memory in use, in bytes.
func (l *lane) size() int64 {
	var n int64
	for i := range l.buffers {
		n += l.buffers[i].size()
	}
	return n
}

// BeginRow starts a row.
func (l *lane) BeginRow() {
	if l.open {
		l.fail(errors.New("a row begins inside a row: end each row with EndRow"))
		return
	}
	l.open, l.err = true, nil
	l.frames = append(l.frames[:0], frame{col: l.row})
}

// EndRow ends the row. A row with an error leaves nothing behind, and the lane
// takes further rows.
func (l *lane) EndRow() error {
	if !l.open {
		return fmt.Errorf("table: row %d of lane %d: a row ends that has not begun: start each row with BeginRow", l.rows+1, l.number)
	}
	if top := l.top(); l.err == nil {
		switch {
		case len(l.frames) > 1:
			l.fail(fmt.Errorf("column %s is not ended", top.col.path))
		case top.next < len(l.row.children):
			l.fail(fmt.Errorf("column %s has no value", l.row.children[top.next].path))
		}
	}
	l.open = false
	if l.err != nil {
		for i := range l.buffers {
			l.buffers[i].truncate(int(l.rows))
		}
		return fmt.Errorf("table: row %d of lane %d: %w", l.rows+1, l.number, l.err)
	}
	l.rows++
	return nil
}

func (l *lane) top() *frame { return &l.frames[len(l.frames)-1] }

// fail keeps the row's first error.
func (l *lane) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// next returns the column that the next value belongs to, and the repetition
// level it has, or nil if the row has failed or has no place for the value.
func (l *lane) next() (*column, uint8) {
	if !l.open || l.err != nil {
		return nil, 0 // EndRow tells
	}
	top := l.top()
	if top.col.kind == schemas.List {
		elem, rep := top.col.children[0], top.rep
		top.next++
		top.rep = elem.rep
		return elem, rep
	}
	if top.next == len(top.col.children) {
		l.fail(fmt.Errorf("%s has more values than its %d columns", orRow(top.col.path), top.next))
		return nil, 0
	}
	c := top.col.children[top.next]
	top.next++
	return c, top.rep
}

// scalar is next for a value of one of two kinds.
func (l *lane) scalar(value string, k, or schemas.Kind) (*column, *buffer, uint8) {
	c, rep := l.next()
	if c == nil {
		return nil, nil, 0
	}
	if c.kind != k && c.kind != or {
		l.mismatch(c, value)
		return nil, nil, 0
	}
	return c, &l.buffers[c.firstLeaf], rep
}

// integer is next for an integer of any width.
func (l *lane) integer() (*column, *buffer, uint8) {
	c, rep := l.next()
	if c == nil {
		return nil, nil, 0
	}
	switch c.kind {
	case schemas.Int64, schemas.Int32, schemas.Int16, schemas.Int8,
		schemas.Uint64, schemas.Uint32, schemas.Uint16, schemas.Uint8:
		return c, &l.buffers[c.firstLeaf], rep
	}
	l.mismatch(c, "an integer")
	return nil, nil, 0
}

func (l *lane) mismatch(c *column, value string) {
	l.fail(fmt.Errorf("column %s of type %s cannot hold %s", c.path, c.typeText(), value))
}

// absent writes an entry without value to all leaves below c.
func (l *lane) absent(c *column, rep, def uint8) {
	for i := range c.leaves {
		l.buffers[c.firstLeaf+i].level(rep, def)
	}
}

// Null writes null.
func (l *lane) Null() {
	c, rep := l.next()
	if c == nil {
		return
	}
	if !c.nullable {
		l.fail(fmt.Errorf("column %s cannot hold null: its type is not optional", c.path))
		return
	}
	l.absent(c, rep, c.def-1)
}

// Bool writes a boolean.
func (l *lane) Bool(v bool) {
	_, b, rep := l.scalar("a boolean", schemas.Bool, schemas.Bool)
	if b == nil {
		return
	}
	var bits uint64
	if v {
		bits = 1
	}
	b.num(rep, bits)
}

// Int writes an integer, which the column's type must be able to hold.
func (l *lane) Int(v int64) {
	c, b, rep := l.integer()
	if b == nil {
		return
	}
	low, high := intRange(c.kind)
	if v < low || v >= 0 && uint64(v) > high {
		l.fail(fmt.Errorf("column %s: %d does not fit %s", c.path, v, c.kind))
		return
	}
	b.num(rep, uint64(v))
}

// Uint writes an integer, which the column's type must be able to hold.
func (l *lane) Uint(v uint64) {
	c, b, rep := l.integer()
	if b == nil {
		return
	}
	if _, high := intRange(c.kind); v > high {
		l.fail(fmt.Errorf("column %s: %d does not fit %s", c.path, v, c.kind))
		return
	}
	b.num(rep, v)
}

// intRange returns the least and the greatest value of an integer kind.
func intRange(k schemas.Kind) (low int64, high uint64) {
	switch k {
	case schemas.Int8:
		return math.MinInt8, math.MaxInt8
	case schemas.Int16:
		return math.MinInt16, math.MaxInt16
	case schemas.Int32:
		return math.MinInt32, math.MaxInt32
	case schemas.Int64:
		return math.MinInt64, math.MaxInt64
	case schemas.Uint8:
		return 0, math.MaxUint8
	case schemas.Uint16:
		return 0, math.MaxUint16
	case schemas.Uint32:
		return 0, math.MaxUint32
	}
	return 0, math.MaxUint64
}

// Float writes a floating-point number, NaN and infinities included. A float32
// column takes exactly the values of that type.
func (l *lane) Float(v float64) {
	c, b, rep := l.scalar("a floating-point number", schemas.Float64, schemas.Float32)
	if b == nil {
		return
	}
	if c.kind == schemas.Float32 && !math.IsNaN(v) && float64(float32(v)) != v {
		l.fail(fmt.Errorf("column %s: %v does not fit %s", c.path, v, c.kind))
		return
	}
	b.num(rep, math.Float64bits(v))
}

// String writes a string, which must be valid UTF-8.
func (l *lane) String(v string) {
	c, b, rep := l.scalar("a string", schemas.String, schemas.String)
	if b == nil {
		return
	}
	if !utf8.ValidString(v) {
		l.fail(fmt.Errorf("column %s: %s is not valid UTF-8: clean the string, or make the column []byte", c.path, excerpt(v)))
		return
	}
	b.text(rep, v)
}

// excerpt quotes the start of s for a message.
func excerpt(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q…", s[:40])
	}
	return fmt.Sprintf("%q", s)
}

// Bytes writes a byte slice.
func (l *lane) Bytes(v []byte) {
	if _, b, rep := l.scalar("bytes", schemas.Bytes, schemas.Bytes); b != nil {
		b.bytes(rep, v)
	}
}

// Time writes an instant. Digits beyond the microsecond are cut off, towards
// the past.
func (l *lane) Time(v time.Time) {
	c, b, rep := l.scalar("an instant", schemas.Timestamp, schemas.Timestamp)
	if b == nil {
		return
	}
	if year := v.UTC().Year(); year < 1 || year > 9999 {
		l.fail(fmt.Errorf("column %s: an instant in the year %d is outside of 1 to 9999, what readers of tables can take", c.path, year))
		return
	}
	b.num(rep, uint64(v.UnixMicro()))
}

// Duration writes a duration, in nanoseconds.
func (l *lane) Duration(v time.Duration) {
	if _, b, rep := l.scalar("a duration", schemas.Duration, schemas.Duration); b != nil {
		b.num(rep, uint64(v))
	}
}

// BeginList opens a list of n elements.
func (l *lane) BeginList(n int) { l.begin(schemas.List, "a list", n) }

// BeginStruct opens a struct.
func (l *lane) BeginStruct() { l.begin(schemas.Struct, "a struct", 0) }

func (l *lane) begin(k schemas.Kind, value string, n int) {
	if c, _, rep := l.scalar(value, k, k); c != nil {
		l.frames = append(l.frames, frame{col: c, rep: rep, want: n})
	}
}

// EndList closes the list.
func (l *lane) EndList() {
	f, ok := l.end(schemas.List, "list")
	if !ok {
		return
	}
	if f.next != f.want {
		l.fail(fmt.Errorf("column %s: the list was begun with %d elements and has %d", f.col.path, f.want, f.next))
		return
	}
	if f.next == 0 {
		l.absent(f.col, f.rep, f.col.def)
	}
}

// EndStruct closes the struct.
func (l *lane) EndStruct() {
	f, ok := l.end(schemas.Struct, "struct")
	if ok && f.next < len(f.col.children) {
		l.fail(fmt.Errorf("column %s has no value", f.col.children[f.next].path))
	}
}

// end closes the innermost bracket, which must be of the given kind.
func (l *lane) end(k schemas.Kind, what string) (frame, bool) {
	if !l.open || l.err != nil {
		return frame{}, false
	}
	f := *l.top()
	if len(l.frames) == 1 || f.col.kind != k {
		l.fail(fmt.Errorf("a %s ends in %s that has not begun there", what, orRow(f.col.path)))
		return frame{}, false
	}
	l.frames = l.frames[:len(l.frames)-1]
	return f, true
}
