// Package in: types without a schema. // B-53 // B-103
package in

import (
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tws-go/tws/golden/diag/testdata/tws040_unsupported/inner"
	tws "github.com/tws-go/tws/runtime"
)

type In struct{ ID int64 }

type Out struct{ ID int64 }

type P struct {
	tws.Processor[int64, In, Out] `tws:"p"`

	A tws.ValueState[map[string]int64]
	B tws.ValueState[Everything]
	C tws.ListState[any]
	D tws.ValueState[**int64]
	E tws.ValueState[error]
	F tws.ValueState[[]struct{ X int64 }]
	G tws.MapState[string, func()]
	H tws.ValueState[Stamp]
	I tws.ValueState[inner.Visible]
	J tws.MapState[any, int64]
}

func (p *P) HandleInputRows(ctx *tws.InputContext, id int64, rows iter.Seq[In], out tws.Emitter[Out]) error {
	return nil
}

type Everything struct {
	A       [3]int64
	B       chan int64
	C       complex128
	D       unsafe.Pointer
	E       uintptr
	F       sync.Mutex
	G       atomic.Int64
	H       *[]byte
	I       []map[string]bool
	J       struct{ X int64 }
	K       Pointer
	L       fmt.Stringer
	M       []*[]int64
	Skipped func()     `tws:"-"`
	Ignored chan int64 `json:"-"`
}

type Pointer *int64

type Stamp time.Time
