// Package stateless has processors without state: with nothing at all, with
// timers only, with a configuration of all sorts of types.
package stateless

import (
	"context"
	"io"
	"iter"
	"sync"
	"unsafe"

	tws "github.com/tws-go/tws/runtime"
)

// Row is a row.
type Row struct {
	ID int64 `json:"id"`
}

// Nothing has nothing.
type Nothing struct {
	tws.Processor[int64, Row, Row] `tws:"nothing,time=none"`
}

// HandleInputRows does nothing.
func (*Nothing) HandleInputRows(*tws.InputContext, int64, iter.Seq[Row], tws.Emitter[Row]) error {
	return nil
}

// Timers has only timers.
type Timers struct {
	tws.Processor[int64, Row, Row] `tws:"timers"`

	First  tws.Timer `tws:"first"`
	Second tws.Timer `tws:"second"`
}

// HandleInputRows does nothing.
func (*Timers) HandleInputRows(*tws.InputContext, int64, iter.Seq[Row], tws.Emitter[Row]) error {
	return nil
}

// HandleExpiredTimer does nothing.
func (*Timers) HandleExpiredTimer(*tws.TimerContext, int64, tws.ExpiredTimer, tws.Emitter[Row]) error {
	return nil
}

// Number is a constraint.
type Number interface{ ~int | ~float64 }

// Sum is generic.
type Sum[T Number] struct{ Total T }

// Configured has a configuration that no codec could take, which the guard
// writes out.
type Configured struct {
	tws.Processor[int64, Row, Row] `tws:"configured,time=none"`
	sync.Mutex
	io.Reader

	Fn     func(context.Context, ...string) (n int, err error)
	Plain  func()
	One    func() <-chan int
	In     <-chan int
	Out    chan<- int
	Both   chan (<-chan int)
	Nested chan<- chan int
	Any    any
	Err    error
	Iface  interface {
		io.Closer
		Do(x int, rest ...any) (string, error)
	}
	Inline struct {
		A int `json:"a" other:"b"`
		B map[string][]*Sum[int]
	}
	Array [4][2]*complex128
	Ptr   unsafe.Pointer
	Addr  uintptr
	Bytes []byte
	Runes []rune
	Seq   iter.Seq2[string, *sync.RWMutex]
	rows  map[Row]struct{}
	_     int
}

// HandleInputRows does nothing.
func (c *Configured) HandleInputRows(*tws.InputContext, int64, iter.Seq[Row], tws.Emitter[Row]) error {
	c.rows = map[Row]struct{}{}
	return nil
}
