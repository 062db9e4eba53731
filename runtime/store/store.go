// Package store is the bytes-level state store: one ordered set of keys per
// state partition, in two families, written only by whole epochs.
//
// # Model
//
// A store holds two families of key-value pairs. [Point] is read by exact key
// only, mostly many keys at once, so an implementation may hash it. [Ordered] is
// also scanned in key order. Keys are unique within a family and compare as
// bytes. What the keys mean is written in layout.go and nowhere else.
//
// # Invariants
//
//   - S1: a store changes only by [Store.Apply], a whole [Batch] at a time:
//     after a crash all of a batch is there or none of it.
//   - S2: every batch carries the [Mark] it brings the store to. A store's
//     content is exactly the batches up to its mark.
//   - S3: nothing is durable before a [Store.Snapshot] or a clean Close; what a
//     crash loses comes back from the changelogs. A store may be durable up to
//     an older mark, never to half of one.
//   - S4: an entry whose header says it expired at or before the expiry clock
//     may vanish at any time, and no other entry ever does.
//
// One goroutine at a time uses a Store, except that [Store.Snapshot] and scans
// of other goroutines are never concurrent with Apply; separate Stores are
// independent.
package store

import "errors"

// Family selects one of the two key families.
type Family uint8

const (
	// Point is the family of single values, list heads and named timers.
	Point Family = 0
	// Ordered is the family of list elements, map entries, raw timers and the
	// time index.
	Ordered Family = 1
)

// ErrCorrupt marks damage found in a store, a batch or a snapshot. It is never
// repaired in silence: delete the working store to rebuild it from snapshot and
// changelogs, or restore the checkpoint from a copy.
var ErrCorrupt = errors.New("store: corrupt")

// ErrClosed is returned by every method of a closed store.
var ErrClosed = errors.New("store: closed")

// Engine opens the stores of one process. Memory bounds, such as RocksDB's block
// cache and write buffers, are shared by all stores of an Engine. Its methods
// are safe for concurrent use.
type Engine interface {
	// Name is "rocks" or "mem".
	Name() string
	// Open opens the working store in dir, creating dir and an empty store if
	// there is none. A damaged store is an error that matches [ErrCorrupt].
	Open(dir string) (Store, error)
	// Restore makes dir, which must not exist, a working store with the content
	// of the snapshot, which it leaves as it is.
	Restore(snapshot, dir string) error
	// Close releases what the stores share, after all of them are closed.
	Close() error
}

// Store is one open state store.
type Store interface {
	// Applied returns the mark of the last batch; ok is false in a new store.
	Applied() (m Mark, ok bool, err error)
	// Get returns the value of a key. The value is a copy that the caller owns.
	Get(f Family, key []byte) (value []byte, ok bool, err error)
	// MultiGet looks up keys of the point family, which must be in ascending
	// order, and calls found for those that exist, with the index of the key.
	// value is valid only during the call. An error from found ends the look-up.
	MultiGet(keys [][]byte, found func(i int, value []byte) error) error
	// Scan returns an iterator over the ordered family's keys in [lower, upper).
	// Both bounds are required. The iterator sees the store as it is now and
	// must be closed.
	Scan(lower, upper []byte) (Iterator, error)
	// Apply applies the records of one batch atomically. data is the form that
	// [Batch.Bytes] returns. The store is at the batch's mark afterwards.
	Apply(data []byte) error
	// SetExpiryClock allows entries that expire at or before micros to vanish.
	SetExpiryClock(micros int64)
	// Snapshot writes the store's present content into dir, which must not
	// exist. Files may be shared with the working store by hard links. dir and
	// its content are durable when it returns.
	Snapshot(dir string) error
	// Close makes the store durable at its mark and releases it. A second call
	// does nothing.
	Close() error
}

// Iterator walks entries in ascending key order. It starts before the first
// entry. Key and Value are valid until the next call of Next or Close.
//
//	for it.Next() { use(it.Key(), it.Value()) }
//	err := it.Err() // the end of a loop is not the end of the data
type Iterator interface {
	Next() bool
	Key() []byte
	Value() []byte
	// Err returns what ended the iteration early, or nil.
	Err() error
	// Close releases the iterator. A second call does nothing.
	Close() error
}

// Mark is the point in a unit's history that a store has been brought to.
type Mark struct {
	Epoch   int64
	Attempt int
}
