package codec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// KeyReader reads the values that the AppendKey functions wrote, in the same
// order and with the same types: a key does not say what it holds. Bytes that no
// appender writes are an error, so a key that reads well appends to the same
// bytes. See the package comment for the sticky error.
type KeyReader struct {
	buf []byte
	off int
	err error
}

// Reset makes r read b from its start. b must not change until r is done.
func (r *KeyReader) Reset(b []byte) { r.buf, r.off, r.err = b, 0, nil }

// Bool reads a bool.
func (r *KeyReader) Bool() bool {
	v := r.number(1)
	if v > 1 {
		r.fail(1, fmt.Errorf("want bool, got byte 0x%02x", v))
		return false
	}
	return v == 1
}

// Int8 reads an int8.
func (r *KeyReader) Int8() int8 { return int8(r.signed(1)) }

// Int16 reads an int16.
func (r *KeyReader) Int16() int16 { return int16(r.signed(2)) }

// Int32 reads an int32.
func (r *KeyReader) Int32() int32 { return int32(r.signed(4)) }

// Int64 reads an int64.
func (r *KeyReader) Int64() int64 { return r.signed(8) }

// Int reads an int; one that this platform cannot hold is an error.
func (r *KeyReader) Int() int {
	v := r.signed(8)
	if int64(int(v)) != v {
		r.fail(8, errRange(strconv.FormatInt(v, 10), "int"))
		return 0
	}
	return int(v)
}

// Uint8 reads a uint8.
func (r *KeyReader) Uint8() uint8 { return uint8(r.number(1)) }

// Uint16 reads a uint16.
func (r *KeyReader) Uint16() uint16 { return uint16(r.number(2)) }

// Uint32 reads a uint32.
func (r *KeyReader) Uint32() uint32 { return uint32(r.number(4)) }

// Uint64 reads a uint64.
func (r *KeyReader) Uint64() uint64 { return r.number(8) }

// Uint reads a uint; one that this platform cannot hold is an error.
func (r *KeyReader) Uint() uint {
	v := r.number(8)
	if uint64(uint(v)) != v {
		r.fail(8, errRange(strconv.FormatUint(v, 10), "uint"))
		return 0
	}
	return uint(v)
}

// Float32 reads a float32. Zero is +0, and any NaN is the canonical one.
func (r *KeyReader) Float32() float32 {
	u := uint32(r.number(4))
	if r.err != nil {
		return 0
	}
	if u&signBit32 != 0 {
		u ^= signBit32
	} else {
		u = ^u
	}
	v := math.Float32frombits(u)
	if u == signBit32 || v != v && u != keyNaN32 {
		r.fail(4, fmt.Errorf("want float32, got the bits 0x%08x, which no key has", u))
		return 0
	}
	return v
}

// Float64 reads a float64. Zero is +0, and any NaN is the canonical one.
func (r *KeyReader) Float64() float64 {
	u := r.number(8)
	if r.err != nil {
		return 0
	}
	if u&signBit64 != 0 {
		u ^= signBit64
	} else {
		u = ^u
	}
	v := math.Float64frombits(u)
	if u == signBit64 || v != v && u != keyNaN64 {
		r.fail(8, fmt.Errorf("want float64, got the bits 0x%016x, which no key has", u))
		return 0
	}
	return v
}

// String reads a string.
func (r *KeyReader) String() string {
	raw, escapes, ok := r.text()
	switch {
	case !ok:
		return ""
	case escapes == 0:
		return string(raw)
	}
	return string(unescapeKey(raw, escapes))
}

// Bytes reads bytes into a new slice, which is never nil.
func (r *KeyReader) Bytes() []byte {
	raw, escapes, ok := r.text()
	if !ok {
		return nil
	}
	return unescapeKey(raw, escapes)
}

// Time reads an instant, in UTC.
func (r *KeyReader) Time() time.Time {
	if !r.has(12) {
		return time.Time{}
	}
	sec, nsec := r.Int64(), r.Uint32()
	if nsec >= uint32(time.Second) {
		r.fail(12, errNanos(uint64(nsec)))
		return time.Time{}
	}
	return time.Unix(sec, int64(nsec)).UTC()
}

// Duration reads a duration.
func (r *KeyReader) Duration() time.Duration { return time.Duration(r.signed(8)) }

// Rest returns what has not been read, which aliases the input; nil after an
// error.
func (r *KeyReader) Rest() []byte {
	if r.err != nil {
		return nil
	}
	return r.buf[r.off:]
}

// Err returns the first error, a *[DecodeError], or nil.
func (r *KeyReader) Err() error { return r.err }

// Done returns Err, or an error if bytes are left.
func (r *KeyReader) Done() error {
	if rest := r.Rest(); len(rest) > 0 {
		r.fail(0, errTrailing(len(rest)))
	}
	return r.err
}

// fail records the first error, about the value whose size bytes were just
// consumed.
func (r *KeyReader) fail(size int, err error) {
	if r.err == nil {
		r.err = &DecodeError{Path: "key", Offset: r.off - size, Err: err}
	}
}

// has fails unless n bytes are left.
func (r *KeyReader) has(n int) bool {
	if left := len(r.buf) - r.off; left < n {
		r.fail(0, errTruncated(uint64(n), left))
	}
	return r.err == nil
}

// number consumes a big-endian number of 1, 2, 4 or 8 bytes; it is 0 after an
// error.
func (r *KeyReader) number(size int) uint64 {
	if !r.has(size) {
		return 0
	}
	b := r.buf[r.off : r.off+size]
	r.off += size
	return bigEndian(b)
}

// signed undoes the flipped sign bit of a number of size bytes.
func (r *KeyReader) signed(size int) int64 {
	v := r.number(size)
	if r.err != nil {
		return 0
	}
	spare := 64 - 8*size
	return int64((v<<spare)^signBit64) >> spare
}

// text consumes a string and its terminator and returns what is between, with
// the number of escapes in it.
func (r *KeyReader) text() (raw []byte, escapes int, ok bool) {
	rest := r.Rest()
	for i := 0; ; {
		n := bytes.IndexByte(rest[i:], 0)
		if n < 0 || i+n+1 >= len(rest) {
			r.fail(0, errors.New("truncated: a string has no terminator"))
			return nil, 0, false
		}
		i += n
		switch rest[i+1] {
		case keyTerminator:
			r.off += i + 2
			return rest[:i], escapes, true
		case keyEscape:
			escapes++
			i += 2
		default:
			r.off += i
			r.fail(0, fmt.Errorf("byte 0x%02x follows 0x00 in a string: want 0x%02x or 0x%02x",
				rest[i+1], keyTerminator, keyEscape))
			return nil, 0, false
		}
	}
}

// unescapeKey copies raw without the byte that follows each 0x00.
func unescapeKey(raw []byte, escapes int) []byte {
	out := make([]byte, 0, len(raw)-escapes)
	for len(raw) > 0 {
		n := bytes.IndexByte(raw, 0)
		if n < 0 {
			return append(out, raw...)
		}
		out = append(out, raw[:n+1]...)
		raw = raw[n+2:]
	}
	return out
}
