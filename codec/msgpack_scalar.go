package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// Bool reads a bool.
func (r *Reader) Bool() bool {
	c, ok := r.begin("bool")
	if ok && c != msgTrue && c != msgFalse {
		r.mismatch("bool", c)
	}
	return c == msgTrue && r.err == nil
}

// Int8 reads an integer in any of msgpack's forms; one that does not fit is an
// error, and so is a float, even a whole one.
func (r *Reader) Int8() int8 { return int8(r.signed(8, "int8")) }

// Int16 is [Reader.Int8] for an int16.
func (r *Reader) Int16() int16 { return int16(r.signed(16, "int16")) }

// Int32 is [Reader.Int8] for an int32.
func (r *Reader) Int32() int32 { return int32(r.signed(32, "int32")) }

// Int64 is [Reader.Int8] for an int64.
func (r *Reader) Int64() int64 { return r.signed(64, "int64") }

// Int is [Reader.Int8] for an int.
func (r *Reader) Int() int { return int(r.signed(strconv.IntSize, "int")) }

// Uint8 is [Reader.Int8] for a uint8.
func (r *Reader) Uint8() uint8 { return uint8(r.unsigned(8, "uint8")) }

// Uint16 is [Reader.Int8] for a uint16.
func (r *Reader) Uint16() uint16 { return uint16(r.unsigned(16, "uint16")) }

// Uint32 is [Reader.Int8] for a uint32.
func (r *Reader) Uint32() uint32 { return uint32(r.unsigned(32, "uint32")) }

// Uint64 is [Reader.Int8] for a uint64.
func (r *Reader) Uint64() uint64 { return r.unsigned(64, "uint64") }

// Uint is [Reader.Int8] for a uint.
func (r *Reader) Uint() uint { return uint(r.unsigned(strconv.IntSize, "uint")) }

// Duration reads a number of nanoseconds.
func (r *Reader) Duration() time.Duration { return time.Duration(r.signed(64, "duration")) }

// Float32 reads a float32, or a float64 or an integer that a float32 holds
// exactly; any other is an error.
func (r *Reader) Float32() float32 {
	c, ok := r.begin("float32")
	switch {
	case !ok:
		return 0
	case c == msgFloat32:
		return math.Float32frombits(uint32(r.number(4)))
	case c == msgFloat64:
		return r.narrow(math.Float64frombits(r.number(8)))
	}
	return float32(r.floatOfInt(c, 24, "float32"))
}

// Float64 reads a float64, a float32, or an integer that a float64 holds
// exactly; any other is an error.
func (r *Reader) Float64() float64 {
	c, ok := r.begin("float64")
	switch {
	case !ok:
		return 0
	case c == msgFloat64:
		return math.Float64frombits(r.number(8))
	case c == msgFloat32:
		return float64(math.Float32frombits(uint32(r.number(4))))
	}
	return r.floatOfInt(c, 53, "float64")
}

// String reads a string.
func (r *Reader) String() string {
	c, ok := r.begin("string")
	switch {
	case !ok:
		return ""
	case !isMsgStr(c):
		r.mismatch("string", c)
		return ""
	}
	return string(r.take(r.strLen(c)))
}

// Bytes reads bytes into a new slice; nil is a nil slice, no bytes are an empty
// one.
func (r *Reader) Bytes() []byte {
	c, ok := r.begin("bytes")
	switch {
	case !ok || c == msgNil:
		return nil
	case !isMsgBin(c):
		r.mismatch("bytes", c)
		return nil
	}
	b := r.take(r.bodyLen(c))
	if r.err != nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// Time reads an instant, in UTC. The zero time.Time reads back as zero.
func (r *Reader) Time() time.Time {
	c, ok := r.begin("time")
	if ok && !isMsgExt(c) {
		r.mismatch("time", c)
	}
	if r.err != nil {
		return time.Time{}
	}
	n := r.extLen(c)
	if typ := r.number(1); r.err == nil && typ != msgTimeType {
		r.Fail(fmt.Errorf("want time, got ext of type %d", int8(typ)))
	}
	return r.instant(r.take(n))
}

// instant decodes the data of a time extension.
func (r *Reader) instant(b []byte) time.Time {
	if r.err != nil {
		return time.Time{}
	}
	var sec int64
	var nsec uint64
	switch len(b) {
	case 4:
		sec = int64(binary.BigEndian.Uint32(b))
	case 8:
		u := binary.BigEndian.Uint64(b)
		sec, nsec = int64(u&(1<<34-1)), u>>34
	case 12:
		nsec, sec = uint64(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint64(b[4:]))
	default:
		r.Fail(fmt.Errorf("want time of 4, 8 or 12 bytes, got %d", len(b)))
		return time.Time{}
	}
	if nsec >= uint64(time.Second) {
		r.Fail(errNanos(nsec))
		return time.Time{}
	}
	return time.Unix(sec, int64(nsec)).UTC()
}

func errNanos(nsec uint64) error {
	return fmt.Errorf("time with %d nanoseconds in its second", nsec)
}

func (r *Reader) signed(size uint, typ string) int64 {
	c, ok := r.begin(typ)
	if !ok {
		return 0
	}
	u, neg := r.integer(c, typ)
	v := int64(u)
	if spare := 64 - size; v<<spare>>spare != v || !neg && v < 0 {
		r.Fail(errRange(decimal(u, neg), typ))
		return 0
	}
	return v
}

func (r *Reader) unsigned(size uint, typ string) uint64 {
	c, ok := r.begin(typ)
	if !ok {
		return 0
	}
	u, neg := r.integer(c, typ)
	if neg || u>>size != 0 {
		r.Fail(errRange(decimal(u, neg), typ))
		return 0
	}
	return u
}

// integer reads the rest of the integer that starts with c, as an int64 in a
// uint64 if it is negative.
func (r *Reader) integer(c byte, want string) (u uint64, neg bool) {
	switch {
	case c <= msgFixIntMax:
		return uint64(c), false
	case c >= msgNegFixInt:
		return uint64(int8(c)), true
	case c >= msgUint8 && c <= msgUint64:
		return r.number(1 << (c - msgUint8)), false
	case c >= msgInt8 && c <= msgInt64:
		size := uint64(1) << (c - msgInt8)
		spare := 64 - 8*size
		v := int64(r.number(size)) << spare >> spare
		return uint64(v), v < 0
	}
	r.mismatch(want, c)
	return 0, false
}

// floatOfInt reads the rest of an integer that a float with so many bits of
// mantissa must hold exactly.
func (r *Reader) floatOfInt(c byte, mantissa int, typ string) float64 {
	u, neg := r.integer(c, typ)
	size := u
	if neg {
		size = -u
	}
	if bits.Len64(size)-bits.TrailingZeros64(size) > mantissa {
		r.Fail(errInexact(decimal(u, neg), typ))
		return 0
	}
	if neg {
		return -float64(size)
	}
	return float64(size)
}

// narrow returns v as a float32 if that loses no bit.
func (r *Reader) narrow(v float64) float32 {
	f := float32(v)
	if math.Float64bits(float64(f)) != math.Float64bits(v) {
		r.Fail(errInexact(strconv.FormatFloat(v, 'g', -1, 64), "float32"))
		return 0
	}
	return f
}

// decimal formats what integer returned.
func decimal(u uint64, neg bool) string {
	if neg {
		return strconv.FormatInt(int64(u), 10)
	}
	return strconv.FormatUint(u, 10)
}
