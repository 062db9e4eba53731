// Package heartbeat is the example of the README: all kinds of state, a timer, a
// table and a flow.
package heartbeat

import (
	"iter"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/file"
)

//go:generate go tool tws-gen

// Reading is one message of a sensor.
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
}

// Sensor is what is known of a sensor.
type Sensor struct {
	Type          string
	LastHeartbeat time.Time
}

// Heartbeat emits an Alert when a sensor stays silent.
type Heartbeat struct {
	tws.Processor[int64, Reading, Alert] `tws:"heartbeat,time=processing,output=update"`

	// Sensor is the sensor as it was when it last reported.
	Sensor tws.ValueState[Sensor]      `tws:"sensorState"`
	Recent tws.ListState[Reading]      `tws:"recent,ttl=1h"`
	ByType tws.MapState[string, int64] `tws:"byType,ttl=24h"`
	Silent tws.Timer                   `tws:"silent"`

	Patience time.Duration
}

// HandleInputRows notes the sensor's latest reading.
func (h *Heartbeat) HandleInputRows(ctx *tws.InputContext, _ int64, rows iter.Seq[Reading], _ tws.Emitter[Alert]) error {
	for r := range rows {
		if err := h.Sensor.Update(Sensor{Type: r.SensorType, LastHeartbeat: ctx.ProcessingTime()}); err != nil {
			return err
		}
	}
	return h.Silent.Set(ctx.ProcessingTime().Add(h.Patience))
}

// HandleExpiredTimer emits the alert of a sensor that stayed silent.
func (h *Heartbeat) HandleExpiredTimer(_ *tws.TimerContext, id int64, _ tws.ExpiredTimer, out tws.Emitter[Alert]) error {
	s, ok, err := h.Sensor.Get()
	if err != nil || !ok {
		return err
	}
	if err := h.Sensor.Clear(); err != nil {
		return err
	}
	return out.Emit(Alert{SensorID: id, SensorType: s.Type, LastHeartbeat: s.LastHeartbeat})
}

// SensorAlerts lists sensors that went silent.
//
//tws:table
var SensorAlerts tws.StreamingTable[Alert]

// SilentSensors watches the readings of all sensors.
//
//tws:flow target=SensorAlerts
func SilentSensors(f *tws.Flow) tws.Stream[Alert] {
	readings := tws.ReadStream(f, file.JSON[Reading]{Path: f.String("readings", "readings")})
	patience := f.Duration("patience", 5*time.Minute)
	return tws.TransformWithState(
		tws.GroupBy(readings, func(r Reading) int64 { return r.SensorID }),
		func() *Heartbeat { return &Heartbeat{Patience: patience} },
	)
}
