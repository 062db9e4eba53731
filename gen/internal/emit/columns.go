package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
)

// appendColumns writes the function that hands the fields of s to a column
// writer, in declaration order.
func (e *emitter) appendColumns(s *plan.Struct) {
	l := e.local
	name := e.fn("twsAppend", s, "Columns")
	e.decl(
		doc(fmt.Sprintf("%s hands the fields of %s to %s in declaration order.", name.GoString(), l.v, l.w)),
		jen.Func().Add(name).Params(jen.Id(l.w).Add(tws("ColumnWriter")), jen.Id(l.v).Op("*").Add(e.typ(s.Go))).
			BlockFunc(func(g *jen.Group) {
				for _, f := range s.Fields {
					for _, line := range e.columnValue(f.Value, field(l.v, f.Name), 0) {
						g.Add(line)
					}
				}
			}))
}

// columnValue returns the calls for the value in p. A nil list is an empty one:
// list columns are never null.
func (e *emitter) columnValue(v plan.Value, p place, depth int) []jen.Code {
	switch {
	case v.Wire.Optional:
		return []jen.Code{jen.If(p.value().Op("==").Nil()).
			Block(e.writer("Null")).
			Else().Block(e.columnValue(deref(v), p.pointee(), depth)...)}
	case v.Elem != nil:
		i := e.local.index(depth)
		return []jen.Code{
			e.writer("BeginList", jen.Len(p.value())),
			jen.For(jen.Id(i).Op(":=").Range().Add(p.value())).Block(e.columnValue(*v.Elem, p.at(i), depth+1)...),
			e.writer("EndList"),
		}
	case v.Struct != nil:
		return []jen.Code{
			e.writer("BeginStruct"),
			e.fn("twsAppend", v.Struct, "Columns").Call(jen.Id(e.local.w), p.addr()),
			e.writer("EndStruct"),
		}
	}
	s := e.scalar(v)
	return []jen.Code{e.writer(s.wide, s.toWide(p.value()))}
}

// readColumns writes the function that takes the fields of s from a column
// reader, in declaration order.
func (e *emitter) readColumns(s *plan.Struct) {
	l := e.local
	name := e.fn("twsRead", s, "Columns")
	read := reading{
		emitter: e, beginList: "BeginList",
		object: func(s *plan.Struct, to *jen.Statement) []jen.Code {
			return []jen.Code{
				e.reader("BeginStruct"),
				e.fn("twsRead", s, "Columns").Call(jen.Id(l.r), to),
				e.reader("EndStruct"),
			}
		},
	}
	e.decl(
		doc(fmt.Sprintf("%s takes the fields of %s from %s in declaration order; it overwrites all of %s.",
			name.GoString(), l.v, l.r, l.v)),
		jen.Func().Add(name).Params(jen.Id(l.r).Add(tws("ColumnReader")), jen.Id(l.v).Op("*").Add(e.typ(s.Go))).
			BlockFunc(func(g *jen.Group) {
				g.Op("*").Id(l.v).Op("=").Add(e.typ(s.Go)).Values()
				for _, f := range s.Fields {
					for _, line := range read.value(f.Value, field(l.v, f.Name), 0) {
						g.Add(line)
					}
				}
			}))
}
