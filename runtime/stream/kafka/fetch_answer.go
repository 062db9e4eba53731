package kafka

import (
	"sort"

	"github.com/twmb/franz-go/pkg/kgo"
)

// answer is the records of one answer. It reaches from the answer before, or from
// base, to before end.
type answer struct {
	records []*kgo.Record
	sizes   []int64 // the bytes of all records before each, and of all
	end     int64
	bytes   int64 // what the records take
}

// newAnswer is the answer of records, without the markers among them, which it
// recycles. There is at least one.
func newAnswer(records []*kgo.Record) answer {
	c := answer{end: records[len(records)-1].Offset + 1}
	c.records, c.sizes = records[:0], make([]int64, 1, len(records)+1)
	size := int64(0)
	for _, r := range records {
		if r.Attrs.IsControl() {
			r.Recycle()
			continue
		}
		size += recordBytes(r)
		c.records, c.sizes = append(c.records, r), append(c.sizes, size)
	}
	clear(records[len(c.records):])
	c.bytes = size + int64(len(c.records))*fetchOverhead
	return c
}

// size is the size of the records from the i-th to before the j-th.
func (c *answer) size(i, j int) int64 { return c.sizes[j] - c.sizes[i] }

// drop removes the first records.
func (c *answer) drop(n int) { c.records, c.sizes = c.records[n:], c.sizes[n:] }

// fits returns how many of the records from the i-th to before the j-th keep within
// some rows and bytes.
func (c *answer) fits(i, j int, rows, bytes int64) int {
	return sort.Search(j-i, func(n int) bool { return int64(n) >= rows || c.size(i, i+n+1) > bytes })
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
