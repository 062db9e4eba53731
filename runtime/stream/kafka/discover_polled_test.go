package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// polledAt discovers and returns the second at which all was handed out, or -1.
func (x *topicTest[R]) polledAt() (second int64, end stream.Position) {
	x.Helper()
	end = x.discover(false)
	at, ok := x.reader.(stream.Polled).PolledAt()
	if !ok {
		return -1, end
	}
	return at.Unix(), end
}

// wantPolled waits until all that was there at a second is handed out.
func (x *topicTest[R]) wantPolled(second int64) (end stream.Position) {
	x.Helper()
	until(x, "the ends", func() bool {
		var at int64
		at, end = x.polledAt()
		return at == second
	})
	return end
}

// TestPolledAt: after a long time without the flow, records of a partition that
// cannot be fetched are not taken for absent, however long that takes.
//
// B-30
func TestPolledAt(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	for p := range int32(2) {
		if err := x.fake.MoveTopicPartition("sensors", p, p); err != nil {
			t.Fatal(err)
		}
	}
	x.clock.Store(1000)
	x.put(0, 1)
	x.put(1, 11)
	if end := x.wantPolled(1000); string(end) != `{"sensors":{"0":1,"1":1}}` {
		t.Errorf("all was handed out at %s", end)
	}
	x.at = x.discover(false)
	x.stop()

	x.put(0, 2)
	x.put(1, 12)
	x.clock.Store(2000)
	release := make(chan struct{})
	x.fake.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		x.fake.KeepControl()
		if x.fake.CurrentNode() == 1 {
			x.fake.SleepControl(func() { <-release })
		}
		return nil, nil, false
	})
	x.restart()
	wantIDs(t, x.follow(1), 2)
	f := x.reader.(*reader[sensor]).feed
	for second := int64(2000); second < 2200; second += 20 {
		x.clock.Store(second)
		until(t, "an answer", func() bool {
			if at, end := x.polledAt(); at >= 0 {
				t.Fatalf("at %d all was handed out as of %d: %s", second, at, end)
			}
			return f.polls.pending != nil && !f.polls.asking.open() && f.polls.asked.Unix() == second
		})
	}
	close(release)
	if end := x.wantPolled(2000); string(end) != `{"sensors":{"0":2,"1":2}}` {
		t.Errorf("all was handed out at %s", end)
	}
	x.clock.Store(2300)
	x.wantPolled(2300)
}

// TestPolledAtFinal: the last look knows at once.
func TestPolledAtFinal(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.put(0, 1)
	x.clock.Store(7)
	x.discover(true)
	if at, ok := x.reader.(stream.Polled).PolledAt(); !ok || !at.Equal(time.Unix(7, 0)) {
		t.Errorf("all was handed out at %s (%t), want second 7", at, ok)
	}
}

// TestPolledAtNewPartitions: ends that were told before partitions were found are
// not taken for the ends of all.
func TestPolledAtNewPartitions(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.wantPolled(0)
	x.grow(3)
	x.put(2, 1)
	x.clock.Store(31)
	until(t, "the partition", func() bool {
		x.polledAt()
		return x.reader.(stream.Partitioned).Partitions() == 3
	})
	x.clock.Store(32)
	if end := x.wantPolled(32); string(end) != `{"sensors":{"2":1}}` {
		t.Errorf("all was handed out at %s", end)
	}
}
