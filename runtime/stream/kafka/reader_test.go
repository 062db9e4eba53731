package kafka

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// TestReadCommitted: records of aborted transactions are never delivered, those of
// open ones not before they are decided, and an end behind markers is reached.
//
// B-74
func TestReadCommitted(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", Partitions: []int32{0}})
	five := func(from int64) (all []*kgo.Record) {
		for _, id := range numbers(from, from+4) {
			all = append(all, jsonRecord(0, id))
		}
		return all
	}
	x.transact(false, five(1)...)
	x.transact(true, five(11)...)
	wantIDs(t, x.drain(), numbers(11, 15)...)
	x.wantAt(`{"sensors":{"0":12}}`)
	x.transact(false, five(21)...)
	wantIDs(t, x.drain())
	x.wantAt(`{"sensors":{"0":18}}`)

	open := x.producer(kgo.TransactionalID("open"))
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := open.ProduceSync(t.Context(), &kgo.Record{Topic: "sensors", Value: []byte(`{"id":31}`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	x.put(0, 32)
	wantIDs(t, x.drain())
	if err := endTransaction(t.Context(), open, kgo.TryCommit, "sensors"); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, x.follow(2), 31, 32)
}

func TestReadUncommitted(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", ReadUncommitted: true})
	x.transact(false, jsonRecord(0, 1))
	wantIDs(t, x.drain(), 1)
	x.wantAt(`{"sensors":{"0":2}}`)
}

// TestCompactedGaps: where records were compacted away, offsets have gaps. Neither
// they nor the marker at the end are taken for a loss, and the end is reached.
//
// B-74
func TestCompactedGaps(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "changes"})
	if err := x.fake.CreateTopic("changes", 1, map[string]string{
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "min.compaction.lag.ms": "0", "segment.ms": "1",
	}); err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for i, key := range []string{"a", "b", "b", "b", "c", "c", "c", "c"} { // 0, 3 and 7 stay
		r := jsonRecord(0, int64(i))
		r.Topic, r.Key = "changes", []byte(key)
		records = append(records, r)
	}
	x.transact(true, records...)
	x.fake.Compact()
	end := x.discover(true)
	if string(end) != `{"changes":{"0":9}}` {
		t.Fatalf("end is %s, want offset 9", end)
	}
	got := x.drainTo(end, stream.Limits{})
	want := []row{{0, 0, 0}, {3, 0, 3}, {7, 0, 7}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := x.discover(true); !again.Equal(end) {
		t.Errorf("end is %s after all was read, want %s", again, end)
	}
	if strings.Contains(x.log.String(), "lost") {
		t.Errorf("a gap is taken for a loss:\n%s", x.log.String())
	}
	x.restart()
	if diff := cmp.Diff(want, x.read(nil, end)); diff != "" {
		t.Errorf("read again: %s", diff)
	}
}

// TestTombstones: a missing value is not an empty one, and the last record's offset
// counts whatever becomes of it.
//
// B-75
func TestTombstones(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy TombstonePolicy
		want   []int64
		fails  bool
	}{
		"default": {TombstoneDefault, []int64{1}, false},
		"skip":    {TombstoneSkip, []int64{1}, false},
		"row":     {TombstoneRow, []int64{1, 0}, false},
		"fail":    {TombstoneFail, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTopicTest(t, Source[sensor]{Topic: "sensors", OnTombstone: c.policy, OnMalformed: Drop})
			x.put(0, 1)
			x.putRecords(&kgo.Record{Key: []byte("k")})
			end := x.discover(true)
			rows, stats, err := x.tryRead(nil, end)
			if c.fails {
				wantError(t, err, "topic sensors, partition 0, offset 1: malformed row: the record has no value")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantIDs(t, ids(rows), c.want...)
			if stats.Malformed != 0 { // a record that is dropped looks like one that is skipped
				t.Errorf("%d rows are malformed, want none", stats.Malformed)
			}
			if string(end) != `{"sensors":{"0":2}}` {
				t.Errorf("end is %s, want offset 2", end)
			}
		})
	}
}

