package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// emptyBatch is a batch of offsets from first to before end whose records were all
// compacted away, as a broker keeps it at the end of a log.
func emptyBatch(first, end int64) []byte {
	b := kmsg.RecordBatch{
		FirstOffset: first, Magic: 2, LastOffsetDelta: int32(end - first - 1),
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
	}
	raw := b.AppendTo(nil)
	b.Length = int32(len(raw) - 12) // behind offset and length
	raw = b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

// compactAway makes the records of partition 0 from one offset to the log's end look
// as if they had been compacted away.
func (x *topicTest[R]) compactAway(from, end int64) {
	x.fake.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		x.fake.KeepControl()
		req := r.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if p.Partition != 0 || p.FetchOffset < from || p.FetchOffset >= end {
					continue
				}
				rt, rp := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
				rt.Topic, rt.TopicID = t.Topic, t.TopicID
				rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = end, end, 0
				rp.RecordBatches = emptyBatch(from, end)
				rt.Partitions = append(rt.Partitions, rp)
				resp.Topics = append(resp.Topics, rt)
				return resp, nil, true
			}
		}
		return nil, nil, false
	})
}

// TestPolledAtEmptyEnd: a log whose last offsets hold nothing at all is known to be
// read, so that its partition can be idle.
//
// B-74
func TestPolledAtEmptyEnd(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", ClientOptions: func() ([]kgo.Opt, error) {
		return []kgo.Opt{kgo.FetchMaxPartitionBytes(100)}, nil // a batch at a time
	}}, kfake.NumBrokers(1))
	x.put(0, 1, 2)
	x.put(0, 3, 4, 5)
	x.compactAway(2, 5)
	x.clock.Store(1000)
	wantIDs(t, x.follow(2), 1, 2)
	var end stream.Position
	until(t, "the ends", func() bool {
		x.clock.Add(1)
		var at int64
		at, end = x.polledAt()
		return at >= 1000
	})
	if string(end) != `{"sensors":{"0":5}}` {
		t.Errorf("all was handed out at %s, want offset 5", end)
	}
	wantIDs(t, ids(x.read(x.at, end)))
	x.at = end
	x.put(0, 6)
	wantIDs(t, x.follow(1), 6)
	x.wantAt(`{"sensors":{"0":6}}`)
}
