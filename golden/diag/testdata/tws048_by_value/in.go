// Package in: a struct that even the type checker should not see.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.MapState[T0, int64]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type T0 struct{ X, Y T1 }

type T1 struct{ X, Y T2 }

type T2 struct{ X, Y T3 }

type T3 struct{ X, Y T4 }

type T4 struct{ X, Y T5 }

type T5 struct{ X, Y T6 }

type T6 struct{ X, Y T7 }

type T7 struct{ X, Y T8 }

type T8 struct{ X, Y T9 }

type T9 struct{ X, Y T10 }

type T10 struct{ X, Y T11 }

type T11 struct{ X, Y T12 }

type T12 struct{ X, Y T13 }

type T13 struct{ X, Y T14 }

type T14 struct{ X, Y T15 }

type T15 struct{ X, Y T16 }

type T16 struct{ X, Y T17 }

type T17 struct{ X, Y T18 }

type T18 struct{ X, Y T19 }

type T19 struct{ X, Y T20 }

type T20 struct{ X, Y T21 }

type T21 struct{ X, Y T22 }

type T22 struct{ X, Y T23 }

type T23 struct{ X, Y T24 }

type T24 struct{ X, Y T25 }

type T25 struct{ X int64 }
