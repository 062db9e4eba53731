package emit

import (
	"fmt"
	"go/types"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
)

// row writes the codecs of a row type: as the method TWSRow, by which the
// runtime finds them, or as a function if the type cannot get a method.
func (e *emitter) row(row *plan.Row) {
	if row.HasMethod {
		return
	}
	s := row.Struct
	name := e.typeName(s.Go)
	rowType := tws("Row").Types(e.typ(s.Go))
	body := jen.Block(jen.Return(jen.Op("&").Add(rowType.Clone()).Add(keyed(
		"Type", jen.Lit(e.rowName(s)),
		"Columns", e.columns(s),
		"Append", e.fn("twsAppend", s, ""),
		"Decode", e.fn("twsUnmarshal", s, ""),
		"AppendJSON", e.fn("twsAppend", s, "JSON"),
		"DecodeJSON", e.fn("twsUnmarshal", s, "JSON"),
		"AppendColumns", e.fn("twsAppend", s, "Columns"),
		"ReadColumns", e.fn("twsRead", s, "Columns"),
	))))
	if hasMethod(row) {
		e.decl(doc("TWSRow returns the generated codecs of "+name+" as a row."),
			jen.Func().Params(jen.Op("*").Add(e.typ(s.Go))).Id("TWSRow").Params().Op("*").Add(rowType).Add(body))
		return
	}
	fn := e.fn("twsRow", s, "")
	e.decl(doc(fmt.Sprintf("%s returns the generated codecs of %s as a row.", fn.GoString(), name)),
		jen.Func().Add(fn).Params().Op("*").Add(rowType).Add(body))
}

// hasMethod reports whether the row's type has, or gets, the method TWSRow. An
// instance of a generic type cannot.
func hasMethod(row *plan.Row) bool {
	named, ok := types.Unalias(row.Struct.Go).(*types.Named)
	return row.HasMethod || row.Own && ok && named.TypeArgs().Len() == 0
}

// rowOf is the expression of the codecs of a row type.
func (e *emitter) rowOf(t types.Type) *jen.Statement {
	for _, row := range e.pkg.Rows {
		if !types.Identical(row.Struct.Go, t) {
			continue
		}
		if hasMethod(row) {
			return jen.Parens(jen.Op("*").Add(e.typ(row.Struct.Go))).Parens(jen.Nil()).Dot("TWSRow").Call()
		}
		return e.fn("twsRow", row.Struct, "").Call()
	}
	panic(fmt.Sprintf("emit: the plan has no row for %s", t))
}

func tws(name string) *jen.Statement { return jen.Qual(runtimePath, name) }
