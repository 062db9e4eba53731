// Package in: declarations with the fixed names of generated ones.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	BarC tws.ValueState[int64] `tws:"a"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

// BindTWS is generated.
func (p *P) BindTWS() {}

func (o *Out) TWSRow() {}

func Register() {}

type PBar struct {
	tws.Processor[int64, In, Out] `tws:"pb"`

	C tws.ValueState[int64] `tws:"c"`
}

func (p *PBar) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

//tws:table
var Outs tws.StreamingTable[Out]