// TestRecordRows: keys, values that are missing or empty, headers and origin arrive
// as they were written.
//
// B-75
func TestRecordRows(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123).UTC()
	source := Source[[]byte]{Topic: "sensors", Format: Raw}
	var got []Record[[]byte]
	x := newTest(t, source.Records(), func(r *Record[[]byte]) int64 {
		c := *r
		c.Headers = append([]Header(nil), r.Headers...)
		got = append(got, c)
		return r.Offset
	})
	for _, r := range []*kgo.Record{
		{Key: nil, Value: []byte("v")},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("k"), Value: nil},
		{Key: []byte("k"), Value: []byte("w"), Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a", Value: nil}, {Key: "", Value: []byte{}}}},
	} {
		r.Timestamp, r.Partition = at, 1
		x.putRecords(r)
	}
	x.drain()
	base := Record[[]byte]{Timestamp: at, Topic: "sensors", Partition: 1}
	with := func(offset int64, key, value []byte, has bool, headers ...Header) Record[[]byte] {
		r := base
		r.Offset, r.Key, r.Value, r.HasValue, r.Headers = offset, key, value, has, headers
		return r
	}
	want := []Record[[]byte]{
		with(0, nil, []byte("v"), true),
		with(1, []byte{}, []byte{}, true),
		with(2, []byte("k"), nil, false),
		with(3, []byte("k"), []byte("w"), true, Header{"a", []byte("1")}, Header{"a", nil}, Header{"", []byte{}}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecordsSkipTombstones(t *testing.T) {
	t.Parallel()
	source := Source[sensor]{Topic: "sensors", OnTombstone: TombstoneSkip}
	x := newTest(t, source.Records(), func(r *Record[sensor]) int64 { return r.Value.ID })
	x.putRecords(&kgo.Record{Key: []byte("k")})
	x.put(0, 1)
	wantIDs(t, x.drain(), 1)
}

func TestFormats(t *testing.T) {
	t.Parallel()
	t.Run("msgpack", func(t *testing.T) {
		t.Parallel()
		x := newTopicTest(t, Source[sensor]{Topic: "sensors", Format: Msgpack})
		x.putRecords(&kgo.Record{Value: []byte("packed 7")})
		wantIDs(t, x.drain(), 7)
	})
	t.Run("string", func(t *testing.T) {
		t.Parallel()
		x := newTest(t, Source[string]{Topic: "sensors", Format: String}, func(s *string) int64 { return int64(len(*s)) })
		x.putRecords(&kgo.Record{Value: []byte("seven..")}, &kgo.Record{Value: []byte{}})
		wantIDs(t, x.drain(), 7, 0)
	})
	t.Run("raw", func(t *testing.T) {
		t.Parallel()
		x := newTest(t, Source[[]byte]{Topic: "sensors", Format: Raw}, func(b *[]byte) int64 { return int64(len(*b)) })
		x.putRecords(&kgo.Record{Value: []byte("seven..")})
		wantIDs(t, x.drain(), 7)
	})
	t.Run("no codec", func(t *testing.T) {
		t.Parallel()
		x := newTest(t, Source[struct{ A int }]{Topic: "sensors"}, func(*struct{ A int }) int64 { return 0 })
		_, err := x.open()
		wantError(t, err, "has no JSON decoder", "go generate")
	})
}

// TestMalformed: a record that is no row fails the read, which says where it is, or
// is dropped and counted. An empty value is no row, either.
//
// B-75
func TestMalformed(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.put(1, 1)
	x.putRecords(&kgo.Record{Partition: 1, Value: []byte("oops")}, &kgo.Record{Partition: 1, Value: []byte{}})
	x.put(1, 2)
	end := x.discover(true)
	_, _, err := x.tryRead(nil, end)
	wantError(t, err, "topic sensors, partition 1, offset 1: malformed row: not a JSON object")
	if _, ok := errors.AsType[*stream.MalformedError](err); !ok {
		t.Errorf("error is %T, want a MalformedError", err)
	}
	x.source = Source[sensor]{Topic: "sensors", OnMalformed: Drop}
	x.restart()
	rows, stats, err := x.tryRead(nil, end)
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, ids(rows), 1, 2)
	if stats.Malformed != 2 {
		t.Errorf("%d rows are malformed, want 2", stats.Malformed)
	}
	if n := strings.Count(x.log.String(), "malformed row dropped"); n != 2 {
		t.Errorf("%d dropped rows are logged, want 2", n)
	}
}

// TestBigRecords: a record that is larger than the buffer and than what is asked of
// a broker at once still comes.
func TestBigRecords(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", BufferBytes: 1000},
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": "10000000"}))
	x.client = x.producer(kgo.ProducerBatchMaxBytes(9_000_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for id := range int64(3) {
		x.putRecords(&kgo.Record{Value: append(append([]byte(`{"pad":"`), bytes.Repeat([]byte("x"), 3_000_000)...), []byte(`","id":`+string(rune('0'+id))+`}`)...)})
	}
	x.put(0, 3)
	wantIDs(t, x.drain(), 0, 1, 2, 3)
}

// TestReadStops: reading ends with the error that the caller has, and with the
// context.
func TestReadStops(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.put(0, 1, 2, 3)
	end := x.discover(true)
	enough := errors.New("enough")
	_, err := x.reader.Read(t.Context(), nil, end, func(*stream.Record[sensor]) error { return enough })
	if err != enough {
		t.Errorf("error is %v, want that of yield", err)
	}
	x.restart()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = x.reader.Read(ctx, nil, end, func(*stream.Record[sensor]) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want that of the context", err)
	}
}

// TestReadAgain: the same positions are the same rows, whoever reads them, however
// much came since, and also if they do not fit into the buffer.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	source := Source[sensor]{Topic: "sensors"}
	x := newTopicTest(t, source)
	x.put(0, numbers(1, 50)...)
	x.put(1, numbers(101, 150)...)
	end := x.discover(true)
	want := x.read(nil, end)
	if len(want) != 100 {
		t.Fatalf("read %d rows, want 100", len(want))
	}
	middle := x.cut(nil, end, stream.Limits{Rows: 30})
	x.put(0, numbers(51, 90)...)
	x.put(1, numbers(151, 190)...)
	for range 2 {
		if diff := cmp.Diff(want, x.read(nil, end)); diff != "" {
			t.Error(diff)
		}
		got := append(x.read(nil, middle), x.read(middle, end)...)
		wantIDs(t, ids(got), ids(want)...)
		if n := len(x.read(nil, middle)); n != 30 {
			t.Errorf("read %d rows before the cut, want 30", n)
		}
		source.BufferBytes = 700
		x.source = source
		x.restart()
	}
}
