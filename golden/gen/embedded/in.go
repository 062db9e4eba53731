// Package embedded embeds structs, which are encoded under the names of their
// types.
package embedded

import (
	"iter"
	"time"

	"github.com/tws-go/tws/golden/gen/embedded/base"
	tws "github.com/tws-go/tws/runtime"
)

// Stamp is embedded by pointer.
type Stamp struct {
	At  time.Time `json:"at"`
	Tag []string  `json:"tag"`
}

// Pair is generic.
type Pair[T any] struct {
	One, Two T
}

// Other is Stamp.
type Other = Stamp

// ID in all of these is another one: embedded structs are not flattened.
type ID struct {
	ID int64
}

// State embeds structs in every way.
type State struct {
	base.Entity
	*Stamp
	Pair[int32]
	ID
	Named Other
}

// Row embeds with names, as encoding/json has it.
type Row struct {
	base.Entity `json:"entity"`
	*Stamp      `json:"stamp"`
	Note        string `json:"note"`
}

// Embedded keeps them.
type Embedded struct {
	tws.Processor[base.Kind, Row, Row] `tws:"embedded"`

	State tws.ValueState[State]
	Kinds tws.MapState[base.Kind, *base.Entity]
}

// HandleInputRows does nothing.
func (e *Embedded) HandleInputRows(*tws.InputContext, base.Kind, iter.Seq[Row], tws.Emitter[Row]) error {
	return nil
}
