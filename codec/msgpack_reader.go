package codec

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Reader reads msgpack values from a byte slice. The zero Reader reads nothing;
// give it input with Reset. See the package comment for its sticky error.
//
// A struct is an array with exactly as many elements as it has fields:
//
//	r.Struct(2)
//	r.At("sensor")
//	v.Sensor = r.String()
//	r.At("at")
//	v.At = r.Time()
//	r.EndStruct()
type Reader struct {
	buf   []byte
	off   int // the next byte to read
	start int // the first byte of the value begun last
	depth int // structs that are open
	err   error
	path  [pathLevels]string // the field being read, by depth
}

// Reset makes r read b from its start and forgets everything else. r reads from
// b itself, so b must not change until r is done.
func (r *Reader) Reset(b []byte) {
	r.buf, r.off, r.start, r.depth, r.err = b, 0, 0, 0, nil
	r.path[0] = ""
}

// At names the field about to be read, for the path of an error. Outside of any
// struct it names the whole value. The name must not be built at run time: a
// constant keeps it free.
func (r *Reader) At(field string) {
	if r.depth < pathLevels {
		r.path[r.depth] = field
	}
}

// Nil returns true and consumes the next value if that is nil, and false, with
// nothing consumed, otherwise. It returns true after an error.
func (r *Reader) Nil() bool {
	c, ok := r.begin("a value")
	if ok && c != msgNil {
		r.off--
		return false
	}
	return true
}

// List reads an array header. It returns the number of elements to read next
// and true, or false for nil. n is never more than the bytes left, as every
// element takes at least one.
func (r *Reader) List() (n int, ok bool) {
	c, ok := r.begin("array")
	if !ok || c == msgNil {
		return 0, false
	}
	return r.arrayLen(c, "array")
}

// Struct opens a struct: an array of exactly so many fields. EndStruct closes
// it.
func (r *Reader) Struct(fields int) {
	c, ok := r.begin("struct")
	if !ok {
		return
	}
	n, ok := r.arrayLen(c, "struct")
	switch {
	case !ok:
	case n != fields:
		r.Fail(fmt.Errorf("want %d fields, got %d", fields, n))
	case r.depth == maxDepth:
		r.Fail(errTooDeep)
	default:
		r.depth++
		r.At("")
	}
}

// EndStruct closes the struct opened last; its fields have been read.
func (r *Reader) EndStruct() {
	if r.err == nil && r.depth > 0 {
		r.depth--
	}
}

// Skip moves over one value of any kind.
func (r *Reader) Skip() { r.skip(r.depth) }

func (r *Reader) skip(depth int) {
	c, ok := r.begin("a value")
	if !ok {
		return
	}
	if isMsgArray(c) || isMsgMap(c) {
		r.skipElems(r.elems(c), depth+1)
		return
	}
	r.take(r.bodyLen(c))
}

func (r *Reader) skipElems(n uint64, depth int) {
	switch {
	case r.err != nil:
		return
	case n > uint64(r.left()):
		r.Fail(errElems(n, r.left()))
	case depth > maxDepth:
		r.Fail(errTooDeep)
	}
	for ; n > 0 && r.err == nil; n-- {
		r.skip(depth)
	}
}

// Fail makes err the reader's error, with the path of the current field and the
// offset of the value begun last, unless there is one already. A nil err
// changes nothing.
func (r *Reader) Fail(err error) {
	if r.err == nil && err != nil {
		r.err = &DecodeError{Path: r.fieldPath(), Offset: r.start, Err: err}
	}
}

// Err returns the first error, a *[DecodeError], or nil.
func (r *Reader) Err() error { return r.err }

// Done returns Err, or an error if bytes are left.
func (r *Reader) Done() error {
	if r.err == nil && r.left() > 0 {
		r.start = r.off
		r.Fail(errTrailing(r.left()))
	}
	return r.err
}

