package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tws-go/tws/gen/internal/diag"
	"github.com/tws-go/tws/gen/internal/load"
	"github.com/tws-go/tws/gen/internal/testmod"
	"github.com/tws-go/tws/schemas"
)

// said plans a package whose table Rows has the row type Row and returns the
// diagnostics.
func said(t *testing.T, declarations string) diag.List {
	t.Helper()
	dir := testmod.New(t, "-- a.go --\npackage sensors\n\nimport tws \"github.com/tws-go/tws/runtime\"\n\n"+
		"//tws:table\nvar Rows tws.StreamingTable[Row]\n\n"+declarations)
	loader, err := load.New(t.Context(), load.Config{Dir: dir, Patterns: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.Load(0)
	if err != nil || len(p.Syntax) > 0 || p.TooLarge != nil {
		t.Fatal(err, p.Syntax, p.TooLarge)
	}
	return New(p, nil, schemas.LockFile).Diagnostics
}

// chain declares structs that hold each other, n of them from first to last.
func chain(first, last string, n int, field string) string {
	var b strings.Builder
	name := first
	for i := 1; i < n; i++ {
		next := fmt.Sprintf("%s%d", first, i)
		fmt.Fprintf(&b, "type %s struct{ X %s }\n", name, strings.ReplaceAll(field, "T", next))
		name = next
	}
	fmt.Fprintf(&b, "type %s struct{ X %s }\n", name, last)
	return b.String()
}

// fields declares a struct with n fields of a type.
func fields(name string, n int, typ string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type %s struct {\n", name)
	for i := range n {
		fmt.Fprintf(&b, "F%d %s\n", i, typ)
	}
	return b.String() + "}\n"
}

// The limits are exact, whatever has been planned before.
func TestLimits(t *testing.T) {
	t.Parallel()
	hundred := fields("H", 100, "int64")
	for _, test := range []struct{ name, declarations, want string }{
		{"as deep as may be", chain("Row", "int64", 100, "T"), ""},
		{"pointers count once", chain("Row", "*int64", 100, "*T"), ""},
		{"one deeper", chain("Row", "int64", 101, "T"), "table Rows nests structs and lists more than 100 deep"},
		{"lists count", chain("Row", "[]int64", 50, "[]T"), ""},
		{"lists too many", chain("Row", "[][]int64", 50, "[]T"), "nests structs and lists more than 100 deep"},
		{
			"one deeper, by what is known already",
			"type Row struct { A Inner; B Outer }\n" + chain("Inner", "int64", 60, "T") + chain("Outer", "Inner", 40, "T"),
			"type Row nests structs and lists more than 100 deep",
		},
		{"as many as may be", "type Row struct { A All; _ int64 }\n" + fields("All", 99, "H") + hundred, ""}, // 1 + 99*101
		{"one more", "type Row struct { A All; B int64 }\n" + fields("All", 99, "H") + hundred, "type Row has more than 10000 fields"},
		{"flat", fields("Row", 10_000, "bool"), ""},
		{"one more, flat", fields("Row", 10_001, "bool"), "type Row has more than 10000 fields"},
		{
			"reported once", "type Row struct { A, B Mid }\ntype Mid struct { A, B Big }\n" + fields("Big", 10_001, "bool"),
			"type Big has more than 10000 fields",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := said(t, test.declarations)
			switch {
			case test.want == "" && len(got) == 0:
			case test.want == "" || len(got) != 1 || got[0].Code != diag.TooLarge || !strings.Contains(got[0].Message, test.want):
				t.Errorf("got %v, want %q", got, test.want)
			}
		})
	}
}

// A search for methods must end, too.
func TestEmbedsEndlessly(t *testing.T) {
	t.Parallel()
	p := planOf(t, `
-- a.go --
package sensors

import tws "github.com/tws-go/tws/runtime"

//tws:table
var Rows tws.StreamingTable[Row]

type Row struct{ X int64 }

type (
	Plain  struct{ Row; Name string }
	Loop   struct{ *Loop }
	Finite struct{ Box[Box[int]] }
	Fields struct{ Next *Longer[int] }
	Grows  struct{ Longer[int] }
	Twice  struct{ Double[int] }
)

type Box[X any] struct{ V X }

type Longer[X any] struct{ *Longer[*X] }

type Double[X any] struct{ *Double[Pair[X, X]] }

type Pair[A, B any] struct{ First A; Second B }
`)
	for name, want := range map[string]bool{
		"Row": false, "Plain": false, "Loop": false, "Finite": false, "Fields": false, "Grows": true, "Twice": true,
	} {
		if got := embedsEndlessly(p.Types.Scope().Lookup(name).Type()); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
