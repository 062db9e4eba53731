package kafka

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// tailLog is a partition's log in short: for each offset who wrote it and what, or "."
// for one that was compacted away. A producer is a digit; "r" is a record of the unit
// in a transaction, "o" one of another unit, "c" and "a" are the markers of a commit and
// an abort. "n" is a record of the unit without a transaction.
func tailLog(log string) []*kgo.Record {
	var records []*kgo.Record
	for offset, word := range strings.Fields(log) {
		if word == "." {
			continue
		}
		r := &kgo.Record{Offset: int64(offset), ProducerID: int64(word[0] - '0'), Key: []byte(sinkUnit.String())}
		o := kgo.RecordAttrsOpts{Transactional: word[1] != 'n', Control: word[1] == 'c' || word[1] == 'a'}
		key := kmsg.NewControlRecordKey()
		switch word[1] {
		case 'o':
			r.Key = []byte("other/a/0")
		case 'c':
			key.Type = kmsg.ControlRecordKeyTypeCommit
		}
		if o.Control {
			r.Key = key.AppendTo(nil)
		}
		r.Attrs = kgo.NewRecordAttrs(o)
		records = append(records, r)
	}
	return records
}

// Markers decide the records of their own producer that came before them.
func TestTail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log                string
		stable             int64
		from, newest, open int64 // -1 for none
	}{
		"committed behind":          {"1o 2r 2c", 0, 0, 1, -1},
		"aborted behind":            {"1o 2r 2c 2r 2a", 0, 0, 1, -1},
		"undecided":                 {"1o 2r 2c 2r", 0, 0, 1, 3},
		"a marker of another":       {"1o 2r 1c", 0, 0, -1, 1},
		"a marker of nothing":       {"1o 2a 2c 2r 2c 2a", 0, 0, 3, -1},
		"no transaction":            {"1o 3n", 0, 0, 1, -1},
		"undecided and overtaken":   {"1r 2r 2c", 0, 0, 1, -1},
		"decided out of order":      {"1r 2r 2c 1c", 0, 0, 1, -1},
		"the last marker before it": {"2r 2c 2r 2c 2r 1o 2c", 5, 4, 4, -1},
		"decided before it":         {"2r 2c 1o 2r 2a", 2, 2, -1, -1},
		"a marker behind it only":   {"1o 1c 2r 1o 2a", 3, 2, -1, -1},
		"a hole before it":          {"1o 1c . . 1o 2r 2c", 4, 2, 5, -1},
	} {
		tail := newTail(0, c.stable)
		for _, r := range tailLog(c.log) {
			if err := tail.take(r, sinkUnit); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if tail.from != c.from || offsetOf(tail.newest) != c.newest || offsetOf(tail.open()) != c.open {
			t.Errorf("%s: begins at %d, newest %d, open %d; want %d, %d, %d", name, tail.from, offsetOf(tail.newest), offsetOf(tail.open()), c.from, c.newest, c.open)
		}
	}
	damaged := &kgo.Record{Attrs: kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Transactional: true, Control: true}), Key: []byte("?")}
	wantError(t, newTail(0, 0).take(damaged, sinkUnit), "marker cannot be read")
}

func offsetOf(r *kgo.Record) int64 {
	if r == nil {
		return -1
	}
	return r.Offset
}
