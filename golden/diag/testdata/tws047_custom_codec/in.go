// Package in: methods that generated codecs do not call.
package in

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type In struct {
	Level  Level
	Levels []Level
	Big    int64 `json:",string"`
}

type Out struct{ ID int64 }

// Level is a number that looks like a word in JSON.
type Level int

// MarshalText returns the word.
func (l Level) MarshalText() ([]byte, error) { return nil, nil }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[Level]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}
