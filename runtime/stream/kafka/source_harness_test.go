package kafka

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// sensor is the row type of the source's tests.
type sensor struct {
	ID  int64  `json:"id"`
	Pad string `json:"pad,omitempty"`
}

func (*sensor) TWSRow() *stream.Row[sensor] { return sensorRow }

var sensorRow = &stream.Row[sensor]{
	Type:       "kafka.sensor",
	DecodeJSON: decodeSensor,
	Decode: func(b []byte, v *sensor) error {
		*v = sensor{}
		_, err := fmt.Sscanf(string(b), "packed %d", &v.ID)
		return err
	},
}

func decodeSensor(b []byte, v *sensor) error {
	*v = sensor{}
	if len(b) == 0 || b[0] != '{' {
		return errors.New("not a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// until calls done until it is true.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// topicTest is a source over a cluster, which can be restarted.
type topicTest[R any] struct {
	testing.TB
	fake    *kfake.Cluster // nil for a broker
	topic   string
	brokers string
	client  *kgo.Client
	admin   *kadm.Client
	clock   atomic.Int64 // seconds
	log     logBuffer
	source  stream.Source[R]
	id      func(*R) int64
	journal [][]byte
	at      stream.Position
	reader  stream.Reader[R]
}

// row is a yielded row with where it came from.
type row struct {
	ID        int64
	Partition int32
	Offset    int64
}

func newTopicTest(t testing.TB, s Source[sensor], opts ...kfake.Opt) *topicTest[sensor] {
	s.ClientOptions = hasty(s.ClientOptions)
	return newTest(t, s, func(v *sensor) int64 { return v.ID }, opts...)
}

// hasty makes a client wait less before it tries again, looks again for leaders, or
// is told that there is nothing; own are the test's own options.
func hasty(own func() ([]kgo.Opt, error)) func() ([]kgo.Opt, error) {
	return func() (opts []kgo.Opt, err error) {
		if own != nil {
			opts, err = own()
		}
		return append([]kgo.Opt{
			kgo.MetadataMinAge(10 * time.Millisecond), kgo.FetchMaxWait(20 * time.Millisecond),
			kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }),
		}, opts...), err
	}
}

func newTest[R any](t testing.TB, s stream.Source[R], id func(*R) int64, opts ...kfake.Opt) *topicTest[R] {
	t.Helper()
	fake, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(2), kfake.SeedTopics(2, "sensors")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	x := &topicTest[R]{TB: t, fake: fake, topic: "sensors", brokers: strings.Join(fake.ListenAddrs(), ","), source: s, id: id}
	x.connect()
	return x
}

func (x *topicTest[R]) connect() {
	x.client = x.producer()
	x.admin = kadm.NewClient(x.client)
	x.Cleanup(func() {
		x.stop()
		if x.Failed() {
			x.Logf("log:\n%s", x.log.String())
		}
	})
}

// producer returns a client that writes to the partition of each record.
func (x *topicTest[R]) producer(opts ...kgo.Opt) *kgo.Client {
	x.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(x.brokers, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(10 * time.Millisecond),
	}, opts...)...)
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(client.Close)
	return client
}

func jsonRecord(partition int32, id int64) *kgo.Record {
	return &kgo.Record{Partition: partition, Value: fmt.Appendf(nil, `{"id":%d}`, id)}
}

// put writes rows to a partition.
func (x *topicTest[R]) put(partition int32, ids ...int64) {
	x.Helper()
	var records []*kgo.Record
	for _, id := range ids {
		records = append(records, jsonRecord(partition, id))
	}
	x.putRecords(records...)
}

func (x *topicTest[R]) putRecords(records ...*kgo.Record) {
	x.Helper()
	x.address(records)
	if err := x.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		x.Fatal(err)
	}
}

// address gives records without a topic the test's.
func (x *topicTest[R]) address(records []*kgo.Record) {
	for _, r := range records {
		if r.Topic == "" {
			r.Topic = x.topic
		}
	}
}

// transact writes rows to a partition in a transaction.
func (x *topicTest[R]) transact(commit bool, records ...*kgo.Record) {
	x.Helper()
	ctx := context.Background()
	x.address(records)
	c := x.producer(kgo.TransactionalID(fmt.Sprintf("%s-tx-%d", x.topic, x.clock.Add(1))))
	defer c.Close()
	err := c.BeginTransaction()
	if err == nil {
		err = c.ProduceSync(ctx, records...).FirstErr()
	}
	if err == nil {
		err = endTransaction(ctx, c, kgo.TransactionEndTry(commit), records[0].Topic)
	}
	if err != nil {
		x.Fatal(err)
	}
}

