package table

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tws-go/tws/schemas"
)

// storedColumn is a column of the table as one data file holds it. It turns the
// entries of a row back into JSON.
type storedColumn struct {
	col *column
	// node is the column in the file, nil if the file has none: then the
	// column is null throughout.
	node     *parquet.Column
	children []*storedColumn
	// repeated is, for a list, the group that repeats.
	repeated *parquet.Column
	// first and leaves are the range of the file's Parquet columns.
	first, leaves int
	// unread has the file's columns in a struct that the table has not.
	unread []*storedColumn
	// unit is a timestamp's unit.
	unit time.Duration
}

// bindRow finds the table's columns in a data file.
func bindRow(row *column, root *parquet.Column) (*storedColumn, error) {
	next := 0
	return bind(row, root, &next)
}

// bind finds one column. next is the number of the file's next Parquet column.
func bind(c *column, node *parquet.Column, next *int) (*storedColumn, error) {
	s := &storedColumn{col: c, node: node, first: *next}
	var err error
	switch {
	case c.kind == schemas.Struct && !node.Leaf():
		err = s.bindFields(next)
	case c.kind == schemas.List && isList(node):
		var elem *storedColumn
		s.repeated = node.Columns()[0]
		elem, err = bind(c.children[0], s.repeated.Columns()[0], next)
		s.children = []*storedColumn{elem}
	case c.kind == schemas.List && isMap(node):
		var elem *storedColumn
		s.repeated = node.Columns()[0]
		elem, err = bind(c.children[0], s.repeated, next)
		s.children = []*storedColumn{elem}
	case c.kind != schemas.Struct && c.kind != schemas.List && node.Leaf():
		*next++
		err = s.bindScalar()
	default:
		err = fmt.Errorf("column %s of type %s is stored in another shape", c.path, c.typeText())
	}
	s.leaves = *next - s.first
	return s, err
}

// isList reports whether a node is a list of the three-level form.
func isList(node *parquet.Column) bool {
	if node.Leaf() || len(node.Columns()) != 1 {
		return false
	}
	repeated := node.Columns()[0]
	return repeated.Repeated() && !repeated.Leaf() && len(repeated.Columns()) == 1
}

// isMap reports whether a node is a map, which is read as a list of its entries:
// structs of key and value. The logs of other writers have maps, rows do not.
func isMap(node *parquet.Column) bool {
	if node.Leaf() || len(node.Columns()) != 1 {
		return false
	}
	repeated := node.Columns()[0]
	return repeated.Repeated() && !repeated.Leaf() && len(repeated.Columns()) == 2 && repeated.Column("key") != nil
}

func (s *storedColumn) bindFields(next *int) error {
	found := make(map[string]*storedColumn)
	for _, n := range s.node.Columns() {
		c := s.col.child(n.Name())
		if c == nil {
			other := &storedColumn{node: n, first: *next}
			*next += countLeaves(n)
			other.leaves = *next - other.first
			s.unread = append(s.unread, other)
			continue
		}
		child, err := bind(c, n, next)
		if err != nil {
			return err
		}
		found[n.Name()] = child
	}
	for _, c := range s.col.children {
		child := found[c.name]
		if child == nil {
			child = &storedColumn{col: c}
		}
		s.children = append(s.children, child)
	}
	return nil
}

func countLeaves(node *parquet.Column) int {
	if node.Leaf() {
		return 1
	}
	n := 0
	for _, c := range node.Columns() {
		n += countLeaves(c)
	}
	return n
}

// bindScalar checks that the file stores the column in a way that we read.
func (s *storedColumn) bindScalar() error {
	have := s.node.Type().Kind()
	fits := false
	switch s.col.kind {
	case schemas.Bool:
		fits = have == parquet.Boolean
	case schemas.Int8, schemas.Int16, schemas.Int32, schemas.Uint8, schemas.Uint16:
		fits = have == parquet.Int32
	case schemas.Int64, schemas.Uint32, schemas.Duration:
		fits = have == parquet.Int64
	case schemas.Uint64, schemas.Bytes:
		fits = have == parquet.FixedLenByteArray || have == parquet.ByteArray
	case schemas.Float32:
		fits = have == parquet.Float
	case schemas.Float64:
		fits = have == parquet.Double
	case schemas.String:
		fits = have == parquet.ByteArray
	case schemas.Timestamp:
		s.unit = timestampUnit(s.node.Type())
		fits = s.unit != 0
	}
	if !fits {
		return fmt.Errorf("column %s of type %s is stored as %s, which this build does not read", s.col.path, s.col.typeText(), s.node.Type())
	}
	return nil
}

// timestampUnit returns the unit of a timestamp in UTC, or 0.
func timestampUnit(t parquet.Type) time.Duration {
	logical := t.LogicalType()
	if t.Kind() != parquet.Int64 || logical == nil {
		return 0
	}
	ts, ok := logical.Value.(*format.TimestampType)
	if !ok || !ts.IsAdjustedToUTC {
		return 0
	}
	switch ts.Unit.Value.(type) {
	case *format.MilliSeconds:
		return time.Millisecond
	case *format.MicroSeconds:
		return time.Microsecond
	case *format.NanoSeconds:
		return time.Nanosecond
	}
	return 0
}

