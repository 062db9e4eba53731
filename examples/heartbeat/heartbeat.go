// Package heartbeat watches sensors and raises an alert when one goes silent.
//
// It is the whole of tws in one page: a processor with every kind of state and a
// timer, a streaming table, and the flow that fills it. See README.md in this
// folder for how to run it and what to expect.
package heartbeat

import (
	"iter"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/file"
)

//go:generate go tool tws-gen

// Reading is one line of the sensors folder.
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

// SilentSensors watches the folder that sensors write their readings to.
//
//tws:flow target=SensorAlerts
func SilentSensors(f *tws.Flow) tws.Stream[Alert] {
	readings := tws.ReadStream(f, file.JSON[Reading]{Name: "sensors", Path: f.String("sensors", "sensors")})
	patience := f.Duration("patience", 5*time.Minute)
	return tws.TransformWithState(
		tws.GroupBy(readings, func(r Reading) int64 { return r.SensorID }),
		func() *Heartbeat { return &Heartbeat{Patience: patience} }, // one per state partition
	)
}
