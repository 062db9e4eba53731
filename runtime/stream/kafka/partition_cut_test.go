package kafka

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

func limitRows(n int64) stream.Limits { return stream.Limits{Rows: n} }

// TestCutRows: an epoch has exactly as many rows as its limit, evenly from the
// partitions that have some.
func TestCutRows(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.put(0, numbers(0, 99)...)
	x.put(1, numbers(100, 109)...)
	end := x.discover(true)
	x.cut(nil, end, stream.Limits{}) // now all is fetched
	for _, c := range []struct {
		limit      int64
		from, want string
	}{
		{10, ``, `{"sensors":{"0":5,"1":5}}`},
		{40, ``, `{"sensors":{"0":30,"1":10}}`},
		{110, ``, string(end)},
		{200, ``, string(end)},
		{0, ``, string(end)},
		{20, `{"sensors":{"0":95}}`, string(end)},
		{12, `{"sensors":{"0":95}}`, `{"sensors":{"0":100,"1":7}}`},
	} {
		if got := x.cut(stream.Position(c.from), end, limitRows(c.limit)); string(got) != c.want {
			t.Errorf("%d rows from %s end at %s, want %s", c.limit, c.from, got, c.want)
		}
	}
}

// TestCutServesAll: with a limit of one row no partition waits for the backlog of
// another.
func TestCutServesAll(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.put(0, numbers(0, 99)...)
	x.put(1, 100)
	end := x.discover(true)
	x.cut(nil, end, stream.Limits{}) // now all is fetched
	var got []int64
	for range 2 {
		to := x.cut(x.at, end, limitRows(1))
		got = append(got, ids(x.read(x.at, to))...)
		x.at = to
	}
	wantIDs(t, got, 0, 100)
}

func TestCutBytes(t *testing.T) {
	t.Parallel()
	x := newTest(t, Source[string]{Topic: "sensors", Format: String}, func(s *string) int64 { return int64(len(*s)) })
	for i := range 10 {
		x.putRecords(&kgo.Record{Value: fmt.Appendf(nil, "%010d", i)}) // 10 bytes each
	}
	x.putRecords(&kgo.Record{Partition: 1, Value: make([]byte, 50)}, &kgo.Record{Partition: 1, Value: make([]byte, 5)})
	end := x.discover(true)
	x.cut(nil, end, stream.Limits{}) // now all is fetched
	for _, c := range []struct {
		limit      int64
		from, want string
	}{
		{20, ``, `{"sensors":{"0":2}}`},
		{25, ``, `{"sensors":{"0":2}}`},
		{60, ``, `{"sensors":{"0":6}}`},
		{3, ``, `{"sensors":{"0":1}}`},
		{3, `{"sensors":{"0":10}}`, `{"sensors":{"0":10,"1":1}}`},
		{154, ``, `{"sensors":{"0":9,"1":2}}`},
		{155, ``, string(end)},
	} {
		x.reader.(*reader[string]).turn = 1 // partition 0 first
		got := x.cut(stream.Position(c.from), end, stream.Limits{Bytes: c.limit})
		if string(got) != c.want {
			t.Errorf("%d bytes from %s end at %s, want %s", c.limit, c.from, got, c.want)
		}
	}
}

// TestCutLargeRecord: a record larger than the whole limit waits for its turn only,
// not until no other partition has rows.
func TestCutLargeRecord(t *testing.T) {
	t.Parallel()
	x := newTest(t, Source[string]{Topic: "sensors", Format: String}, func(s *string) int64 { return int64(len(*s)) })
	for range 20 {
		x.putRecords(&kgo.Record{Value: make([]byte, 10)})
	}
	x.putRecords(&kgo.Record{Partition: 1, Value: make([]byte, 50)})
	end := x.discover(true)
	x.cut(nil, end, stream.Limits{}) // now all is fetched
	var got []int64
	for range 2 {
		to := x.cut(x.at, end, stream.Limits{Bytes: 20})
		got = append(got, ids(x.read(x.at, to))...)
		x.at = to
	}
	wantIDs(t, got, 10, 10, 50)
}

// TestCutBuffer: what the buffer holds bounds an epoch, and the whole is read
// nevertheless, in one go as well.
func TestCutBuffer(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", BufferBytes: 3000, ClientOptions: func() ([]kgo.Opt, error) {
		return []kgo.Opt{kgo.FetchMaxPartitionBytes(100)}, nil // a batch at a time
	}})
	for i := range int64(20) {
		x.put(int32(i%2), numbers(10*i, 10*i+9)...)
	}
	end := x.discover(true)
	if to := x.cut(nil, end, stream.Limits{}); to.Equal(end) {
		t.Error("an epoch is larger than the buffer")
	}
	wantIDs(t, ids(x.drainTo(end, limitRows(7))), numbers(0, 199)...)
	x.restart()
	wantIDs(t, ids(x.read(nil, end)), numbers(0, 199)...)
}

// TestStoredEnds: a run that is cut short is finished to the same place by one that
// is never asked to discover.
func TestStoredEnds(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", BufferBytes: 3000})
	x.put(0, numbers(0, 49)...)
	end := x.discover(true)
	x.put(0, numbers(50, 99)...) // fills the buffer behind the end
	x.put(1, 100)
	x.restart()
	wantIDs(t, ids(x.drainTo(end, limitRows(20))), numbers(0, 49)...)
}
