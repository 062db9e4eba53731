package plan

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tws-go/tws/gen/internal/diag"
)

// The operating systems and architectures that a file name can end in.
var (
	systems = strings.Fields(`aix android darwin dragonfly freebsd hurd illumos ios js linux nacl
		netbsd openbsd plan9 solaris wasip1 windows zos`)
	architectures = strings.Fields(`386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle
		mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc
		sparc64 wasm`)
)

// constraint finds the build constraint that all annotated files share. Types
// that need codecs may also be declared in files without one.
func (pl *planner) constraint() {
	var first *ast.File
	for _, file := range pl.src.Files {
		name := pl.src.Position(file.Package).Filename
		if pl.files[name] && first == nil {
			first, pl.out.BuildConstraint = file, fileConstraint(file, name)
		}
	}
	for _, file := range pl.src.Files {
		name := pl.src.Position(file.Package).Filename
		if !pl.files[name] && !pl.typeFiles[name] {
			continue
		}
		expr := fileConstraint(file, name)
		if expr != pl.out.BuildConstraint && (expr != "" || pl.files[name]) {
			pl.report(file.Package, diag.Constraint, "give all annotated files of the package the same //go:build line, or move some to another package",
				"this file is built with %s, and %s, annotated too, with %s",
				constraintText(expr), filepath.Base(pl.src.Position(first.Package).Filename), constraintText(pl.out.BuildConstraint))
		}
	}
}

func constraintText(expr string) string {
	if expr == "" {
		return "no constraint"
	}
	return strconv.Quote(expr)
}

// fileConstraint returns what a file's //go:build line, name and use of cgo
// demand, as one expression.
func fileConstraint(file *ast.File, name string) string {
	var parts []constraint.Expr
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				if x, err := constraint.Parse(strings.TrimSpace(c.Text)); err == nil {
					parts = append(parts, x)
				}
			}
		}
	}
	for _, tag := range nameTags(name) {
		parts = append(parts, &constraint.TagExpr{Tag: tag})
	}
	for _, spec := range file.Imports {
		if spec.Path.Value == `"C"` {
			parts = append(parts, &constraint.TagExpr{Tag: "cgo"})
			break
		}
	}
	if len(parts) == 0 {
		return ""
	}
	all := parts[0]
	for _, x := range parts[1:] {
		all = &constraint.AndExpr{X: all, Y: x}
	}
	return all.String()
}

// nameTags returns the tags that a file name such as x_linux_amd64.go implies.
func nameTags(name string) []string {
	parts := strings.Split(strings.TrimSuffix(filepath.Base(name), ".go"), "_")[1:]
	n := len(parts)
	switch {
	case n >= 2 && slices.Contains(systems, parts[n-2]) && slices.Contains(architectures, parts[n-1]):
		return parts[n-2:]
	case n >= 1 && (slices.Contains(systems, parts[n-1]) || slices.Contains(architectures, parts[n-1])):
		return parts[n-1:]
	}
	return nil
}

// testFiles reports processors and directives in test files, which cannot have
// generated code.
func (pl *planner) testFiles() {
	names, err := filepath.Glob(filepath.Join(GlobEscape(pl.src.Dir), "*_test.go"))
	if err != nil {
		return
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(src), RuntimePath) {
			continue
		}
		file, err := parser.ParseFile(pl.src.Fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil {
			pl.testFile(file)
		}
	}
}

// GlobEscape makes the name of a directory a pattern that matches only itself.
func GlobEscape(dir string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`, `\`, `\\`).Replace(dir)
}

func (pl *planner) testFile(file *ast.File) {
	const fix = "move it to a file whose name does not end in _test.go"
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//tws:") {
				pl.report(c.Pos(), diag.TestFile, fix, "directive in a test file has no effect")
			}
		}
	}
	bound := boundTypes(file)
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, spec := range d.Specs {
			t := spec.(*ast.TypeSpec)
			s, ok := t.Type.(*ast.StructType)
			if ok && !bound[t.Name.Name] && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return syntacticMarker(f, file) }) {
				pl.report(t.Pos(), diag.TestFile, fix, "processor %s is declared in a test file", t.Name.Name)
			}
		}
	}
}

// boundTypes returns the types that have a hand-written binding.
func boundTypes(file *ast.File) map[string]bool {
	bound := make(map[string]bool)
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Recv != nil && len(f.Recv.List) == 1 && f.Name.Name == "BindTWS" {
			if name := embeddedName(f.Recv.List[0].Type); name != nil {
				bound[name.Name] = true
			}
		}
	}
	return bound
}

// syntacticMarker reports whether a field is an embedded tws.Processor, by the
// file's imports: test files are not type-checked.
func syntacticMarker(field *ast.Field, file *ast.File) bool {
	list, ok := field.Type.(*ast.IndexListExpr)
	if !ok || len(field.Names) > 0 {
		return false
	}
	sel, ok := list.X.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != processorType {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return false
	}
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err != nil || path != RuntimePath {
			continue
		}
		return spec.Name == nil && x.Name == "tws" || spec.Name != nil && x.Name == spec.Name.Name
	}
	return false
}
