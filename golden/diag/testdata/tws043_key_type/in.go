// Package in: types that cannot be keys. // B-9
package in

import (
	"iter"
	"time"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[float64, In, Out] `tws:"p"`

	A tws.MapState[*int64, int64]
	B tws.MapState[Place, int64]
	C tws.MapState[Empty, int64]
	D tws.MapState[Partial, int64]
	E tws.MapState[Degrees, int64]
	F tws.MapState[At, int64] // fine
}

type Place struct {
	Name string
	Lat  float64
}

type Empty struct{}

type Partial struct {
	A int64
	B int64 `tws:"-"`
}

type Degrees float32

type At struct {
	When time.Time
	Slot uint16
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id float64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}
