package table

import (
	"github.com/parquet-go/parquet-go"

	"github.com/tws-go/tws/schemas"
)

// buffer holds the values of one leaf column in the form that Parquet gives
// them: levels that say where each value stands, and the values that are there.
type buffer struct {
	col *column
	// rows counts the rows that have an entry here.
	rows int
	// reps and defs have one level for each entry. reps is unused outside of
	// lists, where every entry is a row of its own.
	reps, defs []uint8
	// nums has the values of fixed size, as bits: integers sign-extended,
	// floats as their own bits widened to a float64's, instants in
	// microseconds.
	nums []uint64
	// data has the strings and byte slices, one after the other; ends says
	// where each stops.
	data []byte
	ends []int
}

func (b *buffer) level(rep, def uint8) {
	if b.col.rep > 0 {
		b.reps = append(b.reps, rep)
	}
	b.defs = append(b.defs, def)
	if rep == 0 {
		b.rows++
	}
}

func (b *buffer) num(rep uint8, bits uint64) {
	b.level(rep, b.col.def)
	b.nums = append(b.nums, bits)
}

func (b *buffer) text(rep uint8, s string) {
	b.level(rep, b.col.def)
	b.data = append(b.data, s...)
	b.ends = append(b.ends, len(b.data))
}

func (b *buffer) bytes(rep uint8, p []byte) {
	b.level(rep, b.col.def)
	b.data = append(b.data, p...)
	b.ends = append(b.ends, len(b.data))
}

// reset forgets everything but keeps the memory.
func (b *buffer) reset() {
	b.rows = 0
	b.reps, b.defs, b.nums, b.data, b.ends = b.reps[:0], b.defs[:0], b.nums[:0], b.data[:0], b.ends[:0]
}

// truncate drops what was written for rows beyond the given number. At most one
// row, the last, is ever dropped.
func (b *buffer) truncate(rows int) {
	for b.rows > rows {
		last := len(b.defs) - 1
		if b.defs[last] == b.col.def {
			b.dropValue()
		}
		b.defs = b.defs[:last]
		if b.col.rep == 0 {
			b.rows--
			continue
		}
		if b.reps[last] == 0 {
			b.rows--
		}
		b.reps = b.reps[:last]
	}
}

func (b *buffer) dropValue() {
	if !b.variable() {
		b.nums = b.nums[:len(b.nums)-1]
		return
	}
	b.ends = b.ends[:len(b.ends)-1]
	start := 0
	if n := len(b.ends); n > 0 {
		start = b.ends[n-1]
	}
	b.data = b.data[:start]
}

// variable reports whether values are of variable size.
func (b *buffer) variable() bool {
	return b.col.kind == schemas.String || b.col.kind == schemas.Bytes
}

// size is the memory in use, in bytes.
func (b *buffer) size() int64 {
	return int64(len(b.reps)+len(b.defs)+len(b.data)) + 8*int64(len(b.nums)+len(b.ends))
}

// cursor reads a buffer from front to back.
type cursor struct {
	b                 *buffer
	entry, num, bytes int
}

// take appends the entries of the next rows to dst, which parquet-go must have
// consumed before the buffer changes. It adds what it sees to stats and returns
// the size of the values in bytes.
func (c *cursor) take(dst []parquet.Value, rows int, stats *columnStats) ([]parquet.Value, int64) {
	var size int64
	for c.entry < len(c.b.defs) {
		rep := 0
		if c.b.col.rep > 0 {
			rep = int(c.b.reps[c.entry])
		}
		if rep == 0 {
			if rows == 0 {
				break
			}
			rows--
		}
		v, n := c.value(stats)
		dst = append(dst, v.Level(rep, int(c.b.defs[c.entry]), c.b.col.firstLeaf))
		size += n
		c.entry++
	}
	return dst, size
}

// value returns the value of the present entry, without levels, and its size.
func (c *cursor) value(stats *columnStats) (parquet.Value, int64) {
	if c.b.defs[c.entry] != c.b.col.def {
		stats.null()
		return parquet.NullValue(), 1
	}
	if c.b.variable() {
		start := 0
		if c.bytes > 0 {
			start = c.b.ends[c.bytes-1]
		}
		p := c.b.data[start:c.b.ends[c.bytes]]
		c.bytes++
		stats.bytes(p)
		return parquet.ByteArrayValue(p), int64(len(p)) + 4
	}
	bits := c.b.nums[c.num]
	c.num++
	stats.num(bits)
	return parquetValue(c.b.col.kind, bits), 8
}
