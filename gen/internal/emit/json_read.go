package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
	"github.com/tws-go/tws/schemas"
)

// readJSON writes the strict JSON decoder of s. A field that may be left out may
// also be null; unknown fields are skipped.
func (e *emitter) readJSON(s *plan.Struct) {
	l := e.local
	name := e.fn("twsRead", s, "JSON")
	e.decl(
		doc(fmt.Sprintf("%s decodes a JSON object; it overwrites all of %s.", name.GoString(), l.v)),
		jen.Func().Add(name).
			Params(jen.Id(l.r).Op("*").Add(e.codec("JSONReader")), jen.Id(l.v).Op("*").Add(e.typ(s.Go))).
			BlockFunc(func(g *jen.Group) {
				g.Op("*").Id(l.v).Op("=").Add(e.typ(s.Go)).Values()
				if len(s.Fields) > 0 {
					g.Var().Id(l.seen).Index(jen.Lit(len(s.Fields))).Bool()
				}
				g.Add(e.reader("BeginObject"))
				g.For(e.reader("NextField")).Block(e.readFields(s))
				for i, f := range s.Fields {
					if !f.Omit {
						g.Add(e.reader("Need", jen.Id(l.seen).Index(jen.Lit(i)), jen.Lit(f.Wire)))
					}
				}
			}))
}

// readFields is the switch over the name of a field.
func (e *emitter) readFields(s *plan.Struct) jen.Code {
	skip := e.reader("Skip")
	if len(s.Fields) == 0 {
		return skip
	}
	return jen.Switch(jen.String().Call(e.reader("Name"))).BlockFunc(func(g *jen.Group) {
		for i, f := range s.Fields {
			mark := e.reader("Mark", jen.Op("&").Id(e.local.seen).Index(jen.Lit(i)))
			g.Case(jen.Lit(f.Wire)).Block(append([]jen.Code{mark}, e.readField(f)...)...)
		}
		g.Default().Block(skip)
	})
}

func (e *emitter) readField(f *plan.Field) []jen.Code {
	code := e.readJSONValue(f.Value, field(e.local.v, f.Name), 0)
	// Optional values and bytes look at null themselves.
	if !f.Omit || f.Value.Wire.Optional || f.Value.Wire.Kind == schemas.Bytes {
		return code
	}
	return []jen.Code{jen.If(jen.Op("!").Add(e.reader("Null"))).Block(code...)}
}

// readJSONValue returns statements that read a value and store it in p, which
// holds the zero value.
func (e *emitter) readJSONValue(v plan.Value, p place, depth int) []jen.Code {
	switch {
	case v.Wire.Optional:
		return []jen.Code{jen.If(jen.Op("!").Add(e.reader("Null"))).Block(e.readJSONPresent(deref(v), p)...)}
	case v.Elem != nil:
		return []jen.Code{
			p.set(e.typ(v.Go).Values()),
			e.reader("BeginArray"),
			jen.For(e.reader("NextElem")).Block(e.readJSONElem(*v.Elem, p, depth)...),
		}
	case v.Struct != nil:
		return []jen.Code{e.fn("twsRead", v.Struct, "JSON").Call(jen.Id(e.local.r), p.addr())}
	}
	return []jen.Code{p.set(e.readJSONScalar(v))}
}

// readJSONPresent reads what the pointer in p is to point to.
func (e *emitter) readJSONPresent(v plan.Value, p place) []jen.Code {
	if v.Struct == nil {
		return []jen.Code{p.set(jen.New(e.readJSONScalar(v)))}
	}
	return []jen.Code{
		p.set(jen.New(e.typ(v.Go))),
		e.fn("twsRead", v.Struct, "JSON").Call(jen.Id(e.local.r), p.value()),
	}
}

func (e *emitter) readJSONScalar(v plan.Value) *jen.Statement {
	s := e.scalar(v)
	return e.fromWide(v, s, e.reader(s.wide, s.withBits()...))
}

// readJSONElem reads one element and appends it to the list in p.
func (e *emitter) readJSONElem(v plan.Value, p place, depth int) []jen.Code {
	if !v.Wire.Optional && v.Elem == nil && v.Struct == nil {
		return []jen.Code{p.set(jen.Append(p.value(), e.readJSONScalar(v)))}
	}
	elem := e.local.elem(depth)
	code := e.readJSONValue(v, variable(elem), depth+1)
	if v.Elem != nil {
		code[0] = jen.Id(elem).Op(":=").Add(e.typ(v.Go)).Values()
	} else {
		code = append([]jen.Code{jen.Var().Id(elem).Add(e.typ(v.Go))}, code...)
	}
	return append(code, p.set(jen.Append(p.value(), jen.Id(elem))))
}

// unmarshalJSON writes the JSON decoder of a row that is the whole input.
func (e *emitter) unmarshalJSON(s *plan.Struct) {
	e.unmarshal(s, "JSON", "JSONReader", e.fn("twsRead", s, "JSON"), "End")
}
