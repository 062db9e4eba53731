// Package aliases uses aliases, defined types and instances of generic types.
package aliases

import (
	"iter"
	"time"

	tws "github.com/tws-go/tws/runtime"
)

// Defined types over basic types, and aliases of all sorts.
type (
	// SensorID is a string of its own.
	SensorID string
	// Level is a number of its own.
	Level int
	// Tiny is a byte of its own, so a list of them is no []byte.
	Tiny byte
	// Ratio is a float of its own.
	Ratio float32
	// On is a bool of its own.
	On bool

	// Instant is time.Time.
	Instant = time.Time
	// Wait is time.Duration.
	Wait = time.Duration
	// Number is int64.
	Number = int64
	// Tags is a list.
	Tags = []string
	// Blob is []byte.
	Blob = []byte
	// Same is Row.
	Same = Row
	// Kept is a value state.
	Kept[T any] = tws.ValueState[T]
	// Pairs is a list of pairs.
	Pairs = []Pair[SensorID, Number]
)

// Pair is generic.
type Pair[A, B any] struct {
	First  A
	Second B
}

// Row has them all.
type Row struct {
	ID    SensorID   `json:"id"`
	Level Level      `json:"level"`
	Tiny  []Tiny     `json:"tiny"`
	Ratio Ratio      `json:"ratio"`
	On    On         `json:"on"`
	Maybe *SensorID  `json:"maybe"`
	Lvls  []*Level   `json:"lvls"`
	At    Instant    `json:"at"`
	Took  Wait       `json:"took"`
	N     Number     `json:"n"`
	Tags  Tags       `json:"tags"`
	Blob  Blob       `json:"blob"`
	Blobs []Blob     `json:"blobs"`
	Pairs Pairs      `json:"pairs"`
	Half  *Ratio     `json:"half"`
	When  []*Instant `json:"when"`
}

// Aliased works with them.
type Aliased struct {
	tws.Processor[SensorID, Same, Pair[SensorID, Row]] `tws:"aliased"`

	Last   Kept[Same]
	Levels tws.MapState[Level, Ratio]
	Pair   tws.ValueState[Pair[string, int64]]
	Pairs  tws.ListState[Pairs]
	ByTime tws.MapState[Instant, Wait]
	ByTiny tws.MapState[Tiny, Tags]
}

// HandleInputRows keeps the last row.
func (a *Aliased) HandleInputRows(_ *tws.InputContext, id SensorID, rows iter.Seq[Row], out tws.Emitter[Pair[SensorID, Row]]) error {
	for row := range rows {
		if err := a.Last.Update(row); err != nil {
			return err
		}
		if err := out.Emit(Pair[SensorID, Row]{First: id, Second: row}); err != nil {
			return err
		}
	}
	return nil
}
