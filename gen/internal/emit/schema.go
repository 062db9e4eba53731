package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
	"github.com/tws-go/tws/schemas"
)

// kindConst are the constants of package schemas by wire kind.
var kindConst = map[schemas.Kind]string{
	schemas.Bool: "Bool", schemas.Int8: "Int8", schemas.Int16: "Int16", schemas.Int32: "Int32",
	schemas.Int64: "Int64", schemas.Uint8: "Uint8", schemas.Uint16: "Uint16", schemas.Uint32: "Uint32",
	schemas.Uint64: "Uint64", schemas.Float32: "Float32", schemas.Float64: "Float64",
	schemas.String: "String", schemas.Bytes: "Bytes", schemas.Timestamp: "Timestamp",
	schemas.Duration: "Duration", schemas.List: "List", schemas.Struct: "Struct",
}

func schema(name string) *jen.Statement { return jen.Qual(schemasPath, name) }

// schemaType writes the wire type of s, with its fields in id order.
func (e *emitter) schemaType(s *plan.Struct) {
	var fields []jen.Code
	for _, f := range byID(s) {
		fields = append(fields, e.fieldLine(f, e.wireType))
	}
	name := e.fn("twsType", s, "")
	e.decl(
		doc(fmt.Sprintf("%s is the wire type of %s: fields in id order.", name.GoString(), e.typeName(s.Go))),
		jen.Func().Add(name).Params().Add(schema("Type")).Block(
			jen.Return(e.structLiteral(s, jen.Index().Add(schema("Field")).Add(lines(fields))))))
}

// columnList writes the columns of s, and so the nested ones of a row that holds
// it, in declaration order.
func (e *emitter) columnList(s *plan.Struct) {
	var fields []jen.Code
	for _, f := range s.Fields {
		fields = append(fields, e.fieldLine(f, e.columnType))
	}
	name := e.fn("twsColumns", s, "")
	e.decl(
		doc(fmt.Sprintf("%s are the columns of %s: fields in declaration order.", name.GoString(), e.typeName(s.Go))),
		jen.Func().Add(name).Params().Index().Add(schema("Field")).Block(
			jen.Return(jen.Index().Add(schema("Field")).Add(lines(fields)))))
}

// columns is the expression of the column list of a row.
func (e *emitter) columns(s *plan.Struct) *jen.Statement {
	if s.InOrder {
		return e.fn("twsType", s, "").Call().Dot("Fields")
	}
	return e.fn("twsColumns", s, "").Call()
}

func (e *emitter) fieldLine(f *plan.Field, typ func(plan.Value) *jen.Statement) jen.Code {
	return keyedLine("ID", jen.Lit(f.ID), "Name", jen.Lit(f.Wire), "Type", typ(f.Value))
}

// wireType is the expression of a value's wire type.
func (e *emitter) wireType(v plan.Value) *jen.Statement { return e.schemaOf(v, false) }

// columnType is the expression of a column's type.
func (e *emitter) columnType(v plan.Value) *jen.Statement { return e.schemaOf(v, true) }

// schemaOf writes a schemas.Type, of a column with the fields of structs in
// declaration order.
func (e *emitter) schemaOf(v plan.Value, column bool) *jen.Statement {
	if v.Struct != nil {
		return e.structSchema(v, column)
	}
	var opt, inner *jen.Statement
	if v.Wire.Optional {
		opt = jen.True()
	}
	if v.Elem != nil {
		inner = pointerTo(e.schemaOf(*v.Elem, column), !schemaCall(*v.Elem, column))
	}
	return schema("Type").Add(keyedLine("Kind", schema(kindConst[v.Wire.Kind]),
		"Optional", optional(opt), "Elem", optional(inner)))
}

// schemaCall reports whether the type is a call of a function that returns it,
// not a literal.
func schemaCall(v plan.Value, column bool) bool {
	return v.Struct != nil && !v.Wire.Optional && (!column || v.Struct.InOrder)
}

func (e *emitter) structSchema(v plan.Value, column bool) *jen.Statement {
	typ := e.fn("twsType", v.Struct, "").Call()
	switch {
	case schemaCall(v, column):
		return typ
	case !v.Wire.Optional:
		return e.structLiteral(v.Struct, e.columns(v.Struct))
	}
	fields := typ.Dot("Fields")
	if column {
		fields = e.columns(v.Struct)
	}
	return schema("Type").Add(keyedLine("Kind", schema("Struct"), "Optional", jen.True(),
		"Name", jen.Lit(v.Struct.Wire.Name), "Fields", fields))
}

// pointerTo points to a copy of what the expression says.
func pointerTo(expr *jen.Statement, literal bool) *jen.Statement {
	if literal {
		return jen.Op("&").Add(expr)
	}
	return jen.New(expr)
}

func (e *emitter) structLiteral(s *plan.Struct, fields jen.Code) *jen.Statement {
	return schema("Type").Add(keyedLine("Kind", schema("Struct"), "Name", jen.Lit(s.Wire.Name), "Fields", fields))
}
