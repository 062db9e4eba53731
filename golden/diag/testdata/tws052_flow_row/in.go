// Package in: a flow with other rows than its target.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

//tws:table
var Outs tws.StreamingTable[Out]

//tws:flow target=Outs
func Feed(f *tws.Flow) tws.Stream[In] {
	panic("not run")
}
