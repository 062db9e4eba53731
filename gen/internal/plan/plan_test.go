package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/gen/internal/load"
	"github.com/tws-go/tws/gen/internal/testmod"
	"github.com/tws-go/tws/schemas"
)

func TestLowerCamel(t *testing.T) {
	t.Parallel()
	for ident, want := range map[string]string{
		"Sensor": "sensor", "HTTPServer": "httpServer", "ID": "id", "SensorID": "sensorID", "A": "a", "ABTest": "abTest",
		"HTTP2Server": "http2Server", "already": "already", "Été": "été", "世界": "世界", "_X": "_X", "X_y": "x_y",
	} {
		if got := lowerCamel(ident); got != want {
			t.Errorf("lowerCamel(%q) is %q, want %q", ident, got, want)
		}
	}
}

func TestImportable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, path string
		want       bool
	}{
		{"a/b", "c/d", true},
		{"a/b", "a/internal/x", true},
		{"a", "a/internal/x", true},
		{"ab", "a/internal/x", false},
		{"b", "a/internal", false},
		{"a/x/y", "a/x/internal/z/internal/w", false},
		{"a/x/internal/z", "a/x/internal/z/internal/w", true},
		{"a", "internal/x", true},
		{"a", "internals/x", true},
	} {
		if got := importable(test.from, test.path); got != test.want {
			t.Errorf("may %s import %s: %v, want %v", test.from, test.path, got, test.want)
		}
	}
}

func TestFileConstraint(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, src, want string }{
		{"a.go", "package a\n", ""},
		{"a_linux.go", "package a\n", "linux"},
		{"a_linux_amd64.go", "package a\n", "linux && amd64"},
		{"linux.go", "package a\n", ""},
		{"a_unix.go", "package a\n", ""},
		{"a.go", "//go:build x && (y || z)\n\npackage a\n", "x && (y || z)"},
		{"a_arm64.go", "//go:build x || y\n\npackage a\n", "(x || y) && arm64"},
		{"a.go", "// Text.\n\n//go:build x\r\n\n// Package a.\npackage a\n\nimport \"C\"\n", "x && cgo"},
		{"a.go", "package a\n\n//go:build x\n", ""},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), test.name, test.src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := fileConstraint(file, test.name); got != test.want {
			t.Errorf("%s %q: got %q, want %q", test.name, test.src, got, test.want)
		}
	}
}

func TestGlobEscape(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{`/a/b`: `/a/b`, `/a [1]/b*c?`: `/a [[]1]/b[*]c[?]`} {
		if got := GlobEscape(dir); got != want {
			t.Errorf("GlobEscape(%q) is %q, want %q", dir, got, want)
		}
	}
}

