package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// TestLeaderMoves: rows are neither lost nor read twice when leaders move and
// brokers say so only when asked.
func TestLeaderMoves(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	var got, want []int64
	for i := range int64(8) {
		x.put(int32(i%2), numbers(10*i, 10*i+9)...)
		want = append(want, numbers(10*i, 10*i+9)...)
		got = append(got, x.follow(int(10*i)+10-len(got))...)
		leader := x.fake.LeaderFor("sensors", 0)
		if err := x.fake.MoveTopicPartition("sensors", 0, 1-leader); err != nil {
			t.Fatal(err)
		}
	}
	wantIDs(t, got, want...)
}

// TestPassingErrors: errors that pass are waited out, and told.
func TestPassingErrors(t *testing.T) {
	t.Parallel()
	for _, e := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.UnknownTopicOrPartition, kerr.LeaderNotAvailable, kerr.UnknownLeaderEpoch,
		kerr.FencedLeaderEpoch, kerr.RequestTimedOut, kerr.KafkaStorageError, kerr.UnknownTopicID, kerr.OffsetNotAvailable,
	} {
		t.Run(e.Message, func(t *testing.T) {
			t.Parallel()
			x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
			x.put(0, 1)
			fault := x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "sensors", Err: e, Count: 3})
			wantIDs(t, x.follow(1), 1)
			if fault.Hits() == 0 {
				t.Error("the error was never met")
			}
		})
	}
}

// TestConnectionsDrop: connections that break in the middle of fetching are made
// anew.
func TestConnectionsDrop(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	var n [2]int // fetches by broker; controls run one at a time
	x.fake.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		x.fake.KeepControl()
		node := x.fake.CurrentNode()
		n[node]++
		return nil, errors.New("broken"), n[node]%2 == 1
	})
	var got []int64
	for i := range int64(4) {
		x.put(0, i)
		got = append(got, x.follow(1)...)
	}
	wantIDs(t, got, numbers(0, 3)...)
}

// TestLastingErrors: what waiting does not cure is one clear error.
func TestLastingErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  kmsg.Key
		err  *kerr.Error
		want string
	}{
		{kmsg.Fetch, kerr.TopicAuthorizationFailed, "grant this user READ"},
		{kmsg.Fetch, kerr.UnsupportedCompressionType, "UNSUPPORTED_COMPRESSION_TYPE"},
		{kmsg.Metadata, kerr.TopicAuthorizationFailed, "we may not use topic sensors"},
		{kmsg.ListOffsets, kerr.TopicAuthorizationFailed, "we may not use topic sensors"},
	} {
		t.Run(c.err.Message+c.key.Name(), func(t *testing.T) {
			t.Parallel()
			x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
			x.put(0, 1)
			x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{c.key}, Topic: "sensors", Err: c.err, Count: -1})
			_, err := x.open()
			if c.key != kmsg.Metadata {
				err = x.fail()
			}
			wantError(t, err, "kafka: cluster main: ", c.want, "sensors")
		})
	}
}

// TestUnauthorisedWhileReading: a permission that is taken away ends a Read and a
// Cut as well.
func TestUnauthorisedWhileReading(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.put(0, 1)
	end := x.discover(true)
	x.restart()
	x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "sensors", Partitions: []int32{0}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	_, err := x.reader.Cut(t.Context(), nil, end, stream.Limits{})
	wantError(t, err, "we may not use topic sensors", "(partition 0, offset 0)")
	_, _, err = x.tryRead(nil, end)
	wantError(t, err, "we may not use topic sensors")
}

// TestSilence: a wait for records that must be there ends when no broker gives a
// sign.
func TestSilence(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", StallTimeout: 300 * time.Millisecond})
	x.put(1, 1, 2)
	x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: -1})
	end := x.discover(true)
	client := x.reader.(*reader[sensor]).client
	until(t, "the client to know whom to ask", func() bool { leader, _, err := client.PartitionLeader("sensors", 1); return err == nil && leader >= 0 })
	_, err := x.reader.Cut(t.Context(), nil, end, stream.Limits{})
	wantError(t, err, "topic sensors, partition 1: waited", "for offsets 0 to 1 without a sign of a broker", "NOT_LEADER")
}

// TestSlowBroker: fetching goes on in the background, so Discover does not wait for
// a broker that is slow.
func TestSlowBroker(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.put(0, 1)
	wantIDs(t, x.follow(1), 1)
	release := make(chan struct{})
	x.fake.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		x.fake.SleepControl(func() { <-release })
		return nil, nil, false
	})
	before := x.at
	for range 100 {
		if end := x.discover(false); !end.Equal(before) {
			t.Fatalf("end is %s, want %s", end, before)
		}
	}
	close(release)
	x.put(0, 2)
	wantIDs(t, x.follow(1), 2)
}

