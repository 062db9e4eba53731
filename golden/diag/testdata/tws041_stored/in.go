// Package in: a stored type that contains itself now. // B-58
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
	B tws.ValueState[Tree]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type Node struct{ Kids []Node }

type Tree []Tree

type Leaf struct{ X int64 }
