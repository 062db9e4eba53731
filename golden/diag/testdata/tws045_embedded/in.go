// Package in: an embedded struct in a row. // B-60
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct {
	Base
	*More
	Named `json:"named"`
	ID    int64
}

type Out struct{ ID int64 }

type Base struct{ A int64 }

type More struct{ B int64 }

type Named struct{ C int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[Stored]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

// Stored is fine: state is not JSON.
type Stored struct {
	Base
	X int64
}
