package load

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// doubling declares structs that hold the next one twice, 2 to the n fields.
func doubling(n int, field string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "type T%d struct{ X, Y %s }\n", i, strings.ReplaceAll(field, "T", fmt.Sprintf("T%d", i+1)))
	}
	fmt.Fprintf(&b, "type T%d struct{ X int }\n", n)
	return b.String()
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, src, want string }{
		{"few", doubling(14, "T"), ""},
		{"many", doubling(60, "T"), "T44"},
		{"many by array", doubling(60, "[2]T"), "T44"},
		{"many by anonymous structs", doubling(60, "struct{ V T }"), "T45"},
		{"many by interfaces", strings.ReplaceAll(doubling(60, "T"), "struct{ X, Y", "interface{ M();"), ""},
		{"many by generic types", doubling(60, "Box[T]") + "type Box[X any] struct{ V X }", "T45"},
		{"by pointer", doubling(60, "*T"), ""},
		{"by slice", doubling(60, "[]T"), ""},
		{"by map, channel, function", doubling(60, "struct{ A map[T]T; B chan T; C func(T) T }"), ""},
		{"of another package", doubling(60, "p.T"), ""},
		{"recursive", "type A struct{ X, Y A; Z B }\ntype B struct{ A }\ntype C C", ""},
		{"names of fields", "type A struct{ B, C int }\n" + doubling(3, "T") + "type X struct{ T0 int; T1 A }", ""},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\n"+test.src, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if spec := tooLarge([]*ast.File{file}); spec != nil {
			got = spec.Name.Name
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
