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

// offsetsOf asks the cluster for an offset of some partitions of a topic: of all of
// them, or it is an error.
type offsetsOf interface {
	firstOffsets(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error)
	endOffsets(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error)
	offsetsAfter(ctx context.Context, t time.Time, topic string, partitions []int32) (map[int32]int64, error)
}

func (e edge) starts(ctx context.Context, ask offsetsOf, topic string, partitions []int32) (map[int32]int64, error) {
	if e == Latest {
		return ask.endOffsets(ctx, topic, partitions)
	}
	return ask.firstOffsets(ctx, topic, partitions)
}

func (t AtTime) starts(ctx context.Context, ask offsetsOf, topic string, partitions []int32) (map[int32]int64, error) {
	return ask.offsetsAfter(ctx, time.Time(t), topic, partitions)
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
