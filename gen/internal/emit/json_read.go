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
	code := e.jsonReading().value(f.Value, field(e.local.v, f.Name), 0)
	// Optional values and bytes look at null themselves.
	if !f.Omit || f.Value.Wire.Optional || f.Value.Wire.Kind == schemas.Bytes {
		return code
	}
	return []jen.Code{jen.If(jen.Op("!").Add(e.reader("Null"))).Block(code...)}
}

// jsonReading reads values from a JSON reader.
func (e *emitter) jsonReading() reading {
	return reading{
		emitter: e, beginList: "BeginArray",
		object: func(s *plan.Struct, to *jen.Statement) []jen.Code {
			return []jen.Code{e.fn("twsRead", s, "JSON").Call(jen.Id(e.local.r), to)}
		},
	}
}

// unmarshalJSON writes the JSON decoder of a row that is the whole input.
func (e *emitter) unmarshalJSON(s *plan.Struct) {
	e.unmarshal(s, "JSON", "JSONReader", e.fn("twsRead", s, "JSON"), "End")
}
