// Package in: generic types that contain other instances of themselves, without
// end.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`
	Base[int]

	A tws.ValueState[Longer[int]]
	B tws.ValueState[Fine[Fine[int]]]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

// Longer spells an argument more at each level, in two ways.
type Longer[X any] struct {
	N int64
	A *Longer[*X]
	B []Longer[[]X]
}

// Fine is an instance within an instance, which ends.
type Fine[X any] struct{ A, B X }

// Base embeds itself.
type Base[X any] struct{ *Base[*X] }
