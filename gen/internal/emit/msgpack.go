package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
	"github.com/tws-go/tws/schemas"
)

// appendMsgpack writes the encoder of s: an array of its fields in id order.
func (e *emitter) appendMsgpack(s *plan.Struct) {
	l := e.local
	name := e.fn("twsAppend", s, "")
	e.decl(
		doc(fmt.Sprintf("%s encodes %s as msgpack: an array of its fields in id order.", name.GoString(), l.v)),
		jen.Func().Add(name).Params(jen.Id(l.dst).Index().Byte(), jen.Id(l.v).Op("*").Add(e.typ(s.Go))).Index().Byte().
			BlockFunc(func(g *jen.Group) {
				g.Add(e.setDst(e.codec("AppendArrayHeader"), jen.Lit(len(s.Fields))))
				for _, f := range byID(s) {
					for _, line := range e.appendValue(f.Value, field(l.v, f.Name), 0) {
						g.Add(line)
					}
				}
				g.Return(jen.Id(l.dst))
			}))
}

// appendValue returns statements that append the value in p to dst. Lists and
// pointers may be nil, which is not the same as empty.
func (e *emitter) appendValue(v plan.Value, p place, depth int) []jen.Code {
	switch {
	case v.Wire.Optional:
		return []jen.Code{jen.If(p.value().Op("==").Nil()).
			Block(e.setDst(e.codec("AppendNil"))).
			Else().Block(e.appendValue(deref(v), p.pointee(), depth)...)}
	case v.Elem != nil:
		return e.appendList(v, p, depth)
	case v.Struct != nil:
		return []jen.Code{e.setDst(e.fn("twsAppend", v.Struct, ""), p.addr())}
	}
	return []jen.Code{jen.Id(e.local.dst).Op("=").Add(e.appendScalar(v, p))}
}

// appendScalar returns the call that appends a scalar to dst.
func (e *emitter) appendScalar(v plan.Value, p place) *jen.Statement {
	s := e.scalar(v)
	if v.Wire.Kind == schemas.Float32 {
		return e.onDst(e.codec("AppendFloat32"), s.toNatural(p.value()))
	}
	name := s.wide
	if v.Wire.Kind == schemas.Float64 {
		name = "Float64"
	}
	return e.onDst(e.codec("Append"+name), s.toWide(p.value()))
}

func (e *emitter) appendList(v plan.Value, p place, depth int) []jen.Code {
	i := e.local.index(depth)
	loop := jen.For(jen.Id(i).Op(":=").Range().Add(p.value())).
		Block(e.appendValue(*v.Elem, p.at(i), depth+1)...)
	return []jen.Code{jen.If(p.value().Op("==").Nil()).
		Block(e.setDst(e.codec("AppendNil"))).
		Else().Block(e.setDst(e.codec("AppendArrayHeader"), jen.Len(p.value())), loop)}
}

// decodeMsgpack writes the decoder of s.
func (e *emitter) decodeMsgpack(s *plan.Struct) {
	l := e.local
	name := e.fn("twsDecode", s, "")
	e.decl(
		doc(fmt.Sprintf("%s decodes what %s encoded; it overwrites all of %s.",
			name.GoString(), e.fn("twsAppend", s, "").GoString(), l.v)),
		jen.Func().Add(name).Params(jen.Id(l.r).Op("*").Add(e.codec("Reader")), jen.Id(l.v).Op("*").Add(e.typ(s.Go))).
			BlockFunc(func(g *jen.Group) {
				if partial(s) {
					g.Op("*").Id(l.v).Op("=").Add(e.typ(s.Go)).Values()
				}
				g.Add(e.reader("Struct", jen.Lit(len(s.Fields))))
				for _, f := range byID(s) {
					g.Add(e.reader("At", jen.Lit(f.Wire)))
					for _, line := range e.decodeValue(f.Value, field(l.v, f.Name), 0) {
						g.Add(line)
					}
				}
				g.Add(e.reader("EndStruct"))
			}))
}

// decodeValue returns statements that read a value and store it in p.
func (e *emitter) decodeValue(v plan.Value, p place, depth int) []jen.Code {
	switch {
	case v.Wire.Optional:
		return []jen.Code{jen.If(e.reader("Nil")).
			Block(p.set(jen.Nil())).
			Else().Block(e.decodePresent(deref(v), p)...)}
	case v.Elem != nil:
		return e.decodeList(v, p, depth)
	case v.Struct != nil:
		return []jen.Code{e.fn("twsDecode", v.Struct, "").Call(jen.Id(e.local.r), p.addr())}
	}
	return []jen.Code{p.set(e.readScalar(v))}
}

// decodePresent reads what the pointer in p is to point to.
func (e *emitter) decodePresent(v plan.Value, p place) []jen.Code {
	if v.Struct == nil {
		return []jen.Code{p.set(jen.New(e.readScalar(v)))}
	}
	return []jen.Code{
		p.set(jen.New(e.typ(v.Go))),
		e.fn("twsDecode", v.Struct, "").Call(jen.Id(e.local.r), p.value()),
	}
}

// readScalar returns the call that reads a scalar of msgpack or of a key.
func (e *emitter) readScalar(v plan.Value) *jen.Statement {
	s := e.scalar(v)
	return e.fromNatural(v, s, e.reader(s.name))
}

func (e *emitter) decodeList(v plan.Value, p place, depth int) []jen.Code {
	l := e.local
	i := l.index(depth)
	loop := jen.For(jen.Id(i).Op(":=").Range().Add(p.value())).
		Block(e.decodeValue(*v.Elem, p.at(i), depth+1)...)
	return []jen.Code{jen.If(
		jen.List(jen.Id(l.count), jen.Id(l.ok)).Op(":=").Add(e.reader("List")), jen.Id(l.ok)).
		Block(p.set(jen.Make(e.typ(v.Go), jen.Id(l.count))), loop).
		Else().Block(p.set(jen.Nil()))}
}

// unmarshalMsgpack writes the decoder of a row that is the whole input.
func (e *emitter) unmarshalMsgpack(s *plan.Struct) {
	e.unmarshal(s, "", "Reader", e.fn("twsDecode", s, ""), "Done")
}

// unmarshal writes a function that reads a row from src and nothing after it.
func (e *emitter) unmarshal(s *plan.Struct, suffix, reader string, read *jen.Statement, end string) {
	l := e.local
	name := e.fn("twsUnmarshal", s, suffix)
	e.decl(
		doc(fmt.Sprintf("%s is %s for a row that is all of %s.", name.GoString(), read.GoString(), l.src)),
		jen.Func().Add(name).Params(jen.Id(l.src).Index().Byte(), jen.Id(l.v).Op("*").Add(e.typ(s.Go))).Error().
			Block(
				jen.Var().Id(l.r).Add(e.codec(reader)),
				e.reader("Reset", jen.Id(l.src)),
				read.Clone().Call(jen.Op("&").Id(l.r), jen.Id(l.v)),
				jen.Return(e.reader(end)),
			))
}
