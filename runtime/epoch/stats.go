// Package epoch is what can be seen of the life of an epoch from outside: what one
// did, the points of its commit order, the clock that it lives by. The engine that
// runs epochs is internal; options and hooks of a pipeline speak of it in these
// types. All of them are plain values.
package epoch

import "time"

// Stats is what one epoch did.
type Stats struct {
	Flow    string
	Epoch   int64
	Attempt int
	Clock   time.Time // the epoch's processing time
	// Watermark is the epoch's watermark, zero if the flow has none or it is unset.
	Watermark time.Time

	RowsIn    int64
	BytesIn   int64
	Malformed int64 // input records dropped by policy
	Late      int64 // rows dropped because they were older than the watermark
	Keys      int64 // input sessions
	Timers    int64 // timers fired
	RowsOut   int64
	BytesOut  int64

	TimersSet       int64 // timers set that were not set to that instant
	TimersCancelled int64 // timers removed or moved that had not fired

	StatePuts      int64 // values, list elements and map entries written
	StateDeletes   int64 // values, list elements and map entries removed
	ChangelogBytes int64

	Took Phases
}

// Phases says how long the parts of an epoch took.
type Phases struct {
	Begin, Read, Sessions, Prepare, Decide, Publish time.Duration
}

// Total returns the sum of all parts.
func (p Phases) Total() time.Duration {
	return p.Begin + p.Read + p.Sessions + p.Prepare + p.Decide + p.Publish
}
