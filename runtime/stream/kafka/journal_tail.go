package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// tail is the end of a journal partition in which transactions are open. Which of
// the unit's records are committed is read off the markers that end transactions: a
// producer has one transaction at a time, so its next marker decides its records, as
// it does for the broker.
//
// A tail begins behind the last marker before the stable offset, where the first open
// transaction begins. So the markers of its records lie all at the stable offset or
// behind it, where the cleaner removes nothing. What is before the tail is decided,
// and need not be, and by its markers alone could not be, read in this way: they may
// have been removed.
type tail struct {
	from, stable int64
	// newest is the unit's newest committed record, nil if there is none.
	newest *kgo.Record
	// pending are the unit's records without a marker, by producer.
	pending map[int64]*kgo.Record
}

func newTail(from, stable int64) *tail {
	return &tail{from: from, stable: stable, pending: map[int64]*kgo.Record{}}
}

// take takes the next record of the partition, committed or not.
func (t *tail) take(r *kgo.Record, unit stream.Unit) error {
	switch {
	case r.Attrs.IsControl() && r.Offset < t.stable:
		*t = *newTail(r.Offset+1, t.stable)
	case r.Attrs.IsControl():
		return t.mark(r)
	case string(r.Key) != unit.String():
	case r.Attrs.IsTransactional():
		t.pending[r.ProducerID] = r
	default:
		t.commit(r)
	}
	return nil
}

// mark ends the transaction of a producer.
func (t *tail) mark(marker *kgo.Record) error {
	var key kmsg.ControlRecordKey
	if err := key.ReadFrom(marker.Key); err != nil {
		return fmt.Errorf("a transaction marker cannot be read: %w", err)
	}
	r := t.pending[marker.ProducerID]
	delete(t.pending, marker.ProducerID)
	if r != nil && key.Type == kmsg.ControlRecordKeyTypeCommit {
		t.commit(r)
	}
	return nil
}

func (t *tail) commit(r *kgo.Record) {
	if t.newest == nil || r.Offset > t.newest.Offset {
		t.newest = r
	}
}

// open returns the newest record without a marker, nil if a later one is committed.
func (t *tail) open() (open *kgo.Record) {
	for _, r := range t.pending {
		if (t.newest == nil || r.Offset > t.newest.Offset) && (open == nil || r.Offset > open.Offset) {
			open = r
		}
	}
	return open
}
