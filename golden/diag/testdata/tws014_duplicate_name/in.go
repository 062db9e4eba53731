// Package in: names given twice. // B-64
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A    tws.ValueState[int64] `tws:"x"`
	B    tws.ListState[int64]  `tws:"x"`
	C    tws.ListState[int64]  `tws:"X"`
	D, E tws.ValueState[int64] `tws:"d"`
	T1   tws.Timer             `tws:"t"`
	T2   tws.Timer             `tws:"t"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

func (p *P) HandleExpiredTimer(ctx *tws.TimerContext, id int64, t tws.ExpiredTimer, out tws.Emitter[Out]) error {
	return nil
}

type Q struct {
	tws.Processor[int64, In, Out] `tws:"P"`
}

func (q *Q) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

//tws:table
var Outs tws.StreamingTable[Out]

//tws:sink name=outs
var Sink *tws.Sink[Out]

//tws:flow target=Outs
func Feed(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}

//tws:table name=feed
func Fed(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}
