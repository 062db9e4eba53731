package engine

import (
	"fmt"
	"testing"
)

// BenchmarkCount counts rows by key over the memory store: exchange, sessions,
// state, changelog, decision. An epoch has 100,000 rows of 10,000 keys.
func BenchmarkCount(b *testing.B) {
	const rows, keys = 100_000, 10_000
	h := counter()
	inner := h.input
	h.input = func(s *Session, key string, rows []string, _ func(key, row string) error) error {
		return inner(s, key, rows, func(string, string) error { return nil })
	}
	r := newRig(b, h)
	for i := range rows {
		r.sources[0].rows = append(r.sources[0].rows, keyed{fmt.Sprintf("key %04d", i%keys), "a row of some forty bytes or a few more"})
	}
	more := r.sources[0].rows
	b.ReportAllocs()
	for b.Loop() {
		r.mustRun()
		b.StopTimer()
		r.sources[0].rows = append(r.sources[0].rows, more...)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}
