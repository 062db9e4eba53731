package annot

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/tws-go/tws/gen/internal/diag"
)

// reports collects what is reported, as "offset code message".
type reports []string

func (r *reports) report(pos token.Pos, code diag.Code, fix, message string, args ...any) {
	*r = append(*r, fmt.Sprintf("%d %s %s", pos, code, fmt.Sprintf(message, args...)))
	if fix == "" {
		*r = append(*r, "no fix")
	}
}

func tagText(tag *Tag) string {
	if tag == nil {
		return "none"
	}
	text := fmt.Sprintf("%s@%d", tag.Name, tag.NamePos)
	for _, o := range tag.Options {
		text += fmt.Sprintf(" %s@%d:%d", o, o.Pos, o.ValuePos)
	}
	return text
}

func TestParseTag(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, lit, want, reported string }{
		{"raw", "`tws:\"a,ttl=1h\"`", "a@7 ttl=1h@9:13", ""},
		{"behind another", "`json:\"x\" tws:\"a\"`", "a@16", ""},
		{"interpreted", `"tws:\"a,ttl=1h\""`, `a@8 ttl=1h@10:14`, ""},
		{"escapes", `"tws:\"\u0061\\u0062,k=\\\"v\\\"\""`, `ab@8 k="v"@22:24`, ""},
		{"default name", "`tws:\",ttl=1h\"`", "@7 ttl=1h@8:12", ""},
		{"flag", "`tws:\"a,once\"`", "a@7 once@9:13", ""},
		{"no tws key", "`json:\"a\"`", "none", ""},
		{"empty tag", "``", "none", ""},
		{"spaces between pairs", "`json:\"a\"   tws:\"b\"`", "b@18", ""},
		{"no quotes", "`tws:a`", "none", "2 TWS010 malformed struct tag `tws:a`"},
		{"space behind colon", "`tws: \"a\"`", "none", "2 TWS010 malformed struct tag `tws: \"a\"`"},
		{"comma between pairs", "`json:\"a\",tws:\"b\"`", "none", "2 TWS010 malformed struct tag `json:\"a\",tws:\"b\"`"},
		{"open quote", "`tws:\"a`", "none", "2 TWS010 malformed struct tag `tws:\"a`"},
		{"curly quotes", "`tws:“a”`", "none", "2 TWS010 malformed struct tag `tws:“a”`"},
		{"twice", "`tws:\"a\" tws:\"b\"`", "a@7", "10 TWS015 the tag has the key tws twice"},
		{"case", "`Tws:\"a\"`", "none", "2 TWS010 tag key Tws is not the generator's: case matters"},
		{"option first", "`tws:\"ttl=1h\"`", "@7", "7 TWS010 option ttl=1h stands where the name belongs"},
		{"spaces", "`tws:\"a, ttl=1h\"`", "a@7 ttl=1h@10:14", "9 TWS010 spaces around \"ttl=1h\" in the tws tag"},
		{"surplus comma", "`tws:\"a,\"`", "a@7", "9 TWS010 empty option in the tws tag"},
		{"repeated", "`tws:\"a,x=1,x=2\"`", "a@7 x=1@9:11", "13 TWS015 option x is given twice"},
		{"equals in value", "`tws:\"a,x=1=2\"`", "a@7 x=1=2@9:11", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var r reports
			tag := ParseTag(&ast.BasicLit{ValuePos: 1, Kind: token.STRING, Value: test.lit}, r.report)
			if got := tagText(tag); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := strings.Join(r, "; "); got != test.reported {
				t.Errorf("reported %q, want %q", got, test.reported)
			}
		})
	}
	if ParseTag(nil, nil) != nil {
		t.Error("a field without a tag has one")
	}
}

// FuzzParseTag compares with the standard library wherever that accepts a tag.
func FuzzParseTag(f *testing.F) {
	for _, seed := range []string{
		`tws:"a,ttl=1h"`, `json:"x" tws:"b"`, `tws: "a"`, `tws:"\u0061"`, `tws:"a`, `:"x"`, ` tws:"a" `, `tws:"é,x==,,"`, "tws:\"\x00\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		lit := strconv.Quote(tag)
		var r reports
		got := ParseTag(&ast.BasicLit{ValuePos: 1, Kind: token.STRING, Value: lit}, r.report)
		value, ok := reflect.StructTag(tag).Lookup("tws")
		switch {
		case got == nil && ok && len(r) == 0:
			t.Fatalf("a tws key with the value %q was missed", value)
		case got != nil && !ok:
			t.Fatalf("found a tws key where reflect finds none")
		case got != nil:
			name, _, _ := strings.Cut(value, ",")
			if got.Name != strings.Trim(name, " \t") && len(r) == 0 {
				t.Fatalf("name %q, want %q", got.Name, name)
			}
			checkPositions(t, got.Options, len(lit)+1)
		}
	})
}

