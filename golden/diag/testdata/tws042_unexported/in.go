// Package in: fields that would not be stored. // B-103
package in

import (
	"iter"
	"net/url"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[Half]
	B tws.ValueState[url.Userinfo]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type Half struct {
	Stored int64
	lost   int64
	base
	Blank  int64 `tws:"-"`
	silent int64 `json:"-"`
	_      int64
}

type base struct{ X int64 }
