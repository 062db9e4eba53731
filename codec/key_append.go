package codec

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
)

// Marks inside the key encoding of strings and bytes. Both follow a 0x00; the
// terminator is the smaller, so that a prefix sorts before what it starts.
const (
	keyTerminator = 0x01
	keyEscape     = 0xff
)

// The keys of all NaNs: canonical NaNs that sort after +Inf.
const (
	keyNaN32 = 0x7fc00000
	keyNaN64 = 0x7ff8000000000000
)

const (
	signBit32 = 1 << 31
	signBit64 = 1 << 63
)

// AppendKeyBool appends v as one byte: 0 for false, 1 for true.
func AppendKeyBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendKeyInt8 appends v as 1 byte. Signed integers have a fixed width, are
// big-endian and have their sign bit flipped, so that -1 sorts before 0.
func AppendKeyInt8(dst []byte, v int8) []byte { return append(dst, byte(v)^0x80) }

// AppendKeyInt16 is [AppendKeyInt8] in 2 bytes.
func AppendKeyInt16(dst []byte, v int16) []byte {
	return binary.BigEndian.AppendUint16(dst, uint16(v)^0x8000)
}

// AppendKeyInt32 is [AppendKeyInt8] in 4 bytes.
func AppendKeyInt32(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(v)^signBit32)
}

// AppendKeyInt64 is [AppendKeyInt8] in 8 bytes.
func AppendKeyInt64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^signBit64)
}

// AppendKeyInt appends v as an int64, on every platform.
func AppendKeyInt(dst []byte, v int) []byte { return AppendKeyInt64(dst, int64(v)) }

// AppendKeyUint8 appends v as 1 byte. Unsigned integers have a fixed width and
// are big-endian.
func AppendKeyUint8(dst []byte, v uint8) []byte { return append(dst, v) }

// AppendKeyUint16 is [AppendKeyUint8] in 2 bytes.
func AppendKeyUint16(dst []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(dst, v) }

// AppendKeyUint32 is [AppendKeyUint8] in 4 bytes.
func AppendKeyUint32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }

// AppendKeyUint64 is [AppendKeyUint8] in 8 bytes.
func AppendKeyUint64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

// AppendKeyUint appends v as a uint64, on every platform.
func AppendKeyUint(dst []byte, v uint) []byte { return AppendKeyUint64(dst, uint64(v)) }

// AppendKeyFloat32 appends v in 4 bytes that sort as -Inf, negative numbers, 0,
// positive numbers, +Inf, NaN. What Go's == cannot tell apart has one key: -0
// is +0; and so have all NaNs, which sort last.
func AppendKeyFloat32(dst []byte, v float32) []byte {
	u := math.Float32bits(v)
	switch {
	case v != v:
		u = keyNaN32
	case v == 0:
		u = 0
	}
	if u&signBit32 != 0 {
		return binary.BigEndian.AppendUint32(dst, ^u)
	}
	return binary.BigEndian.AppendUint32(dst, u^signBit32)
}

// AppendKeyFloat64 is [AppendKeyFloat32] in 8 bytes.
func AppendKeyFloat64(dst []byte, v float64) []byte {
	u := math.Float64bits(v)
	switch {
	case v != v:
		u = keyNaN64
	case v == 0:
		u = 0
	}
	if u&signBit64 != 0 {
		return binary.BigEndian.AppendUint64(dst, ^u)
	}
	return binary.BigEndian.AppendUint64(dst, u^signBit64)
}

// AppendKeyString appends v, each 0x00 as 0x00 0xff, and 0x00 0x01 at the end.
// So no key is a prefix of another, and "a" sorts before "a\x00" and "ab".
func AppendKeyString(dst []byte, v string) []byte {
	for {
		i := strings.IndexByte(v, 0)
		if i < 0 {
			return append(append(dst, v...), 0, keyTerminator)
		}
		dst = append(append(dst, v[:i]...), 0, keyEscape)
		v = v[i+1:]
	}
}

// AppendKeyBytes is [AppendKeyString] for bytes; a nil slice has the key of an
// empty one.
func AppendKeyBytes(dst []byte, v []byte) []byte {
	for _, c := range v {
		dst = append(dst, c)
		if c == 0 {
			dst = append(dst, keyEscape)
		}
	}
	return append(dst, 0, keyTerminator)
}

// AppendKeyTime appends the instant v in 12 bytes: the seconds since 1970 as an
// int64, the nanoseconds of the second as a uint32. It holds any year; the zone
// and the monotonic reading are dropped.
func AppendKeyTime(dst []byte, v time.Time) []byte {
	return AppendKeyUint32(AppendKeyInt64(dst, v.Unix()), uint32(v.Nanosecond()))
}

// AppendKeyDuration appends v as an int64 of nanoseconds.
func AppendKeyDuration(dst []byte, v time.Duration) []byte { return AppendKeyInt64(dst, int64(v)) }
