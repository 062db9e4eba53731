package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// taken are records that left a backlog. They are the taker's, who may recycle them.
type taken struct {
	records []*kgo.Record
	bytes   int64
	next    int64 // how far they reach
}

// take returns the next records of a partition before an offset.
func (f *feed) take(ctx context.Context, n int32, at, end int64) (t taken, err error) {
	targets := make([]int64, len(f.ledger.logs))
	targets[n] = end
	there := false
	got := func() bool {
		if !there {
			t, there = f.next(n, at, end)
		}
		return there
	}
	f.fetch.mu.Lock()
	ok := got()
	f.fetch.mu.Unlock()
	if ok {
		f.came(n, t)
		return t, nil
	}
	f.cover(n, at)
	if err := f.await(ctx, targets, got); err != nil {
		return taken{}, err
	}
	f.fetch.mu.Lock()
	defer f.fetch.mu.Unlock()
	if !got() {
		return taken{}, f.errorf("%s: offset %d is not in the backlog though it was fetched", f.ledger.logs[n].logID, at)
	}
	f.came(n, t)
	return t, nil
}

// came notes that a partition can be fetched.
func (f *feed) came(n int32, t taken) {
	f.doubts, f.baffled = 0, 0
	if t.next > f.stuck[n].offset {
		delete(f.stuck, n)
	}
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
func (f *feed) next(n int32, at, end int64) (t taken, there bool) {
	b := f.backlog(int(n))
	if f.dry(n, at) {
		return taken{next: end}, true
	}
	if b == nil || at < b.base || at >= b.next {
		return taken{}, false
	}
	f.fetch.bytes -= b.release(at)
	if len(b.answers) == 0 {
		return taken{next: min(end, b.next)}, true
	}
	c := &b.answers[0]
	i, j := c.index(at), c.index(end)
	t = taken{records: c.records[i:j], bytes: c.size(i, j), next: min(end, c.end)}
	if c.end <= end {
		f.fetch.bytes -= b.release(c.end)
	} else {
		c.drop(j)
		b.base = max(b.base, end)
	}
	f.fetch.tell()
	return t, true
}
