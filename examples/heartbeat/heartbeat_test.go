package heartbeat

import (
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/twstest"
)

// Three sensors report; two fall silent one after the other.
func TestSilentSensors(t *testing.T) {
	temperature := func(id int64) Reading { return Reading{SensorID: id, SensorType: "temperature", Value: 20} }
	twstest.Run(t, SilentSensors,
		twstest.Rows(temperature(1), temperature(2), temperature(3), temperature(1)),
		twstest.Advance(3*time.Minute),
		twstest.Rows(temperature(1), temperature(2)),
		twstest.Advance(3*time.Minute), // 3 has been silent for six minutes
		twstest.Rows(temperature(1)),
		twstest.Advance(2*time.Minute), // 2 for five
		twstest.Restart(),
		twstest.Advance(time.Minute),
	).Golden("testdata/alerts.jsonl")
}

// With readings from Kafka the flow has a watermark, which changes nothing for a
// processor that lives by processing time.
func TestSilentSensorsFromKafka(t *testing.T) {
	twstest.Run(t, SilentSensors,
		twstest.Conf("source", "kafka"),
		twstest.Rows(Reading{SensorID: 1, SensorType: "pressure"}),
		twstest.Advance(6*time.Minute),
	).Want(Alert{SensorID: 1, SensorType: "pressure", LastHeartbeat: twstest.Start, Readings: 1})
}

// The table's rows are published as they are.
func TestPublishAlerts(t *testing.T) {
	alert := Alert{SensorID: 7, SensorType: "pressure", Readings: 3}
	twstest.Run(t, PublishAlerts, twstest.Rows(alert)).Want(alert)
}
