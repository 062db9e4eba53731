package epoch

import "time"

// Clock is the one source of time of a pipeline. Processing time, the waiting
// between epochs and the age of files all come from it.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives once d has passed.
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the present instant.
func (SystemClock) Now() time.Time { return time.Now() }

// After waits as [time.After] does.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
