// Package in: handlers with other signatures.
package in

import (
	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	T tws.Timer
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id string, rows []In, out tws.Emitter[Out]) {
}

func (p *P) HandleExpiredTimer(ctx *tws.InputContext, id int64, t tws.ExpiredTimer, out tws.Emitter[Out]) error {
	return nil
}

func (p *P) Close() {}
