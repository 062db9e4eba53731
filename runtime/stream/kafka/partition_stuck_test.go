package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestStandstill: a broker that does not give what the log holds is asked again, with
// a warning, and not for ever.
func TestStandstill(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.discover(false)
	deny := func() *kfake.FaultHandle {
		return x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "sensors", Partitions: []int32{0}, Err: kerr.OffsetOutOfRange, Count: -1})
	}
	fault := deny()
	x.put(0, 1)
	x.discoverUntil("cannot be fetched though the log holds it")
	fault.Remove()
	wantIDs(t, x.follow(1), 1)
	f := x.reader.(*reader[sensor]).feed
	if len(f.stuck) != 0 {
		t.Errorf("%v is left after a row", f.stuck)
	}
	f.stuck[0] = standstill{offset: 1, times: maxDoubts}
	deny()
	wantError(t, x.fail(), "kafka: topic sensors, partition 0: offset 1 cannot be fetched, though the log holds it, as its leader said 11 times", "OFFSET_OUT_OF_RANGE")
}

// TestShortLogIsThere: what a log holds is not passed over because it seemed to end
// before.
func TestShortLogIsThere(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	fault := x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: -1})
	x.discover(false)
	x.put(0, numbers(0, 4)...)
	w := &waiting{feed: x.reader.(*reader[sensor]).feed, short: map[int32]int{}}
	for range shortTries {
		if err := w.heed(t.Context(), lag{n: 0, log: logID{"sensors", 0}, target: 5}, probed{}); err != nil {
			t.Fatal(err)
		}
	}
	fault.Remove()
	wantIDs(t, x.follow(5), numbers(0, 4)...)
}
