package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestLossWhileFull: that a log was cut behind what was read is told, though nobody
// polled when the client noticed, and it is fetched anew from there before that.
func TestLossWhileFull(t *testing.T) {
	t.Parallel()
	x := newRegrownTest(t, Source[sensor]{})
	x.put(0, numbers(0, 9)...)
	x.drain()
	f := x.reader.(*reader[sensor]).fetch
	f.mu.Lock()
	f.bytes += 1 << 40 // full: of another partition's records
	f.mu.Unlock()
	f.between(func() {}) // not polling from here on
	noticed := x.fetched(7)
	x.lead(7)
	arrives(t, "a fetch from where the log was cut", noticed)
	f.assign([]fetchTarget{{n: 0, log: logID{"sensors", 0}, offset: 10}}, true)
	x.put(0, numbers(10, 19)...)
	wantError(t, x.fail(), "offset 10 was to be read next, but the log was cut short at 7")
}

// fetched returns a channel that tells when a partition is fetched from an offset.
func (x *topicTest[R]) fetched(offset int64) <-chan struct{} {
	seen := make(chan struct{})
	x.fake.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		x.fake.KeepControl()
		for _, t := range req.(*kmsg.FetchRequest).Topics {
			for _, p := range t.Partitions {
				if p.FetchOffset == offset {
					x.fake.DropControl()
					close(seen)
					return nil, nil, false
				}
			}
		}
		return nil, nil, false
	})
	return seen
}

// losing is a fetcher of partition 0 of topic t from offset 10, without a broker, and
// a function that makes the client tell of it.
func losing() (f *fetcher, b *backlog, tell func(error)) {
	f = &fetcher{byLog: map[logID]*backlog{}, losses: map[logID]loss{}, changed: make(chan struct{})}
	b = f.backlog(fetchTarget{log: logID{"t", 0}})
	b.assigned, b.id, b.next, b.bound = true, uuid{1}, 10, noLimit
	return f, b, func(err error) {
		f.put(kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "t", Partitions: []kgo.FetchPartition{{Partition: 0, Err: err}}}}}})
	}
}

// TestLossOutlivesState: a loss is told when a partition is fetched again from where it
// matters, whatever the partition was in when it came.
func TestLossOutlivesState(t *testing.T) {
	t.Parallel()
	lost := &kgo.ErrDataLoss{Topic: "t", ResetTo: 7}
	for name, c := range map[string]struct {
		before func(*fetcher, *backlog, func(error))
		id     uuid
		next   int64
		told   bool
	}{
		"unassigned":        {func(_ *fetcher, b *backlog, _ func(error)) { b.forget() }, uuid{1}, 10, true},
		"another topic":     {func(_ *fetcher, _ *backlog, tell func(error)) { tell(kerr.UnknownTopicID) }, uuid{1}, 10, true},
		"out of range":      {func(_ *fetcher, _ *backlog, tell func(error)) { tell(kerr.OffsetOutOfRange) }, uuid{1}, 10, true},
		"failed of another": {func(_ *fetcher, _ *backlog, tell func(error)) { tell(&kgo.ErrDataLoss{Topic: "t", ResetTo: 9}) }, uuid{1}, 8, true},
		"read from before":  {func(_ *fetcher, b *backlog, _ func(error)) { b.forget() }, uuid{1}, 7, false},
		"made anew":         {func(_ *fetcher, b *backlog, _ func(error)) { b.forget() }, uuid{2}, 10, false},
	} {
		f, b, tell := losing()
		c.before(f, b, tell)
		tell(lost)
		tell(&kgo.ErrDataLoss{Topic: "t", ResetTo: 9}) // says less
		f.clear(b)
		b.assigned, b.id, b.next, b.bound = true, c.id, c.next, noLimit
		f.tellLoss(b)
		if told := b.failure != nil; told != c.told {
			t.Errorf("%s: told %v, want %v", name, told, c.told)
		} else if told && (b.failure.err != lost || b.failure.kind != outOfRange) {
			t.Errorf("%s: failed of %v, want the loss", name, b.failure.err)
		}
		if len(f.losses) != 0 {
			t.Errorf("%s: %v is left", name, f.losses)
		}
	}
}

// TestPassEndsAtCut: nothing is passed over behind where a log was cut.
func TestPassEndsAtCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ bound, want int64 }{{noLimit, 20}, {15, 15}, {10, 10}, {5, 10}, {0, 10}} {
		f, b, _ := losing()
		b.bound = c.bound
		if f.pass(0, 10, 20); b.next != c.want {
			t.Errorf("cut at %d: fetched to %d, want %d", c.bound, b.next, c.want)
		}
	}
}

// TestRetryKeepsOtherFailures: only that a topic seemed to be another is over when the
// topic is there.
func TestRetryKeepsOtherFailures(t *testing.T) {
	t.Parallel()
	for _, err := range []error{&kgo.ErrDataLoss{Topic: "t", ResetTo: 7}, kerr.OffsetOutOfRange, kerr.TopicAuthorizationFailed} {
		f, b, tell := losing()
		tell(err)
		if again := f.retry(func(string) bool { return true }); again || b.failure == nil || b.failure.err != err {
			t.Errorf("failed of %v after %v, and again: %v", b.failure, err, again)
		}
		if again := f.retry(func(string) bool { return false }); again || b.failure != nil || b.assigned {
			t.Errorf("%v of a topic that is gone stays", err)
		}
	}
}
