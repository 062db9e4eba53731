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
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/kafka"
	"github.com/tws-go/tws/runtime/stream/memory"
	"github.com/tws-go/tws/runtime/twstest"
)

// TestKeyMovesToNewPartition: state belongs to keys and not to partitions of the
// source, so a key goes on counting when its topic grows and it arrives in another
// partition, through a restart.
//
// B-72
func TestKeyMovesToNewPartition(t *testing.T) {
	t.Parallel()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "sensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	brokers := strings.Join(fake.ListenAddrs(), ",")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := twstest.NewClock(start)
	stores := mem.New()
	sink := &memory.Sink[heartbeat.Alert]{}
	checkpoint := t.TempDir()
	run := func() {
		t.Helper()
		p := tws.NewPipeline(tws.Options{
			Checkpoint: checkpoint, Clock: clock, Stores: stores, NoSync: true,
			Clusters: stream.Clusters{"main": {"brokers": brokers}},
		})
		tws.AppendFlow(p, tws.NewSink(sink), "count", func(f *tws.Flow) tws.Stream[heartbeat.Alert] {
			readings := tws.ReadStream(f, kafka.Source[heartbeat.Reading]{Topic: "sensors"})
			return tws.TransformWithState(
				tws.GroupBy(readings, func(r heartbeat.Reading) int64 { return r.SensorID }),
				func() *heartbeat.Heartbeat { return &heartbeat.Heartbeat{Patience: 5 * time.Minute} },
			)
		})
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	produce := func(partition int32, values ...int64) {
		t.Helper()
		client, err := kgo.NewClient(kgo.SeedBrokers(brokers), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for _, v := range values {
			value := fmt.Appendf(nil, `{"sensor_id":7,"sensor_type":"heat","sensor_value":%d}`, v)
			if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "sensors", Partition: partition, Value: value}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if partition == 0 {
			resp, err := kadm.NewClient(client).UpdatePartitions(context.Background(), 4, "sensors")
			if err != nil || resp.Error() != nil {
				t.Fatal(err, resp.Error())
			}
		}
	}

	produce(0, 1, 2, 3)
	run()
	produce(2, 4)
	run()
	clock.Advance(6 * time.Minute)
	run()
	var alerts []heartbeat.Alert
	for _, row := range sink.Rows() {
		alerts = append(alerts, row.Row)
	}
	want := []heartbeat.Alert{{SensorID: 7, SensorType: "heat", LastHeartbeat: start, Readings: 4}}
	if diff := cmp.Diff(want, alerts); diff != "" {
		t.Error(diff)
	}
}
