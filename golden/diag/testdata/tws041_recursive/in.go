// Package in: types that contain themselves. // B-58
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[Node]
	B tws.ListState[Ping]
	C tws.ValueState[Ignored]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type Node struct {
	Kids []Node
	Next *Node
}

type Ping struct{ P *Pong }

type Pong struct{ P []Ping }

// Ignored is fine: the recursion is not stored.
type Ignored struct {
	X    int64
	Next *Ignored `tws:"-"`
}
