// Package in: functions that are no flows.
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
func NoFlow() tws.Stream[Out] {
	panic("not run")
}

//tws:flow target=Outs
func NoStream(f *tws.Flow) []Out {
	panic("not run")
}

//tws:flow target=Outs
func Generic[T any](f *tws.Flow) tws.Stream[T] {
	panic("not run")
}

//tws:flow target=Outs
func (p *P) Method(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}

//tws:flow target=Outs
func ByValue(f tws.Flow) tws.Stream[Out] {
	panic("not run")
}

//tws:table
func _(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}
