package kafka

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// Record is a record of a topic with its value decoded. The bytes of Key and
// Headers, and of Value if T is []byte, are used again once the function that got
// the row has returned: copy what is to be kept.
type Record[T any] struct {
	// Key is the record's key. Nil means none, which is not the empty key.
	Key []byte
	// Value is the decoded value, the zero value if HasValue is false.
	Value T
	// HasValue is false for a tombstone.
	HasValue bool
	// Headers are the record's headers in its order.
	Headers []Header
	// Timestamp is when the record was made or appended, as the topic has it, in
	// UTC and whole milliseconds.
	Timestamp time.Time
	// Topic, Partition and Offset say where the record lies.
	Topic     string
	Partition int32
	Offset    int64
}

// Header is a header of a record. Keys may repeat. Nil means no value.
type Header struct {
	Key   string
	Value []byte
}

// RecordSource is a [Source] whose rows are whole records; see [Source.Records].
type RecordSource[T any] struct{ source Source[T] }

// SourceName returns the name of the source below, so that a flow can change
// between both and go on where it was.
func (s RecordSource[T]) SourceName() string { return s.source.SourceName() }

// Open checks the settings, connects, and looks whether the topics are there.
func (s RecordSource[T]) Open(ctx context.Context, env stream.SourceEnv[Record[T]]) (stream.Reader[Record[T]], error) {
	decode, err := decoder(s.source.Format, stream.RowOf[T]())
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	fill := func(rec *kgo.Record, row *Record[T]) error {
		row.describe(rec)
		if !row.HasValue {
			var none T
			row.Value = none
			return nil
		}
		return decode(rec.Value, &row.Value)
	}
	return open(ctx, s.source, settingsEnv(env), reader[Record[T]]{
		fill: fill, tombstones: cmp.Or(s.source.OnTombstone, TombstoneRow), malformed: s.source.OnMalformed, ownTombstones: true,
	})
}

// describe copies everything but the value.
func (r *Record[T]) describe(rec *kgo.Record) {
	r.Key, r.HasValue = rec.Key, rec.Value != nil
	r.Timestamp = rec.Timestamp.UTC()
	r.Topic, r.Partition, r.Offset = rec.Topic, rec.Partition, rec.Offset
	r.Headers = r.Headers[:0]
	for _, h := range rec.Headers {
		r.Headers = append(r.Headers, Header(h))
	}
}
