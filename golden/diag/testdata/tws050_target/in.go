// Package in: flows to nowhere.
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

//tws:table
func Fed(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}

var Plain tws.StreamingTable[Out]

//tws:flow
func NoTarget(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}

//tws:flow target=Outz
func Misspelt(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}

//tws:flow target=Plain
func Undeclared(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}

//tws:flow target=Fed
func IntoFunction(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}
