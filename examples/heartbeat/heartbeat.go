// Package heartbeat watches sensors and raises an alert when one goes silent.
//
// It is the whole of tws in one page: a processor with every kind of state and a
// timer, a streaming table, and the flow that fills it; with Kafka, also a
// second flow from the table to a topic. demo.sh and demo-kafka.sh run it.
package heartbeat

import (
	"iter"
	"strconv"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/file"
	"github.com/tws-go/tws/runtime/stream/kafka"
)

//go:generate go tool tws-gen

// Reading is what a sensor reports: one line of the sensors folder, or one message of
// the sensors topic.
type Reading struct {
	SensorID   int64  `json:"sensor_id"`
	SensorType string `json:"sensor_type"`
	Value      int64  `json:"sensor_value"`
}

// Alert is one row of the sensorAlerts table.
type Alert struct {
	SensorID      int64     `json:"sensor_id"`
	SensorType    string    `json:"sensor_type"`
	LastHeartbeat time.Time `json:"last_heartbeat_time"`
	// Readings is how many readings the sensor sent in the hour before.
	Readings int64 `json:"readings"`
}

// Sensor is what is remembered of a sensor.
type Sensor struct {
	Type          string
	LastHeartbeat time.Time
}

// Heartbeat emits an Alert when a sensor stays silent.
type Heartbeat struct {
	tws.Processor[int64, Reading, Alert] `tws:"heartbeat,time=processing,output=update"`

	Sensor tws.ValueState[Sensor]      `tws:"sensorState"`
	Recent tws.ListState[Reading]      `tws:"recent,ttl=1h"`
	ByType tws.MapState[string, int64] `tws:"byType,ttl=24h"`
	Silent tws.Timer                   `tws:"silent"` // named: Set replaces, Stop cancels

	Patience time.Duration // a field without a tag is configuration
}

// HandleInputRows remembers the sensor and puts its alarm off.
func (h *Heartbeat) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[Reading], out tws.Emitter[Alert]) error {
	for r := range rows {
		if err := h.remember(ctx.ProcessingTime(), r); err != nil {
			return err
		}
	}
	return h.Silent.Set(ctx.ProcessingTime().Add(h.Patience))
}

func (h *Heartbeat) remember(now time.Time, r Reading) error {
	if err := h.Sensor.Update(Sensor{Type: r.SensorType, LastHeartbeat: now}); err != nil {
		return err
	}
	if err := h.Recent.Append(r); err != nil {
		return err
	}
	n, _, err := h.ByType.Get(r.SensorType)
	if err != nil {
		return err
	}
	return h.ByType.Update(r.SensorType, n+1)
}

// HandleExpiredTimer raises the alert: the alarm was not put off in time.
func (h *Heartbeat) HandleExpiredTimer(ctx *tws.TimerContext, id int64, t tws.ExpiredTimer, out tws.Emitter[Alert]) error {
	s, ok, err := h.Sensor.Get()
	if err != nil || !ok {
		return err
	}
	recent, err := h.Recent.Len()
	if err != nil {
		return err
	}
	if err := h.Sensor.Clear(); err != nil {
		return err
	}
	return out.Emit(Alert{SensorID: id, SensorType: s.Type, LastHeartbeat: s.LastHeartbeat, Readings: int64(recent)})
}

// SensorAlerts lists sensors that went silent.
//
//tws:table
var SensorAlerts tws.StreamingTable[Alert]

// SilentSensors watches what sensors report.
//
//tws:flow target=SensorAlerts
func SilentSensors(f *tws.Flow) tws.Stream[Alert] {
	patience := f.Duration("patience", 5*time.Minute)
	return tws.TransformWithState(
		tws.GroupBy(readings(f), func(r Reading) int64 { return r.SensorID }),
		func() *Heartbeat { return &Heartbeat{Patience: patience} }, // one per state partition
	)
}

// readings come from a folder of JSON lines or, with --conf source=kafka, from the
// topic sensors of the cluster main, with the time that Kafka knows of each message.
func readings(f *tws.Flow) tws.Stream[Reading] {
	sensors := f.String("sensors", "sensors")
	if f.Choice("source", "files", "kafka") == "files" {
		return tws.ReadStream(f, file.JSON[Reading]{Name: "sensors", Path: sensors})
	}
	return tws.WithWatermark(tws.ReadStream(f, kafka.Source[Reading]{Name: "sensors", Topic: sensors}), nil, time.Hour)
}

// AlertTopic has the alerts once more, keyed by sensor, for those who listen.
var AlertTopic = tws.NewSink(kafka.Sink[Alert]{
	Topic: "sensorAlerts",
	Key:   func(a Alert) []byte { return strconv.AppendInt(nil, a.SensorID, 10) },
})

// PublishAlerts reads the table of alerts as a stream. It has no directive, since
// it only makes sense where there is Kafka: see RegisterAll.
func PublishAlerts(f *tws.Flow) tws.Stream[Alert] { return tws.ReadStream(f, &SensorAlerts) }

// RegisterAll adds the flows that have directives and, with --conf source=kafka, the
// one that publishes the alerts.
func RegisterAll(p *tws.Pipeline) {
	Register(p)
	if p.Conf("source", "files") == "kafka" {
		tws.AppendFlow(p, AlertTopic, "publishAlerts", PublishAlerts)
	}
}
