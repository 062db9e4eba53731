package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Header precedes the body of every stored value.
type Header struct {
	// Version is the schema version the body was written with, from 1 to
	// 2^31 - 1.
	Version int
	// ExpiresAtMicros is when the value expires, in microseconds since 1970; it
	// means nothing unless Expires is true.
	ExpiresAtMicros int64
	// Expires is true if the value has a time to live.
	Expires bool
}

// flagExpires is the only flag; the other bits are 0 and kept for later formats.
const flagExpires = 1

// AppendHeader appends h: a byte of flags, the expiry if there is one, the
// version. It panics if the version is out of range.
func AppendHeader(dst []byte, h Header) []byte {
	if h.Version < 1 || h.Version > math.MaxInt32 {
		panic(fmt.Sprintf("codec: schema version %d: versions are 1 to %d", h.Version, math.MaxInt32))
	}
	if h.Expires {
		dst = binary.BigEndian.AppendUint64(append(dst, flagExpires), uint64(h.ExpiresAtMicros))
	} else {
		dst = append(dst, 0)
	}
	return binary.AppendUvarint(dst, uint64(h.Version))
}

// ReadHeader reads the header of a stored value and returns the body behind it,
// which aliases b. Errors are of type *[DecodeError].
func ReadHeader(b []byte) (h Header, body []byte, err error) {
	if len(b) == 0 {
		return Header{}, nil, headerError(0, errWant("flags", "the end of the input"))
	}
	flags, off := b[0], 1
	if flags&^flagExpires != 0 {
		return Header{}, nil, headerError(0, fmt.Errorf("unknown flags 0x%02x: written by a newer version, or corrupt", flags))
	}
	if flags == flagExpires {
		if len(b) < off+8 {
			return Header{}, nil, headerError(off, errTruncated(8, len(b)-off))
		}
		h.Expires, h.ExpiresAtMicros = true, int64(binary.BigEndian.Uint64(b[off:]))
		off += 8
	}
	version, n, err := readVersion(b[off:])
	if err != nil {
		return Header{}, nil, headerError(off, err)
	}
	h.Version = version
	return h, b[off+n:], nil
}

// Expired tells whether the value has expired at the given time, in microseconds
// since 1970: from the very microsecond of its expiry on.
func (h Header) Expired(nowMicros int64) bool {
	return h.Expires && nowMicros >= h.ExpiresAtMicros
}

// readVersion reads a uvarint and its length.
func readVersion(b []byte) (version, n int, err error) {
	v, n := binary.Uvarint(b)
	switch {
	case n == 0:
		return 0, 0, errors.New("schema version is truncated")
	case n < 0 || v == 0 || v > math.MaxInt32:
		return 0, 0, fmt.Errorf("schema version is not within 1 to %d", math.MaxInt32)
	case n > 1 && b[n-1] == 0:
		return 0, 0, errors.New("schema version is not in its shortest form")
	}
	return int(v), n, nil
}

func headerError(offset int, err error) error {
	return &DecodeError{Path: "header", Offset: offset, Err: err}
}
