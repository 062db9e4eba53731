package pipeline

import (
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/kafka"
)

// The flows.
const (
	// AlertsFlow goes from the topic of readings to the table.
	AlertsFlow = "sensorAlerts"
	// CountsFlow goes from the topic of readings to the topic of counts.
	CountsFlow = "counts"
	// PublishFlow goes from the table to the topic of alerts.
	PublishFlow = "publish"
)

// Table is the table's name.
const Table = "sensorAlerts"

// SensorAlerts is the table.
var SensorAlerts tws.StreamingTable[Alert]

// Topics are where a pipeline reads and writes.
type Topics struct {
	Brokers                          string
	Sensors, Counts, Alerts, Journal string
	// Timeout is that of transactions; 0 is the default.
	Timeout time.Duration
}

// Clusters are the settings that Options need.
func (t Topics) Clusters() stream.Clusters {
	return stream.Clusters{"main": {"brokers": t.Brokers}}
}

func (t Topics) readings(f *tws.Flow) tws.Stream[Reading] {
	return tws.ReadStream(f, kafka.Source[Reading]{Name: "sensors", Topic: t.Sensors})
}

// AddCounts adds the flow that counts readings, exactly once.
func (t Topics) AddCounts(p *tws.Pipeline) {
	counts := tws.NewSink(kafka.Sink[Count]{
		Topic: t.Counts, Journal: t.Journal, TransactionTimeout: t.Timeout,
		Key: func(c Count) []byte { return []byte(c.Sensor) },
	})
	tws.AppendFlow(p, counts, CountsFlow, func(f *tws.Flow) tws.Stream[Count] {
		return tws.TransformWithState(
			tws.GroupBy(t.readings(f), func(r Reading) string { return r.Sensor }),
			func() *Counter { return new(Counter) },
		)
	})
}

// AddAlerts adds the flow that writes the table.
func (t Topics) AddAlerts(p *tws.Pipeline) {
	tws.AddTable(p, &SensorAlerts, tws.TableOptions{Name: Table})
	tws.AppendFlow(p, &SensorAlerts, AlertsFlow, func(f *tws.Flow) tws.Stream[Alert] {
		return tws.TransformWithState(
			tws.GroupBy(t.readings(f), func(r Reading) string { return r.Sensor }),
			func() *Alarm { return new(Alarm) },
		)
	})
}

// AddPublish adds the flow that writes what is in the table to a topic, exactly
// once. The table must have been added.
func (t Topics) AddPublish(p *tws.Pipeline) {
	alerts := tws.NewSink(kafka.Sink[Alert]{
		Topic: t.Alerts, Journal: t.Journal, TransactionTimeout: t.Timeout,
		Key: func(a Alert) []byte { return []byte(a.Sensor) },
	})
	tws.AppendFlow(p, alerts, PublishFlow, func(f *tws.Flow) tws.Stream[Alert] { return tws.ReadStream(f, &SensorAlerts) })
}

// Small makes snapshots and retention happen in a run of a minute.
func Small() map[string]string {
	return map[string]string{"tws.partitions": "2", "tws.snapshot-epochs": "20", "tws.retain-epochs": "10"}
}

// EpochLine is what the program logs after each epoch.
const EpochLine = "an epoch is done"
