package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// failed is why a partition is not fetched any more.
type failed struct {
	n      int32
	kind   failKind
	offset int64
	err    error
}

type failKind uint8

const (
	broken       failKind = iota // for good
	outOfRange                   // the log does not hold the offset
	anotherTopic                 // the topic is gone or another
)

func (b *backlog) fail(kind failKind, err error) {
	b.failure = &failed{kind: kind, offset: b.next, err: err}
}

// failures returns the partitions that are not fetched any more.
func (f *fetcher) failures() []failed {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []failed
	for n, b := range f.logs {
		if b.assigned && b.failure != nil {
			bad := *b.failure
			bad.n = int32(n)
			all = append(all, bad)
		}
	}
	return all
}

// skip goes on fetching a partition at an offset that is not before what is
// fetched of it; there is nothing in between.
func (f *fetcher) skip(n int32, offset int64) {
	f.goOn(n, func(b *backlog) { b.next = max(b.next, offset) })
}

// bound ends fetching a partition where its log was cut. What was fetched stays.
func (f *fetcher) bound(n int32, end int64) {
	f.goOn(n, func(b *backlog) { b.bound = end })
}

// goOn changes what is fetched of a partition that failed, and goes on, unless it has
// all there is.
func (f *fetcher) goOn(n int32, change func(*backlog)) {
	f.mu.Lock()
	if int(n) >= len(f.logs) || !f.logs[n].assigned {
		f.mu.Unlock()
		return
	}
	b := f.logs[n]
	f.clear(b)
	change(b)
	f.tellLoss(b)
	log, at, more := b.log, b.next, b.next < b.bound
	f.tell()
	f.mu.Unlock()
	f.restart(log, at, more)
}

// restart makes the client fetch a partition from an offset on, or not any more.
func (f *fetcher) restart(log logID, at int64, on bool) {
	f.between(func() {
		f.client.RemoveConsumePartitions(map[string][]int32{log.topic: {log.partition}})
		if on {
			f.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{log.topic: {log.partition: kgo.NewOffset().At(at)}})
		}
	})
}

// retry fetches partitions again whose topic seemed to be another and is there, from
// where they are, and gives up those of topics that are not. It reports whether there
// are any of the former. What else partitions failed of stays.
func (f *fetcher) retry(there func(topic string) bool) (again bool) {
	for _, bad := range f.failures() {
		f.mu.Lock()
		b := f.logs[bad.n]
		gone := !there(b.log.topic)
		if gone {
			f.bytes -= b.release(b.next)
			b.forget()
			delete(f.losses, b.log)
		}
		f.mu.Unlock()
		if !gone && bad.kind == anotherTopic {
			again = true
			f.skip(bad.n, bad.offset)
		}
	}
	return again
}
