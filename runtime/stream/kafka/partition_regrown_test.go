package kafka

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
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
		arrives(t, "the question where the old leader's log ends", asked)
		if policy == LostFail {
			wantError(t, x.fail(), "topic sensors, partition 0: offset 10 was to be read next, but the log was cut short at 7 and has grown again since: up to 3 records are gone", "OnLostData")
			continue
		}
		x.discoverUntil("generation=2")
		x.put(1, 101)
		wantIDs(t, x.follow(14), append(numbers(7, 19), 101)...)
		x.wantAt(`{"sensors":{"0":10,"1":1},"sensors@2":{"0":20,"1":2}}`)
		x.wantLog("records are lost", 1)
	}
}

// TestLogRegrownBehindFetched: what was fetched and not read of a log that was then
// cut is fetched again, as far as it is still there.
func TestLogRegrownBehindFetched(t *testing.T) {
	t.Parallel()
	x := newRegrownTest(t, Source[sensor]{OnLostData: EarliestAvailable})
	x.put(0, numbers(0, 9)...)
	to := x.cut(nil, x.discover(true), limitRows(5))
	got := ids(x.read(nil, to))
	x.at = to
	until(t, "everything to be fetched", func() bool { return string(x.discover(false)) == `{"sensors":{"0":10}}` })
	x.lead(7)
	x.discoverUntil("generation=2")
	wantIDs(t, append(got, x.follow(5)...), numbers(0, 9)...)
	x.wantAt(`{"sensors":{"0":5},"sensors@2":{"0":10}}`)
}

// TestLossIsNotForgotten: that a log was cut behind what was read is told, though
// it is fetched anew from there before anybody asked.
func TestLossIsNotForgotten(t *testing.T) {
	t.Parallel()
	x := newRegrownTest(t, Source[sensor]{})
	x.put(0, numbers(0, 9)...)
	x.drain()
	x.lead(7)
	f := x.reader.(*reader[sensor]).fetch
	until(t, "the loss", func() bool { return len(f.failures()) > 0 })
	f.assign([]fetchTarget{{n: 0, log: logID{"sensors", 0}, offset: 10}}, true)
	wantError(t, x.fail(), "offset 10 was to be read next, but the log was cut short at 7")
}

// TestPlanOfCutLog: rows that were planned from a log that was cut are read as far
// as they are there, and once.
func TestPlanOfCutLog(t *testing.T) {
	t.Parallel()
	for _, cutFirst := range []bool{true, false} {
		x := newRegrownTest(t, Source[sensor]{OnLostData: EarliestAvailable})
		x.put(0, numbers(0, 6)...)
		x.put(1, 100)
		x.discover(true)
		from, end := stream.Position(`{"sensors":{"0":5}}`), stream.Position(`{"sensors":{"0":10,"1":1}}`)
		x.restart()
		if cutFirst {
			if to := x.cut(from, end, limitRows(100)); !to.Equal(end) {
				t.Errorf("cut ends at %s, want %s", to, end)
			}
		}
		for range 2 { // the epoch is tried again
			wantIDs(t, ids(x.read(from, end)), 5, 6, 100)
		}
		x.put(0, numbers(7, 12)...)
		wantIDs(t, ids(x.read(from, end)), 5, 6, 100)
		x.at = end
		x.discoverUntil("generation=2")
		wantIDs(t, x.follow(6), numbers(7, 12)...)
		x.wantAt(`{"sensors":{"0":10,"1":1},"sensors@2":{"0":13}}`)
		if n := strings.Count(x.log.String(), "records are lost"); n != 1 {
			t.Errorf("the loss is told %d times", n)
		}
	}
}

// TestPlanBehindCut: of a plan that begins behind the end of a cut log nothing comes,
// and reading goes on there.
func TestPlanBehindCut(t *testing.T) {
	t.Parallel()
	x := newRegrownTest(t, Source[sensor]{OnLostData: EarliestAvailable})
	x.put(0, numbers(0, 6)...)
	x.discover(true)
	from, end := stream.Position(`{"sensors":{"0":8}}`), stream.Position(`{"sensors":{"0":10}}`)
	x.restart()
	for range 2 {
		wantIDs(t, ids(x.read(from, end)))
	}
	x.at = end
	x.discoverUntil("generation=2")
	x.put(0, 7)
	wantIDs(t, x.follow(1), 7)
}
