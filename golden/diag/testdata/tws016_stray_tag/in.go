// Package in: a tws tag on the user's own configuration.
package in

import (
	"iter"
	"time"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	Patience time.Duration `tws:"patience,ttl=1h"`
	Count    int64         `tws:"count"`
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}
