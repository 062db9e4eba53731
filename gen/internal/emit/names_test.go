package emit

import (
	"go/token"
	"go/types"
	"testing"

	"github.com/tws-go/tws/gen/internal/plan"
)

func TestLowerFirst(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Heartbeat": "heartbeat", "HTTPServer": "httpServer", "ID": "id", "A": "a", "aB": "aB",
		"Été": "été", "世界": "世界", "_X": "_X", "X1": "x1", "AbC": "abC", "": "",
	} {
		if got := lowerFirst(name); got != want {
			t.Errorf("lowerFirst(%q) = %q, want %q", name, got, want)
		}
	}
}

// pkgWith is a package that declares names, and imports packages under names.
func pkgWith(declared []string, imported map[string]*types.Package) *plan.Package {
	pkg := types.NewPackage("example.com/p", "p")
	for _, name := range declared {
		pkg.Scope().Insert(types.NewTypeName(token.NoPos, pkg, name, types.Typ[types.Int]))
	}
	file := types.NewScope(pkg.Scope(), token.NoPos, token.NoPos, "p.go")
	for name, of := range imported {
		file.Insert(types.NewPkgName(token.NoPos, pkg, name, of))
	}
	return &plan.Package{Name: "p", Path: "example.com/p", Types: pkg}
}

// B-55: an alias is hidden by nothing, a local variable hides nothing.
func TestAliasesAndLocals(t *testing.T) {
	t.Parallel()
	p := pkgWith(
		[]string{"codec", "codec2", "v", "v_", "dst", "Register"},
		map[string]*types.Package{
			"rt":      types.NewPackage(runtimePath, "tws"),
			"schemas": types.NewPackage("example.com/schemas", "schemas"),
			"Fmt":     types.NewPackage("fmt", "fmt"),
			"r":       types.NewPackage("time", "time"),
			"slices2": types.NewPackage("slices", "slices"),
		})
	n := newNames(p)
	for path, want := range map[string]importAs{
		codecPath:   {"codec3", true},   // two are taken
		runtimePath: {"rt", true},       // as the user calls it
		schemasPath: {"schemas", false}, // another file's import is no obstacle
		"fmt":       {"fmt", false},     // never with a capital
		"time":      {"time", false},    // r is a local variable of ours
		"slices":    {"slices2", true},
		"strconv":   {"strconv", false},
	} {
		if got := n.imports[path]; got != want {
			t.Errorf("%s is imported as %+v, want %+v", path, got, want)
		}
	}
	l := n.locals()
	if l.v != "v__" || l.dst != "dst_" || l.r != "r" || l.err != "err" {
		t.Errorf("got the locals %+v", l)
	}
	for want, got := range map[string]string{"i": l.index(0), "j": l.index(1), "k": l.index(2), "i4": l.index(3), "e": l.elem(0), "e2": l.elem(1)} {
		if got != want {
			t.Errorf("got the variable %s, want %s", got, want)
		}
	}
}

// B-64: a name that the user has taken is not taken again, not even by an import.
func TestNamesGiveWay(t *testing.T) {
	t.Parallel()
	p := pkgWith([]string{"twsAppendT", "twsAppendT_", guardName},
		map[string]*types.Package{"twsDecodeT": types.NewPackage("example.com/x", "x")})
	n := newNames(p)
	for want, got := range map[string]string{
		"twsAppendT__":  n.choose("twsAppendT"),
		"twsDecodeT_":   n.choose("twsDecodeT"),
		"twsTypeT":      n.choose("twsTypeT"),
		guardName + "_": n.local(guardName),
	} {
		if got != want {
			t.Errorf("got the name %s, want %s", got, want)
		}
	}
	if first, second := n.choose("twsAppendT"), n.choose("twsAppendT"); first != second {
		t.Errorf("one wish, two names: %s, %s", first, second)
	}
}
