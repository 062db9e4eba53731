package kafka

import (
	"context"
	"math"
	"slices"

	"github.com/tws-go/tws/runtime/stream"
)

// noLimit is a limit that nothing reaches.
const noLimit = math.MaxInt64

// Cut ends an epoch; see [stream.Reader]. What the buffer holds is a limit like
// the others. Rows are taken evenly from the partitions that have some, so that
// none waits for the backlog of another. A record counts as a row whether or not a
// policy passes over it.
func (f *feed) Cut(ctx context.Context, from, end stream.Position, limits stream.Limits) (stream.Position, error) {
	a, b, err := f.span(from, end)
	if err != nil {
		return nil, err
	}
	if a.same(b) {
		return end, nil
	}
	if err := f.begin(a); err != nil {
		return nil, err
	}
	f.ensure(a)
	c := f.newCut(a, b, limits)
	if err := f.await(ctx, b.at, c.enough); err != nil {
		return nil, err
	}
	f.fetch.mu.Lock()
	c.fill()
	f.fetch.mu.Unlock()
	if slices.Equal(c.at, b.at) {
		return end, nil
	}
	return f.ledger.encode(a.with(c.at)), nil
}

// cut is an epoch that is being cut.
type cut struct {
	feed   *feed
	at     []int64
	end    []int64
	limits stream.Limits // noLimit for none
	rows   int64
	bytes  int64
}

func (f *feed) newCut(a, b *place, limits stream.Limits) *cut {
	if limits.Rows <= 0 {
		limits.Rows = noLimit
	}
	if limits.Bytes <= 0 {
		limits.Bytes = noLimit
	}
	return &cut{feed: f, at: slices.Clone(a.at), end: b.at, limits: limits}
}

// enough reports whether the epoch can be cut: everything is there, or as much as
// the limits allow. The caller holds the fetcher's mutex.
func (c *cut) enough() bool {
	full := c.feed.fetch.full()
	var rows, bytes int64
	there := true
	for n := range c.at {
		there = there && c.feed.reach(n) >= c.end[n]
	}
	if there || !full && c.limits.Rows == noLimit && c.limits.Bytes == noLimit {
		return there
	}
	for n := range c.at {
		if b := c.feed.backlog(n); b != nil && c.at[n] < c.end[n] {
			r, s := b.count(c.at[n], c.end[n])
			rows, bytes = rows+r, bytes+s
		}
	}
	return full && rows > 0 || rows >= c.limits.Rows || bytes >= c.limits.Bytes
}

// fill takes what the limits allow. The caller holds the fetcher's mutex.
func (c *cut) fill() {
	var open []int
	for n := range c.at {
		if c.at[n] < c.end[n] {
			open = append(open, n)
		}
	}
	if len(open) == 0 {
		return
	}
	c.feed.turn++
	first := c.feed.turn % len(open)
	open = slices.Concat(open[first:], open[:first])
	for len(open) > 0 && c.rows < c.limits.Rows && c.bytes < c.limits.Bytes {
		open = c.round(open)
	}
}

// round gives each partition its share and returns those that have more.
func (c *cut) round(open []int) []int {
	share := func(limit, used int64) int64 {
		if limit == noLimit {
			return noLimit
		}
		return (limit - used + int64(len(open)) - 1) / int64(len(open))
	}
	maxRows, maxBytes := share(c.limits.Rows, c.rows), share(c.limits.Bytes, c.bytes)
	var more []int
	for _, n := range open {
		leftRows, leftBytes := c.limits.Rows-c.rows, c.limits.Bytes-c.bytes
		if c.limits.Rows == noLimit {
			leftRows = noLimit
		}
		if c.limits.Bytes == noLimit {
			leftBytes = noLimit
		}
		rows := c.advance(n, min(maxRows, leftRows), min(maxBytes, leftBytes))
		if rows == 0 && c.at[n] < c.feed.reach(n) { // a record larger than its share
			rows = c.advance(n, min(1, leftRows), leftBytes)
		}
		if rows == 0 && c.rows == 0 && c.at[n] < c.feed.reach(n) { // larger than the limit, and this partition's turn
			rows = c.advance(n, 1, noLimit-1)
		}
		if rows > 0 {
			more = append(more, n)
		}
	}
	return more
}

// advance takes rows of a partition.
func (c *cut) advance(n int, maxRows, maxBytes int64) (rows int64) {
	b := c.feed.backlog(n)
	if b == nil {
		c.at[n] = c.end[n] // gone
		return 0
	}
	at, rows, bytes := b.advance(c.at[n], min(c.end[n], b.next), maxRows, maxBytes)
	c.at[n], c.rows, c.bytes = max(c.at[n], at), c.rows+rows, c.bytes+bytes
	if c.feed.dry(int32(n), c.at[n]) {
		c.at[n] = c.end[n]
	}
	return rows
}

// backlog returns what is fetched of a partition, nil for one that is not to be
// fetched. The caller holds the fetcher's mutex.
func (f *feed) backlog(n int) *backlog {
	if !f.readable(int32(n)) || n >= len(f.fetch.logs) || !f.fetch.logs[n].assigned {
		return nil
	}
	return f.fetch.logs[n]
}

// reach returns how far a partition is known. One that is gone, or whose log was
// cut and is fetched to there, has nothing more to wait for: the policy allows it.
func (f *feed) reach(n int) int64 {
	b := f.backlog(n)
	if b == nil && f.readable(int32(n)) {
		return 0
	}
	if b == nil || f.dry(int32(n), b.next) {
		return noLimit
	}
	return b.next
}

// dry reports whether nothing of a partition will come from an offset on: it is
// gone, or its log was cut before that. What was fetched before still comes. The
// caller holds the fetcher's mutex.
func (f *feed) dry(n int32, at int64) bool {
	if !f.readable(n) {
		return true
	}
	end, cut := f.cutShort[n]
	if !cut || at < end {
		return false
	}
	b := f.backlog(int(n))
	return b == nil || at >= b.next
}
