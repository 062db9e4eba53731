package engine

import "time"

// EpochStats is what one epoch did.
type EpochStats struct {
	Flow    string
	Epoch   int64
	Attempt int
	Clock   time.Time // the epoch's processing time

	RowsIn    int64
	BytesIn   int64
	Malformed int64 // input records dropped by policy
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

func (s *EpochStats) add(m sessionMetrics) {
	s.Keys += m.keys
	s.Timers += m.timers
	s.TimersSet += m.timersSet
	s.TimersCancelled += m.timersCancelled
	s.StatePuts += m.puts
	s.StateDeletes += m.deletes
}
