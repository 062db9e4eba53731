package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Offsets say where a source begins. They are [Earliest], [Latest], [At], [AtTime]
// or [PerTopic].
type Offsets interface {
	// starts returns the offset of every partition of a topic.
	starts(ctx context.Context, ask offsetsOf, topic string, partitions []int32) (map[int32]int64, error)
}

// edge is an end of a log.
type edge uint8

const (
	// Earliest begins with the first record that is there.
	Earliest edge = iota
	// Latest begins with the first record that comes after the source's first
	// start. With transactions: that is not decided then.
	Latest
)

// At begins at offsets by partition. Partitions that it does not mention begin
// with the first record that is there.
type At map[int32]int64

// AtTime begins with the first record whose timestamp is not before a time, in
// whole milliseconds; in a partition that has none, with the first that comes.
type AtTime time.Time

// PerTopic begins in each topic as it says; nil, and topics that it does not
// mention, mean [Earliest].
type PerTopic map[string]Offsets

// offsetsOf asks the cluster for an offset of every partition of some topics.
type offsetsOf interface {
	firstOffsets(ctx context.Context, topics ...string) (map[logID]int64, error)
	endOffsets(ctx context.Context, topics ...string) (map[logID]int64, error)
	offsetsAfter(ctx context.Context, t time.Time, topics ...string) (map[logID]int64, error)
}

func (e edge) starts(ctx context.Context, ask offsetsOf, topic string, partitions []int32) (map[int32]int64, error) {
	if e == Latest {
		return askEach(ctx, ask.endOffsets, topic, partitions)
	}
	return askEach(ctx, ask.firstOffsets, topic, partitions)
}

func (t AtTime) starts(ctx context.Context, ask offsetsOf, topic string, partitions []int32) (map[int32]int64, error) {
	return askEach(ctx, func(ctx context.Context, topics ...string) (map[logID]int64, error) {
		return ask.offsetsAfter(ctx, time.Time(t), topics...)
	}, topic, partitions)
}

func (a At) starts(ctx context.Context, ask offsetsOf, topic string, partitions []int32) (map[int32]int64, error) {
	first, err := Earliest.starts(ctx, ask, topic, partitions)
	if err != nil {
		return nil, err
	}
	end, err := Latest.starts(ctx, ask, topic, partitions)
	if err != nil {
		return nil, err
	}
	starts := first
	for _, p := range slices.Sorted(maps.Keys(a)) {
		offset := a[p]
		switch {
		case !slices.Contains(partitions, p):
			return nil, fmt.Errorf("field StartingOffsets names partition %d of topic %s, which has or reads only %v", p, topic, partitions)
		case offset < first[p] || offset > end[p]:
			return nil, fmt.Errorf("field StartingOffsets wants offset %d of topic %s, partition %d, which holds %d to %d", offset, topic, p, first[p], end[p])
		}
		starts[p] = offset
	}
	return starts, nil
}

func (m PerTopic) starts(ctx context.Context, ask offsetsOf, topic string, partitions []int32) (map[int32]int64, error) {
	if o := m[topic]; o != nil {
		return o.starts(ctx, ask, topic, partitions)
	}
	return Earliest.starts(ctx, ask, topic, partitions)
}

// askEach returns the offsets of some partitions of a topic. It asks again when one is
// missing: it was just made, and the cluster that has listed it is not sure yet.
func askEach(ctx context.Context, list func(context.Context, ...string) (map[logID]int64, error), topic string, partitions []int32) (map[int32]int64, error) {
	for try, pause := 1, firstPause; ; try, pause = try+1, 2*pause {
		all, err := list(ctx, topic)
		if err != nil {
			return nil, err
		}
		offsets := make(map[int32]int64, len(partitions))
		for _, p := range partitions {
			if offset, ok := all[logID{topic, p}]; ok {
				offsets[p] = offset
			} else {
				err = fmt.Errorf("the cluster names no offset of topic %s, partition %d: it is being made or deleted, start again", topic, p)
			}
		}
		if err == nil {
			return offsets, nil
		}
		if try == listTries || !wait(ctx, pause) {
			return nil, err
		}
	}
}
