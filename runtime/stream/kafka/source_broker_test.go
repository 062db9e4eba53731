//go:build kafka_broker

package kafka

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// newBrokerTest is newTopicTest over a topic of its own of a real broker, whose
// address is in TWS_KAFKA.
func newBrokerTest(t *testing.T, partitions int32, configs map[string]*string, source func(topic string) Source[sensor]) *topicTest[sensor] {
	t.Helper()
	brokers := os.Getenv("TWS_KAFKA")
	if brokers == "" {
		t.Fatal("TWS_KAFKA is not set: start a broker by runtime/stream/kafka/broker/broker.sh")
	}
	topic := fmt.Sprintf("source-%s-%d", strings.ToLower(t.Name()), time.Now().UnixNano())
	x := &topicTest[sensor]{TB: t, topic: topic, brokers: brokers, source: source(topic), id: func(v *sensor) int64 { return v.ID }}
	x.connect()
	x.createTopic(partitions, configs)
	return x
}

func (x *topicTest[R]) createTopic(partitions int32, configs map[string]*string) {
	x.Helper()
	until(x, "the topic", func() bool { // a topic of that name may be on its way out
		_, err := x.admin.CreateTopic(x.Context(), partitions, 1, configs, x.topic)
		return err == nil
	})
	x.client = x.producer(kgo.UnknownTopicRetries(20))
}

// endAt returns the end of partition 0 when it has reached an offset. The marker
// of a transaction comes after its end was confirmed.
func (x *topicTest[R]) endAt(offset int64) (end stream.Position) {
	x.Helper()
	want := fmt.Sprintf(`{"%s":{"0":%d}}`, x.topic, offset)
	until(x, "the end "+want, func() bool { end = x.discover(true); return string(end) == want })
	return end
}

func topicSource(topic string) Source[sensor] { return Source[sensor]{Topic: topic} }

// TestSourceBrokerTransactions: as TestReadCommitted.
//
// B-74
func TestSourceBrokerTransactions(t *testing.T) {
	t.Parallel()
	x := newBrokerTest(t, 1, nil, topicSource)
	x.transact(false, jsonRecord(0, 1), jsonRecord(0, 2))
	x.transact(true, jsonRecord(0, 3), jsonRecord(0, 4))
	x.transact(false, jsonRecord(0, 5))
	end := x.endAt(8)
	rows := x.drainTo(end, stream.Limits{Rows: 1})
	wantIDs(t, ids(rows), 3, 4)
	x.put(0, 6)
	wantIDs(t, x.follow(1), 6)
}

// TestSourceBrokerCompaction: as TestCompactedGaps, after the broker's own compaction.
//
// B-74
func TestSourceBrokerCompaction(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	x := newBrokerTest(t, 1, map[string]*string{
		"cleanup.policy": text("compact"), "min.cleanable.dirty.ratio": text("0.01"), "segment.ms": text("100"),
		"delete.retention.ms": text("0"), "max.compaction.lag.ms": text("1"), "min.compaction.lag.ms": text("0"),
	}, topicSource)
	var records []*kgo.Record
	for i, key := range []string{"a", "b", "b", "b", "c", "c", "c", "c"} { // 0, 3 and 7 stay
		r := jsonRecord(0, int64(i))
		r.Key = []byte(key)
		records = append(records, r)
	}
	x.transact(true, records...)
	end := x.endAt(9)
	want := []row{{0, 0, 0}, {3, 0, 3}, {7, 0, 7}}
	filler := int64(100)
	until(t, "the broker to compact", func() bool {
		r := jsonRecord(0, filler) // closes segments
		r.Key = []byte("filler")
		x.putRecords(r)
		filler++
		x.restart()
		return cmp.Diff(want, x.read(nil, end)) == ""
	})
	x.restart()
	if got := x.drainTo(end, stream.Limits{Rows: 2}); cmp.Diff(want, got) != "" {
		t.Errorf("in epochs of two rows: %s", cmp.Diff(want, got))
	}
	last := x.follow(1)
	for last[len(last)-1] != filler-1 {
		last = append(last, x.follow(1)...)
	}
}

