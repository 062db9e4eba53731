// Package in: states, timers and processors that are gone, or renamed.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[Stored]      `tws:"a"`
	B tws.ListState[int64]        `tws:"renamed"`
	C tws.MapState[string, int64] `tws:"c"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

func (p *P) HandleExpiredTimer(ctx *tws.TimerContext, id int64, t tws.ExpiredTimer, out tws.Emitter[Out]) error {
	return nil
}

type Stored struct {
	X  int64
	Y  string
	In Inner
}

type Inner struct{ Z int64 }

type Old struct {
	tws.Processor[int64, In, Out] `tws:"other"`
}

func (o *Old) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}
