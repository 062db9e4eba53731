package kafka

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// BenchmarkRead measures reading small rows out of a full backlog, without what the
// client does to fill it.
func BenchmarkRead(b *testing.B) {
	const rows = 100_000
	records := make([]*kgo.Record, rows)
	for i := range records {
		records[i] = &kgo.Record{Topic: "sensors", Offset: int64(i), Key: []byte("k"), Value: []byte(`{"id":1}`)}
	}
	f := &fetcher{capacity: noLimit, changed: make(chan struct{}), byLog: map[logID]*backlog{}}
	l := loaded(b, [][]byte{[]byte(`{"version":1,"topics":[{"topic":"sensors","id":"00000000000000000000000000000001","generation":1,"partitions":[{"partition":0,"start":0}]}]}`)})
	set := &settings{topics: []string{"sensors"}}
	r := &reader[sensor]{
		feed: &feed{settings: set, ledger: *l, fetch: f}, tombstones: TombstoneSkip,
		fill: func(rec *kgo.Record, row *sensor) error {
			row.ID = int64(bytes.IndexByte(rec.Value, ':'))
			return nil
		},
	}
	to := stream.Position(`{"sensors":{"0":100000}}`)
	b.ReportAllocs()
	for b.Loop() {
		f.mu.Lock()
		*f.backlog(fetchTarget{log: logID{"sensors", 0}}) = backlog{log: logID{"sensors", 0}, assigned: true, bound: noLimit}
		for i := 0; i < rows; i += 1000 {
			f.bytes += f.logs[0].add(records[i : i+1000 : i+1000])
		}
		f.mu.Unlock()
		stats, err := r.Read(b.Context(), nil, to, func(*stream.Record[sensor]) error { return nil })
		if err != nil || stats.Rows != rows {
			b.Fatalf("read %d rows: %v", stats.Rows, err)
		}
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}
