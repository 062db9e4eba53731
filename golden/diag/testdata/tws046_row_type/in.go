// Package in: rows that are no structs.
package in

import (
	"iter"
	"time"

	tws "github.com/tws-go/tws/runtime"
)

type P struct {
	tws.Processor[string, string, *Out] `tws:"p"`
}

type Out struct{ ID int64 }

func (p *P) HandleInputRows(ctx *tws.InputContext, id string, rows iter.Seq[string], out tws.Emitter[*Out]) error {
	return nil
}

//tws:table
var Times tws.StreamingTable[time.Time]

//tws:sink
var Lists *tws.Sink[[]int64]
