// Package runtime is called like the one it uses, and has types called like
// packages.
package runtime

import (
	"iter"
	clock "time"

	rt "github.com/tws-go/tws/runtime"
)

type (
	tws     struct{ At clock.Time }
	runtime struct{ Tws []tws }
	codec   struct{ Wait clock.Duration }
	schemas struct{ Maybe *codec }
	time    struct{ Ratio float64 }
)

// Row is a row.
type Row struct {
	Tws     tws
	Runtime runtime
	Codec   codec
	Schemas schemas
	Time    time
}

// Processor is called like the type it embeds.
type Processor struct {
	rt.Processor[clock.Time, Row, Row] `tws:"processor"`

	Value rt.ValueState[Row]
	List  rt.ListState[schemas]
	Map   rt.MapState[clock.Duration, runtime]
}

// HandleInputRows does nothing.
func (p *Processor) HandleInputRows(*rt.InputContext, clock.Time, iter.Seq[Row], rt.Emitter[Row]) error {
	return nil
}
