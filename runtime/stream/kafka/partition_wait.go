package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	firstTick = 100 * time.Millisecond
	maxTick   = 2 * time.Second
	// tellEvery is how often a long wait is told of.
	tellEvery = 30 * time.Second
)

// waiting is a wait for records that must be there.
type waiting struct {
	feed    *feed
	targets []int64
	tick    time.Duration
	silent  time.Duration // since the last sign of a broker
	told    time.Duration // since the last word to the log
	last    error         // of the last question
	short   map[int32]int // how often in a row a log seemed to end before its target, by ordinal
}

// shortTries is how often in a row a log must seem cut short to be taken for it: a
// new leader learns only after a while how far the log is valid.
const shortTries = 3

// await waits until ready, which it calls with the fetcher's mutex held, or until
// each partition reaches its target. The fetcher does the work. When nothing comes,
// await asks the brokers itself: where no record follows, only that shows it.
func (f *feed) await(ctx context.Context, targets []int64, ready func() bool) error {
	w := &waiting{feed: f, targets: targets, tick: firstTick, short: map[int32]int{}}
	for {
		f.fetch.mu.Lock()
		lagging := w.lagging()
		done, full, changed := len(lagging) == 0 || ready(), f.fetch.full(), f.fetch.changed
		f.fetch.mu.Unlock()
		if done {
			return nil
		}
		treated, err := w.treat(ctx)
		if err != nil {
			return err
		}
		if treated {
			continue
		}
		if full { // of what is not asked for
			f.focus(lagging)
			continue
		}
		timer := time.NewTimer(w.tick)
		select {
		case <-changed:
			err = ctx.Err()
		case <-ctx.Done():
			err = ctx.Err()
		case <-timer.C:
			err = w.ask(ctx, lagging)
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// lagging lists the partitions that have not reached their targets. The caller
// holds the fetcher's mutex.
func (w *waiting) lagging() []lag {
	f := w.feed
	var all []lag
	for n, target := range w.targets {
		if offset := f.reach(n); offset < target {
			if f.backlog(n) == nil {
				offset = 0
			}
			l := f.ledger.logs[n].logID
			all = append(all, lag{int32(n), l, f.ledger.topics[l.topic].id, offset, target})
		}
	}
	return all
}

// treat deals with partitions that cannot be fetched.
func (w *waiting) treat(ctx context.Context) (treated bool, err error) {
	f := w.feed
	for _, bad := range f.fetch.failures() {
		err := f.treat(ctx, bad)
		if err != nil && bad.kind == outOfRange && kerr.IsRetriable(err) {
			w.last = err // and again after a while
			continue
		}
		if err != nil {
			return false, err
		}
		if treated = true; bad.kind == anotherTopic {
			if err := f.recheck(ctx); err != nil {
				return false, err
			}
		}
	}
	return treated, nil
}

// recheck asks at once whether topics are still those of the ledger.
func (f *feed) recheck(ctx context.Context) error {
	if err := f.lookNow(ctx); err != nil {
		return err
	}
	if err := f.checkKnown(); err != nil {
		return err
	}
	if f.fetch.retry(func(topic string) bool { return !f.deleted[topic] }) {
		f.doubt()
	}
	return nil
}

// focus makes room by fetching nothing but what is waited for.
func (f *feed) focus(lagging []lag) {
	offsets := make([]int64, len(f.ledger.logs))
	chosen := map[int32]bool{}
	for _, l := range lagging {
		offsets[l.n], chosen[l.n] = l.offset, true
	}
	f.fetch.assign(f.wanted(offsets, func(n int32) bool { return chosen[n] }), true)
}

// ask asks the brokers about what does not come, and tells of long waits.
func (w *waiting) ask(ctx context.Context, lagging []lag) error {
	f := w.feed
	w.silent, w.told = w.silent+w.tick, w.told+w.tick
	w.tick = min(2*w.tick, maxTick)
	for _, l := range lagging {
		p, err := f.probe(ctx, l)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if w.last = err; !kerr.IsRetriable(err) && !kgo.IsRetryableBrokerErr(err) {
				w.last = explain(f.cluster, l.log.topic, err)
			}
			continue
		}
		w.silent = 0
		if err := w.heed(ctx, l, p); err != nil {
			return err
		}
	}
	first := lagging[0]
	if w.silent >= f.stall {
		return f.errorf("%s: waited %s for offsets %d to %d without a sign of a broker: %w", first.log, w.silent, first.offset, first.target-1, w.lastError())
	}
	if w.told >= tellEvery {
		w.told = 0
		f.log.Warn("kafka: waiting for records", "partition", first.log.String(), "offset", first.offset, "until", first.target, "partitions", len(lagging), "last", w.last)
	}
	return nil
}

// heed makes of a broker's answer what it says of a partition.
func (w *waiting) heed(ctx context.Context, l lag, p probed) error {
	f := w.feed
	switch {
	case p.next > l.offset:
		f.fetch.pass(l.n, l.offset, p.next)
		w.tick = firstTick
	case p.highWatermark < l.target:
		if w.short[l.n]++; w.short[l.n] < shortTries {
			return nil
		}
		if err := f.repair(ctx, l.n, l.target, errEndsBefore); err != nil {
			if !kerr.IsRetriable(err) {
				return err
			}
			w.last = err // and again after a while
			return nil
		}
	}
	delete(w.short, l.n)
	return nil
}

func (w *waiting) lastError() error {
	if w.last != nil {
		return w.last
	}
	return context.DeadlineExceeded
}
