package kafka

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// found is the newest committed record of the unit, and where it is; the record is
// nil if there is none.
type found struct {
	record *journalRecord
	place  journalPlace
	// open is a later record of the unit, of which the log does not say yet whether it
	// is committed; nil if there is none.
	open *kgo.Record
}

// span is a part of a partition, without its end.
type span struct{ from, to int64 }

// settled returns the newest record of the unit. It is called when nobody else can
// commit for the unit any more: its records are all decided then. Should a broker
// have one that is not, settled waits for as long as ctx lasts, and says so.
func (j *journal) settled(ctx context.Context, hint *journalPlace) (f found, err error) {
	err = j.untilEnded(ctx, func() (*openTransaction, error) {
		if f, err = j.glance(ctx, hint); err != nil || f.open == nil {
			return nil, err
		}
		return &openTransaction{j.name, f.open.Partition, f.open.Offset, f.open.ProducerID, f.open.ProducerEpoch}, nil
	})
	return f, err
}

// glance returns the newest record of the unit that is committed as of now. It looks
// in its home partition from the hint on, then in every partition from the start: the
// topic may have got more partitions, or may be another one than the hint was for.
func (j *journal) glance(ctx context.Context, hint *journalPlace) (found, error) {
	home := j.home()
	var others []int32
	for p := range j.partitions {
		if p != home {
			others = append(others, p)
		}
	}
	type look struct {
		partitions []int32
		from       int64
	}
	looks := []look{{[]int32{home}, 0}, {others, 0}}
	if hint != nil && hint.Partition == home {
		looks = append([]look{{[]int32{home}, hint.Offset}}, looks...)
	}
	var open *kgo.Record
	for _, l := range looks {
		f, err := j.search(ctx, l.partitions, l.from)
		if err != nil {
			return found{}, err
		}
		if open == nil {
			open = f.open
		}
		if f.record != nil {
			f.open = open
			return f, nil
		}
	}
	return found{open: open}, nil
}

// search reads partitions from an offset, or from where they begin, to their ends as
// of now.
//
// Up to where the first open transaction begins, whosever it is, the brokers say what
// is committed. From there on, nothing was compacted away, and the markers in the log
// say it; so nobody waits for the transactions of others.
func (j *journal) search(ctx context.Context, partitions []int32, from int64) (found, error) {
	if len(partitions) == 0 {
		return found{}, nil
	}
	admin := kadm.NewClient(j.admin)
	starts, err := j.offsets(ctx, admin.ListStartOffsets, partitions)
	if err != nil {
		return found{}, err
	}
	ends, err := j.offsets(ctx, admin.ListEndOffsets, partitions)
	if err != nil {
		return found{}, err
	}
	stable, err := j.offsets(ctx, admin.ListCommittedOffsets, partitions)
	if err != nil {
		return found{}, err
	}
	decided, mixed := map[int32]span{}, map[int32]span{}
	tails := map[int32]*tail{}
	for _, p := range partitions {
		s := span{max(from, starts[p]), ends[p]}
		if s.from < s.to && stable[p] >= s.to {
			decided[p] = s
		} else if s.from < s.to {
			mixed[p], tails[p] = s, newTail(s.from, stable[p])
		}
	}
	if err := j.readTails(ctx, mixed, tails); err != nil {
		return found{}, err
	}
	for p, t := range tails {
		if s := mixed[p]; s.from < t.from {
			decided[p] = span{s.from, t.from}
		}
	}
	newest, err := j.readDecided(ctx, decided)
	if err != nil {
		return found{}, err
	}
	return j.best(newest, tails)
}

