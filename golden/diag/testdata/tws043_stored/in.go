// Package in: a state whose key became a float: the type does not matter, it cannot be a key.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ X int64 }

type P struct {
	tws.Processor[string, In, In] `tws:"p"`

	Seen tws.MapState[float64, bool] `tws:"seen"`
}

func (p *P) HandleInputRows(*tws.InputContext, string, iter.Seq[In], tws.Emitter[In]) error {
	return nil
}
