package emit

import (
	"fmt"
	"go/types"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
	"github.com/tws-go/tws/schemas"
)

// scalar is how the codec package deals with a wire kind that is no list and no
// struct. Every kind has a natural Go type, which readers of msgpack and of keys
// return, and a wide one, which JSON and columns work with.
type scalar struct {
	// name ends the names of functions for the natural type: Int32.
	name string
	// wide ends the names of functions for the wide type: Int.
	wide string
	// bits is the argument that tells JSON the size of a number, nil for other
	// kinds.
	bits jen.Code
	// natural and wideType print the types, for conversions.
	natural, wideType *jen.Statement
	// exact is true if the user's type is the natural one, wideExact if it is
	// the wide one: no conversion is needed.
	exact, wideExact bool
	// fallible is true if JSON cannot hold every value.
	fallible bool
}

// scalar returns the description of a value's kind.
func (e *emitter) scalar(v plan.Value) scalar {
	switch v.Wire.Kind {
	case schemas.Bytes:
		// A []byte is assignable to and from a defined type over it.
		return scalar{name: "Bytes", wide: "Bytes", exact: true, wideExact: true}
	case schemas.Timestamp:
		return stdScalar(v, "Time", true)
	case schemas.Duration:
		return stdScalar(v, "Duration", false)
	}
	b, ok := v.Go.Underlying().(*types.Basic)
	if !ok {
		panic(fmt.Sprintf("emit: %s of wire kind %s", v.Go, v.Wire.Kind))
	}
	_, exact := types.Unalias(v.Go).(*types.Basic)
	return basicScalar(b, exact)
}

func stdScalar(v plan.Value, name string, fallible bool) scalar {
	typ := jen.Qual("time", name)
	named, ok := types.Unalias(v.Go).(*types.Named)
	exact := ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time" && named.Obj().Name() == name
	return scalar{name: name, wide: name, natural: typ, wideType: typ, exact: exact, wideExact: exact, fallible: fallible}
}

// basicScalar describes a basic type; exact is false for types defined over it.
func basicScalar(b *types.Basic, exact bool) scalar {
	// The type's own name may be that of an alias, byte or rune.
	name := types.Typ[b.Kind()].Name()
	s := scalar{name: upperFirst(name), natural: jen.Id(name), exact: exact}
	wide := name
	switch {
	case b.Info()&types.IsUnsigned != 0:
		wide, s.wide, s.bits = "uint64", "Uint", bits(b)
	case b.Info()&types.IsInteger != 0:
		wide, s.wide, s.bits = "int64", "Int", bits(b)
	case b.Info()&types.IsFloat != 0:
		wide, s.wide, s.bits, s.fallible = "float64", "Float", bits(b), true
	default:
		s.wide = s.name
	}
	s.wideType, s.wideExact = jen.Id(wide), exact && wide == name
	return s
}

// bits prints the size of a number type. That of int is the platform's, so that
// a number that does not fit is an error there.
func bits(b *types.Basic) jen.Code {
	switch b.Kind() {
	case types.Int, types.Uint:
		return jen.Qual("strconv", "IntSize")
	case types.Int8, types.Uint8:
		return jen.Lit(8)
	case types.Int16, types.Uint16:
		return jen.Lit(16)
	case types.Int32, types.Uint32, types.Float32:
		return jen.Lit(32)
	}
	return jen.Lit(64)
}

// toNatural converts x from the user's type.
func (s scalar) toNatural(x *jen.Statement) *jen.Statement {
	return convert(s.exact, s.natural, x)
}

// toWide converts x from the user's type.
func (s scalar) toWide(x *jen.Statement) *jen.Statement {
	return convert(s.wideExact, s.wideType, x)
}

// fromNatural converts x to the user's type.
func (e *emitter) fromNatural(v plan.Value, s scalar, x *jen.Statement) *jen.Statement {
	return convert(s.exact, e.typ(v.Go), x)
}

// fromWide converts x to the user's type.
func (e *emitter) fromWide(v plan.Value, s scalar, x *jen.Statement) *jen.Statement {
	return convert(s.wideExact, e.typ(v.Go), x)
}

func convert(exact bool, typ, x *jen.Statement) *jen.Statement {
	if exact {
		return x
	}
	return typ.Clone().Call(x)
}

// withBits adds the size argument of JSON numbers.
func (s scalar) withBits(args ...jen.Code) []jen.Code {
	if s.bits == nil {
		return args
	}
	return append(args, s.bits)
}
