package kafka

import (
	"slices"
	"sort"

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

// answer is the records of one answer. It reaches from the answer before, or from
// base, to before end.
type answer struct {
	records []*kgo.Record
	end     int64
	bytes   int64
}

// failed is why a partition is not fetched any more.
type failed struct {
	n      int32
	kind   failKind
	offset int64
	err    error
}

type failKind uint8

const (
	broken       failKind = iota // for good
	outOfRange                   // the log does not hold the offset
	anotherTopic                 // the topic is gone or another
)

func (b *backlog) fail(kind failKind, err error) {
	b.failure = &failed{kind: kind, offset: b.next, err: err}
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

// between returns the records of an answer in a range of offsets.
func (c *answer) between(from, to int64) []*kgo.Record {
	return c.records[c.index(from):c.index(to)]
}

// index returns how many records lie before an offset.
func (c *answer) index(offset int64) int {
	switch n := len(c.records); {
	case n == 0 || offset <= c.records[0].Offset:
		return 0
	case offset >= c.end:
		return n
	default:
		return sort.Search(n, func(i int) bool { return c.records[i].Offset >= offset })
	}
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

// ends returns, for each partition, the end of what is fetched.
func (f *fetcher) ends(at []int64) []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	ends := slices.Clone(at)
	for n, b := range f.logs {
		if b.assigned && n < len(ends) {
			ends[n] = max(ends[n], b.next)
		}
	}
	return ends
}

// release drops what lies before a place.
func (f *fetcher) release(at []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, b := range f.logs {
		if b.assigned && n < len(at) {
			f.bytes -= b.release(at[n])
		}
	}
	f.tell()
}

// failures returns the partitions that are not fetched any more.
func (f *fetcher) failures() []failed {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []failed
	for n, b := range f.logs {
		if b.assigned && b.failure != nil {
			bad := *b.failure
			bad.n = int32(n)
			all = append(all, bad)
		}
	}
	return all
}

// skip goes on fetching a partition at an offset that is not before what is
// fetched of it; there is nothing in between.
func (f *fetcher) skip(n int32, offset int64) {
	f.mu.Lock()
	if int(n) >= len(f.logs) || !f.logs[n].assigned {
		f.mu.Unlock()
		return
	}
	b := f.logs[n]
	b.next, b.failure = max(b.next, offset), nil
	log, at := b.log, b.next
	f.tell()
	f.mu.Unlock()
	f.between(func() {
		f.client.RemoveConsumePartitions(map[string][]int32{log.topic: {log.partition}})
		f.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{log.topic: {log.partition: kgo.NewOffset().At(at)}})
	})
}
