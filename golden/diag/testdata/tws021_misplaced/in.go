// Package in: directives that belong to no declaration.
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

var A tws.StreamingTable[Out]

var B tws.StreamingTable[Out] //tws:table

//tws:table
var (
	C tws.StreamingTable[Out]
	// D is fine.
	//
	//tws:table
	D tws.StreamingTable[Out]
)

//tws:table
type E struct{ ID int64 }

//tws:table
var F, G tws.StreamingTable[Out]

//tws:flow target=D
const H = 1

func I() {
	//tws:table
	var local tws.StreamingTable[Out]
	_ = local
}
