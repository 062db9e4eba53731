// Package in: once flows and endless streams.
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

//tws:flow target=Outs once
func Endless(f *tws.Flow) tws.Stream[Out] {
	panic("not run")
}

//tws:flow target=Outs
func Ends(f *tws.Flow) tws.Bounded[Out] {
	panic("not run")
}

//tws:table
func Table(f *tws.Flow) tws.Bounded[Out] {
	panic("not run")
}

// Fine is as it should be.
//
//tws:flow target=Outs once name=backfill
func Fine(f *tws.Flow) tws.Bounded[Out] {
	panic("not run")
}