// best chooses among what partitions hold. A unit has records in two of them only if
// its home has changed: the highest epoch counts, of equal ones the first that was
// written by somebody who knew.
func (j *journal) best(newest map[int32]*kgo.Record, tails map[int32]*tail) (best found, err error) {
	var open *kgo.Record
	for _, p := range slices.Sorted(maps.Keys(tails)) {
		if r := tails[p].newest; r != nil {
			newest[p] = r
		}
		if r := tails[p].open(); r != nil && open == nil {
			open = r
		}
	}
	for _, p := range slices.Sorted(maps.Keys(newest)) {
		r := newest[p]
		if r.Value == nil { // deleted by somebody
			continue
		}
		record, err := j.parse(r)
		if err != nil {
			return found{}, err
		}
		if b := best.record; b == nil || record.Epoch > b.Epoch || record.Epoch == b.Epoch && b.Assumed && !record.Assumed {
			best = found{record: record, place: journalPlace{p, r.Offset}}
		}
	}
	best.open = open
	return best, nil
}

func (j *journal) parse(r *kgo.Record) (*journalRecord, error) {
	record, err := parseJournalRecord(r.Value, j.unit.String())
	if err != nil {
		return nil, fmt.Errorf("kafka: cluster %s: %s, offset %d: %w; if the journal cannot be made good, delete it: each of its flows asks then how to go on",
			j.cluster, j.where(r.Partition), r.Offset, err)
	}
	return record, nil
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

// readDecided returns, by partition, the unit's newest committed record in parts of
// which the brokers say what is committed.
func (j *journal) readDecided(ctx context.Context, spans map[int32]span) (map[int32]*kgo.Record, error) {
	newest := map[int32]*kgo.Record{}
	err := j.read(ctx, spans, kgo.ReadCommitted(), func(r *kgo.Record) error {
		if r.Attrs.IsControl() || string(r.Key) != j.unit.String() {
			return nil
		}
		newest[r.Partition] = r
		if r.Value == nil {
			return nil
		}
		_, err := j.parse(r)
		return err
	})
	return newest, err
}

// unread says which part could not be read to its end.
func (j *journal) unread(left map[int32]span, cause error) error {
	p := slices.Min(slices.Collect(maps.Keys(left)))
	return fmt.Errorf("kafka: cluster %s: %s: the records of %s were read up to the end but for offset %d, where there is none in time: "+
		"the brokers are slow, or have compacted away the end of the log (max.compaction.lag.ms), which any new record of the partition cures: %w",
		j.cluster, j.where(p), j.unit, left[p].to-1, cause)
}

// readTails reads parts in which transactions are open.
func (j *journal) readTails(ctx context.Context, spans map[int32]span, tails map[int32]*tail) error {
	return j.read(ctx, spans, kgo.ReadUncommitted(), func(r *kgo.Record) error {
		if err := tails[r.Partition].take(r, j.unit); err != nil {
			return fmt.Errorf("kafka: cluster %s: %s, offset %d: %w", j.cluster, j.where(r.Partition), r.Offset, err)
		}
		return nil
	})
}

// journalFetchWait is how long a broker waits for more at most.
const journalFetchWait = 500 * time.Millisecond

// read yields the records in parts of the journal. Transaction markers are among
// them, since the last offset of a part is often one. It relies on a record being at
// that offset: brokers do not compact the segment that is written to.
func (j *journal) read(ctx context.Context, parts map[int32]span, level kgo.IsolationLevel, yield func(*kgo.Record) error) error {
	if len(parts) == 0 {
		return nil
	}
	left, from := maps.Clone(parts), map[int32]kgo.Offset{}
	for p, s := range left {
		from[p] = kgo.NewOffset().At(s.from)
	}
	client, err := j.connect(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{j.name: from}),
		kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(journalFetchWait), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepRetryableFetchErrors(),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	var passing error // the last one that may pass
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return j.unread(left, cmp.Or(passing, ctx.Err()))
		}
		for _, e := range fetches.Errors() {
			if passing = explain(j.cluster, j.name, e.Err); !passes(passing) {
				return passing
			}
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			s, wanted := left[r.Partition]
			if r.Offset >= s.to-1 {
				delete(left, r.Partition)
			}
			if !wanted || r.Offset >= s.to {
				continue
			}
			if err := yield(r); err != nil {
				return err
			}
		}
	}
	return nil
}
