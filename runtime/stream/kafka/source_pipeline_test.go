package kafka_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/examples/heartbeat"
	"github.com/tws-go/tws/golden/dialogue"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/kafka"
	"github.com/tws-go/tws/runtime/stream/memory"
	"github.com/tws-go/tws/runtime/twstest"
)

// pipelineTest is a flow from the topic sensors, of two partitions, to memory.
type pipelineTest[T any] struct {
	*testing.T
	brokers string
	client  *kgo.Client
	sink    *memory.Sink[T]
	flow    func(*tws.Flow) tws.Stream[T]
	options tws.Options
	epochs  []epoch.Stats
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newPipelineTest[T any](t *testing.T, clock epoch.Clock, flow func(*tws.Flow) tws.Stream[T]) *pipelineTest[T] {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "sensors"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	x := &pipelineTest[T]{T: t, brokers: strings.Join(fake.ListenAddrs(), ","), sink: &memory.Sink[T]{}, flow: flow}
	x.connect()
	x.options = tws.Options{
		Checkpoint: t.TempDir(), Clock: clock, Stores: mem.New(), NoSync: true,
		Clusters: stream.Clusters{"main": {"brokers": x.brokers}},
		OnEpoch:  func(s epoch.Stats) { x.epochs = append(x.epochs, s) },
	}
	return x
}

// connect makes a client that writes to the partition of each record, and knows
// those that are there now.
func (x *pipelineTest[T]) connect() {
	x.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(x.brokers), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(client.Close)
	x.client = client
}

// run runs the pipeline as a process of its own, until all is read, and returns the
// rows that it wrote.
func (x *pipelineTest[T]) run() (rows []T) {
	x.Helper()
	before := len(x.sink.Rows())
	p := tws.NewPipeline(x.options)
	tws.AppendFlow(p, tws.NewSink(x.sink), "flow", x.flow)
	if err := p.Run(x.Context()); err != nil {
		x.Fatal(err)
	}
	for _, row := range x.sink.Rows()[before:] {
		rows = append(rows, row.Row)
	}
	return rows
}

func (x *pipelineTest[T]) produce(records ...*kgo.Record) {
	x.Helper()
	for _, r := range records {
		r.Topic = "sensors"
	}
	if err := x.client.ProduceSync(x.Context(), records...).FirstErr(); err != nil {
		x.Fatal(err)
	}
}

// TestKeyMovesToNewPartition: state belongs to keys and not to partitions of the
// source, so a key goes on counting when its topic grows and it arrives in another
// partition, through a restart.
//
// B-72
func TestKeyMovesToNewPartition(t *testing.T) {
	t.Parallel()
	clock := twstest.NewClock(start)
	x := newPipelineTest(t, clock, func(f *tws.Flow) tws.Stream[heartbeat.Alert] {
		readings := tws.ReadStream(f, kafka.Source[heartbeat.Reading]{Topic: "sensors"})
		return tws.TransformWithState(
			tws.GroupBy(readings, func(r heartbeat.Reading) int64 { return r.SensorID }),
			func() *heartbeat.Heartbeat { return &heartbeat.Heartbeat{Patience: 5 * time.Minute} },
		)
	})
	reading := func(partition int32, v int64) *kgo.Record {
		return &kgo.Record{Partition: partition, Value: fmt.Appendf(nil, `{"sensor_id":7,"sensor_type":"heat","sensor_value":%d}`, v)}
	}

	x.produce(reading(0, 1), reading(0, 2), reading(0, 3))
	x.run()
	resp, err := kadm.NewClient(x.client).UpdatePartitions(context.Background(), 4, "sensors")
	if err != nil || resp.Error() != nil {
		t.Fatal(err, resp.Error())
	}
	x.connect()
	x.produce(reading(2, 4))
	x.run()
	clock.Advance(6 * time.Minute)
	want := []heartbeat.Alert{{SensorID: 7, SensorType: "heat", LastHeartbeat: start, Readings: 4}}
	if diff := cmp.Diff(want, x.run()); diff != "" {
		t.Error(diff)
	}
}

// TestWatermarkOfTimestamps: the time of a record is what Kafka says, and the
// watermark follows that of the slower partition: it fires timers and makes rows
// late.
func TestWatermarkOfTimestamps(t *testing.T) {
	t.Parallel()
	x := newPipelineTest(t, twstest.NewClock(start), func(f *tws.Flow) tws.Stream[dialogue.Result] {
		commands := tws.WithWatermark(tws.ReadStream(f, kafka.Source[dialogue.Command]{Topic: "sensors"}), nil, 10*time.Second)
		return tws.TransformWithState(
			tws.GroupBy(commands, func(c dialogue.Command) string { return c.Key }),
			func() *dialogue.EventScript { return new(dialogue.EventScript) },
		)
	})
	command := func(partition int32, second int64, key, do string) *kgo.Record {
		return &kgo.Record{
			Partition: partition, Timestamp: time.Unix(second, 0),
			Value: fmt.Appendf(nil, `{"key":%q,"do":%q}`, key, do),
		}
	}
	for _, step := range []struct {
		records   []*kgo.Record
		want      []dialogue.Result
		watermark int64 // in seconds, at the end
		late      int64
	}{
		{
			[]*kgo.Record{command(0, 20, "a", "alarm set 15s"), command(1, 90, "b", "watermark")},
			[]dialogue.Result{{Key: "b", Text: "watermark = unset"}}, 0, 0,
		},
		{
			[]*kgo.Record{command(0, 30, "c", "watermark"), command(1, 60, "d", "count add 1")},
			[]dialogue.Result{{Key: "c", Text: "watermark = 10s"}, {Key: "d", Text: "count add 1 = 1"}, {Key: "a", Text: "alarm of 15s fired"}}, 20, 0,
		},
		{
			[]*kgo.Record{command(0, 19, "e", "count add 1"), command(0, 20, "e", "count add 2"), command(1, 5, "f", "count add 1")},
			[]dialogue.Result{{Key: "e", Text: "count add 2 = 2"}}, 20, 2,
		},
	} {
		x.epochs = nil
		x.produce(step.records...)
		if diff := cmp.Diff(step.want, x.run()); diff != "" {
			t.Error(diff)
		}
		var late, watermark int64
		for _, s := range x.epochs {
			late += s.Late
			if watermark = 0; !s.Watermark.IsZero() {
				watermark = s.Watermark.Unix()
			}
		}
		if late != step.late || watermark != step.watermark {
			t.Errorf("%d rows are late and the watermark ends at %d s, want %d and %d s", late, watermark, step.late, step.watermark)
		}
	}
}
