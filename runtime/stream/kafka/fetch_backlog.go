package kafka

import (
	"errors"
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
	bound    int64 // of a log that was cut: what comes from there on is not of it; noLimit for none
	answers  []answer
	failure  *failed
}

// forget drops everything.
func (b *backlog) forget() {
	b.assigned, b.base, b.next, b.bound, b.answers, b.failure = false, 0, 0, 0, nil, nil
}

// put appends the records of an answer, but for what is not of the log, and returns
// what they take.
func (b *backlog) put(records []*kgo.Record) (bytes int64) {
	n := len(records)
	for n > 0 && records[n-1].Offset >= b.bound {
		n--
		records[n].Recycle()
	}
	if n > 0 {
		bytes = b.add(records[:n])
	}
	if n < len(records) && b.failure == nil {
		b.next = max(b.next, b.bound)
	}
	return bytes
}

// errWentBack says that records came again: the log was cut short, or only markers
// came late of which a probe had told that no record is among them.
var errWentBack = errors.New("the client went back")

// add appends the records of an answer and returns what they take.
func (b *backlog) add(records []*kgo.Record) (bytes int64) {
	if records[0].Offset < b.next {
		b.fail(outOfRange, errWentBack)
		return 0
	}
	c := newAnswer(records)
	b.answers = append(b.answers, c)
	b.next = c.end
	return c.bytes
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

// count returns the number of records in a range, and their bytes.
func (b *backlog) count(from, to int64) (rows, bytes int64) {
	for i := range b.answers {
		c := &b.answers[i]
		if c.end <= from {
			continue
		}
		first, end := c.index(from), c.index(to)
		rows, bytes = rows+int64(end-first), bytes+c.size(first, end)
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
		first, end := c.index(from), c.index(to)
		n := c.fits(first, end, maxRows-rows, maxBytes-bytes)
		rows, bytes = rows+int64(n), bytes+c.size(first, first+n)
		if n > 0 {
			at = c.records[first+n-1].Offset + 1
		}
		if first+n < end {
			return at, rows, bytes
		}
		if at = min(c.end, to); c.end >= to {
			return at, rows, bytes
		}
	}
	return max(at, min(to, b.next)), rows, bytes
}
