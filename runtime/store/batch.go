package store

import (
	"encoding/binary"
	"fmt"
)

// Batch collects the changes of one epoch to one store. Its bytes are those of a
// RocksDB write batch, which also is what a changelog record holds: 8 bytes
// sequence (zero), 4 bytes little-endian count, then the records, each a type
// byte, for families other than the first a varint family id, a varint-prefixed
// key and, for puts, a varint-prefixed value.
//
// The zero Batch is not ready for use; call Reset first. Later records win over
// earlier ones for the same key.
type Batch struct {
	data  []byte
	count uint32
}

const batchHeader = 12

// Record types of a write batch.
const (
	recDelete       = 0x0
	recPut          = 0x1
	recFamilyDelete = 0x4
	recFamilyPut    = 0x5
)

// Reset empties the batch and makes mark the place it brings a store to.
func (b *Batch) Reset(mark Mark) {
	b.data = append(b.data[:0], make([]byte, batchHeader)...)
	b.count = 0
	var v [16]byte
	binary.BigEndian.PutUint64(v[:8], uint64(mark.Epoch))
	binary.BigEndian.PutUint64(v[8:], uint64(mark.Attempt))
	b.Put(Point, appliedKey, v[:])
}

// Put sets a key.
func (b *Batch) Put(f Family, key, value []byte) {
	b.record(f, recPut, recFamilyPut, key)
	b.data = binary.AppendUvarint(b.data, uint64(len(value)))
	b.data = append(b.data, value...)
}

// Delete removes a key, which need not exist.
func (b *Batch) Delete(f Family, key []byte) {
	b.record(f, recDelete, recFamilyDelete, key)
}

func (b *Batch) record(f Family, plain, family byte, key []byte) {
	if f == Point {
		b.data = append(b.data, plain)
	} else {
		b.data = append(b.data, family, byte(f))
	}
	b.data = binary.AppendUvarint(b.data, uint64(len(key)))
	b.data = append(b.data, key...)
	b.count++
}

// Len returns the size of the batch in bytes.
func (b *Batch) Len() int { return len(b.data) }

// Bytes returns the batch's bytes, which stay valid until the next Reset.
func (b *Batch) Bytes() []byte {
	binary.LittleEndian.PutUint32(b.data[8:], b.count)
	return b.data
}

// EachRecord calls do for every record of a batch's bytes, in order. value is
// nil for a delete. It checks every length against what is there, so damaged
// bytes are an error that matches [ErrCorrupt], and do may have been called for
// some records by then; call it once with a do that does nothing to check first.
func EachRecord(data []byte, do func(f Family, key, value []byte, del bool)) error {
	if len(data) < batchHeader {
		return fmt.Errorf("%w: batch of %d bytes has no header", ErrCorrupt, len(data))
	}
	count := binary.LittleEndian.Uint32(data[8:])
	r := batchReader{data: data, off: batchHeader}
	for range count {
		f, kind := Point, r.byte()
		if kind == recFamilyDelete || kind == recFamilyPut {
			f = Family(r.byte())
		} else if kind != recDelete && kind != recPut {
			r.bad = true
		}
		if f > Ordered {
			r.bad = true
		}
		key := r.bytes()
		var value []byte
		del := kind == recDelete || kind == recFamilyDelete
		if !del {
			value = r.bytes()
		}
		if r.bad {
			return fmt.Errorf("%w: batch record at byte %d", ErrCorrupt, r.off)
		}
		do(f, key, value, del)
	}
	if r.off != len(data) {
		return fmt.Errorf("%w: %d bytes after the last of %d batch records", ErrCorrupt, len(data)-r.off, count)
	}
	return nil
}

// BatchMark returns the mark that a batch's bytes bring a store to.
func BatchMark(data []byte) (Mark, error) {
	r := batchReader{data: data, off: batchHeader}
	if kind, key := r.byte(), r.bytes(); kind != recPut || string(key) != string(appliedKey) {
		return Mark{}, fmt.Errorf("%w: batch does not begin with its mark", ErrCorrupt)
	}
	return DecodeMark(r.bytes())
}

// DecodeMark reads the value of the applied mark.
func DecodeMark(value []byte) (Mark, error) {
	if len(value) != 16 {
		return Mark{}, fmt.Errorf("%w: applied mark of %d bytes", ErrCorrupt, len(value))
	}
	return Mark{
		Epoch:   int64(binary.BigEndian.Uint64(value)),
		Attempt: int(binary.BigEndian.Uint64(value[8:])),
	}, nil
}

// AppliedKey returns the point key that holds the applied mark.
func AppliedKey() []byte { return appliedKey }

type batchReader struct {
	data []byte
	off  int
	bad  bool
}

func (r *batchReader) byte() byte {
	if r.bad || r.off >= len(r.data) {
		r.bad = true
		return 0
	}
	r.off++
	return r.data[r.off-1]
}

func (r *batchReader) bytes() []byte {
	if r.bad || r.off > len(r.data) {
		r.bad = true
		return nil
	}
	n, w := binary.Uvarint(r.data[r.off:])
	if w <= 0 || n > uint64(len(r.data)-r.off-w) {
		r.bad = true
		return nil
	}
	r.off += w + int(n)
	return r.data[r.off-int(n) : r.off : r.off]
}
