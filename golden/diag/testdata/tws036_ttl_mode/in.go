// Package in: a TTL without the clock it needs. // B-16
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p,time=event"`

	A tws.ValueState[int64] `tws:"a,ttl=5m"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type Q struct {
	tws.Processor[int64, In, Out] `tws:"q,time=none"`

	A tws.MapState[int64, int64] `tws:"a,ttl=5m"`
}

func (q *Q) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}
