// Package in: a state whose type was renamed: nothing is lost, the type is undefined.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ X int64 }

type P struct {
	tws.Processor[string, In, In] `tws:"p"`

	Total tws.ValueState[Total] `tws:"total"`
}

func (p *P) HandleInputRows(*tws.InputContext, string, iter.Seq[In], tws.Emitter[In]) error {
	return nil
}
