//go:build kafka_broker && cgo && grocksdb_no_link

package keyedcount

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/store/rocks"
	"github.com/tws-go/tws/runtime/stream"
)

// benchKeys and benchBytes are the number of keys and the size of a message;
// BENCH_RECORDS in the environment sets the number of messages.
const (
	benchKeys  = 100_000
	benchBytes = 100
)

func benchRecords(b *testing.B) int64 {
	text, ok := os.LookupEnv("BENCH_RECORDS")
	if !ok {
		return 1_000_000
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		b.Fatalf("BENCH_RECORDS: %v", err)
	}
	return n
}

// BenchmarkKeyedCount reads messages from a topic, counts them by key, and writes a
// row for each to another, in both guarantees; floor does so with a Kafka client
// and a map, without state, checkpoint or recovery. rows/cpu-s is what to compare
// within one run: rows for each second of processor time of this process, with its
// start-up.
func BenchmarkKeyedCount(b *testing.B) {
	w := newWorkload(b, benchRecords(b))
	for _, way := range []struct {
		name string
		run  func(ctx context.Context, out string) error
	}{
		{"floor", w.floor},
		{"at-least-once", w.pipeline("at-least-once")},
		{"exactly-once", w.pipeline("exactly-once")},
	} {
		b.Run(way.name, func(b *testing.B) {
			for range b.N {
				out := w.topic(b, "out")
				cpu, start := cpuTime(b), time.Now()
				if err := way.run(b.Context(), out); err != nil {
					b.Fatal(err)
				}
				took, spent := time.Since(start), cpuTime(b)-cpu
				b.ReportMetric(float64(w.records)/took.Seconds(), "rows/s")
				b.ReportMetric(float64(w.records)/spent.Seconds(), "rows/cpu-s")
				w.check(b, out)
			}
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// workload is the input topic, filled once.
type workload struct {
	b       *testing.B
	broker  string
	client  *kgo.Client
	in      string
	records int64
	topics  int
}

func newWorkload(b *testing.B, records int64) *workload {
	broker := os.Getenv("TWS_KAFKA")
	if broker == "" {
		b.Fatal("TWS_KAFKA, the address of a broker, is not set: run make bench")
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	w := &workload{b: b, broker: broker, client: client, records: records}
	w.in = w.topic(b, "in")
	for i := range records {
		key := strconv.AppendUint(nil, uint64(i)*0x9E3779B97F4A7C15%benchKeys, 10)
		client.Produce(b.Context(), &kgo.Record{Topic: w.in, Key: key, Value: message(key, i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := client.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	return w
}

// message is {"k":KEY,"v":I,"pad":"xx…"} of benchBytes bytes.
func message(key []byte, i int64) []byte {
	m := fmt.Appendf(make([]byte, 0, benchBytes), `{"k":"%s","v":%d,"pad":"`, key, i)
	for len(m) < benchBytes-2 {
		m = append(m, 'x')
	}
	return append(m, `"}`...)
}

// topic makes a topic of two partitions.
func (w *workload) topic(b *testing.B, name string) string {
	w.topics++
	name = fmt.Sprintf("%s-%d-%d", name, os.Getpid(), w.topics)
	admin := kadm.NewClient(w.client)
	if _, err := admin.CreateTopic(b.Context(), 2, 1, nil, name); err != nil {
		b.Fatal(err)
	}
	w.b.Cleanup(func() {
		if _, err := admin.DeleteTopic(context.Background(), name); err != nil {
			w.b.Error(err)
		}
	})
	return name
}

// pipeline runs the pipeline over all that is in the input topic.
func (w *workload) pipeline(guarantee string) func(context.Context, string) error {
	return func(ctx context.Context, out string) error {
		stores, err := rocks.New(rocks.Config{})
		if err != nil {
			return err
		}
		defer stores.Close()
		p := tws.NewPipeline(tws.Options{
			Checkpoint: w.b.TempDir(), Stores: stores,
			Clusters: stream.Clusters{"main": {"brokers": w.broker}},
			Conf: map[string]string{
				"in": w.in, "out": out, "guarantee": guarantee, "linger": "20ms", "tws.partitions": "2",
			},
		})
		Register(p)
		return p.Run(ctx)
	}
}

// floor counts with a client and a map for each partition.
func (w *workload) floor(ctx context.Context, out string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(w.broker), kgo.ConsumeTopics(w.in),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ProducerLinger(20*time.Millisecond),
		kgo.MaxBufferedRecords(100_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer client.Close()
	counts := map[int32]map[string]int64{}
	for left := w.records; left > 0; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		left -= int64(fetches.NumRecords())
		var work sync.WaitGroup
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if counts[p.Partition] == nil {
				counts[p.Partition] = map[string]int64{}
			}
			work.Go(func() { w.count(ctx, client, out, p.Records, counts[p.Partition]) })
		})
		work.Wait()
	}
	return client.Flush(ctx)
}

func (w *workload) count(ctx context.Context, client *kgo.Client, out string, records []*kgo.Record, counts map[string]int64) {
	for _, r := range records {
		var e Event
		if err := json.Unmarshal(r.Value, &e); err != nil {
			w.b.Error(err)
		}
		counts[e.Key]++
		value := fmt.Appendf(make([]byte, 0, 64), `{"k":"%s","n":%d,"ts":%d}`, e.Key, counts[e.Key], e.Sent)
		client.Produce(ctx, &kgo.Record{Topic: out, Key: r.Key, Value: value}, nil)
	}
}

// check reads the output and makes sure that every key was counted from 1 without a
// gap.
func (w *workload) check(b *testing.B, out string) {
	b.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.broker), kgo.ConsumeTopics(out),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	counts, total := map[string]int64{}, int64(0)
	for total < w.records {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			b.Fatalf("after %d of %d rows: %v", total, w.records, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			var c Count
			if err := json.NewDecoder(bytes.NewReader(r.Value)).Decode(&struct {
				K *string `json:"k"`
				N *int64  `json:"n"`
			}{&c.Key, &c.N}); err != nil {
				b.Fatalf("offset %d: %v", r.Offset, err)
			}
			if c.N != counts[c.Key]+1 {
				b.Fatalf("offset %d: key %s is counted %d after %d", r.Offset, c.Key, c.N, counts[c.Key])
			}
			counts[c.Key] = c.N
			total++
		})
	}
	if n := len(counts); n != min(benchKeys, int(w.records)) {
		b.Errorf("%d keys, want %d", n, benchKeys)
	}
}
