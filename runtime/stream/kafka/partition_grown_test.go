package kafka

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// expire removes records before an offset.
func (x *topicTest[R]) expire(topic string, partition int32, before int64) {
	x.Helper()
	if err := x.fake.DeleteRecords(topic, partition, before); err != nil {
		x.Fatal(err)
	}
}

// TestGrownPartitionLost: a partition that was added while nobody looked, and has
// lost its first records, is a loss: nothing of it was read.
func TestGrownPartitionLost(t *testing.T) {
	t.Parallel()
	for _, policy := range []LostPolicy{LostFail, EarliestAvailable} {
		x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: policy})
		x.put(0, 1)
		x.drain()
		x.stop()
		x.grow(4)
		x.put(2, numbers(10, 19)...)
		x.put(3, 30)
		x.expire("sensors", 2, 5)
		if policy == LostFail {
			_, err := x.tryDiscover(true)
			wantError(t, err, "topic sensors, partition 2: offset 0 was to be read next, but the log holds 5 to 10: records were deleted or expired, up to 5 of them", "OnLostData")
			continue
		}
		wantIDs(t, x.drain(), append(numbers(15, 19), 30)...)
		x.wantLog("records are lost", 1)
		x.restart()
		x.expire("sensors", 2, 7) // was read
		x.put(2, 20)
		wantIDs(t, x.drain(), 20)
	}
}

// TestGrownPartitionsAskedOnce: what partitions that were added hold is asked once for
// all that lost records, and not if none did.
func TestGrownPartitionsAskedOnce(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: EarliestAvailable})
	x.discover(false)
	x.grow(5)
	f := x.reader.(*reader[sensor]).feed
	if _, err := f.endOffsets(t.Context(), "sensors", []int32{2, 3, 4}); err != nil { // now the client knows them
		t.Fatal(err)
	}
	var asked atomic.Int32
	x.fake.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		x.fake.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	for _, c := range []struct {
		starts map[int32]int64
		most   int32
	}{
		{map[int32]int64{2: 0, 3: 0}, 0},
		{map[int32]int64{2: 5, 3: 5, 4: 5}, 2}, // there are two brokers
	} {
		asked.Store(0)
		if err := f.checkGrown(t.Context(), "sensors", f.ledger.topics["sensors"], c.starts); err != nil {
			t.Fatal(err)
		}
		if n := asked.Load(); n > c.most {
			t.Errorf("%v: %d requests, want at most %d", c.starts, n, c.most)
		}
	}
	x.wantLog("records are lost", 3)
}

// TestUnreadPartitionNotLost: partitions that were there and not wanted begin with
// what they have.
func TestUnreadPartitionNotLost(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", Partitions: []int32{1}})
	x.put(1, 1)
	wantIDs(t, x.drain(), 1)
	x.put(0, numbers(10, 19)...)
	x.expire("sensors", 0, 5)
	x.source = Source[sensor]{Topic: "sensors", Partitions: []int32{1, 0}}
	x.restart()
	wantIDs(t, x.drain(), numbers(15, 19)...)

	x = newTopicTest(t, Source[sensor]{Topic: "sensors", Partitions: []int32{1}})
	x.put(1, 1)
	wantIDs(t, x.drain(), 1)
	x.put(0, numbers(10, 19)...)
	x.expire("sensors", 0, 5)
	x.source = Source[sensor]{Topic: "sensors", Name: "sensors"}
	x.restart()
	wantIDs(t, x.drain(), numbers(15, 19)...)
}

// TestMatchedTopicNotLost: a topic that a pattern matches later may be old.
func TestMatchedTopicNotLost(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Pattern: "sensors", Name: "s"}, kfake.SeedTopics(1, "others"))
	x.put(0, 1)
	wantIDs(t, x.drain(), 1)
	x.topic = "others"
	x.put(0, numbers(10, 19)...)
	x.expire("others", 0, 5)
	x.source = Source[sensor]{Pattern: "sensors|others", Name: "s"}
	x.restart()
	wantIDs(t, x.drain(), numbers(15, 19)...)
}

// TestRemadeTopicGrows: a partition of a topic that was made anew without it, and
// was given it again, is a new one.
func TestRemadeTopicGrows(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnLostData: EarliestAvailable})
	x.put(0, 1)
	x.put(1, 2)
	wantIDs(t, x.drain(), 1, 2)
	x.stop()
	x.remake(1)
	x.put(0, 3)
	wantIDs(t, x.drain(), 3)
	x.grow(2)
	x.put(1, 4, 5)
	x.clock.Add(31)
	wantIDs(t, x.follow(2), 4, 5)
	x.wantAt(`{"sensors":{"0":1,"1":1},"sensors@2":{"0":1,"1":2}}`)
	x.restart()
	x.put(1, 6)
	wantIDs(t, x.drain(), 6)
}
