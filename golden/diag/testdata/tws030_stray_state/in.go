// Package in: state where nothing binds it.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A *tws.ValueState[int64] `tws:"a"`
	B []tws.ValueState[int64]
	C map[string]tws.Timer
	D [2]tws.ListState[int64]
	tws.ValueState[int64]
	_ tws.ValueState[int64]
	E struct{ Inner tws.ValueState[int64] }
	F Helper
	G tws.ValueState[Nested]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

func (p *P) HandleExpiredTimer(ctx *tws.TimerContext, id int64, t tws.ExpiredTimer, out tws.Emitter[Out]) error {
	return nil
}

type Helper struct {
	Count tws.ValueState[int64]
}

type Nested struct {
	Count tws.ValueState[int64]
}

var Global tws.MapState[string, int64]

func use() {
	type local struct{ t tws.Timer }
	var fine tws.ValueState[int64] // a variable inside a function may hold one
	_ = fine
}
