package kafka

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// fetchBytes bounds an answer of a broker, and so what the client holds of
	// each broker beside the fetcher.
	fetchBytes     = 16 << 20
	partitionBytes = 2 << 20
	// fetchWait is how long a broker holds back an empty answer. Other questions
	// to the same broker wait behind it.
	fetchWait = 500 * time.Millisecond
)

// fetchOptions are the client's options for fetching as the source wants it.
func fetchOptions(s *settings) []kgo.Opt {
	isolation := kgo.ReadCommitted()
	if s.uncommitted {
		isolation = kgo.ReadUncommitted()
	}
	return []kgo.Opt{
		kgo.FetchIsolationLevel(isolation),
		kgo.KeepControlRecords(), // they show that the log goes on behind the last row
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(partitionBytes),
		kgo.FetchMaxWait(fetchWait),
		kgo.WithPools(new(recycler)),
	}
}

// fetcher keeps fetching assigned partitions into backlogs, in the background,
// until they hold as much as they may. One goroutine polls the client; it alone
// changes what is assigned, between polls, so that no answer to an earlier
// assignment is taken for one to the present.
type fetcher struct {
	client   *kgo.Client
	log      *slog.Logger
	capacity int64
	stop     func()
	stopped  chan struct{}

	mu        sync.Mutex
	logs      []*backlog // by ordinal
	byLog     map[logID]*backlog
	losses    map[logID]loss // that are still to be told
	bytes     int64
	changed   chan struct{} // closed at each change
	orders    []func()      // to be run between polls
	interrupt func()        // ends the present poll
	troubles  int           // passing failures in a row
}

// fetchTarget is a partition to be fetched from an offset on.
type fetchTarget struct {
	n      int32
	log    logID
	id     uuid
	offset int64
	// cut says that the log was cut at bound: nothing behind is to be fetched.
	cut   bool
	bound int64
}

func startFetcher(client *kgo.Client, capacity int64, log *slog.Logger) *fetcher {
	ctx, stop := context.WithCancel(context.Background())
	f := &fetcher{
		client: client, log: log, capacity: capacity, stop: stop, stopped: make(chan struct{}),
		byLog: map[logID]*backlog{}, losses: map[logID]loss{}, changed: make(chan struct{}),
	}
	go f.run(ctx)
	return f
}

// close ends fetching and waits until nothing is fetched any more. It takes all
// partitions from the client: one that is closed while it has some that it has not
// begun with may begin with them while it ends its sessions, and both use the same
// memory (kgo 1.22, Client.close and guardSessionChange).
func (f *fetcher) close() {
	f.stop()
	<-f.stopped
	all := map[string][]int32{}
	f.mu.Lock()
	for id := range f.byLog {
		all[id.topic] = append(all[id.topic], id.partition)
	}
	f.mu.Unlock()
	f.client.RemoveConsumePartitions(all)
}

func (f *fetcher) run(ctx context.Context) {
	defer close(f.stopped)
	for ctx.Err() == nil {
		poll, cancel := context.WithCancel(ctx)
		f.mu.Lock()
		orders, full, changed := f.orders, f.bytes >= f.capacity, f.changed
		f.orders, f.interrupt = nil, cancel
		f.mu.Unlock()
		switch {
		case len(orders) > 0:
			for _, do := range orders {
				do()
			}
		case full:
			select {
			case <-changed:
			case <-poll.Done():
			}
		default:
			f.put(f.client.PollFetches(poll))
		}
		cancel()
	}
}

// between runs do while no poll is under way, and waits for it.
func (f *fetcher) between(do func()) {
	done := make(chan struct{})
	f.mu.Lock()
	f.orders = append(f.orders, func() { defer close(done); do() })
	if f.interrupt != nil {
		f.interrupt()
	}
	f.mu.Unlock()
	select {
	case <-done:
	case <-f.stopped:
	}
}

// tell wakes whoever waits for a change. The caller holds mu.
func (f *fetcher) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// assign makes the fetcher fetch exactly the targets. Those that are fetched
// already, and whose backlog reaches to the target's offset, go on where they are,
// unless again says to begin anew.
func (f *fetcher) assign(targets []fetchTarget, again bool) {
	f.mu.Lock()
	wanted := map[logID]bool{}
	var missing []fetchTarget
	for _, t := range targets {
		wanted[t.log] = true
		if b := f.byLog[t.log]; b == nil || !b.assigned {
			missing = append(missing, t)
		} else if b.failure == nil && (t.offset < b.base || t.offset > b.next) {
			again = true
		}
	}
	for id, b := range f.byLog {
		again = again || b.assigned && !wanted[id]
	}
	f.mu.Unlock()
	switch {
	case again:
		f.between(func() { f.reassign(targets) })
	case len(missing) > 0:
		f.between(func() { f.add(missing) })
	}
}

