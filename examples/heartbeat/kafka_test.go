package heartbeat

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/table"
	"github.com/tws-go/tws/runtime/twstest"
)

// The pipeline as main runs it, from topic to table to topic. kfake imitates a
// broker in the test's process.
func TestRegisterAllOnKafka(t *testing.T) {
	k := startKafka(t)
	clock, tables := twstest.NewClock(twstest.Start), t.TempDir()
	options := tws.Options{
		Checkpoint: t.TempDir(), Clock: clock, Stores: mem.New(), NoSync: true,
		Tables:   table.NewStore(tables, table.Options{NoSync: true, Now: clock.Now}),
		Clusters: stream.Clusters{"main": {"brokers": k.brokers}},
		Conf:     map[string]string{"source": "kafka", "patience": "10m"},
	}
	run := func() { // as a process that starts anew, until all is read
		t.Helper()
		p := tws.NewPipeline(options)
		RegisterAll(p)
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	k.report(t, Reading{1, "temperature", 20}, Reading{2, "pressure", 3}, Reading{1, "temperature", 21})
	run()
	clock.Advance(6 * time.Minute)
	k.report(t, Reading{2, "pressure", 4}, Reading{3, "temperature", 22})
	run()
	clock.Advance(6 * time.Minute) // 1 has been silent for twelve minutes
	run()
	clock.Advance(time.Minute)
	k.report(t, Reading{3, "temperature", 23})
	run()
	clock.Advance(4 * time.Minute) // 2 for eleven
	run()
	run() // publishes what the run before has put into the table

	want := []Alert{
		{SensorID: 1, SensorType: "temperature", LastHeartbeat: twstest.Start, Readings: 2},
		{SensorID: 2, SensorType: "pressure", LastHeartbeat: twstest.Start.Add(6 * time.Minute), Readings: 2},
	}
	if diff := cmp.Diff(want, tableRows(t, filepath.Join(tables, "sensorAlerts"))); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, k.alerts(t)); diff != "" {
		t.Errorf("topic (-want +got):\n%s", diff)
	}
}

// imitation is an imitation of a Kafka cluster, and a client of it.
type imitation struct {
	brokers string
	client  *kgo.Client
}

func startKafka(t *testing.T) *imitation {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "sensors"), kfake.SeedTopics(1, "sensorAlerts"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	k := &imitation{brokers: strings.Join(cluster.ListenAddrs(), ",")}
	k.client = k.connect(t)
	return k
}

func (k *imitation) connect(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(k.brokers))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// report sends readings to the topic of sensors.
func (k *imitation) report(t *testing.T, readings ...Reading) {
	t.Helper()
	for _, r := range readings {
		value, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		record := &kgo.Record{Topic: "sensors", Key: strconv.AppendInt(nil, r.SensorID, 10), Value: value}
		if err := k.client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// alerts returns what a consumer of committed messages finds in the topic of
// alerts. The last one there is the mark of a transaction.
func (k *imitation) alerts(t *testing.T) (alerts []Alert) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ends, err := kadm.NewClient(k.client).ListCommittedOffsets(ctx, "sensorAlerts")
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup("sensorAlerts", 0)
	consumer := k.connect(t, kgo.ConsumeTopics("sensorAlerts"), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	for next := int64(0); next < end.Offset; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("the topic of alerts is read up to %d of %d: %v", next, end.Offset, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if next = r.Offset + 1; r.Attrs.IsControl() {
				return
			}
			var a Alert
			if err := json.Unmarshal(r.Value, &a); err != nil || string(r.Key) != strconv.FormatInt(a.SensorID, 10) {
				t.Errorf("the topic of alerts has key %s, value %s: %v", r.Key, r.Value, err)
			}
			alerts = append(alerts, a)
		})
	}
	return alerts
}

// tableRows returns the rows of a table, in the order of its files.
func tableRows(t *testing.T, folder string) (alerts []Alert) {
	t.Helper()
	err := table.ReadRows(t.Context(), folder, func(row []byte) error {
		var a Alert
		err := json.Unmarshal(row, &a)
		alerts = append(alerts, a)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return alerts
}
