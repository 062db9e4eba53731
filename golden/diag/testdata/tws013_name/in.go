// Package in: names that cannot be.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"été"`

	A   tws.ValueState[int64] `tws:"1st"`
	B   tws.ValueState[int64] `tws:"a b"`
	C   tws.ValueState[int64] `tws:"-"`
	_D  tws.ValueState[int64]
	Été tws.ValueState[int64]
	F   tws.ValueState[int64] `tws:"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"`
	G   tws.Timer             `tws:"a/b"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

func (p *P) HandleExpiredTimer(ctx *tws.TimerContext, id int64, t tws.ExpiredTimer, out tws.Emitter[Out]) error {
	return nil
}

//tws:table name="../up"
var Outs tws.StreamingTable[Out]

//tws:table
var Größe tws.StreamingTable[Out]

//tws:flow target=Outs name=
func Feed(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}