// rowCursor walks the entries of one row, for each Parquet column by itself.
type rowCursor struct {
	values [][]parquet.Value
	at     []int
}

// start takes a new row.
func (r *rowCursor) start(row parquet.Row) {
	for i := range r.values {
		r.values[i], r.at[i] = nil, 0
	}
	row.Range(func(i int, values []parquet.Value) bool {
		r.values[i] = values
		return true
	})
}

// peek returns the next entry of a Parquet column; ok is false at the row's end.
func (r *rowCursor) peek(leaf int) (v parquet.Value, ok bool) {
	if r.at[leaf] >= len(r.values[leaf]) {
		return v, false
	}
	return r.values[leaf][r.at[leaf]], true
}

// skip passes over a column in one value of its surroundings, which are at the
// given repetition level.
func (r *rowCursor) skip(s *storedColumn, rep int) {
	for leaf := s.first; leaf < s.first+s.leaves; leaf++ {
		r.at[leaf]++
		for {
			if v, ok := r.peek(leaf); !ok || v.RepetitionLevel() <= rep {
				break
			}
			r.at[leaf]++
		}
	}
}

// appendJSON appends the column's next value. rep is the repetition level of
// its surroundings.
func (s *storedColumn) appendJSON(dst []byte, r *rowCursor, rep int) ([]byte, error) {
	if s.node == nil {
		return append(dst, "null"...), nil
	}
	v, ok := r.peek(s.first)
	if !ok {
		return dst, fmt.Errorf("column %s has fewer values than its row", s.col.path)
	}
	if v.DefinitionLevel() < s.node.MaxDefinitionLevel() {
		r.skip(s, rep)
		return append(dst, "null"...), nil
	}
	switch s.col.kind {
	case schemas.Struct:
		return s.appendStruct(dst, r, rep)
	case schemas.List:
		return s.appendList(dst, r, rep, v)
	}
	r.at[s.first]++
	if have, want := v.Kind(), s.node.Type().Kind(); have != want {
		return dst, fmt.Errorf("column %s: the file is damaged: a value is of kind %s and not %s", s.col.path, have, want)
	}
	return s.appendScalar(dst, v), nil
}

func (s *storedColumn) appendStruct(dst []byte, r *rowCursor, rep int) ([]byte, error) {
	for i, child := range s.children {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		dst = append(dst, separator)
		dst = append(dst, quote(child.col.name)...)
		dst = append(dst, ':')
		var err error
		if dst, err = child.appendJSON(dst, r, rep); err != nil {
			return dst, err
		}
	}
	for _, other := range s.unread {
		r.skip(other, rep)
	}
	return append(dst, '}'), nil
}

func (s *storedColumn) appendList(dst []byte, r *rowCursor, rep int, v parquet.Value) ([]byte, error) {
	if v.DefinitionLevel() < s.repeated.MaxDefinitionLevel() {
		r.skip(s, rep)
		return append(dst, "[]"...), nil
	}
	separator := byte('[')
	level := s.repeated.MaxRepetitionLevel()
	for {
		dst = append(dst, separator)
		separator = ','
		var err error
		if dst, err = s.children[0].appendJSON(dst, r, level); err != nil {
			return dst, err
		}
		if next, ok := r.peek(s.first); !ok || next.RepetitionLevel() < level {
			return append(dst, ']'), nil
		}
	}
}

func (s *storedColumn) appendScalar(dst []byte, v parquet.Value) []byte {
	switch s.col.kind {
	case schemas.Bool:
		return strconv.AppendBool(dst, v.Boolean())
	case schemas.Int8, schemas.Int16, schemas.Int32:
		return strconv.AppendInt(dst, int64(v.Int32()), 10)
	case schemas.Uint64:
		return decimal(v.ByteArray()).Append(dst, 10)
	case schemas.Float32:
		return appendFloat(dst, float64(v.Float()), 32)
	case schemas.Float64:
		return appendFloat(dst, v.Double(), 64)
	case schemas.String:
		return append(dst, quote(string(v.ByteArray()))...)
	case schemas.Bytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.ByteArray())
		return append(dst, '"')
	case schemas.Timestamp:
		dst = append(dst, '"')
		dst = instant(v.Int64(), s.unit).AppendFormat(dst, time.RFC3339Nano)
		return append(dst, '"')
	}
	return strconv.AppendInt(dst, v.Int64(), 10)
}

// instant returns the time that lies n units after 1970.
func instant(n int64, unit time.Duration) time.Time {
	switch unit {
	case time.Millisecond:
		return time.UnixMilli(n).UTC()
	case time.Microsecond:
		return time.UnixMicro(n).UTC()
	}
	return time.Unix(0, n).UTC()
}

// decimal reads a big-endian integer in two's complement.
func decimal(p []byte) *big.Int {
	n := new(big.Int).SetBytes(p)
	if len(p) > 0 && p[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(p))))
	}
	return n
}

// appendFloat appends a number as encoding/json does. What JSON has no number
// for becomes a string: "NaN", "Infinity", "-Infinity".
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
		bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 is e-9
		dst = dst[:n-1]
	}
	return dst
}
