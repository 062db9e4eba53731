// Package in: processors of the wrong form. // B-57
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type Two struct {
	tws.Processor[int64, In, Out]
	Alias
}

type Alias = tws.Processor[int64, In, Out]

type Named struct {
	P tws.Processor[int64, In, Out]
}

type Pointer struct {
	*tws.Processor[int64, In, Out]
}

type Generic[T any] struct {
	tws.Processor[int64, In, Out]

	A tws.ValueState[T]
}

var Anonymous struct {
	tws.Processor[int64, In, Out]
}

type Literal = struct {
	tws.Processor[int64, In, Out]
}

func local() {
	type Local struct {
		tws.Processor[int64, In, Out]
	}
}

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type Derived P

type Embedding struct {
	P
}

type Both struct {
	tws.Processor[int64, In, Out]
	*P
}
