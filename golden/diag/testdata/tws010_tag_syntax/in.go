// Package in: malformed tags.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[int64] `tws: "a"`
	B tws.ValueState[int64] `json:"b",tws:"b"`
	C tws.ValueState[int64] `tws:"c, ttl=1h"`
	D tws.ValueState[int64] `tws:"ttl=1h"`
	E tws.ValueState[int64] `tws:"e,,ttl=1h"`
	F tws.ValueState[int64] `TWS:"f"`
	G tws.ValueState[int64] "tws:\"g, ttl=1h\""
	H tws.ValueState[int64] `tws:"h`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}
