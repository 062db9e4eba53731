package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// lister asks the cluster for an offset of every partition of topics.
type lister = func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)

// ends is the lister of where reading ends for now: with transactions, before the
// first that is not decided.
func (f *feed) ends() lister {
	if f.uncommitted {
		return f.admin.ListEndOffsets
	}
	return f.admin.ListCommittedOffsets
}

// allEnds returns where reading ends for now in whatever partitions topics have.
func (f *feed) allEnds(ctx context.Context, topics []string) (map[logID]int64, error) {
	return f.ask(ctx, f.ends(), topics, nil)
}

// firstOffsets implements offsetsOf.
func (f *feed) firstOffsets(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	return f.askEach(ctx, f.admin.ListStartOffsets, topic, partitions)
}

// endOffsets implements offsetsOf.
func (f *feed) endOffsets(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	return f.askEach(ctx, f.ends(), topic, partitions)
}

// logEnd returns where the log of a partition ends, whatever may be read of it.
func (f *feed) logEnd(ctx context.Context, l logID) (int64, error) {
	ends, err := f.askEach(ctx, f.admin.ListEndOffsets, l.topic, []int32{l.partition})
	return ends[l.partition], err
}

// logStart returns where the log of a partition begins.
func (f *feed) logStart(ctx context.Context, l logID) (int64, error) {
	starts, err := f.firstOffsets(ctx, l.topic, []int32{l.partition})
	return starts[l.partition], err
}

// offsetsAfter implements offsetsOf.
func (f *feed) offsetsAfter(ctx context.Context, t time.Time, topic string, partitions []int32) (map[int32]int64, error) {
	return f.askEach(ctx, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return f.admin.ListOffsetsAfterMilli(ctx, t.UnixMilli(), topics...)
	}, topic, partitions)
}

// askEach asks for the offsets of some partitions of a topic.
func (f *feed) askEach(ctx context.Context, list lister, topic string, partitions []int32) (map[int32]int64, error) {
	all, err := f.ask(ctx, list, []string{topic}, partitions)
	if err != nil {
		return nil, err
	}
	offsets := make(map[int32]int64, len(partitions))
	for _, p := range partitions {
		offsets[p] = all[logID{topic, p}]
	}
	return offsets, nil
}

// ask asks for the offsets of topics, and again while brokers are down or moving, and
// while one of the partitions that are wanted of each topic is missing: it was just
// made, and the cluster that has listed it is not sure yet.
func (f *feed) ask(ctx context.Context, list lister, topics []string, wanted []int32) (map[logID]int64, error) {
	for try, pause := 1, firstPause; ; try, pause = try+1, 2*pause {
		offsets, err := f.askOnce(ctx, list, topics)
		again := passes(explain(f.cluster, "", err))
		if err == nil {
			err = missingOffset(offsets, topics, wanted)
			again = err != nil
		}
		if err == nil {
			return offsets, nil
		}
		if !again || try >= listTries {
			return nil, err
		}
		f.log.Warn("kafka: cannot list offsets, will try again", "times", try, "error", err)
		if !wait(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// missingOffset is the error of a wanted partition without an offset, nil for none.
func missingOffset(offsets map[logID]int64, topics []string, wanted []int32) error {
	for _, topic := range topics {
		for _, p := range wanted {
			if _, ok := offsets[logID{topic, p}]; !ok {
				return fmt.Errorf("the cluster names no offset of topic %s, partition %d: it is being made or deleted, start again", topic, p)
			}
		}
	}
	return nil
}

func (f *feed) askOnce(ctx context.Context, list lister, topics []string) (map[logID]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	all, err := list(ctx, topics...)
	if err != nil {
		return nil, err
	}
	offsets := map[logID]int64{}
	for topic, partitions := range all {
		for p, o := range partitions {
			if o.Err != nil {
				return nil, explain(f.cluster, topic, o.Err)
			}
			offsets[logID{topic, p}] = o.Offset
		}
	}
	return offsets, nil
}
