package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// take returns the next records of a partition before an offset, and how far they
// reach. What is taken leaves the backlog and is the caller's, who may recycle it.
func (f *feed) take(ctx context.Context, n int32, at, end int64) (records []*kgo.Record, next int64, err error) {
	targets := make([]int64, len(f.ledger.logs))
	targets[n] = end
	taken := false
	got := func() bool {
		taken = taken || f.next(n, at, end, &records, &next)
		return taken
	}
	f.fetch.mu.Lock()
	ok := got()
	f.fetch.mu.Unlock()
	if ok {
		f.doubts, f.baffled = 0, 0
		return records, next, nil
	}
	f.cover(n, at)
	if err := f.await(ctx, targets, got); err != nil {
		return nil, 0, err
	}
	f.fetch.mu.Lock()
	defer f.fetch.mu.Unlock()
	f.doubts, f.baffled = 0, 0
	if !got() {
		return nil, 0, f.errorf("%s: offset %d is not in the backlog though it was fetched", f.ledger.logs[n].logID, at)
	}
	return records, next, nil
}

// cover makes the fetcher fetch a partition from an offset, if it does not.
func (f *feed) cover(n int32, at int64) {
	f.fetch.mu.Lock()
	b := f.backlog(int(n))
	covered := !f.readable(n) || b != nil && b.base <= at && at <= b.next
	f.fetch.mu.Unlock()
	if !covered {
		f.focus([]lag{{n: n, offset: at}})
	}
}

// next takes what is there of a partition. The caller holds the fetcher's mutex.
func (f *feed) next(n int32, at, end int64, records *[]*kgo.Record, next *int64) bool {
	b := f.backlog(int(n))
	if b == nil && f.reach(int(n)) == noLimit {
		*next = end // it is gone, and nothing comes
		return true
	}
	if b == nil || at < b.base || at >= b.next {
		return false
	}
	f.fetch.bytes -= b.release(at)
	if len(b.answers) == 0 {
		*next = min(end, b.next)
		return true
	}
	c := &b.answers[0]
	*records, *next = c.between(at, end), min(end, c.end)
	if c.end <= end {
		f.fetch.bytes -= b.release(c.end)
	} else {
		c.records = c.records[c.index(end):]
		b.base = max(b.base, end)
	}
	f.fetch.tell()
	return true
}
