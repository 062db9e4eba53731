package emit

import (
	"strconv"

	"github.com/dave/jennifer/jen"
)

// rawString returns a string literal, in backquotes if that is possible.
func rawString(s string) *jen.Statement {
	if strconv.CanBackquote(s) {
		return jen.Op("`" + s + "`")
	}
	return jen.Lit(s)
}

// keyed returns the body of a keyed literal, one line for each item; items are
// name, value, name, value. A nil value leaves out its name.
func keyed(items ...any) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, pairs(items)...)
}

// keyedLine is keyed on one line.
func keyedLine(items ...any) *jen.Statement {
	return jen.Values(pairs(items)...)
}

func pairs(items []any) []jen.Code {
	var code []jen.Code
	for i := 0; i < len(items); i += 2 {
		if items[i+1] == nil {
			continue
		}
		code = append(code, jen.Id(items[i].(string)).Op(":").Add(items[i+1].(jen.Code)))
	}
	return code
}

// lines returns the body of a list literal, one line for each element.
func lines(items []jen.Code) *jen.Statement {
	if len(items) == 0 {
		return jen.Values()
	}
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, items...)
}

// oneLine returns a function body of one statement on one line.
func oneLine(code jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{ ", Close: " }"}, code)
}

// optional turns a nil statement into the nil that keyed leaves out.
func optional(code *jen.Statement) any {
	if code == nil {
		return nil
	}
	return code
}

// grouped prints a large number as a person writes it: 3_600_000_000.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "_" + s[i:]
	}
	return s
}
