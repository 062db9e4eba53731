package twstest

import (
	"sync"
	"time"
)

// Start is the instant at which a manual clock starts unless told otherwise.
var Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Clock is a clock that stands still until it is moved. It implements the
// pipeline's Clock and is safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	waiting []alarm
}

type alarm struct {
	at time.Time
	c  chan time.Time
}

// NewClock returns a clock that stands at an instant.
func NewClock(at time.Time) *Clock { return &Clock{now: at} }

// Now returns the instant the clock stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After returns a channel that receives when the clock has been moved by d.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= 0 {
		ch <- c.now
		return ch
	}
	c.waiting = append(c.waiting, alarm{at: c.now.Add(d), c: ch})
	return ch
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	still := c.waiting[:0]
	for _, a := range c.waiting {
		if a.at.After(c.now) {
			still = append(still, a)
			continue
		}
		a.c <- c.now
	}
	c.waiting = still
}
