// Package in: directives that are none.
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

//tws:tabel
var A tws.StreamingTable[Out]

// tws:table
var B tws.StreamingTable[Out]

// +tws:table
var C tws.StreamingTable[Out]

// TWS:table
var D tws.StreamingTable[Out]

/*tws:table*/
var E tws.StreamingTable[Out]

//tws:table,name=f
var F tws.StreamingTable[Out]

//tws:table name="g
var G tws.StreamingTable[Out]

//tws:table =h
var H tws.StreamingTable[Out]

//tws:processor
type I struct{}
