package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// maxNamed is the number of malformed records of a run that are logged.
const maxNamed = 10

// reader makes rows of the records that a feed has.
type reader[R any] struct {
	*feed
	// fill makes a row of a record, overwriting all of it.
	fill       func(*kgo.Record, *R) error
	malformed  Policy
	tombstones TombstonePolicy
	// ownTombstones says that fill knows what to make of a missing value.
	ownTombstones bool
	dropped       int64 // malformed records of this run
	rec           stream.Record[R]
}

// Read yields rows; see [stream.Reader].
func (r *reader[R]) Read(ctx context.Context, from, to stream.Position, yield func(*stream.Record[R]) error) (stream.ReadStats, error) {
	var stats stream.ReadStats
	a, b, err := r.span(from, to)
	if err != nil {
		return stats, err
	}
	if a.same(b) {
		return stats, nil
	}
	if err := r.begin(a); err != nil {
		return stats, err
	}
	r.ensure(a)
	for n := range r.ledger.logs {
		for at := a.at[n]; at < b.at[n]; {
			t, err := r.take(ctx, int32(n), at, b.at[n])
			if err != nil {
				return stats, err
			}
			r.rec.Partition = int32(n)
			if err := r.yieldAll(ctx, t.records, yield, &stats); err != nil {
				return stats, err
			}
			stats.Bytes += t.bytes
			for _, rec := range t.records {
				rec.Recycle()
			}
			at = t.next
		}
	}
	return stats, nil
}

// yieldAll yields a row for each record that makes one.
func (r *reader[R]) yieldAll(ctx context.Context, records []*kgo.Record, yield func(*stream.Record[R]) error, stats *stream.ReadStats) error {
	for i, rec := range records {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if rec.Value == nil && r.tombstones == TombstoneSkip {
			continue
		}
		if err := r.row(rec); err != nil {
			if err := r.reject(rec, err); err != nil {
				return err
			}
			stats.Malformed++
			continue
		}
		r.rec.Offset, r.rec.Time = rec.Offset, rec.Timestamp
		if err := yield(&r.rec); err != nil {
			return err
		}
		stats.Rows++
	}
	return nil
}

// row makes the row of a record.
func (r *reader[R]) row(rec *kgo.Record) error {
	switch {
	case rec.Value != nil || r.ownTombstones && r.tombstones == TombstoneRow:
		return r.fill(rec, &r.rec.Row)
	case r.tombstones == TombstoneFail:
		return errTombstone
	}
	var none R
	r.rec.Row = none
	return nil
}

// reject deals with a record that is not a row: it returns an error, or nil when
// the record is dropped.
func (r *reader[R]) reject(rec *kgo.Record, cause error) error {
	where := fmt.Sprintf("topic %s, partition %d, offset %d", rec.Topic, rec.Partition, rec.Offset)
	if r.malformed == Fail || cause == errTombstone {
		return &stream.MalformedError{Where: where, Err: cause}
	}
	if r.dropped++; r.dropped > maxNamed {
		return nil
	}
	r.log.Warn("kafka: malformed row dropped", "where", where, "error", cause)
	if r.dropped == maxNamed {
		r.log.Warn("kafka: further malformed rows of this run are counted, but not logged")
	}
	return nil
}

// recordBytes is the size of a record as limits and statistics count it.
func recordBytes(rec *kgo.Record) int64 {
	n := len(rec.Key) + len(rec.Value)
	for i := range rec.Headers {
		n += len(rec.Headers[i].Key) + len(rec.Headers[i].Value)
	}
	return int64(n)
}