func (x *topicTest[R]) open() (stream.Reader[R], error) {
	return x.source.Open(context.Background(), stream.SourceEnv[R]{
		Log: slog.New(slog.NewTextHandler(&x.log, nil)), Now: func() time.Time { return time.Unix(x.clock.Load(), 0) },
		Clusters: stream.Clusters{"main": {"brokers": x.brokers}}, Journal: x.journal,
	})
}

func (x *topicTest[R]) stop() {
	if x.reader != nil {
		if err := x.reader.Close(); err != nil {
			x.Error(err)
		}
		x.reader = nil
	}
}

// restart goes on with a new reader.
func (x *topicTest[R]) restart() {
	x.Helper()
	x.stop()
	r, err := x.open()
	if err != nil {
		x.Fatal(err)
	}
	x.reader = r
}

// tryDiscover discovers and makes the journal entry durable.
func (x *topicTest[R]) tryDiscover(final bool) (stream.Position, error) {
	if x.reader == nil {
		x.restart()
	}
	end, journal, err := x.reader.Discover(context.Background(), x.at, final)
	if journal != nil {
		x.journal = append(x.journal, journal)
	}
	return end, err
}

func (x *topicTest[R]) discover(final bool) stream.Position {
	x.Helper()
	end, err := x.tryDiscover(final)
	if err != nil {
		x.Fatal(err)
	}
	return end
}

func (x *topicTest[R]) cut(from, end stream.Position, limits stream.Limits) stream.Position {
	x.Helper()
	to, err := x.reader.Cut(context.Background(), from, end, limits)
	if err != nil {
		x.Fatal(err)
	}
	return to
}

func (x *topicTest[R]) tryRead(from, to stream.Position) ([]row, stream.ReadStats, error) {
	var rows []row
	stats, err := x.reader.Read(context.Background(), from, to, func(r *stream.Record[R]) error {
		rows = append(rows, row{x.id(&r.Row), r.Partition, r.Offset})
		return nil
	})
	for i := 1; i < len(rows); i++ {
		a, b := rows[i-1], rows[i]
		if a.Partition > b.Partition || a.Partition == b.Partition && a.Offset >= b.Offset {
			x.Errorf("rows out of order: %v before %v", a, b)
		}
	}
	return rows, stats, err
}

func (x *topicTest[R]) read(from, to stream.Position) []row {
	x.Helper()
	rows, stats, err := x.tryRead(from, to)
	if err != nil {
		x.Fatal(err)
	}
	if stats.Rows != int64(len(rows)) {
		x.Errorf("stats count %d rows, want %d", stats.Rows, len(rows))
	}
	return rows
}

// drain reads what is there now, epoch by epoch, and returns the ids.
func (x *topicTest[R]) drain() []int64 {
	x.Helper()
	return ids(x.drainTo(x.discover(true), stream.Limits{}))
}

func (x *topicTest[R]) drainTo(end stream.Position, limits stream.Limits) []row {
	x.Helper()
	var rows []row
	for !x.at.Equal(end) {
		to := x.cut(x.at, end, limits)
		if to.Equal(x.at) {
			x.Fatalf("no progress from %s to %s", x.at, end)
		}
		rows = append(rows, x.read(x.at, to)...)
		x.at = to
	}
	return rows
}

// follow discovers and reads, as an interval trigger does, until n rows came.
func (x *topicTest[R]) follow(n int) []int64 {
	x.Helper()
	var got []int64
	until(x, fmt.Sprintf("%d rows", n), func() bool {
		end := x.discover(false)
		to := x.cut(x.at, end, stream.Limits{})
		got = append(got, ids(x.read(x.at, to))...)
		x.at = to
		return len(got) >= n
	})
	return got
}

// fail discovers until an error comes.
func (x *topicTest[R]) fail() error {
	x.Helper()
	var err error
	until(x, "an error", func() bool {
		var end stream.Position
		if end, err = x.tryDiscover(false); err == nil && !end.Equal(x.at) {
			x.read(x.at, end)
			x.at = end
		}
		return err != nil
	})
	return err
}

func (x *topicTest[R]) wantAt(want string) {
	x.Helper()
	if string(x.at) != want {
		x.Errorf("position is %s, want %s", x.at, want)
	}
}

func ids(rows []row) []int64 {
	var out []int64
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

// wantIDs compares ids in any order of partitions.
func wantIDs(t testing.TB, got []int64, want ...int64) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("got rows %v, want %v", got, want)
	}
}

// numbers are the numbers from a to b.
func numbers(a, b int64) (all []int64) {
	for ; a <= b; a++ {
		all = append(all, a)
	}
	return all
}
