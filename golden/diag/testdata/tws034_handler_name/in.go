// Package in: nearly a handler.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	T tws.Timer
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

func (p *P) HandleExpiredTimers(ctx *tws.TimerContext, id int64, t tws.ExpiredTimer, out tws.Emitter[Out]) error {
	return nil
}

// HandleInput is fine: the handler itself is there.
func (p *P) HandleInput() {}

type Q struct {
	tws.Processor[int64, In, Out]
}

func (q *Q) HandleInputrows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}
