package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fetchOverhead is what a record takes beside its bytes.
const fetchOverhead = 256

// backlog is what is fetched of a partition: every record from base to before
// next. Offsets in between without a record have none that is to be read: they
// hold markers of transactions, records of aborted ones, or were compacted away.
type backlog struct {
	log      logID
	id       uuid
	assigned bool
	base     int64
	next     int64
	answers  []answer
	failure  *failed
}

// forget drops everything.
func (b *backlog) forget() {
	b.assigned, b.base, b.next, b.answers, b.failure = false, 0, 0, nil, nil
}

// add appends the records of an answer and returns what they take.
func (b *backlog) add(records []*kgo.Record) (bytes int64) {
	if records[0].Offset < b.next { // the client went back: the log was cut short
		b.fail(outOfRange, &kgo.ErrDataLoss{Topic: b.log.topic, Partition: b.log.partition, ConsumedTo: b.next, ResetTo: records[0].Offset})
		return 0
	}
	end := records[len(records)-1].Offset + 1
	rows := records[:0]
	for _, r := range records {
		if r.Attrs.IsControl() {
			r.Recycle()
			continue
		}
		rows = append(rows, r)
		bytes += recordBytes(r) + fetchOverhead
	}
	clear(records[len(rows):])
	b.answers = append(b.answers, answer{records: rows, end: end, bytes: bytes})
	b.next = end
	return bytes
}

// release drops what lies before an offset, as far as whole answers do, and
// returns what they took.
func (b *backlog) release(offset int64) (bytes int64) {
	n := 0
	for n < len(b.answers) && b.answers[n].end <= offset {
		bytes += b.answers[n].bytes
		n++
	}
	b.answers = slices.Delete(b.answers, 0, n)
	b.base = max(b.base, min(offset, b.next))
	return bytes
}

// count returns the number of records in a range and, if asked, their bytes.
func (b *backlog) count(from, to int64, sized bool) (rows, bytes int64) {
	for i := range b.answers {
		c := &b.answers[i]
		if c.end <= from {
			continue
		}
		records := c.between(from, to)
		rows += int64(len(records))
		if sized {
			for _, r := range records {
				bytes += recordBytes(r)
			}
		}
		if c.end >= to {
			break
		}
	}
	return rows, bytes
}

// advance returns how far from an offset, and not beyond another, some rows and
// bytes lead: at the latest to before the first record that is over them.
func (b *backlog) advance(from, to, maxRows, maxBytes int64) (at, rows, bytes int64) {
	at = from
	for i := range b.answers {
		c := &b.answers[i]
		if c.end <= from {
			continue
		}
		records := c.between(from, to)
		if maxBytes == noLimit && int64(len(records)) < maxRows-rows { // without looking at each
			rows, records = rows+int64(len(records)), nil
		}
		for _, r := range records {
			size := recordBytes(r)
			if rows >= maxRows || bytes+size > maxBytes {
				return at, rows, bytes
			}
			at, rows, bytes = r.Offset+1, rows+1, bytes+size
		}
		if at = min(c.end, to); c.end >= to {
			return at, rows, bytes
		}
	}
	return max(at, min(to, b.next)), rows, bytes
}
