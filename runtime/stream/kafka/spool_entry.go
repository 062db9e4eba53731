package kafka

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// An entry is one record as the sink keeps it until the broker has it. Integers
// are little endian:
//
//	flags:1 partition:4 millis:8 key:4 value:4 headers:2
//	key bytes, value bytes, then for each header: key:4 value:4 and their bytes
//
// where key, value and headers are lengths, partition is -1 if the partitioner
// chooses, and millis counts from 1970.
const entryHead = 1 + 4 + 8 + 4 + 4 + 2

const (
	entryHasKey   = 1 << iota // otherwise the key is null
	entryHasValue             // otherwise the record is a tombstone
	entryHasTime              // otherwise the client says when it produces
)

const (
	atPartition = 1
	atMillis    = 5
	atKey       = 13
	atValue     = 17
	atHeaders   = 21
)

// maxHeaders is what the count of headers has room for.
const maxHeaders = 1<<16 - 1

// entryHeader is where an entry begins that is being appended.
type entryHeader struct{ at int }

// beginEntry appends the head and the key of an entry.
func beginEntry(dst, key []byte, partition int32) ([]byte, entryHeader) {
	h := entryHeader{len(dst)}
	dst = append(dst, make([]byte, entryHead)...)
	head := dst[h.at:]
	binary.LittleEndian.PutUint32(head[atPartition:], uint32(partition))
	binary.LittleEndian.PutUint32(head[atKey:], uint32(len(key)))
	if key != nil {
		head[0] |= entryHasKey
	}
	return append(dst, key...), h
}

// value says that everything appended since the key is the value.
func (h entryHeader) value(dst []byte) {
	head := dst[h.at:]
	head[0] |= entryHasValue
	size := len(head) - entryHead - int(binary.LittleEndian.Uint32(head[atKey:]))
	binary.LittleEndian.PutUint32(head[atValue:], uint32(size))
}

// time sets the record's timestamp.
func (h entryHeader) time(dst []byte, t time.Time) {
	head := dst[h.at:]
	head[0] |= entryHasTime
	binary.LittleEndian.PutUint64(head[atMillis:], uint64(t.UnixMilli()))
}

// headers appends the record's headers, after its value.
func (h entryHeader) headers(dst []byte, headers []Header) []byte {
	binary.LittleEndian.PutUint16(dst[h.at+atHeaders:], uint16(len(headers)))
	for _, x := range headers {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(x.Key)))
		size := uint32(len(x.Value))
		if x.Value == nil {
			size = nullHeader
		}
		dst = binary.LittleEndian.AppendUint32(dst, size)
		dst = append(append(dst, x.Key...), x.Value...)
	}
	return dst
}

// nullHeader is the length of a header's value that is null.
const nullHeader = 1<<32 - 1

var errEntry = errors.New("the spooled output is damaged: an entry ends beyond its block")

// readEntry fills a record from the first entry of b, which it refers to, and
// returns what follows. The record's topic is left alone.
func readEntry(b []byte, r *kgo.Record) ([]byte, error) {
	if len(b) < entryHead {
		return nil, errEntry
	}
	flags := b[0]
	r.Partition = int32(binary.LittleEndian.Uint32(b[atPartition:]))
	if flags&entryHasTime != 0 {
		r.Timestamp = time.UnixMilli(int64(binary.LittleEndian.Uint64(b[atMillis:])))
	}
	keySize, valueSize := binary.LittleEndian.Uint32(b[atKey:]), binary.LittleEndian.Uint32(b[atValue:])
	headers := int(binary.LittleEndian.Uint16(b[atHeaders:]))
	b = b[entryHead:]
	if uint64(keySize)+uint64(valueSize) > uint64(len(b)) {
		return nil, errEntry
	}
	if flags&entryHasKey != 0 {
		r.Key = b[:keySize:keySize]
	}
	b = b[keySize:]
	if flags&entryHasValue != 0 {
		r.Value = b[:valueSize:valueSize]
	}
	return readHeaders(b[valueSize:], headers, r)
}

func readHeaders(b []byte, n int, r *kgo.Record) ([]byte, error) {
	if n == 0 {
		return b, nil
	}
	r.Headers = make([]kgo.RecordHeader, n)
	for i := range r.Headers {
		if len(b) < 8 {
			return nil, errEntry
		}
		keySize, valueSize := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		b = b[8:]
		null := valueSize == nullHeader
		if null {
			valueSize = 0
		}
		if uint64(keySize)+uint64(valueSize) > uint64(len(b)) {
			return nil, errEntry
		}
		r.Headers[i].Key = string(b[:keySize])
		if b = b[keySize:]; !null {
			r.Headers[i].Value = b[:valueSize:valueSize]
		}
		b = b[valueSize:]
	}
	return b, nil
}
