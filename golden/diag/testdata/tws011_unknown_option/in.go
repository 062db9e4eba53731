// Package in: options that do not exist, or not there.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct {
	ID int64 `tws:"id,default=3"`
}

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p,tme=processing,mode=update"`

	A tws.ValueState[int64] `tws:"a,tll=1h"`
	B tws.ListState[int64]  `tws:"b,max=64"`
	C tws.Timer             `tws:"c,ttl=1h"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

func (p *P) HandleExpiredTimer(ctx *tws.TimerContext, id int64, t tws.ExpiredTimer, out tws.Emitter[Out]) error {
	return nil
}

//tws:table nme=outs
var Outs tws.StreamingTable[Out]

//tws:flow target=Outs onse comment="x y"
func Feed(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}
