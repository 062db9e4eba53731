package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	firstTick = 100 * time.Millisecond
	maxTick   = 2 * time.Second
	// tellEvery is how often a long wait is told of.
	tellEvery = 30 * time.Second
	// probeTimeout bounds one question of a wait.
	probeTimeout = 10 * time.Second
	// probeBytes bounds its answer. A batch that is larger comes nevertheless, so it
	// is enough to see the first record, or to pass a thousand batches without one.
	probeBytes = 64 << 10
)

// full reports whether the fetcher holds as much as it may. The caller holds mu.
func (f *fetcher) full() bool { return f.bytes >= f.capacity }

// waiting is a wait for records that must be there.
type waiting struct {
	feed    *feed
	targets []int64
	tick    time.Duration
	silent  time.Duration // since the last sign of a broker
	told    time.Duration // since the last word to the log
	last    error         // of the last question
	short   int           // how often in a row a log seemed to end before its target
}

// shortTries is how often in a row a log must seem cut short to be taken for it: a
// new leader learns only after a while how far the log is valid.
const shortTries = 3

// await waits until ready, which it calls with the fetcher's mutex held, or until
// each partition reaches its target. The fetcher does the work. When nothing comes,
// await asks the brokers itself: where no record follows, only that shows it.
func (f *feed) await(ctx context.Context, targets []int64, ready func() bool) error {
	w := &waiting{feed: f, targets: targets, tick: firstTick}
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

// lag is a partition that has not reached its target.
type lag struct {
	n      int32
	log    logID
	id     uuid
	offset int64 // of the next record
	target int64
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
	there := false
	f.fetch.retry(func(l logID) bool {
		there = there || !f.deleted[l.topic]
		return !f.deleted[l.topic]
	})
	if there {
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
		if p.next > l.offset {
			f.fetch.pass(l.n, l.offset, p.next)
			w.tick, w.short = firstTick, 0
		} else if p.highWatermark < l.target {
			if w.short++; w.short < shortTries {
				continue
			}
			if err := f.repair(ctx, l.n, l.target); err != nil && !kerr.IsRetriable(err) {
				return err
			}
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

func (w *waiting) lastError() error {
	if w.last != nil {
		return w.last
	}
	return context.DeadlineExceeded
}

// probed is what a broker said of a partition.
type probed struct {
	next          int64 // no record lies before it
	highWatermark int64
}

// probe asks the leader of a partition what follows an offset.
func (f *feed) probe(ctx context.Context, l lag) (probed, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	leader, _, err := f.client.PartitionLeader(l.log.topic, l.log.partition)
	if err != nil {
		return probed{}, err
	}
	if leader < 0 {
		return probed{}, kerr.LeaderNotAvailable
	}
	resp, err := f.client.Broker(int(leader)).Request(ctx, f.probeRequest(l))
	if err != nil {
		return probed{}, fmt.Errorf("broker %d: %w", leader, err)
	}
	r, ok := resp.(*kmsg.FetchResponse)
	switch {
	case !ok:
		return probed{}, fmt.Errorf("broker %d answers a fetch with %T", leader, resp)
	case r.ErrorCode != 0:
		return probed{}, kerr.ErrorForCode(r.ErrorCode)
	case len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1:
		return probed{}, fmt.Errorf("broker %d answers a fetch of one partition with %d topics", leader, len(r.Topics))
	}
	return f.probed(l, &r.Topics[0].Partitions[0])
}

func (f *feed) probeRequest(l lag) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.SessionEpoch = -1, -1
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 0, 1, probeBytes
	if !f.uncommitted {
		req.IsolationLevel = 1
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = l.log.topic, l.id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = l.log.partition, l.offset, probeBytes
	p.CurrentLeaderEpoch, p.LogStartOffset = -1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// probed reads an answer.
func (f *feed) probed(l lag, rp *kmsg.FetchResponseTopicPartition) (probed, error) {
	isolation := kgo.ReadCommitted()
	if f.uncommitted {
		isolation = kgo.ReadUncommitted()
	}
	p, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: l.offset, IsolationLevel: isolation, Topic: l.log.topic, Partition: l.log.partition,
	}, rp, kgo.DefaultDecompressor(), nil)
	if p.Err != nil {
		return probed{}, p.Err
	}
	if len(p.Records) > 0 {
		next = p.Records[0].Offset
	}
	return probed{next: next, highWatermark: p.HighWatermark}, nil
}

// pass makes a partition's backlog reach further, over offsets without records.
func (f *fetcher) pass(n int32, from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.logs[n]; b.assigned && b.failure == nil && b.next == from {
		b.next = to
		f.tell()
	}
}

// retry fetches failed partitions again from where they are, and gives up the
// others.
func (f *fetcher) retry(keep func(logID) bool) {
	for _, bad := range f.failures() {
		f.mu.Lock()
		b := f.logs[bad.n]
		again := keep(b.log)
		if !again {
			f.bytes -= b.release(b.next)
			b.forget()
		}
		f.mu.Unlock()
		if again {
			f.skip(bad.n, bad.offset)
		}
	}
}

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
