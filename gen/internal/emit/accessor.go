package emit

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
	"github.com/tws-go/tws/schemas"
)

// accessor writes the accessor of a state field: its type, its constructor and
// the description of the state.
func (e *emitter) accessor(proc *plan.Processor, s *plan.State) {
	name := e.names.choose(accessorName(proc, s))
	cell := tws("ValueCell").Types(e.typ(s.Value.Go))
	switch s.Schema.Kind {
	case schemas.ListState:
		cell = tws("ListCell").Types(e.typ(s.Value.Go))
	case schemas.MapState:
		cell = tws("MapCell").Types(e.typ(s.Key.Go), e.typ(s.Value.Go))
	}
	text := fmt.Sprintf("%s is the accessor behind %s.%s: %s.", name, proc.GoName, s.Field, e.stateInWords(s))
	e.decl(withUserDoc(doc(text), s.Doc), jen.Type().Id(name).Id("struct").Add(oneLine(cell)))
	e.newAccessor(proc, s, name)
	e.stateSchema(proc, s)
}

// stateInWords says what a state is: `the value state "sensorState" (id 1) of
// Sensor, schema version 1, without TTL`.
func (e *emitter) stateInWords(s *plan.State) string {
	of := "of " + e.typeName(s.Value.Go)
	if s.Schema.Kind == schemas.MapState {
		of = "from " + e.typeName(s.Key.Go) + " to " + e.typeName(s.Value.Go)
	}
	ttl := "without TTL"
	if micros := s.Schema.TTLMicros; micros != 0 {
		ttl = "TTL " + ttlInWords(micros)
	}
	return fmt.Sprintf("the %s state %q (id %d) %s, schema version %d, %s",
		s.Schema.Kind, s.Schema.Name, s.Schema.ID, of, s.Schema.Version, ttl)
}

func ttlInWords(micros int64) string {
	if micros > int64(1<<63-1)/1000 { // beyond the range of a time.Duration
		return strconv.FormatInt(micros, 10) + "µs"
	}
	return (time.Duration(micros) * time.Microsecond).String()
}

func (e *emitter) newAccessor(proc *plan.Processor, s *plan.State, name string) {
	l := e.local
	args := jen.Call(jen.Id(l.binder), e.stateFunc(proc, s).Call(), e.valueCodec(s.Value))
	if s.Schema.Kind == schemas.MapState {
		args = jen.Custom(jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true},
			jen.Id(l.binder), e.stateFunc(proc, s).Call(), e.keyCodec(s.Key), e.valueCodec(s.Value))
	}
	e.decl(nil, jen.Func().Add(e.newFunc(proc, s)).Params(jen.Id(l.binder).Op("*").Add(tws("Binder"))).Op("*").Id(name).Block(
		jen.Id(l.accessor).Op(":=").New(jen.Id(name)),
		jen.Id(l.accessor).Dot("Bind").Add(args),
		jen.Return(jen.Id(l.accessor)),
	))
}

// newFunc names the constructor of a state field's accessor.
func (e *emitter) newFunc(proc *plan.Processor, s *plan.State) *jen.Statement {
	return jen.Id(e.names.choose(newName(proc, s)))
}

// stateFunc names the function that describes a state.
func (e *emitter) stateFunc(proc *plan.Processor, s *plan.State) *jen.Statement {
	return jen.Id(e.names.choose(stateName(proc, s)))
}

func (e *emitter) stateSchema(proc *plan.Processor, s *plan.State) {
	name := e.stateFunc(proc, s)
	kind := map[schemas.StateKind]string{
		schemas.ValueState: "ValueState", schemas.ListState: "ListState", schemas.MapState: "MapState",
	}[s.Schema.Kind]
	var key, ttl *jen.Statement
	if s.Schema.Kind == schemas.MapState {
		key = pointerTo(e.wireType(s.Key), !schemaCall(s.Key, false))
	}
	if s.Schema.TTLMicros != 0 {
		ttl = jen.Op(grouped(s.Schema.TTLMicros))
	}
	e.decl(doc(fmt.Sprintf("%s describes the state %q.", name.GoString(), s.Schema.Name)),
		jen.Func().Add(name).Params().Add(schema("State")).Block(jen.Return(schema("State").Add(keyed(
			"ID", jen.Lit(s.Schema.ID),
			"Name", jen.Lit(s.Schema.Name),
			"Kind", schema(kind),
			"Key", optional(key),
			"Value", e.wireType(s.Value),
			"Version", jen.Lit(s.Schema.Version),
			"TTLMicros", optional(ttl),
		)))))
}

// valueCodec is the literal of the codec of a state's values.
func (e *emitter) valueCodec(v plan.Value) *jen.Statement {
	l := e.local
	typ := e.typ(v.Go)
	p := target(jen.Id(l.v))
	appendFn, decodeFn := e.plainFuncs(v)
	if appendFn == nil {
		appendFn = jen.Func().Params(jen.Id(l.dst).Index().Byte(), jen.Id(l.v).Op("*").Add(typ.Clone())).Index().Byte().
			Block(append(e.appendValue(v, p, 0), jen.Return(jen.Id(l.dst)))...)
		decodeFn = jen.Func().Params(jen.Id(l.r).Op("*").Add(e.codec("Reader")), jen.Id(l.v).Op("*").Add(typ.Clone())).
			Block(e.decodeValue(v, p, 0)...)
	}
	return tws("ValueCodec").Types(typ).Add(keyed(
		"Append", appendFn, "Decode", decodeFn, "Clone", optional(e.cloneFunc(v))))
}

// plainFuncs returns the functions of a value whose code is one call, nil for
// others.
func (e *emitter) plainFuncs(v plan.Value) (appendFn, decodeFn *jen.Statement) {
	l := e.local
	switch {
	case v.Wire.Optional || v.Elem != nil:
		return nil, nil
	case v.Struct != nil:
		return e.fn("twsAppend", v.Struct, ""), e.fn("twsDecode", v.Struct, "")
	}
	p := target(jen.Id(l.v))
	appendFn = jen.Func().Params(jen.Id(l.dst).Index().Byte(), jen.Id(l.v).Op("*").Add(e.typ(v.Go))).Index().Byte().
		Add(oneLine(jen.Return(e.appendScalar(v, p))))
	decodeFn = jen.Func().Params(jen.Id(l.r).Op("*").Add(e.codec("Reader")), jen.Id(l.v).Op("*").Add(e.typ(v.Go))).
		Add(oneLine(p.set(e.readScalar(v))))
	return appendFn, decodeFn
}

// cloneFunc returns the function that copies a value deeply, nil if an
// assignment does.
func (e *emitter) cloneFunc(v plan.Value) *jen.Statement {
	l := e.local
	switch {
	case v.Flat:
		return nil
	case v.Struct != nil && !v.Wire.Optional:
		return e.fn("twsClone", v.Struct, "")
	}
	typ := e.typ(v.Go)
	if v.Wire.Kind == schemas.Bytes || v.Elem != nil && v.Elem.Flat {
		return jen.Func().Params(jen.Id(l.v).Op("*").Add(typ)).Add(typ.Clone()).
			Add(oneLine(jen.Return(jen.Qual("slices", "Clone").Call(jen.Op("*").Id(l.v)))))
	}
	body := []jen.Code{jen.Id(l.copied).Op(":=").Op("*").Id(l.v)}
	body = append(body, e.cloneValue(v, variable(l.copied), 0)...)
	body = append(body, jen.Return(jen.Id(l.copied)))
	return jen.Func().Params(jen.Id(l.v).Op("*").Add(typ)).Add(typ.Clone()).Block(body...)
}
