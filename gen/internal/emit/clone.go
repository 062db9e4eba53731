package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
)

// clone writes the function that copies s deeply: a copy shares no slice and no
// pointer with the original, and holds encoded fields only.
func (e *emitter) clone(s *plan.Struct) {
	l := e.local
	name := e.fn("twsClone", s, "")
	typ := e.typ(s.Go)
	e.decl(
		doc(fmt.Sprintf("%s returns a copy of %s that shares nothing with it.", name.GoString(), l.v)),
		jen.Func().Add(name).Params(jen.Id(l.v).Op("*").Add(typ)).Add(typ.Clone()).BlockFunc(func(g *jen.Group) {
			if partial(s) {
				g.Id(l.copied).Op(":=").Add(typ.Clone()).Add(e.encodedFields(s))
			} else {
				g.Id(l.copied).Op(":=").Op("*").Id(l.v)
			}
			for _, f := range s.Fields {
				for _, line := range e.cloneValue(f.Value, field(l.copied, f.Name), 0) {
					g.Add(line)
				}
			}
			g.Return(jen.Id(l.copied))
		}))
}

// encodedFields is the literal of s with the encoded fields of v.
func (e *emitter) encodedFields(s *plan.Struct) *jen.Statement {
	var items []any
	for _, f := range s.Fields {
		items = append(items, f.Name, field(e.local.v, f.Name).value())
	}
	if len(items) == 0 {
		return jen.Values()
	}
	return keyed(items...)
}

// cloneValue returns statements that replace what the value in p shares with its
// original; none if it is flat.
func (e *emitter) cloneValue(v plan.Value, p place, depth int) []jen.Code {
	switch {
	case v.Flat:
		return nil
	case v.Wire.Optional:
		return []jen.Code{jen.If(p.value().Op("!=").Nil()).
			Block(p.set(jen.New(e.clonedExpr(deref(v), p.pointee()))))}
	case v.Elem != nil:
		return e.cloneList(v, p, depth)
	}
	return []jen.Code{p.set(e.clonedExpr(v, p))}
}

// clonedExpr is the copy of a value other than a list, as an expression.
func (e *emitter) clonedExpr(v plan.Value, p place) *jen.Statement {
	switch {
	case v.Struct != nil && !v.Struct.Flat:
		return e.fn("twsClone", v.Struct, "").Call(p.addr())
	case v.Struct == nil && !v.Flat:
		return jen.Qual("slices", "Clone").Call(p.value()) // bytes
	}
	return p.value()
}

func (e *emitter) cloneList(v plan.Value, p place, depth int) []jen.Code {
	code := []jen.Code{p.set(jen.Qual("slices", "Clone").Call(p.value()))}
	i := e.local.index(depth)
	if inner := e.cloneValue(*v.Elem, p.at(i), depth+1); len(inner) > 0 {
		code = append(code, jen.For(jen.Id(i).Op(":=").Range().Add(p.value())).Block(inner...))
	}
	return code
}