func TestEmbeddedName(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"X": "X", "*X": "X", "(X)": "X", "p.X": "X", "*p.X[int]": "X", "X[int, string]": "X", "[]X": "",
	} {
		expr, err := parser.ParseExpr(src)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if id := embeddedName(expr); id != nil {
			got = id.Name
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
	if embeddedName(&ast.StructType{}) != nil {
		t.Error("a struct literal has a name")
	}
}

// planOf plans a package of a temporary module, which must have no faults.
func planOf(t *testing.T, archive string) *Package {
	t.Helper()
	dir := testmod.New(t, archive)
	loader, err := load.New(t.Context(), load.Config{Dir: dir, Patterns: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.Load(0)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Syntax) > 0 {
		t.Fatal(p.Syntax)
	}
	result := New(p, nil, schemas.LockFile)
	for _, d := range result.Diagnostics {
		t.Error(d)
	}
	if result.Package == nil {
		t.Fatal("nothing is annotated")
	}
	return result.Package
}

// TestHowThingsAreWritten: what counts is what a type is.
//
// B-55, B-57, B-60
func TestHowThingsAreWritten(t *testing.T) {
	t.Parallel()
	p := planOf(t, `
-- a.go --
package sensors

import (
	"iter"
	clock "time"

	. "github.com/tws-go/tws/runtime"
	rt "github.com/tws-go/tws/runtime"

	a "example.com/sensors/x/model"
	b "example.com/sensors/y/model"
)

type (
	Key     = int64
	Marker  = rt.Processor[Key, In, *struct{}]
	Value[T any] = rt.ValueState[T]
	Later   = clock.Time
)

type In struct {
	Level  Level
	At     Later
	Tags   Tags
	Blob   Blob
	Maybe  *Level
	_      func()
	hidden map[string]int `+"`json:\"-\"`"+`
}

type (
	Level int
	Tags  []string
	Blob  []byte
	Bit   byte
)

type Pair[A, B any] struct {
	First  A
	Second B
}

type base struct{ X int64 }

type Stored struct {
	*Embedded
	Pair[string, a.Reading]
	Bits []Bit
	Other b.Reading
}

type Embedded base

// HTTPServer is a processor.
type HTTPServer struct {
	Processor[Key, In, In]

	Count Value[Stored]
	Pairs rt.ListState[Pair[string, int64]]
	A, B  MapState[Bit, Pair[string, a.Reading]]
	Wait  Timer
	Conf  func(rt.ValueState[int])
}

func (s *HTTPServer) HandleInputRows(_ *InputContext, _ int64, _ iter.Seq[In], _ rt.Emitter[In]) error { return nil }

func (s *HTTPServer) HandleExpiredTimer(*TimerContext, Key, ExpiredTimer, rt.Emitter[In]) error { return nil }

//tws:sink
var Out = rt.NewSink[a.Reading](nil)

func helper(f *rt.Flow, s Source[b.Reading]) { _ = rt.ReadStream(f, s) }
-- x/model/m.go --
package model

type Reading struct{ V int64 }
-- y/model/m.go --
package model

type Reading struct{ V string }
`)
	if len(p.Processors) != 1 || p.Processors[0].Schema.Name != "httpServer" {
		t.Fatalf("got %d processors", len(p.Processors))
	}
	var states []string
	for _, s := range p.Processors[0].States {
		states = append(states, s.Schema.Name+" "+string(s.Schema.Kind)+" "+s.Value.Wire.String())
	}
	wantStates := []string{
		"count value Stored",
		"pairs list Pair[string,int64]",
		"a map Pair[string,example.com/sensors/x/model.Reading]",
		"b map Pair[string,example.com/sensors/x/model.Reading]",
	}
	if !slices.Equal(states, wantStates) {
		t.Errorf("states %q, want %q", states, wantStates)
	}
	var structs []string
	for _, s := range p.Structs {
		var fields []string
		for _, f := range s.Fields {
			fields = append(fields, f.Wire+" "+f.Value.Wire.String())
		}
		structs = append(structs, s.Ident+": "+strings.Join(fields, ", "))
	}
	wantStructs := []string{
		"Embedded: X int64",
		"In: Level int64, At timestamp, Tags list<string>, Blob bytes, Maybe optional<int64>",
		"ModelReading: V int64",
		"ModelReading2: V string",
		"PairStringInt64: First string, Second int64",
		"PairStringModelReading: First string, Second example.com/sensors/x/model.Reading",
		"Stored: Embedded optional<Embedded>, Pair Pair[string,example.com/sensors/x/model.Reading], Bits list<uint8>, Other example.com/sensors/y/model.Reading",
	}
	if !slices.Equal(structs, wantStructs) {
		t.Errorf("structs\n%s\nwant\n%s", strings.Join(structs, "\n"), strings.Join(wantStructs, "\n"))
	}
	var rows []string
	for _, r := range p.Rows {
		row := r.Struct.Ident
		if r.Own {
			row += " own"
		}
		if r.Registered {
			row += " registered"
		}
		rows = append(rows, row)
	}
	if want := []string{"In own", "ModelReading registered", "ModelReading2 registered"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}

// TestFlat: a struct is flat only if all of it is.
func TestFlat(t *testing.T) {
	t.Parallel()
	p := planOf(t, `
-- a.go --
package sensors

import (
	"time"

	tws "github.com/tws-go/tws/runtime"
)

type Row struct {
	A Flat
	B Deep
	C *int64
}

type Flat struct {
	At   time.Time
	Name string
}

type Deep struct{ Inner Slice }

type Slice struct{ X []byte }

//tws:table
var Rows tws.StreamingTable[Row]
`)
	got := make(map[string]bool)
	for _, s := range p.Structs {
		got[s.Ident] = s.Flat
	}
	for ident, want := range map[string]bool{"Row": false, "Flat": true, "Deep": false, "Slice": false} {
		if got[ident] != want {
			t.Errorf("%s is flat: %v, want %v", ident, got[ident], want)
		}
	}
	if row := p.Rows[0]; !row.Struct.Fields[2].Omit || row.Struct.Fields[0].Omit {
		t.Error("a pointer may be left out of JSON, a value may not")
	}
}

// TestGuards: own types and types of other packages that can be written down.
func TestGuards(t *testing.T) {
	t.Parallel()
	p := planOf(t, `
-- a.go --
package sensors

import (
	"example.com/sensors/model"
	tws "github.com/tws-go/tws/runtime"
)

type Row struct {
	A model.Open
	B model.Blank
	C Pair[int64]
}

type Pair[T any] struct{ X T }

//tws:table
var Rows tws.StreamingTable[Row]
-- model/m.go --
package model

type Open struct{ X int64 `+"`json:\"x\"`"+` }

type Blank struct {
	X int64
	_ int64
}
`)
	var got []string
	for _, g := range append(p.Guards, p.Imported...) {
		got = append(got, types.TypeString(g.Go, (*types.Package).Name))
	}
	want := []string{"sensors.Row", "sensors.Pair[int64]", "model.Open"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestConstraintOfTypes: plain types may be there in more builds than the
// processors that use them.
//
// B-62
func TestConstraintOfTypes(t *testing.T) {
	t.Parallel()
	p := planOf(t, `
-- types.go --
package sensors

type Row struct{ X int64 }
-- table.go --
//go:build !never

package sensors

import tws "github.com/tws-go/tws/runtime"

//tws:table
var Rows tws.StreamingTable[Row]
`)
	if p.BuildConstraint != "!never" {
		t.Errorf("got %q", p.BuildConstraint)
	}
}
