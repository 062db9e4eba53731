// Package pipeline is what the tests of Kafka's guarantees run, in their own
// process or as a program that they kill: readings of sensors in, alerts and counts
// out. What comes out depends on the readings of each sensor and their order alone,
// however they are cut into epochs and how often they run, so that a test knows
// every row that must be there.
package pipeline

import (
	"fmt"
	"iter"
	"slices"

	tws "github.com/tws-go/tws/runtime"
)

//go:generate go tool tws-gen

// Reading is a message of the input topic.
type Reading struct {
	Sensor string `json:"sensor"`
	Value  int64  `json:"value"`
}

// Alert says what a sensor's latest readings add up to.
type Alert struct {
	Sensor string `json:"sensor"`
	// Number counts the sensor's alerts from 1.
	Number int64 `json:"number"`
	// Sum is that of all readings of the sensor.
	Sum int64 `json:"sum"`
}

// Count says how many readings of a sensor there were up to one of them.
type Count struct {
	Sensor string `json:"sensor"`
	N      int64  `json:"n"`
	// Value is what was read.
	Value int64 `json:"value"`
}

// Every is how many readings of a sensor there are to an alert.
const Every = 10

// Tally is what is known of a sensor.
type Tally struct {
	Readings int64
	Sum      int64
}

// Alarm emits an Alert for every tenth reading of a sensor.
type Alarm struct {
	tws.Processor[string, Reading, Alert] `tws:"alarm,time=none,output=append"`

	Tally tws.ValueState[Tally] `tws:"tally"`
}

// HandleInputRows implements [tws.StatefulProcessor].
func (a *Alarm) HandleInputRows(_ *tws.InputContext, sensor string, rows iter.Seq[Reading], out tws.Emitter[Alert]) error {
	t, _, err := a.Tally.Get()
	if err != nil {
		return err
	}
	for r := range rows {
		t.Readings++
		t.Sum += r.Value
		if t.Readings%Every != 0 {
			continue
		}
		if err := out.Emit(Alert{Sensor: sensor, Number: t.Readings / Every, Sum: t.Sum}); err != nil {
			return err
		}
	}
	return a.Tally.Update(t)
}

// Counter emits a Count for every reading.
type Counter struct {
	tws.Processor[string, Reading, Count] `tws:"counter,time=none,output=append"`

	N tws.ValueState[int64] `tws:"n"`
}

// HandleInputRows implements [tws.StatefulProcessor].
func (c *Counter) HandleInputRows(_ *tws.InputContext, sensor string, rows iter.Seq[Reading], out tws.Emitter[Count]) error {
	n, _, err := c.N.Get()
	if err != nil {
		return err
	}
	for r := range rows {
		n++
		if err := out.Emit(Count{Sensor: sensor, N: n, Value: r.Value}); err != nil {
			return err
		}
	}
	return c.N.Update(n)
}

// Input returns the readings from one number to another: those of all sensors in
// turn, each sensor's own in a row of values that no other sensor has.
func Input(sensors, from, to int) []Reading {
	readings := make([]Reading, 0, to-from)
	for i := from; i < to; i++ {
		sensor := i % sensors
		readings = append(readings, Reading{Sensor: fmt.Sprintf("sensor-%04d", sensor), Value: int64(i/sensors)*7 + int64(sensor)})
	}
	return readings
}

// Counts returns what the counter must emit, in an order that is right for each
// sensor.
func Counts(readings []Reading) []Count {
	n := map[string]int64{}
	counts := make([]Count, 0, len(readings))
	for _, r := range readings {
		n[r.Sensor]++
		counts = append(counts, Count{Sensor: r.Sensor, N: n[r.Sensor], Value: r.Value})
	}
	return counts
}

// Alerts returns what the alarm must emit, likewise.
func Alerts(readings []Reading) []Alert {
	tallies := map[string]Tally{}
	var alerts []Alert
	for _, r := range readings {
		t := tallies[r.Sensor]
		t.Readings++
		t.Sum += r.Value
		tallies[r.Sensor] = t
		if t.Readings%Every == 0 {
			alerts = append(alerts, Alert{Sensor: r.Sensor, Number: t.Readings / Every, Sum: t.Sum})
		}
	}
	return slices.Clip(alerts)
}