// TestBufferIsBounded: nothing is fetched beyond what the buffer holds until it is
// read.
func TestBufferIsBounded(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", Partitions: []int32{0}, BufferBytes: 1000, ClientOptions: func() ([]kgo.Opt, error) {
		return []kgo.Opt{kgo.FetchMaxPartitionBytes(100)}, nil // a batch at a time
	}})
	for i := range int64(50) {
		x.put(0, 2*i, 2*i+1)
	}
	x.discover(false)
	f := x.reader.(*reader[sensor]).fetch
	until(t, "a full buffer", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.full() })
	for range 20 {
		x.discover(false)
		f.mu.Lock()
		if f.bytes > 1000+2*(fetchOverhead+20) {
			t.Errorf("the buffer holds %d bytes, want at most 1000 and a batch", f.bytes)
		}
		f.mu.Unlock()
	}
	wantIDs(t, x.follow(100), numbers(0, 99)...)
	until(t, "an empty buffer", func() bool { x.discover(false); f.mu.Lock(); defer f.mu.Unlock(); return f.bytes == 0 })
}

// TestGroup: offsets are committed to the group when an epoch has taken effect, and
// never read. A source is no member of a group, so no partition is ever taken from
// it: a commit cannot be late (67), and nothing is dropped or replayed when other
// members come and go (68), not even those of the same group.
//
// B-67, B-68
func TestGroup(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", Group: "lag"})
	x.put(0, 1, 2, 3)
	x.put(1, 11)
	x.drain()
	if got := x.committed("lag"); len(got) != 0 {
		t.Errorf("group has offsets %v before an epoch took effect", got)
	}
	x.settled(`{"sensors":{"0":2,"1":1}}`)
	until(t, "a commit", func() bool { got := x.committed("lag"); return got[0] == 2 && got[1] == 1 })
	x.settled(string(x.at))
	x.stop() // commits what is pending
	if got := x.committed("lag"); got[0] != 3 || got[1] != 1 {
		t.Errorf("group has offsets %v, want 3 and 1", got)
	}

	x.commit("lag", 0, 1) // what a reset by hand leaves: an offset that was read,
	x.commit("lag", 1, 2) // and one that was not
	x.put(1, 12, 13)
	at, journal := x.at, x.journal
	x.at, x.journal = nil, nil // as another checkpoint begins
	x.restart()
	wantIDs(t, x.drain(), 1, 2, 3, 11, 12, 13)
	x.at, x.journal = at, journal
	x.restart()
	wantIDs(t, x.follow(2), 12, 13)

	x.stop()
	member, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(x.brokers, ",")...), kgo.ConsumerGroup("lag"), kgo.ConsumeTopics("sensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	x.restart()
	if _, err := x.fake.WaitGroupStable(t.Context(), "lag", 1); err != nil {
		t.Fatal(err)
	}
	x.put(0, 4)
	wantIDs(t, x.follow(1), 4)
	x.settled(string(x.at))
	until(t, "a warning", func() bool { return strings.Contains(x.log.String(), "cannot commit offsets to the group") })
	x.put(0, 5)
	wantIDs(t, x.follow(1), 5)
}

func (x *topicTest[R]) settled(upTo string) {
	x.reader.(stream.Settler).Settled(context.Background(), stream.Position(upTo))
}

// commit commits an offset to a group, as a tool does.
func (x *topicTest[R]) commit(group string, partition int32, offset int64) {
	x.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset(x.topic, partition, offset, -1)
	if err := x.admin.CommitAllOffsets(x.Context(), group, offsets); err != nil {
		x.Fatal(err)
	}
}

// committed returns a group's offsets by partition.
func (x *topicTest[R]) committed(group string) map[int32]int64 {
	x.Helper()
	all, err := x.admin.FetchOffsets(x.Context(), group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		x.Fatal(err)
	}
	offsets := map[int32]int64{}
	all.Each(func(o kadm.OffsetResponse) { offsets[o.Partition] = o.At })
	return offsets
}

// TestCloseTwice: a reader can be closed again, and while it looks for partitions.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", Group: "g"})
	x.discover(false)
	x.clock.Add(31)
	x.discover(false)
	for range 2 {
		if err := x.reader.Close(); err != nil {
			t.Error(err)
		}
	}
}
