package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
)

// appendKey writes the order-preserving encoding of a key struct: its fields in
// id order, each self-delimiting.
func (e *emitter) appendKey(s *plan.Struct) {
	l := e.local
	name := e.fn("twsAppendKey", s, "")
	e.decl(
		doc(fmt.Sprintf("%s encodes a key: bytes sort as the fields do, in id order.", name.GoString())),
		jen.Func().Add(name).Params(jen.Id(l.dst).Index().Byte(), jen.Id(l.k).Add(e.typ(s.Go))).Index().Byte().
			BlockFunc(func(g *jen.Group) {
				for _, f := range byID(s) {
					g.Id(l.dst).Op("=").Add(e.appendKeyValue(f.Value, field(l.k, f.Name)))
				}
				g.Return(jen.Id(l.dst))
			}))
}

// appendKeyValue returns the call that appends a part of a key to dst.
func (e *emitter) appendKeyValue(v plan.Value, p place) *jen.Statement {
	if v.Struct != nil {
		return e.onDst(e.fn("twsAppendKey", v.Struct, ""), p.value())
	}
	s := e.scalar(v)
	return e.onDst(e.codec("AppendKey"+s.name), s.toNatural(p.value()))
}

// readKey writes the counterpart of appendKey.
func (e *emitter) readKey(s *plan.Struct) {
	l := e.local
	name := e.fn("twsReadKey", s, "")
	var items []any
	for _, f := range byID(s) {
		items = append(items, f.Name, e.readKeyValue(f.Value))
	}
	e.decl(
		doc(fmt.Sprintf("%s reads what %s encoded.", name.GoString(), e.fn("twsAppendKey", s, "").GoString())),
		jen.Func().Add(name).Params(jen.Id(l.r).Op("*").Add(e.codec("KeyReader"))).Add(e.typ(s.Go)).
			Block(jen.Return(e.typ(s.Go).Add(keyed(items...)))))
}

func (e *emitter) readKeyValue(v plan.Value) *jen.Statement {
	if v.Struct != nil {
		return e.fn("twsReadKey", v.Struct, "").Call(jen.Id(e.local.r))
	}
	return e.readScalar(v)
}

// keyCodec is the literal of the codec of a grouping key or of a map's keys.
func (e *emitter) keyCodec(v plan.Value) *jen.Statement {
	appendFn, readFn := e.keyFuncs(v)
	return tws("KeyCodec").Types(e.typ(v.Go)).Add(keyed("Append", appendFn, "Read", readFn))
}

// keyFuncs returns the functions of a key type: the codec package's own for the
// types it knows, ours for structs, conversions for defined types.
func (e *emitter) keyFuncs(v plan.Value) (appendFn, readFn *jen.Statement) {
	l := e.local
	if v.Struct != nil {
		return e.fn("twsAppendKey", v.Struct, ""), e.fn("twsReadKey", v.Struct, "")
	}
	if s := e.scalar(v); s.exact {
		return e.codec("AppendKey" + s.name), jen.Parens(jen.Op("*").Add(e.codec("KeyReader"))).Dot(s.name)
	}
	appendFn = jen.Func().Params(jen.Id(l.dst).Index().Byte(), jen.Id(l.k).Add(e.typ(v.Go))).Index().Byte().
		Add(oneLine(jen.Return(e.appendKeyValue(v, variable(l.k)))))
	readFn = jen.Func().Params(jen.Id(l.r).Op("*").Add(e.codec("KeyReader"))).Add(e.typ(v.Go)).
		Add(oneLine(jen.Return(e.readKeyValue(v))))
	return appendFn, readFn
}
