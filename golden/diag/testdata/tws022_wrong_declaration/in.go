// Package in: directives on declarations of another kind.
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
var A int

//tws:table
var B *tws.StreamingTable[Out]

//tws:sink
var C tws.Sink[Out]

//tws:sink
var D tws.StreamingTable[Out]

//tws:sink
func E() {}

//tws:flow target=A
var F int

//tws:table
var _ tws.StreamingTable[Out]
