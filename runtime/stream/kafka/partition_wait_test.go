package kafka

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestShortLogs: a log is taken for cut short when it, and not one log or another,
// seemed so some times in a row.
func TestShortLogs(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.discover(false)
	w := &waiting{feed: x.reader.(*reader[sensor]).feed, short: map[int32]int{}}
	seems := func(n int32, highWatermark int64) error {
		return w.heed(t.Context(), lag{n: n, log: logID{"sensors", n}, target: 5}, probed{highWatermark: highWatermark})
	}
	for range shortTries - 1 {
		for n := range int32(2) {
			if err := seems(n, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := seems(0, 5); err != nil {
		t.Fatal(err)
	}
	if err := seems(0, 0); err != nil {
		t.Fatal(err)
	}
	fault := x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "sensors", Err: kerr.UnknownTopicOrPartition, Count: -1})
	if err := seems(1, 0); err != nil || !errors.Is(w.last, kerr.UnknownTopicOrPartition) {
		t.Fatalf("%v, and last %v; want that nobody could be asked, as the last error", err, w.last)
	}
	fault.Remove()
	wantError(t, seems(1, 0), "topic sensors, partition 1: offset 5 was to be read next, but the log holds 0 to 0")
}
