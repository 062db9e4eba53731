package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
)

// rowCounter counts rows by key in the value with id 1.
type rowCounter struct {
	quiet
	buf []byte
}

func (c *rowCounter) Input(_ context.Context, _ []byte, rows *Rows) error {
	old, ok, err := c.s.Value(1)
	if err != nil {
		return err
	}
	n := uint64(0)
	if ok {
		n = binary.BigEndian.Uint64(old)
	}
	for _, ok := rows.Next(); ok; _, ok = rows.Next() {
		n++
	}
	c.buf = binary.BigEndian.AppendUint64(c.buf[:0], n)
	return c.s.PutValue(1, c.buf)
}

// BenchmarkCount counts rows by key over the memory store: exchange, sessions,
// state, changelog, decision. An epoch has 100,000 rows of 10,000 keys.
func BenchmarkCount(b *testing.B) {
	const rows, keys = 100_000, 10_000
	r := newRig(b, counter())
	if err := r.open(); err != nil {
		b.Fatal(err)
	}
	for _, p := range r.unit.partitions {
		sp := p.stages[0]
		sp.instance = &rowCounter{quiet: quiet{sp.session}}
	}
	var epoch []keyed
	for i := range rows {
		epoch = append(epoch, keyed{key: fmt.Sprintf("key %04d", i%keys), row: "a row of some forty bytes or a few more"})
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r.sources[0].rows = append(r.sources[0].rows, epoch...)
		b.StartTimer()
		if err := r.run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}