// reassign forgets everything, but for what the client will not tell again, and
// begins with the targets.
func (f *fetcher) reassign(targets []fetchTarget) {
	var topics []string
	seen := map[string]bool{}
	f.mu.Lock()
	for id, b := range f.byLog {
		f.clear(b)
		b.forget()
		if !seen[id.topic] {
			seen[id.topic] = true
			topics = append(topics, id.topic)
		}
	}
	f.bytes = 0
	f.mu.Unlock()
	f.client.PurgeTopicsFromConsuming(topics...)
	var noWait context.Context
	f.keepLosses(f.client.PollFetches(noWait)) // what it has left to tell of the earlier assignment
	f.add(targets)
}

// add begins to fetch targets that are not fetched.
func (f *fetcher) add(targets []fetchTarget) {
	offsets := map[string]map[int32]kgo.Offset{}
	f.mu.Lock()
	for _, t := range targets {
		b := f.backlog(t)
		b.assigned, b.id, b.base, b.next, b.bound = true, t.id, t.offset, t.offset, noLimit
		if t.cut {
			b.bound = t.bound
		}
		f.tellLoss(b)
		if t.cut && t.offset >= t.bound {
			continue // it has all there is
		}
		if offsets[t.log.topic] == nil {
			offsets[t.log.topic] = map[int32]kgo.Offset{}
		}
		offsets[t.log.topic][t.log.partition] = kgo.NewOffset().At(t.offset)
	}
	f.tell()
	f.mu.Unlock()
	f.client.AddConsumePartitions(offsets)
}

// backlog returns the backlog of a target, making one if there is none.
func (f *fetcher) backlog(t fetchTarget) *backlog {
	for int(t.n) >= len(f.logs) {
		f.logs = append(f.logs, &backlog{})
	}
	b := f.logs[t.n]
	b.log = t.log
	f.byLog[t.log] = b
	return b
}

// full reports whether the fetcher holds as much as it may. The caller holds mu.
func (f *fetcher) full() bool { return f.bytes >= f.capacity }

// ends returns, for each partition, the end of what is fetched.
func (f *fetcher) ends(at []int64) []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	ends := slices.Clone(at)
	for n, b := range f.logs {
		if b.assigned && n < len(ends) {
			ends[n] = max(ends[n], b.next)
		}
	}
	return ends
}

// release drops what lies before a place.
func (f *fetcher) release(at []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, b := range f.logs {
		if b.assigned && n < len(at) {
			f.bytes -= b.release(at[n])
		}
	}
	f.tell()
}

// pass makes a partition's backlog reach further, over offsets without records, but not
// beyond where its log was cut: what lies there is another log's.
func (f *fetcher) pass(n int32, from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.logs[n]; b.assigned && b.failure == nil && b.next == from {
		b.next = max(b.next, min(to, b.bound))
		f.tell()
	}
}

// put takes what a poll brought.
func (f *fetcher) put(fetches kgo.Fetches) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range fetches {
		for j := range fetches[i].Topics {
			t := &fetches[i].Topics[j]
			for k := range t.Partitions {
				f.putPartition(t, &t.Partitions[k])
			}
		}
	}
	f.tell()
}

func (f *fetcher) putPartition(t *kgo.FetchTopic, p *kgo.FetchPartition) {
	if p.Partition < 0 || t.Topic == "" {
		f.putTopicError(t.Topic, p.Err)
		return
	}
	b := f.byLog[logID{t.Topic, p.Partition}]
	if b == nil {
		return
	}
	if loss := lossOf(p.Err); loss != nil && (!b.assigned || b.failure != nil) {
		f.keepLoss(b, loss)
		if b.assigned && b.failure.kind == outOfRange { // the loss says more than that
			f.keepLoss(b, lossOf(b.failure.err))
			f.tellLoss(b)
		}
		return
	}
	if !b.assigned || b.failure != nil {
		return
	}
	switch id := uuid(t.TopicID); {
	case id.differs(b.id):
		b.fail(anotherTopic, kerr.UnknownTopicID)
	case p.Err != nil:
		f.putError(b, p.Err)
	case len(p.Records) > 0:
		f.troubles = 0
		f.bytes += b.put(p.Records)
	}
}

// putTopicError takes an error that is about no single partition.
func (f *fetcher) putTopicError(topic string, err error) {
	for id, b := range f.byLog {
		if id.topic == topic && b.assigned && b.failure == nil {
			f.putError(b, err)
		}
	}
}

// putError takes an error of a partition. Errors that pass are the client's: it
// tries again.
func (f *fetcher) putError(b *backlog, err error) {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrClientClosed):
	case errors.Is(err, kerr.OffsetOutOfRange), lossOf(err) != nil:
		b.fail(outOfRange, err)
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.InconsistentTopicID), errors.Is(err, kerr.UnknownTopicOrPartition):
		b.fail(anotherTopic, err)
	case kerr.IsRetriable(err), kgo.IsRetryableBrokerErr(err):
		if f.troubles++; worthTelling(f.troubles) {
			f.log.Warn("kafka: cannot fetch, will try again", "partition", b.log.String(), "offset", b.next, "times", f.troubles, "error", err)
		}
	default:
		b.fail(broken, err)
	}
}
