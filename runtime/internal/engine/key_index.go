package engine

import (
	"bytes"

	"github.com/zeebo/xxh3"
)

// keyIndex numbers distinct byte keys in the order they were first added. Keys
// are kept in one arena, so adding a key costs no allocation of its own, and an
// index that is reset keeps its memory for the next epoch.
type keyIndex struct {
	table   []int32 // open addressing by hash; entry number + 1, 0 if free
	entries []keyEntry
	arena   []byte
}

type keyEntry struct {
	hash   uint64
	off, n int
}

func (x *keyIndex) reset() {
	clear(x.table)
	x.entries = x.entries[:0]
	x.arena = x.arena[:0]
}

func (x *keyIndex) len() int { return len(x.entries) }

func (x *keyIndex) key(i int) []byte {
	e := &x.entries[i]
	return x.arena[e.off : e.off+e.n : e.off+e.n]
}

// find returns the number of key, or -1.
func (x *keyIndex) find(key []byte) int {
	if len(x.table) == 0 {
		return -1
	}
	i, _ := x.probe(xxh3.Hash(key), key)
	return i
}

// add returns the number of key, adding it if it is new.
func (x *keyIndex) add(key []byte) (i int, added bool) {
	if len(x.entries)*4 >= len(x.table)*3 {
		x.grow()
	}
	hash := xxh3.Hash(key)
	i, free := x.probe(hash, key)
	if i >= 0 {
		return i, false
	}
	i = len(x.entries)
	x.entries = append(x.entries, keyEntry{hash: hash, off: len(x.arena), n: len(key)})
	x.arena = append(x.arena, key...)
	x.table[free] = int32(i + 1)
	return i, true
}

// probe returns the entry that holds key, or -1 and the free place for it.
func (x *keyIndex) probe(hash uint64, key []byte) (entry, free int) {
	mask := uint64(len(x.table) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		n := x.table[at]
		if n == 0 {
			return -1, int(at)
		}
		e := &x.entries[n-1]
		if e.hash == hash && bytes.Equal(x.arena[e.off:e.off+e.n], key) {
			return int(n - 1), 0
		}
	}
}

func (x *keyIndex) grow() {
	size := max(64, 2*len(x.table))
	x.table = make([]int32, size)
	mask := uint64(size - 1)
	for i := range x.entries {
		at := x.entries[i].hash & mask
		for x.table[at] != 0 {
			at = (at + 1) & mask
		}
		x.table[at] = int32(i + 1)
	}
}
