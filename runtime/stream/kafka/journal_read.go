package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// found is the newest committed record of the unit, and where it is; the record is
// nil if there is none.
type found struct {
	record *journalRecord
	place  journalPlace
}

// span is a part of a partition, without its end.
type span struct{ from, to int64 }

// glance returns the newest record of the unit that is certain to be committed as
// of now. Records behind another unit's open transaction are not seen.
func (j *journal) glance(ctx context.Context, hint *journalPlace) (found, error) {
	home := j.home()
	return j.newest(ctx, hint, func(partitions []int32) (map[int32]int64, error) {
		return j.offsets(ctx, kadm.NewClient(j.admin).ListCommittedOffsets, partitions)
	}, home, false)
}

// settled returns the newest record of the unit. It is called when nobody else can
// commit for the unit any more. Its own records are all decided then, but a record
// is only shown once every transaction that began before it is: settled waits for
// those that are open now, and not for what comes later.
func (j *journal) settled(ctx context.Context, hint *journalPlace) (found, error) {
	home := j.home()
	return j.newest(ctx, hint, func(partitions []int32) (map[int32]int64, error) {
		return j.stable(ctx, partitions)
	}, home, true)
}

// newest looks for the newest record of the unit in its home partition from the
// hint on, then in every partition from the start: the topic may have got more
// partitions, or may be another one than the hint was for.
func (j *journal) newest(ctx context.Context, hint *journalPlace, ends func([]int32) (map[int32]int64, error), home int32, strict bool) (found, error) {
	if hint != nil && hint.Partition == home {
		f, err := j.search(ctx, []int32{home}, ends, hint.Offset, strict)
		if err != nil || f.record != nil {
			return f, err
		}
	}
	f, err := j.search(ctx, []int32{home}, ends, 0, strict)
	if err != nil || f.record != nil {
		return f, err
	}
	var others []int32
	for p := range j.partitions {
		if p != home {
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return found{}, nil
	}
	return j.search(ctx, others, ends, 0, strict)
}

// search reads partitions from an offset, or from where they begin, to their ends.
func (j *journal) search(ctx context.Context, partitions []int32, ends func([]int32) (map[int32]int64, error), from int64, strict bool) (found, error) {
	starts, err := j.offsets(ctx, kadm.NewClient(j.admin).ListStartOffsets, partitions)
	if err != nil {
		return found{}, err
	}
	stops, err := ends(partitions)
	if err != nil {
		return found{}, err
	}
	spans := map[int32]span{}
	for _, p := range partitions {
		if s := (span{max(from, starts[p]), stops[p]}); s.from < s.to {
			spans[p] = s
		}
	}
	if len(spans) == 0 {
		return found{}, nil
	}
	return j.read(ctx, spans, strict)
}

// offsets asks for one kind of offset.
func (j *journal) offsets(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error), partitions []int32) (map[int32]int64, error) {
	listed, err := list(ctx, j.name)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, explain(j.cluster, j.name, err)
	}
	offsets := map[int32]int64{}
	for _, p := range partitions {
		o, ok := listed.Lookup(j.name, p)
		if !ok {
			return nil, fmt.Errorf("kafka: cluster %s: %s: the brokers do not say where it begins and ends", j.cluster, j.where(p))
		}
		offsets[p] = o.Offset
	}
	return offsets, nil
}

// stable returns the ends of partitions as of now, once everything before them is
// decided. It waits for as long as ctx lasts, and says so.
func (j *journal) stable(ctx context.Context, partitions []int32) (map[int32]int64, error) {
	admin := kadm.NewClient(j.admin)
	ends, err := j.offsets(ctx, admin.ListEndOffsets, partitions)
	if err != nil {
		return nil, err
	}
	for n, pause := 1, 5*time.Millisecond; ; n, pause = n+1, min(2*pause, 2*time.Second) {
		stable, err := j.offsets(ctx, admin.ListCommittedOffsets, partitions)
		if err != nil {
			return nil, err
		}
		open := int32(-1)
		for _, p := range partitions {
			if stable[p] < ends[p] {
				open = p
			}
		}
		if open < 0 {
			return ends, nil
		}
		if n >= 8 && worthTelling(n) { // after about a second
			j.log.Warn("waiting for a transaction of another pipeline in the journal to end; it ends by its timeout at the latest",
				"partition", open, "stable", stable[open], "end", ends[open])
		}
		if !wait(ctx, pause) {
			return nil, fmt.Errorf("kafka: cluster %s: %s: a transaction of another pipeline that began at offset %d is still open: "+
				"try again, or look for it with kafka-transactions.sh find-hanging: %w", j.cluster, j.where(open), stable[open], ctx.Err())
		}
	}
}

// idlePoll is how long a reader that need not see everything waits for more.
const idlePoll = time.Second

// read returns the newest committed record of the unit in some parts of the
// journal. Transaction markers are kept, since the last offset of a part is often
// one of them. If strict is false, a part may also end early, as it does when its
// last record was compacted away.
func (j *journal) read(ctx context.Context, spans map[int32]span, strict bool) (found, error) {
	from := map[int32]kgo.Offset{}
	for p, s := range spans {
		from[p] = kgo.NewOffset().At(s.from)
	}
	client, err := j.connect(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{j.name: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(idlePoll/2), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
	)
	if err != nil {
		return found{}, err
	}
	defer client.Close()
	newest := map[int32]found{}
	for len(spans) > 0 {
		fetches, err := j.poll(ctx, client, strict)
		if err != nil {
			return found{}, err
		}
		if fetches == nil {
			break
		}
		for it := fetches.RecordIter(); !it.Done(); {
			if err := j.take(it.Next(), spans, newest); err != nil {
				return found{}, err
			}
		}
	}
	var best found
	for _, f := range newest {
		if f.record != nil && (best.record == nil || f.record.Epoch > best.record.Epoch) {
			best = f
		}
	}
	return best, nil
}

// poll fetches. It returns nil if there is nothing more and that is well.
func (j *journal) poll(ctx context.Context, client *kgo.Client, strict bool) (kgo.Fetches, error) {
	bounded := ctx
	if !strict {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, idlePoll)
		defer cancel()
	}
	fetches := client.PollFetches(bounded)
	switch err := fetches.Err0(); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("kafka: cluster %s: topic %s: read the records of %s: %w", j.cluster, j.name, j.unit, ctx.Err())
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		return nil, nil
	}
	for _, e := range fetches.Errors() {
		return nil, explain(j.cluster, j.name, e.Err)
	}
	return fetches, nil
}

// take notes a record, and removes a part that has ended.
func (j *journal) take(r *kgo.Record, spans map[int32]span, newest map[int32]found) error {
	s, open := spans[r.Partition]
	if !open {
		return nil
	}
	if r.Offset >= s.to-1 {
		delete(spans, r.Partition)
	}
	if r.Offset >= s.to || r.Attrs.IsControl() || string(r.Key) != j.unit.String() {
		return nil
	}
	if r.Value == nil { // deleted by somebody
		newest[r.Partition] = found{}
		return nil
	}
	record, err := parseJournalRecord(r.Value, j.unit.String())
	if err != nil {
		return fmt.Errorf("kafka: cluster %s: %s, offset %d: %w", j.cluster, j.where(r.Partition), r.Offset, err)
	}
	newest[r.Partition] = found{record, journalPlace{r.Partition, r.Offset}}
	return nil
}
