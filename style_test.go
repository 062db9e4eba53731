package tws_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a reader can hold in mind. Generated files and the generator's test cases
// are as long as they must be.
const (
	maxLines     = 600
	maxTestLines = 1000
	maxFuncLines = 80 // of a body, outside of tests
)

// readsClock lists the files that may read the machine's clock, with the reason.
var readsClock = map[string]string{
	"runtime/epoch/clock.go": "it is the clock that everything else is given",
	"runtime/table/store.go": "the default for times in a table's log, which nothing depends on",
}

// holdsContext lists the files with a context in a struct, with the reason.
var holdsContext = map[string]string{
	"runtime/transform.go": "lent to a callback for the length of a call, which reaches it through its own context type",
}

// sleeps lists the files that may wait for real time to pass, with the reason.
var sleeps = map[string]string{}

// TestLength: files and functions stay within what can be read at once.
func TestLength(t *testing.T) {
	t.Parallel()
	for _, f := range handWritten(t) {
		limit := maxLines
		if f.test {
			limit = maxTestLines
		}
		if f.lines > limit {
			broken(t, "files are short", "a file is one noun; a longer one holds several", "%s has %d lines, at most %d are allowed: split it", f.name, f.lines, limit)
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || f.test {
				continue
			}
			if n := fileSet.Position(fn.Body.Rbrace).Line - fileSet.Position(fn.Body.Lbrace).Line - 1; n > maxFuncLines {
				broken(t, "functions are short", "a function that does not fit on a screen cannot be checked at a glance",
					"%s: %s has %d lines, at most %d are allowed", place(fn.Pos()), fn.Name.Name, n, maxFuncLines)
			}
		}
	}
}

// TestPackageDoc: every package says what it is for.
func TestPackageDoc(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.test || strings.HasPrefix(f.name, "golden/gen/") {
			continue
		}
		documented[f.folder()] = documented[f.folder()] || f.syntax.Doc.Text() != ""
	}
	for folder, ok := range documented {
		if !ok {
			broken(t, "every package has a package comment", "it is where a reader starts: model, layout, invariants", "package %s has none", folder)
		}
	}
}

// TestExportedDoc: every exported identifier says what it promises.
func TestExportedDoc(t *testing.T) {
	t.Parallel()
	const rule, reason = "every exported identifier is documented", "the comment is the contract: units, errors, concurrency; without it the code at hand becomes the contract"
	for _, f := range handWritten(t) {
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			for _, name := range undocumented(d) {
				broken(t, rule, reason, "%s: %s", place(name.Pos()), name.Name)
			}
		}
	}
}

func undocumented(d ast.Decl) []*ast.Ident {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && !(d.Recv != nil && (wellKnown[d.Name.Name] || !exportedReceiver(d))) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		var names []*ast.Ident
		for _, s := range d.Specs {
			names = append(names, undocumentedSpec(d, s)...)
		}
		return names
	}
	return nil
}

// undocumentedSpec finds undocumented names; a comment on the group is enough for
// constants and variables, and for types that come together.
func undocumentedSpec(d *ast.GenDecl, s ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	var comment, doc *ast.CommentGroup
	switch s := s.(type) {
	case *ast.TypeSpec:
		names, doc, comment = []*ast.Ident{s.Name}, s.Doc, s.Comment
	case *ast.ValueSpec:
		names, doc, comment = s.Names, s.Doc, s.Comment
	}
	if d.Doc != nil || doc != nil || comment != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(n *ast.Ident) bool { return !n.IsExported() })
}

// wellKnown are methods that a standard interface documents.
var wellKnown = map[string]bool{
	"Error": true, "Unwrap": true, "String": true, "Is": true, "Len": true, "Less": true, "Swap": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true,
}

// exportedReceiver reports whether a method's receiver is an exported type.
func exportedReceiver(fn *ast.FuncDecl) bool {
	t := fn.Recv.List[0].Type
	for {
		switch at := t.(type) {
		case *ast.StarExpr:
			t = at.X
		case *ast.IndexExpr:
			t = at.X
		case *ast.IndexListExpr:
			t = at.X
		case *ast.Ident:
			return at.IsExported()
		default:
			return true
		}
	}
}

