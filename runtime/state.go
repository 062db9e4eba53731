package tws

import (
	"iter"
	"time"
)

// The state interfaces. A field of one of these types declares a state variable;
// tws-gen generates the accessor that the field holds at run time, and a test may
// put a fake there. Variables are per key and can be used only inside callbacks.
// All methods are for one goroutine, the one that runs the callback, as are the
// emitter and the contexts; a callback that starts others must not hand them on.
//
// Values are the caller's own: what Get returns may be changed freely, and what
// Update was given may be changed after it. An entry whose time to live has
// passed is absent from that instant on. Only writes start a time to live anew. An
// error of a variable fails the epoch, even if the callback ignores it.

// ValueState holds at most one value for each key.
type ValueState[T any] interface {
	// Get returns the value; ok is false, and the value zero, if there is none.
	Get() (v T, ok bool, err error)
	// Exists reports whether there is a value.
	Exists() (bool, error)
	// Update sets the value.
	Update(v T) error
	// Clear removes the value, if there is one.
	Clear() error
}

// ListState holds a list of values for each key, in the order they were
// appended. An empty list and no list are the same.
type ListState[T any] interface {
	// All iterates over the elements as they are when the iteration begins;
	// changes made meanwhile are not seen. An error that ends the iteration
	// early fails the epoch, whatever the callback returns.
	All() iter.Seq[T]
	// Len returns the number of elements. With a TTL it reads the list.
	Len() (int, error)
	// Exists reports whether there is an element.
	Exists() (bool, error)
	// Put replaces the list. No elements at all clear it.
	Put(vs []T) error
	// Append adds one element at the end. With a TTL, older elements keep theirs.
	Append(v T) error
	// AppendAll adds elements at the end.
	AppendAll(vs []T) error
	// Clear removes all elements.
	Clear() error
}

// MapState holds a map for each key. With a TTL, each entry has its own. An empty
// map and no map are the same.
type MapState[K, V any] interface {
	// Get returns an entry's value; ok is false if there is none.
	Get(k K) (v V, ok bool, err error)
	// Contains reports whether there is an entry.
	Contains(k K) (bool, error)
	// Exists reports whether there is any entry.
	Exists() (bool, error)
	// Update sets an entry.
	Update(k K, v V) error
	// Remove removes an entry, if it exists.
	Remove(k K) error
	// Clear removes all entries.
	Clear() error
	// All iterates over the entries in the order of their keys, as they are when
	// the iteration begins. An error that ends it early fails the epoch, whatever
	// the callback returns.
	All() iter.Seq2[K, V]
	// Keys iterates over the keys, as All does.
	Keys() iter.Seq[K]
	// Values iterates over the values in the order of their keys, as All does.
	Values() iter.Seq[V]
	// Range iterates over the entries with from <= key < to, as All does.
	Range(from, to K) iter.Seq2[K, V]
}

// Timer is a named timer: at most one pending instant for each key.
type Timer interface {
	// Set makes the timer fire at an instant, rounded up to a microsecond, of
	// processing time or, with time=event, of event time, instead of the one it
	// was set to before. An instant that has passed is due
	// after the input of this epoch, or, when set from a timer callback, in the
	// next epoch.
	Set(at time.Time) error
	// Stop cancels the timer, if it is set.
	Stop() error
	// Get returns the instant the timer is set to; ok is false if it is not set.
	Get() (at time.Time, ok bool, err error)
}
