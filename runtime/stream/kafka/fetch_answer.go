package kafka

import (
	"sort"

	"github.com/twmb/franz-go/pkg/kgo"
)

// answer is the records of one answer. It reaches from the answer before, or from
// base, to before end.
type answer struct {
	records []*kgo.Record
	end     int64
	bytes   int64
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
