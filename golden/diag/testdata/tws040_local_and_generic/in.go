// Package in: types that cannot be named at package level.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[Pair[string, chan int64]]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type Pair[A, B any] struct {
	First  A
	Second B
}

func read(f *tws.Flow, source tws.Source[int64]) {
	type local struct{ X int64 }
	var rows tws.Source[local]
	_ = tws.ReadStream(f, rows)
}

// generic is fine: what it reads is known where it is called.
func generic[T any](f *tws.Flow, source tws.Source[T]) tws.Stream[T] {
	return tws.ReadStream(f, source)
}
