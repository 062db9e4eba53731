// Package reserved takes every name that generated code would like to have.
package reserved

import (
	"iter"
	newReservedState "sort"
	stdtime "time"

	tws "github.com/tws-go/tws/runtime"
)

// Names of packages that the generated file imports.
type (
	codec   struct{ Codec string }
	schemas struct{ Schemas string }
	fmt     struct{ Fmt float64 }
	slices  struct{ Slices []string }
	strconv struct{ Strconv int }
	time    struct{ Time stdtime.Time }
)

// Names of local variables in the generated file.
type (
	dst   struct{ V []v }
	src   struct{ R *r }
	v     struct{ I i }
	r     struct{ B bool }
	i     struct{ J []j }
	j     struct{ K k }
	k     struct{ E string }
	e     struct{ N [][]n }
	n     struct{ Err err }
	err   struct{ Ok float32 }
	start struct{ Seen seen }
	seen  struct{ W *w }
	w     struct{ P p }
	p     struct{ A a }
	a     struct{ C c }
	c     struct{ L []string }
	l     struct{ H uint }
	h     struct{ L l }
	ok    bool
)

// Names of functions in the generated file.
type (
	twsTypeWords     struct{ X int }
	twsAppendWords   struct{ X []int }
	reservedProc     struct{ X int }
	run_go_generate  struct{ X int }
	newReservedKinds struct{ X int }
)

// Words has fields called like keywords, predeclared identifiers and methods.
type Words struct {
	Type, Range, Func, Map, Select string
	String, Error, Len, Nil, True  string
	Init, ID, Id                   string
	Result, Data                   []byte
	Codec                          codec
	Schemas                        schemas
	Fmt                            fmt
	Slices                         slices
	Strconv                        strconv
	Time                           time
	Dst                            dst
	Src                            src
	E                              e
	Start                          start
	H                              h
	Ok                             ok
	A                              twsTypeWords
	C                              twsAppendWords
	D                              run_go_generate
	F                              reservedProc
	G                              newReservedKinds
}

// Reserved has states called like that.
type Reserved struct {
	tws.Processor[string, Words, Words] `tws:"reserved"`

	State tws.ValueState[Words]     `tws:"type"`
	Proc  tws.ListState[dst]        `tws:"range,ttl=90s"`
	Kinds tws.MapState[b, []string] `tws:"nil"`
	b     tws.ValueState[ok]        `tws:"b"`
	Init  tws.Timer                 `tws:"init"`
}

type b struct{ R, B string }

// HandleInputRows has a receiver called like the binder.
func (b *Reserved) HandleInputRows(_ *tws.InputContext, _ string, rows iter.Seq[Words], _ tws.Emitter[Words]) error {
	for row := range rows {
		newReservedState.Strings(row.Slices.Slices)
		if err := b.State.Update(row); err != nil {
			return err
		}
	}
	return b.b.Update(true)
}

// HandleExpiredTimer does nothing.
func (b *Reserved) HandleExpiredTimer(*tws.TimerContext, string, tws.ExpiredTimer, tws.Emitter[Words]) error {
	return nil
}
