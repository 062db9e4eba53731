package kafka

import (
	"context"
	"maps"
	"testing"
	"time"
)

// laggingOffsets names no offset of partition 1 for a number of times.
type laggingOffsets struct{ lag int }

func (l *laggingOffsets) list(context.Context, ...string) (map[logID]int64, error) {
	all := map[logID]int64{{"t", 0}: 5}
	if l.lag--; l.lag < 0 {
		all[logID{"t", 1}] = 7
	}
	return all, nil
}

func (l *laggingOffsets) firstOffsets(ctx context.Context, topics ...string) (map[logID]int64, error) {
	return l.list(ctx, topics...)
}

func (l *laggingOffsets) endOffsets(ctx context.Context, topics ...string) (map[logID]int64, error) {
	return l.list(ctx, topics...)
}

func (l *laggingOffsets) offsetsAfter(ctx context.Context, _ time.Time, topics ...string) (map[logID]int64, error) {
	return l.list(ctx, topics...)
}

// A partition that was just made is listed before the cluster names its offsets: a
// source waits for them, whatever it begins with, and not for ever.
func TestOffsetsOfNewPartition(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Offsets{
		"earliest": Earliest, "latest": Latest, "time": AtTime(time.Unix(1, 0)), "at": At{1: 7}, "topic": PerTopic{"t": Latest},
	} {
		got, err := o.starts(t.Context(), &laggingOffsets{lag: 1}, "t", []int32{0, 1})
		if err != nil || !maps.Equal(got, map[int32]int64{0: 5, 1: 7}) {
			t.Errorf("%s: %v, %v; want offsets 5 and 7", name, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Earliest.starts(ctx, &laggingOffsets{lag: listTries}, "t", []int32{0, 1})
	wantError(t, err, "no offset of topic t, partition 1")
}