func checkPositions(t *testing.T, options []Option, end int) {
	t.Helper()
	last := token.NoPos
	for _, o := range options {
		if o.Pos <= last || o.ValuePos < o.Pos || int(o.ValuePos) > end {
			t.Fatalf("option %v stands at %d, its value at %d, behind %d and before %d", o, o.Pos, o.ValuePos, last, end)
		}
		last = o.Pos
	}
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]JSON{
		``:                              {},
		`json:"a"`:                      {Name: "a"},
		`json:"a,omitempty"`:            {Name: "a", Omit: true},
		`json:",omitzero"`:              {Omit: true},
		`json:"-"`:                      {Excluded: true},
		`json:"-,"`:                     {Name: "-"},
		`json:"a,string" tws:"b"`:       {Name: "a", Quoted: true},
		`xml:"x" json:"a,x,omitempty,"`: {Name: "a", Omit: true},
	} {
		if got := ParseJSON(tag); got != want {
			t.Errorf("%s: got %+v, want %+v", tag, got, want)
		}
	}
}

func directivesOf(t testing.TB, src string) ([]*Directive, reports) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil {
		t.Fatal(err)
	}
	var r reports
	return Directives(file, r.report), r
}

func TestDirectives(t *testing.T) {
	t.Parallel()
	found, r := directivesOf(t, `package x

// A is a table.
// It has two lines.
//
//tws:table name=a
var A int

//tws:flow target=A name="b c" once	x=
func B() {}

var (
	// C is one of several.
	//
	//tws:sink
	C = 1
)

// tws is mentioned in prose, and so is tws:flow in the middle.
// twist:table
var D int
`)
	if len(r) > 0 {
		t.Errorf("reported %q", r)
	}
	var got []string
	for _, d := range found {
		text := d.Word
		for _, o := range d.Args {
			text += fmt.Sprintf(" %q=%q", o.Key, o.Value)
		}
		if d.Func != nil {
			text += " on " + d.Func.Name.Name
		} else {
			text += " on " + d.Var.Names[0].Name
		}
		got = append(got, fmt.Sprintf("%s (%s)", text, d.Doc))
	}
	want := []string{
		`table "name"="a" on A (A is a table.` + "\nIt has two lines.)",
		`flow "target"="A" "name"="b c" "once"="" "x"="" on B ()`,
		`sink on C (C is one of several.)`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if _, ok := found[0].Arg("nome"); ok {
		t.Error("found an argument that is not there")
	}
}

func TestDirectivesWithCRLF(t *testing.T) {
	t.Parallel()
	found, r := directivesOf(t, "package x\r\n\r\n//tws:table name=a\r\nvar A int\r\n\r\n//tws:flow target=A\r\nfunc B() {}\r\n")
	if len(r) > 0 || len(found) != 2 {
		t.Fatalf("found %d, reported %q", len(found), r)
	}
	if o, _ := found[0].Arg("name"); o.Value != "a" {
		t.Errorf("name is %q", o.Value)
	}
}

// FuzzDirectives: whatever stands in a comment, positions lie within it, and
// what is found is on a declaration.
func FuzzDirectives(f *testing.F) {
	for _, seed := range []string{
		"//tws:table name=a", "//tws:flow target=A name=\"b c\" once", "// tws:table", "//tws:", "//tws:table \"", "//tws:sink =", "//tws:table\tname=\"\\\"\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, comment string) {
		if strings.ContainsAny(comment, "\n\r") || !strings.HasPrefix(comment, "//") {
			return
		}
		src := "package x\n\n" + comment + "\nvar A int\n"
		found, _ := directivesOf(t, src)
		for _, d := range found {
			if d.Var == nil || d.Var.Names[0].Name != "A" {
				t.Fatalf("directive %s is on nothing", d.Word)
			}
			checkPositions(t, d.Args, len(src)+1)
		}
	})
}
