package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// AppendNil appends nil: an absent optional value or a nil slice.
func AppendNil(dst []byte) []byte { return append(dst, msgNil) }

// AppendBool appends v.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, msgTrue)
	}
	return append(dst, msgFalse)
}

// AppendInt appends v in the shortest form: 1, 2, 3, 5 or 9 bytes. A value that
// is not negative has the bytes that [AppendUint] gives it.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0:
		return AppendUint(dst, uint64(v))
	case v >= -32:
		return append(dst, byte(v))
	case v >= math.MinInt8:
		return append(dst, msgInt8, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, msgInt16), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, msgInt32), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, msgInt64), uint64(v))
}

// AppendUint appends v in the shortest form: 1, 2, 3, 5 or 9 bytes.
func AppendUint(dst []byte, v uint64) []byte {
	switch {
	case v <= msgFixIntMax:
		return append(dst, byte(v))
	case v <= math.MaxUint8:
		return append(dst, msgUint8, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, msgUint16), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, msgUint32), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, msgUint64), v)
}

// AppendFloat32 appends v bit by bit, NaN and -0 included.
func AppendFloat32(dst []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, msgFloat32), math.Float32bits(v))
}

// AppendFloat64 appends v bit by bit, NaN and -0 included.
func AppendFloat64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, msgFloat64), math.Float64bits(v))
}

// AppendString appends v, whose bytes are kept as they are, valid UTF-8 or not.
// It panics if v is longer than msgpack can say, 4 GiB - 1.
func AppendString(dst []byte, v string) []byte {
	return append(appendStringHeader(dst, len(v)), v...)
}

// AppendBytes appends v; a nil slice is nil, an empty one is not. It panics if v
// is longer than msgpack can say, 4 GiB - 1.
func AppendBytes(dst []byte, v []byte) []byte {
	if v == nil {
		return append(dst, msgNil)
	}
	return append(appendLength(dst, msgBin8, len(v)), v...)
}

// AppendTime appends the instant v in the shortest of msgpack's three forms (4,
// 8 or 12 bytes and a header), with its nanoseconds, in any year. The zone and
// the monotonic reading are dropped.
func AppendTime(dst []byte, v time.Time) []byte {
	sec, nsec := uint64(v.Unix()), uint64(v.Nanosecond())
	switch {
	case sec>>34 != 0: // negative seconds too
		dst = append(dst, msgExt8, 12, msgTimeType)
		dst = binary.BigEndian.AppendUint32(dst, uint32(nsec))
		return binary.BigEndian.AppendUint64(dst, sec)
	case nsec != 0 || sec > math.MaxUint32:
		dst = append(dst, msgFixExt8, msgTimeType)
		return binary.BigEndian.AppendUint64(dst, nsec<<34|sec)
	}
	return binary.BigEndian.AppendUint32(append(dst, msgFixExt4, msgTimeType), uint32(sec))
}

// AppendDuration appends v as its number of nanoseconds.
func AppendDuration(dst []byte, v time.Duration) []byte { return AppendInt(dst, int64(v)) }

// AppendArrayHeader announces n values: the fields of a struct in the order of
// their ids, or the elements of a list. It panics if n is negative or more than
// msgpack can say, 2^32 - 1.
func AppendArrayHeader(dst []byte, n int) []byte {
	if n >= 0 && n < 16 {
		return append(dst, msgFixArray|byte(n))
	}
	mustFit(n)
	if n <= math.MaxUint16 {
		return binary.BigEndian.AppendUint16(append(dst, msgArray16), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, msgArray32), uint32(n))
}

func appendStringHeader(dst []byte, n int) []byte {
	if n < 32 {
		return append(dst, msgFixStr|byte(n))
	}
	return appendLength(dst, msgStr8, n)
}

// appendLength appends a length of 1, 2 or 4 bytes behind first, first+1 or
// first+2.
func appendLength(dst []byte, first byte, n int) []byte {
	mustFit(n)
	switch {
	case n <= math.MaxUint8:
		return append(dst, first, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, first+1), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, first+2), uint32(n))
}

// mustFit refuses a length that would otherwise be cut to its low 32 bits.
func mustFit(n int) {
	if n < 0 || uint64(n) > math.MaxUint32 {
		panic(fmt.Sprintf("codec: length %d: msgpack holds 0 to %d", n, uint32(math.MaxUint32)))
	}
}
