package store

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"
)

// The layout of keys. op is the operator's number within its flow (1 byte), kg
// the key group (2 bytes, big-endian), key the encoded grouping key, which is
// self-delimiting, stateID and timerID 2 bytes big-endian, seq 8 bytes
// big-endian, ts an instant in microseconds, 8 bytes big-endian with the sign
// bit flipped:
//
//	point:   op 'v' kg key stateID          a single value
//	         op 'l' kg key stateID          a list's head
//	         op 'n' kg key timerID          a named timer's instant
//	         'a'                            the applied mark
//	ordered: op 'e' kg key stateID seq      a list element
//	         op 'e' kg key stateID mapKey   a map entry
//	         op 'r' kg key ts               a raw timer
//	         op 't' kg ts key timerID       the time index, all timers
//
// So entries of one grouping key lie together, and the order of sessions, key
// group then encoded key, is the order of the store.
const (
	KindValue     byte = 'v'
	KindListHead  byte = 'l'
	KindNamed     byte = 'n'
	KindElement   byte = 'e'
	KindRawTimer  byte = 'r'
	KindTimeIndex byte = 't'
)

// appliedKey holds the applied mark. It is one byte, every other key longer.
var appliedKey = []byte{'a'}

// KeyGroup returns the key group of an encoded grouping key, of groups in all.
// The function is part of the format: changing it would move every key.
func KeyGroup(key []byte, groups int) uint16 {
	return uint16(xxh3.Hash(key) % uint64(groups))
}

// GroupRange returns the key groups [from, to) that a state partition owns.
func GroupRange(partition, partitions, groups int) (from, to int) {
	return partition * groups / partitions, (partition + 1) * groups / partitions
}

// PartitionOf returns the state partition that owns a key group: the inverse of
// [GroupRange].
func PartitionOf(group uint16, partitions, groups int) int {
	return ((int(group)+1)*partitions - 1) / groups
}

// AppendPrefix appends op, kind, key group and key: the common prefix of all
// entries of that kind of one grouping key.
func AppendPrefix(dst []byte, op, kind byte, group uint16, key []byte) []byte {
	dst = append(dst, op, kind, byte(group>>8), byte(group))
	return append(dst, key...)
}

// AppendID appends a state or timer id.
func AppendID(dst []byte, id uint16) []byte { return binary.BigEndian.AppendUint16(dst, id) }

// AppendSeq appends a list element's sequence number.
func AppendSeq(dst []byte, seq uint64) []byte { return binary.BigEndian.AppendUint64(dst, seq) }

// AppendInstant appends an instant in microseconds so that bytes order as time.
func AppendInstant(dst []byte, micros int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(micros)^(1<<63))
}

// Instant reads what AppendInstant wrote.
func Instant(b []byte) int64 { return int64(binary.BigEndian.Uint64(b) ^ (1 << 63)) }

// AppendTimeIndex appends a key of the time index.
func AppendTimeIndex(dst []byte, op byte, group uint16, micros int64, key []byte, timerID uint16) []byte {
	dst = append(dst, op, KindTimeIndex, byte(group>>8), byte(group))
	dst = AppendInstant(dst, micros)
	dst = append(dst, key...)
	return AppendID(dst, timerID)
}

// SplitTimeIndex takes a key of the time index apart. key aliases b.
func SplitTimeIndex(b []byte) (micros int64, key []byte, timerID uint16, err error) {
	const head, tail = 4 + 8, 2
	if len(b) < head+tail || b[1] != KindTimeIndex {
		return 0, nil, 0, fmt.Errorf("%w: time index key %x", ErrCorrupt, b)
	}
	return Instant(b[4:]), b[head : len(b)-tail], binary.BigEndian.Uint16(b[len(b)-tail:]), nil
}

// PrefixEnd returns the smallest key above all keys with the prefix, for use as
// the upper bound of a scan; it appends to dst. Prefixes of the layout never
// consist of 0xff bytes alone.
func PrefixEnd(dst, prefix []byte) []byte {
	n := len(prefix)
	for n > 0 && prefix[n-1] == 0xff {
		n--
	}
	dst = append(dst, prefix[:n]...)
	if n > 0 {
		dst[len(dst)-1]++
	}
	return dst
}
