package emit

import (
	"go/types"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
	"github.com/tws-go/tws/schemas"
)

// place is an addressable expression: a variable, a field, an element, or what a
// pointer points to.
type place struct {
	// expr is the expression; of a pointer's target it is the pointer.
	expr  *jen.Statement
	deref bool
}

// target returns the place that the pointer expression points to.
func target(pointer *jen.Statement) place { return place{expr: pointer, deref: true} }

func variable(name string) place { return place{expr: jen.Id(name)} }

// field returns a field of the struct that the variable, a struct or a pointer
// to one, holds.
func field(variable, name string) place { return place{expr: jen.Id(variable).Dot(name)} }

// value reads the place, or stands on the left of an assignment to it.
func (p place) value() *jen.Statement {
	if p.deref {
		return jen.Op("*").Add(p.expr.Clone())
	}
	return p.expr.Clone()
}

// addr points to the place.
func (p place) addr() *jen.Statement {
	if p.deref {
		return p.expr.Clone()
	}
	return jen.Op("&").Add(p.expr.Clone())
}

// at is the element with that index of a list in the place.
func (p place) at(index string) place {
	expr := p.expr.Clone()
	if p.deref {
		expr = jen.Parens(p.value())
	}
	return place{expr: expr.Index(jen.Id(index))}
}

// pointee is what the pointer in the place points to.
func (p place) pointee() place {
	return target(p.value())
}

// set returns the assignment to the place.
func (p place) set(to jen.Code) jen.Code { return p.value().Op("=").Add(to) }

// deref returns the plan of what an optional value points to.
func deref(v plan.Value) plan.Value {
	v.Go = v.Go.Underlying().(*types.Pointer).Elem()
	v.Wire.Optional = false
	v.Flat = v.Wire.Kind != schemas.Bytes
	if v.Struct != nil {
		v.Flat = v.Struct.Flat
	}
	return v
}

func (e *emitter) codec(name string) *jen.Statement { return jen.Qual(codecPath, name) }

// reader returns a call of a method of the reader in scope.
func (e *emitter) reader(method string, args ...jen.Code) *jen.Statement {
	return jen.Id(e.local.r).Dot(method).Call(args...)
}

// writer returns a call of a method of the column writer in scope.
func (e *emitter) writer(method string, args ...jen.Code) *jen.Statement {
	return jen.Id(e.local.w).Dot(method).Call(args...)
}

// appendFn is the predeclared append, to be called.
func appendFn() *jen.Statement { return jen.Id("append") }

// setDst returns dst = call(dst, args...).
func (e *emitter) setDst(call *jen.Statement, args ...jen.Code) jen.Code {
	return jen.Id(e.local.dst).Op("=").Add(e.onDst(call, args...))
}

// onDst returns call(dst, args...).
func (e *emitter) onDst(call *jen.Statement, args ...jen.Code) *jen.Statement {
	return call.Call(append([]jen.Code{jen.Id(e.local.dst)}, args...)...)
}

// fn names a generated function of s.
func (e *emitter) fn(prefix string, s *plan.Struct, suffix string) *jen.Statement {
	return jen.Id(e.names.choose(prefix + s.Ident + suffix))
}
