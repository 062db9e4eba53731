// Package in: things given twice.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[int64] `tws:"a,ttl=1h,ttl=2h"`
	B tws.ValueState[int64] `tws:"b" tws:"c"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

//tws:table
//tws:table name=again
var Outs tws.StreamingTable[Out]

//tws:flow target=Outs target=Outs
//tws:table
func Feed(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}