// TestNoInit: nothing happens because a package is imported.
func TestNoInit(t *testing.T) {
	t.Parallel()
	for _, f := range handWritten(t) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				broken(t, "no init functions", "what runs on import cannot be ordered, configured or left out; an explicit call can", "%s", place(fn.Pos()))
			}
		}
	}
}

// TestClock: time comes from the pipeline's clock.
func TestClock(t *testing.T) {
	t.Parallel()
	const reason = "an epoch that is retried must see the same time, and a test must be able to move it; add the file to readsClock only if no result depends on the time"
	checkCalls(t, "no time.Now outside the clock", reason, readsClock, false, "time.Now", "time.Since", "time.Until")
}

// TestNoSleep: nobody waits for an amount of time to pass.
func TestNoSleep(t *testing.T) {
	t.Parallel()
	const reason = "a test that sleeps is slow on every machine and wrong on a slow one: wait for what is to happen, or move the clock"
	checkCalls(t, "no time.Sleep", reason, sleeps, true, "time.Sleep")
}

// checkCalls finds uses of functions outside of the files that may, and files
// that may and do not.
func checkCalls(t *testing.T, rule, reason string, except map[string]string, tests bool, functions ...string) {
	t.Helper()
	met := map[string]bool{}
	for _, f := range handWritten(t) {
		if f.test && !tests {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || !slices.Contains(functions, pkg.Name+"."+sel.Sel.Name) {
				return true
			}
			met[f.name] = true
			if except[f.name] == "" {
				broken(t, rule, reason, "%s: %s.%s", place(n.Pos()), pkg.Name, sel.Sel.Name)
			}
			return true
		})
	}
	for name := range except {
		if !met[name] {
			t.Errorf("rule %q: %s no longer needs its exception: delete it", rule, name)
		}
	}
}

// TestContextInStruct: a context is an argument.
func TestContextInStruct(t *testing.T) {
	t.Parallel()
	const rule, reason = "no context in a struct", "a stored context outlives the call it belongs to, and nobody sees which one cancels what"
	met := map[string]bool{}
	for _, f := range handWritten(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				sel, ok := field.Type.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Context" {
					continue
				}
				if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "context" {
					continue
				}
				met[f.name] = true
				if holdsContext[f.name] == "" {
					broken(t, rule, reason, "%s", place(field.Pos()))
				}
			}
			return true
		})
	}
	for name := range holdsContext {
		if !met[name] {
			t.Errorf("rule %q: %s no longer needs its exception: delete it", rule, name)
		}
	}
}

// TestNoBareTODO: what is left to do is in an issue.
func TestNoBareTODO(t *testing.T) {
	t.Parallel()
	bare := regexp.MustCompile(`\b(TODO|FIXME|HACK)\b(?:\(#\d+\))?`)
	for _, f := range handWritten(t) {
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				if m := bare.FindString(c.Text); m != "" && !strings.Contains(m, "(#") && f.name != "style_test.go" {
					broken(t, "a TODO names its issue", "a note without an issue is forgotten: write TODO(#12), or do it", "%s: %s", place(c.Pos()), m)
				}
			}
		}
	}
}

// TestGeneratedMarker: files with the generator's suffix have its header, which
// tools and reviewers go by, and a blank line after it, so that it is not taken
// for the package comment.
func TestGeneratedMarker(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, f := range goFiles(t) {
		if !strings.HasSuffix(f.name, "_tws.go") {
			continue
		}
		seen++
		first, _, _ := strings.Cut(string(f.source), "package ")
		if !f.generated || !strings.HasPrefix(first, "// Code generated by tws-gen") || f.syntax.Doc != nil && fileSet.Position(f.syntax.Doc.Pos()).Line == 1 {
			broken(t, "generated files are marked", "tools skip files by this line, and people must know not to edit them", "%s begins with %.80q", f.name, first)
		}
	}
	if seen == 0 {
		t.Error("there is no generated file: the test looks in the wrong place")
	}
}