func TestSourceBrokerDeleteRecords(t *testing.T) {
	t.Parallel()
	x := newBrokerTest(t, 1, nil, topicSource)
	x.put(0, numbers(0, 9)...)
	x.drain()
	x.stop()
	x.put(0, numbers(10, 19)...)
	offsets := kadm.Offsets{}
	offsets.AddOffset(x.topic, 0, 15, -1)
	if _, err := x.admin.DeleteRecords(t.Context(), offsets); err != nil {
		t.Fatal(err)
	}
	wantError(t, x.fail(), "partition 0: offset 10", "holds 15 to 20")
	x.source = Source[sensor]{Topic: x.topic, OnLostData: EarliestAvailable}
	x.restart()
	wantIDs(t, x.follow(5), numbers(15, 19)...)
}

// TestSourceBrokerRemade: as TestTopicRemade.
func TestSourceBrokerRemade(t *testing.T) {
	t.Parallel()
	for _, policy := range []LostPolicy{LostFail, EarliestAvailable} {
		x := newBrokerTest(t, 1, nil, func(topic string) Source[sensor] { return Source[sensor]{Topic: topic, OnLostData: policy} })
		x.put(0, numbers(0, 9)...)
		x.drain()
		if _, err := x.admin.DeleteTopic(t.Context(), x.topic); err != nil {
			t.Fatal(err)
		}
		x.createTopic(1, nil)
		x.put(0, numbers(100, 119)...)
		x.clock.Add(31)
		if policy == LostFail {
			wantError(t, x.fail(), "partition 0: the topic was deleted")
			continue
		}
		var got []int64
		until(t, "the rows of the new topic", func() bool {
			x.clock.Add(31)
			got = append(got, x.follow(0)...)
			return len(got) >= 20
		})
		wantIDs(t, got, numbers(100, 119)...)
	}
}

// TestSourceBrokerGrowth: as TestNewPartitions.
//
// B-72
func TestSourceBrokerGrowth(t *testing.T) {
	t.Parallel()
	x := newBrokerTest(t, 2, nil, func(topic string) Source[sensor] { return Source[sensor]{Topic: topic, StartingOffsets: Latest} })
	x.put(0, -1)
	x.discover(false)
	x.grow(4)
	x.client = x.producer(kgo.UnknownTopicRetries(20))
	until(t, "the partitions", func() bool {
		meta, err := x.admin.Metadata(t.Context(), x.topic)
		return err == nil && len(meta.Topics[x.topic].Partitions) == 4
	})
	x.put(2, numbers(1, 10)...)
	x.clock.Add(31)
	wantIDs(t, x.follow(10), numbers(1, 10)...)
	x.put(3, 11)
	x.restart()
	wantIDs(t, x.drain(), 11)
}

// TestSourceBrokerRestart: a broker that stops in the middle is waited for; every row
// comes once. It runs by itself: the others share the broker.
func TestSourceBrokerRestart(t *testing.T) {
	script := os.Getenv("TWS_KAFKA_SCRIPT")
	if script == "" {
		t.Fatal("TWS_KAFKA_SCRIPT is not set: use runtime/stream/kafka/broker/broker.sh run")
	}
	x := newBrokerTest(t, 2, nil, topicSource)
	x.put(0, numbers(0, 999)...)
	x.put(1, numbers(1000, 1999)...)
	got := x.follow(1)
	out, err := exec.CommandContext(t.Context(), script, "restart").CombinedOutput()
	if err != nil {
		t.Fatalf("restart: %v\n%s", err, out)
	}
	x.client = x.producer()
	x.put(0, numbers(2000, 2009)...)
	got = append(got, x.follow(2010-len(got))...)
	wantIDs(t, got, numbers(0, 2009)...)
	if !strings.Contains(x.log.String(), "broker") {
		t.Errorf("nothing is said of the broker that was down:\n%s", x.log.String())
	}
}
