package load

import (
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/gen/internal/testmod"
)

// module has its own stand-in for everything, so that tests see what is loaded.
const module = `
-- go.mod --
module example.com/m

go 1.26
-- a/a.go --
package a

import "example.com/m/b"

// It mentions tws.
var X b.Row

var Broken Missing

func body() { undefined() }
-- b/b.go --
package b

import (
	"example.com/m/c"
	"example.com/m/onlybodies"
	other "example.com/m/onlyvars"
	"example.com/m/missing"
)

type Row struct {
	C c.Field
	M missing.Type
}

func (Row) Method() error {
	return onlybodies.Do()
}

func unexported(onlybodies.Type) {}

var _ other.Interface = Row{}
-- c/c.go --
package c

type Field = int64
-- onlybodies/o.go --
package onlybodies

type Type int

func Do() error { return nil }
-- onlyvars/o.go --
package onlyvars

type Interface interface{ Method() error }
-- plain/p.go --
package plain
`

func newLoader(t *testing.T, dir string, patterns ...string) *Loader {
	t.Helper()
	l, err := New(t.Context(), Config{Dir: dir, Patterns: patterns})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func loadOne(t *testing.T, l *Loader, path string) *Package {
	t.Helper()
	for i := range l.Packages() {
		if l.roots[i].PkgPath != path {
			continue
		}
		p, err := l.Load(i)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Fatalf("%s is not listed", path)
	return nil
}

func TestImportsAreReadAsDeepAsNeeded(t *testing.T) {
	t.Parallel()
	l := newLoader(t, testmod.New(t, module), "./a")
	p := loadOne(t, l, "example.com/m/a")
	var read []string
	for path := range l.imports {
		read = append(read, path)
	}
	slices.Sort(read)
	if want := []string{"example.com/m/b", "example.com/m/c"}; !slices.Equal(read, want) {
		t.Errorf("read %q, want %q", read, want)
	}
	row := p.Types.Scope().Lookup("X").Type()
	if got := row.Underlying().String(); got != "struct{C example.com/m/c.Field; M invalid type}" {
		t.Errorf("Row is %s", got)
	}
	if m, _, _ := types.LookupFieldOrMethod(row, false, nil, "Method"); m == nil {
		t.Error("the method of an imported type is gone")
	}
	if p.Import("example.com/m/c") == nil || p.Import("example.com/m/onlybodies") != nil {
		t.Error("Import does not tell what is reached")
	}
	if len(p.Errors) != 2 || !strings.Contains(p.Errors[0].Msg, "Missing") || !strings.Contains(p.Errors[1].Msg, "undefined") {
		t.Errorf("type errors %v, want those of the package itself, in order", p.Errors)
	}
}

func TestPackagesComeAfterTheirImports(t *testing.T) {
	t.Parallel()
	l := newLoader(t, testmod.New(t, module), "./...")
	var got []string
	for _, p := range l.roots {
		got = append(got, strings.TrimPrefix(p.PkgPath, "example.com/m/"))
	}
	want := []string{"c", "onlybodies", "onlyvars", "b", "a", "plain"}
	if index := slices.Index[[]string]; index(got, "c") > index(got, "b") || index(got, "b") > index(got, "a") || len(got) != len(want) {
		t.Errorf("got %q, want an order such as %q", got, want)
	}
}

func TestWrittenFilesAreSeen(t *testing.T) {
	t.Parallel()
	dir := testmod.New(t, module)
	l := newLoader(t, dir, "./a")
	l.Written(filepath.Join(dir, "c", "c_tws.go"), []byte("package c\n\nfunc Generated() {}\n"))
	l.Written(filepath.Join(dir, "b", "b.go"), []byte("package b\n\nimport \"example.com/m/c\"\n\ntype Row struct{ Now c.Field }\n"))
	p := loadOne(t, l, "example.com/m/a")
	if p.Import("example.com/m/c").Scope().Lookup("Generated") == nil {
		t.Error("a new file is not seen")
	}
	if got := p.Types.Scope().Lookup("X").Type().Underlying().String(); got != "struct{Now example.com/m/c.Field}" {
		t.Errorf("Row is %s, the new content of its file is not seen", got)
	}
}

func TestOnlyMentioningPackagesAreChecked(t *testing.T) {
	t.Parallel()
	p := loadOne(t, newLoader(t, testmod.New(t, module), "./plain"), "example.com/m/plain")
	if p.Annotated || p.Types != nil {
		t.Error("a package that does not mention the generator was checked")
	}
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	header := Header + " from package a. DO NOT EDIT.\n"
	for _, test := range []struct {
		name, src string
		want      bool
	}{
		{"a_tws.go", header + "\npackage a\n", true},
		{"a_tws.go", "//go:build linux\n\n" + header, true},
		{"a_tws.go", "<<<<<<< HEAD\n" + header, true},
		{"a_tws.go", "<<<<<<< HEAD\r\n" + strings.ReplaceAll(header, "\n", "\r\n"), true},
		{"a_tws.go", "", true},
		{"a_tws.go", " \n", true},
		{"a_tws.go", "package a\n", false},
		{"a_tws.go", "package a\n\nconst s = `" + Header + "`\n", false},
		{"a.go", header, false},
	} {
		if got := Generated(test.name, []byte(test.src)); got != test.want {
			t.Errorf("%s %q: %v, want %v", test.name, test.src, got, test.want)
		}
	}
}

// TestLineDirectives: positions are those in the real file.
func TestLineDirectives(t *testing.T) {
	t.Parallel()
	dir := testmod.New(t, "-- go.mod --\nmodule m\n-- a.go --\npackage a // tws\n\n//line other.y:100\nvar X int\n")
	p := loadOne(t, newLoader(t, dir, "."), "m")
	got := p.Position(p.Types.Scope().Lookup("X").Pos())
	if filepath.Base(got.Filename) != "a.go" || got.Line != 4 || got.Column != 5 {
		t.Errorf("X is at %v, want a.go:4:5", got)
	}
}
