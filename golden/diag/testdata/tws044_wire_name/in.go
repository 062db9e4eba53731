// Package in: names on the wire that cannot be.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct {
	ID   int64 `json:"a\"b"`
	X, Y int64 `json:"xy"`
}

type Out struct {
	ID int64
	Id int64
}

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[Twice]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type Twice struct {
	A int64 `json:"x"`
	B int64 `tws:"x"`
}

//tws:table
var Outs tws.StreamingTable[Out]
