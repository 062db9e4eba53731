package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// newRegrownTest is a test of a source that soon notices new leaders.
func newRegrownTest(t *testing.T, s Source[sensor]) *topicTest[sensor] {
	s.Topic, s.ClientOptions = "sensors", userOptions(kgo.MetadataMinAge(10*time.Millisecond), kgo.MetadataMaxAge(50*time.Millisecond))
	return newTopicTest(t, s)
}

// lead gives partition 0 another leader, which says that what was read of the
// earlier one's log is valid before an offset only. That the log really has other
// records from there on does not show but in what it takes now. It returns a
// channel that tells when the new leader was asked.
func (x *topicTest[R]) lead(validTo int64) <-chan struct{} {
	x.Helper()
	asked := make(chan struct{})
	x.fake.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		q := req.(*kmsg.OffsetForLeaderEpochRequest)
		resp := q.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		for _, qt := range q.Topics {
			rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
			rt.Topic = qt.Topic
			for _, qp := range qt.Partitions {
				rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				rp.Partition, rp.LeaderEpoch, rp.EndOffset = qp.Partition, qp.LeaderEpoch, validTo
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		close(asked) // only the first question is answered
		return resp, nil, true
	})
	if err := x.fake.MoveTopicPartition("sensors", 0, 1-x.fake.LeaderFor("sensors", 0)); err != nil {
		x.Fatal(err)
	}
	return asked
}

func arrives(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	until(t, what, func() bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	})
}

// TestLogRegrown: a log that a new leader has cut behind what was read, and which
// has grown beyond it again, lost records as well: those in their place would
// otherwise be passed over.
func TestLogRegrown(t *testing.T) {
	t.Parallel()
	for _, policy := range []LostPolicy{LostFail, EarliestAvailable} {
		x := newRegrownTest(t, Source[sensor]{OnLostData: policy})
		x.put(0, numbers(0, 9)...)
		x.put(1, 100)
		wantIDs(t, x.drain(), append(numbers(0, 9), 100)...)
		asked := x.lead(7)
		x.put(0, numbers(10, 19)...) // stands for what the new leader took at 7 to 19
		x.put(1, 101)
		arrives(t, "the question where the old leader's log ends", asked)
		if policy == LostFail {
			wantError(t, x.fail(), "topic sensors, partition 0: offset 10 was to be read next, but the log was cut short at 7 and has grown again since: up to 3 records are gone", "OnLostData")
			continue
		}
		var got []int64
		until(t, "the other records", func() bool {
			got = append(got, x.follow(0)...)
			return len(got) >= 14
		})
		wantIDs(t, got, append(numbers(7, 19), 101)...)
		x.wantAt(`{"sensors":{"0":10,"1":1},"sensors@2":{"0":20,"1":2}}`)
		x.wantLog("records are lost", 1)
	}
}
