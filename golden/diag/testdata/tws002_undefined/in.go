// Package in: types that do not exist, in every place where one is needed.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct {
	ID Missing
}

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[Missing] `tws:"a"`
	B Missing
	C tws.MapState[string, other.Type]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type Q struct {
	tws.Processor[int64, Missing, Out] `tws:"q"`
}

func (q *Q) HandleInputRows() {}

//tws:table
var T tws.StreamingTable[Missing]

//tws:flow target=T
func F(f *tws.Flow) tws.Stream[Missing] {
	return undefinedInABodyIsFine()
}

//tws:sink
var S = tws.NewSnk[Out]()
