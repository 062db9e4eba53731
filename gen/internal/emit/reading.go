package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
)

// reading writes statements that take values from the reader in scope, which is
// one of JSON or of columns: those differ in little.
type reading struct {
	*emitter
	// beginList is the method that opens a list.
	beginList string
	// object returns the statements that read a struct to where the expression
	// points.
	object func(s *plan.Struct, to *jen.Statement) []jen.Code
}

// value returns statements that read a value and store it in p, which holds the
// zero value.
func (r reading) value(v plan.Value, p place, depth int) []jen.Code {
	switch {
	case v.Wire.Optional:
		return []jen.Code{jen.If(jen.Op("!").Add(r.reader("Null"))).Block(r.present(deref(v), p)...)}
	case v.Elem != nil:
		return []jen.Code{
			p.set(r.typ(v.Go).Values()),
			r.reader(r.beginList),
			jen.For(r.reader("NextElem")).Block(r.elem(*v.Elem, p, depth)...),
		}
	case v.Struct != nil:
		return r.object(v.Struct, p.addr())
	}
	return []jen.Code{p.set(r.scalarValue(v))}
}

// present reads what the pointer in p is to point to.
func (r reading) present(v plan.Value, p place) []jen.Code {
	if v.Struct == nil {
		return []jen.Code{p.set(jen.New(r.scalarValue(v)))}
	}
	return append([]jen.Code{p.set(jen.New(r.typ(v.Go)))}, r.object(v.Struct, p.value())...)
}

func (r reading) scalarValue(v plan.Value) *jen.Statement {
	s := r.scalar(v)
	return r.fromWide(v, s, r.reader(s.wide, s.withBits()...))
}

// elem reads one element and appends it to the list in p.
func (r reading) elem(v plan.Value, p place, depth int) []jen.Code {
	if !v.Wire.Optional && v.Elem == nil && v.Struct == nil {
		return []jen.Code{p.set(jen.Append(p.value(), r.scalarValue(v)))}
	}
	elem := r.local.elem(depth)
	code := r.value(v, variable(elem), depth+1)
	if v.Elem != nil {
		code[0] = jen.Id(elem).Op(":=").Add(r.typ(v.Go)).Values()
	} else {
		code = append([]jen.Code{jen.Var().Id(elem).Add(r.typ(v.Go))}, code...)
	}
	return append(code, p.set(jen.Append(p.value(), jen.Id(elem))))
}
