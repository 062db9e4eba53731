package kafka_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/golden/kafka/internal/pipeline"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/kafka"
	"github.com/tws-go/tws/runtime/stream/memory"
)

// transact is a program that is not ours: it begins a transaction, and has written
// readings when it returns.
func (c *cluster) transact(t *testing.T, topic, id string, values ...int64) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.brokers, ",")...), kgo.TransactionalID(topic+"-"+id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		value, err := json.Marshal(pipeline.Reading{Sensor: id, Value: v})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	return client
}

func endTransaction(t *testing.T, client *kgo.Client, how kgo.TransactionEndTry) {
	t.Helper()
	if err := client.EndTransaction(t.Context(), how); err != nil {
		t.Fatal(err)
	}
}

// follower is a pipeline that hands on what it reads.
type follower struct {
	options tws.Options
	source  kafka.Source[pipeline.Reading]
	sink    *memory.Sink[pipeline.Reading]
}

func (c *cluster) follower(t *testing.T, source kafka.Source[pipeline.Reading]) *follower {
	return &follower{
		options: tws.Options{
			Checkpoint: t.TempDir(), Stores: mem.New(), NoSync: true, Clusters: stream.Clusters{"main": {"brokers": c.brokers}},
		},
		source: source,
		sink:   &memory.Sink[pipeline.Reading]{},
	}
}

// want runs the pipeline to the end of what it may read, and checks which values
// it has read since the first run.
func (f *follower) want(t *testing.T, values ...int64) {
	t.Helper()
	p := tws.NewPipeline(f.options)
	tws.AppendFlow(p, tws.NewSink(f.sink), "follow", func(flow *tws.Flow) tws.Stream[pipeline.Reading] { return tws.ReadStream(flow, f.source) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, row := range f.sink.Rows() {
		got = append(got, row.Row.Value)
	}
	if diff := cmp.Diff(values, got); diff != "" {
		t.Errorf("ReadUncommitted %v: values (-want +got):\n%s", f.source.ReadUncommitted, diff)
	}
}

func (c *cluster) isolation(t *testing.T) {
	c.isolationOf(t, kgo.TryCommit, 1, 2, 5, 6, 7)
	c.isolationOf(t, kgo.TryAbort, 1, 2, 7)
}

// isolationOf has transactions that are committed, aborted and open, and two
// pipelines that read the topic while one is open and when it has ended. committed
// is what there is to read then.
func (c *cluster) isolationOf(t *testing.T, end kgo.TransactionEndTry, committed ...int64) {
	t.Helper()
	topic := c.create(t, "isolation", 1, nil)
	byDefault := c.follower(t, kafka.Source[pipeline.Reading]{Topic: topic})
	uncommitted := c.follower(t, kafka.Source[pipeline.Reading]{Topic: topic, ReadUncommitted: true})

	endTransaction(t, c.transact(t, topic, "committed", 1, 2), kgo.TryCommit)
	endTransaction(t, c.transact(t, topic, "aborted", 3, 4), kgo.TryAbort)
	until(t, "both transactions have ended", func() error { return c.undecided(t, topic) })
	open := c.transact(t, topic, "open", 5, 6)
	endTransaction(t, c.transact(t, topic, "behind", 7), kgo.TryCommit)
	byDefault.want(t, 1, 2)
	uncommitted.want(t, 1, 2, 3, 4, 5, 6, 7)

	endTransaction(t, open, end)
	until(t, "all transactions have ended", func() error { return c.undecided(t, topic) })
	byDefault.want(t, committed...)
	uncommitted.want(t, 1, 2, 3, 4, 5, 6, 7)
}

// A source hands on what transactions have committed, in the order of the log and so
// nothing behind one that is open; with ReadUncommitted all that is there, once. B-74
func TestIsolation(t *testing.T) {
	t.Parallel()
	fake(t).isolation(t)
}
