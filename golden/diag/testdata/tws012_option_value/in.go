// Package in: values that options do not have. // B-16
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p,time=procesing,output=complete"`

	A tws.ValueState[int64] `tws:"a,ttl=5 minuts"`
	B tws.ValueState[int64] `tws:"b,ttl=0"`
	C tws.ValueState[int64] `tws:"c,ttl=-1s"`
	D tws.ValueState[int64] `tws:"d,ttl=90"`
	E tws.ValueState[int64] `tws:"e,ttl=3000000h"`
	F tws.ValueState[int64] `tws:"f,ttl=1500ns"`
	G tws.ValueState[int64] `tws:"g,ttl"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

//tws:table
var Outs tws.StreamingTable[Out]

//tws:flow target=Outs once=true
func Feed(f *tws.Flow) tws.Bounded[Out] {
	panic("not run")
}