func (r *Reader) fieldPath() string {
	names := make([]string, 0, pathLevels+1)
	for level, name := range r.path {
		if level <= r.depth && name != "" {
			names = append(names, name)
		}
	}
	if r.depth >= pathLevels {
		names = append(names, "…")
	}
	return strings.Join(names, ".")
}

// left returns how many bytes are left.
func (r *Reader) left() int { return len(r.buf) - r.off }

// begin starts a value and consumes its first byte.
func (r *Reader) begin(want string) (c byte, ok bool) {
	if r.err != nil || r.off >= len(r.buf) {
		return r.noValue(want)
	}
	r.start = r.off
	r.off++
	return r.buf[r.start], true
}

func (r *Reader) noValue(want string) (byte, bool) {
	if r.err == nil {
		r.start = r.off
		r.Fail(errWant(want, "the end of the input"))
	}
	return 0, false
}

// take consumes n bytes, which alias the input.
func (r *Reader) take(n uint64) []byte {
	if n > uint64(r.left()) || r.err != nil {
		r.truncated(n)
		return nil
	}
	b := r.buf[r.off : r.off+int(n)]
	r.off += int(n)
	return b
}

// number consumes a big-endian number of 1, 2, 4 or 8 bytes; it is 0 after an
// error.
func (r *Reader) number(size uint64) uint64 { return bigEndian(r.take(size)) }

// bigEndian is the number in 1, 2, 4 or 8 bytes, and 0 in none.
func bigEndian(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	case 8:
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// arrayLen reads the rest of an array header and bounds the length.
func (r *Reader) arrayLen(c byte, want string) (n int, ok bool) {
	if !isMsgArray(c) {
		r.mismatch(want, c)
		return 0, false
	}
	elems := r.elems(c)
	if r.err == nil && elems > uint64(r.left()) {
		r.Fail(errElems(elems, r.left()))
	}
	if r.err != nil {
		return 0, false
	}
	return int(elems), true
}

// elems reads the rest of the header of an array or map and returns how many
// values follow: two for each entry of a map.
func (r *Reader) elems(c byte) uint64 {
	switch c {
	case msgArray16:
		return r.number(2)
	case msgArray32:
		return r.number(4)
	case msgMap16:
		return 2 * r.number(2)
	case msgMap32:
		return 2 * r.number(4)
	}
	if isMsgMap(c) {
		return 2 * uint64(c&0x0f)
	}
	return uint64(c & 0x0f)
}

// bodyLen returns the number of bytes that follow the first byte c of a value
// that is neither array nor map, having consumed its length if it has one.
func (r *Reader) bodyLen(c byte) uint64 {
	switch {
	case isMsgStr(c):
		return r.strLen(c)
	case isMsgBin(c):
		return r.number(1 << (c - msgBin8))
	case isMsgExt(c):
		return r.extLen(c) + 1
	case c >= msgUint8 && c <= msgUint64:
		return 1 << (c - msgUint8)
	case c >= msgInt8 && c <= msgInt64:
		return 1 << (c - msgInt8)
	case c == msgFloat32:
		return 4
	case c == msgFloat64:
		return 8
	case c == 0xc1:
		r.mismatch("a value", c)
	}
	return 0
}

func (r *Reader) strLen(c byte) uint64 {
	if c < msgNil {
		return uint64(c & 0x1f)
	}
	return r.number(1 << (c - msgStr8))
}

// extLen returns the length of an extension's data, without its type byte.
func (r *Reader) extLen(c byte) uint64 {
	if c >= msgFixExt1 {
		return 1 << (c - msgFixExt1)
	}
	return r.number(1 << (c - msgExt8))
}

func (r *Reader) truncated(want uint64) {
	if r.err == nil {
		r.Fail(errTruncated(want, r.left()))
	}
}

func (r *Reader) mismatch(want string, c byte) { r.Fail(errWant(want, msgKind(c))) }

func errElems(n uint64, left int) error {
	return fmt.Errorf("truncated: want %d more elements, have %d bytes", n, left)
}
