// Package in: no handler for input.
package in

import (
	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[int64] `tws:"a"`
}
