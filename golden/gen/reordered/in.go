// Package reordered has fields in another order than that of their ids, and
// fields that are not encoded.
package reordered

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

// Row has its fields in another order than when they got their ids.
type Row struct {
	Second string `json:"second"`
	First  int64  `json:"first"`
	Inner  Inner  `json:"inner"`
	Outer  Outer  `json:"outer"`
	List   []Inner
	Maybe  *Inner
}

// Inner is in another order too.
type Inner struct {
	B string
	A int64
}

// Outer is in order, but holds what is not.
type Outer struct {
	X     bool
	Inner Inner
}

// Partial has fields that are not encoded.
type Partial struct {
	Kept  string
	Cache map[string]int `tws:"-"`
	note  string         `tws:"-"`
	_     int
	More  []string
	Also  func() `json:"-"`
}

// Bare has nothing but such fields.
type Bare struct {
	Cache map[string]int `tws:"-"`
}

// Reordered has its states in another order as well.
type Reordered struct {
	tws.Processor[Inner, Row, Outer] `tws:"reordered"`

	Three tws.MapState[Inner, Bare]
	Two   tws.ListState[Row]
	One   tws.ValueState[Partial]

	Second tws.Timer
	First  tws.Timer
}

// HandleInputRows keeps what is not encoded out of the state.
func (r *Reordered) HandleInputRows(_ *tws.InputContext, _ Inner, rows iter.Seq[Row], _ tws.Emitter[Outer]) error {
	for row := range rows {
		if err := r.One.Update(Partial{Kept: row.Second, note: "lost"}); err != nil {
			return err
		}
	}
	return nil
}

// HandleExpiredTimer does nothing.
func (r *Reordered) HandleExpiredTimer(*tws.TimerContext, Inner, tws.ExpiredTimer, tws.Emitter[Outer]) error {
	return nil
}
