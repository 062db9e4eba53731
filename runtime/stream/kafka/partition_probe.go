package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// probeTimeout bounds a probe.
	probeTimeout = 10 * time.Second
	// probeBytes bounds its answer. A batch that is larger comes nevertheless, so it
	// is enough to see the first record, or to pass a thousand batches without one.
	probeBytes = 64 << 10
)

// lag is a partition that has not reached its target.
type lag struct {
	n      int32
	log    logID
	id     uuid
	offset int64 // of the next record
	target int64
}

// probed is what a broker said of a partition.
type probed struct {
	next          int64 // no record lies before it
	highWatermark int64
}

// probe asks the leader of a partition what follows an offset.
func (f *feed) probe(ctx context.Context, l lag) (probed, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	leader, _, err := f.client.PartitionLeader(l.log.topic, l.log.partition)
	if err != nil {
		return probed{}, err
	}
	if leader < 0 {
		return probed{}, kerr.LeaderNotAvailable
	}
	resp, err := f.client.Broker(int(leader)).Request(ctx, f.probeRequest(l))
	if err != nil {
		return probed{}, fmt.Errorf("broker %d: %w", leader, err)
	}
	r, ok := resp.(*kmsg.FetchResponse)
	switch {
	case !ok:
		return probed{}, fmt.Errorf("broker %d answers a fetch with %T", leader, resp)
	case r.ErrorCode != 0:
		return probed{}, kerr.ErrorForCode(r.ErrorCode)
	case len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1:
		return probed{}, fmt.Errorf("broker %d answers a fetch of one partition with %d topics", leader, len(r.Topics))
	}
	return f.readProbe(l, &r.Topics[0].Partitions[0])
}

func (f *feed) probeRequest(l lag) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.SessionEpoch = -1, -1
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 0, 1, probeBytes
	if !f.uncommitted {
		req.IsolationLevel = 1
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = l.log.topic, l.id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = l.log.partition, l.offset, probeBytes
	p.CurrentLeaderEpoch, p.LogStartOffset = -1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// readProbe reads an answer to a probe.
func (f *feed) readProbe(l lag, rp *kmsg.FetchResponseTopicPartition) (probed, error) {
	isolation := kgo.ReadCommitted()
	if f.uncommitted {
		isolation = kgo.ReadUncommitted()
	}
	p, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: l.offset, IsolationLevel: isolation, Topic: l.log.topic, Partition: l.log.partition,
	}, rp, kgo.DefaultDecompressor(), nil)
	if p.Err != nil {
		return probed{}, p.Err
	}
	if len(p.Records) > 0 {
		next = p.Records[0].Offset
	}
	return probed{next: next, highWatermark: p.HighWatermark}, nil
}
