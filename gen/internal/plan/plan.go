package plan

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/tws-go/tws/gen/internal/annot"
	"github.com/tws-go/tws/gen/internal/diag"
	"github.com/tws-go/tws/gen/internal/load"
	"github.com/tws-go/tws/schemas"
)

// RuntimePath is the import path of the package that annotated code uses. Its
// types are recognised by this path and their names, however they are imported.
const RuntimePath = "github.com/tws-go/tws/runtime"

// Result is what planning a package comes to.
type Result struct {
	// Package is nil if nothing in the package is annotated, and must not be
	// used if there are diagnostics.
	Package *Package
	// Lock is the lock with every id that the plan uses, nil if none is needed
	// any more. The lock given to New is not changed.
	Lock        *schemas.Lock
	Diagnostics diag.List
	// Warnings are diagnostics without a code: what may be meant as it is.
	Warnings diag.List
}

// New plans a package that parses. lock is the current lock, nil if there is
// none; lockPath is its file, for diagnostics.
func New(p *load.Package, lock *schemas.Lock, lockPath string) Result {
	pl := &planner{
		src:     p,
		structs: make(map[string]*structPlan),
		fields:  make(map[*types.Var]*ast.Field),
		files:   make(map[string]bool),

		typeFiles:  make(map[string]bool),
		strayLines: make(map[string]bool),
		broken:     make(map[string]bool),
		extents:    make(map[*Struct]extent),
		out: &Package{
			Name: p.Name, Path: p.Path, Dir: p.Dir, Types: p.Types,
		},
	}
	if pl.runtime = p.Import(RuntimePath); p.Path == RuntimePath {
		return Result{Lock: lock}
	}
	if pl.unresolvedRuntime(); len(pl.diags) > 0 {
		return Result{Lock: lock, Diagnostics: pl.diags}
	}
	pl.testFiles()
	directives := pl.directives()
	pl.indexFields()
	pl.processors()
	pl.wiring(directives)
	pl.unmarked()
	if !pl.annotated() {
		if len(p.Old) > 0 {
			lock = pl.withoutAnnotations(lock, lockPath)
		}
		return Result{Lock: lock, Diagnostics: pl.diags, Warnings: pl.warnings}
	}
	pl.collectRows()
	pl.nameStructs()
	next := pl.assignIDs(lock, lockPath)
	pl.resolve()
	pl.guards()
	pl.collisions()
	pl.constraint()
	pl.sort()
	return Result{Package: pl.out, Lock: next, Diagnostics: pl.diags, Warnings: pl.warnings}
}

// planner is the state of planning one package.
type planner struct {
	src     *load.Package
	runtime *types.Package // nil if the package does not reach it
	out     *Package
	diags   diag.List
	// warnings have no code.
	warnings diag.List

	structs map[string]*structPlan    // by type string with full paths
	fields  map[*types.Var]*ast.Field // of the package's own structs
	rows    []rowUse
	// open are the named types that are being planned, each part of the one
	// before; extents are of the structs that have been.
	open    []*types.Named
	extents map[*Struct]extent
	// endless is true once a type was reported that may come to no end, deep once
	// one that nests too deep was.
	endless, deep bool
	// files are the names of files with a processor or a directive, typeFiles of
	// those that declare a struct which needs codecs.
	files, typeFiles map[string]bool
	// strayLines are the lines where state outside a processor is reported.
	strayLines map[string]bool
	// broken are identifiers of targets that have been reported.
	broken map[string]bool
}

// report adds a diagnostic; it is an [annot.Report].
func (pl *planner) report(pos token.Pos, code diag.Code, fix, message string, args ...any) {
	pl.diags.Add(pl.src.Position(pos), code, fix, message, args...)
}

func (pl *planner) annotated() bool {
	return len(pl.out.Processors)+len(pl.out.Tables)+len(pl.out.Sinks)+len(pl.out.Flows) > 0 || len(pl.diags) > 0
}

// mark notes that the processor or directive at pos is in an annotated file.
func (pl *planner) mark(pos token.Pos) { pl.files[pl.src.Position(pos).Filename] = true }

// unresolvedRuntime reports imports of the runtime package that do not resolve:
// nothing in the package could be recognised.
func (pl *planner) unresolvedRuntime() {
	if pl.runtime != nil && len(pl.runtime.Scope().Names()) > 0 {
		return
	}
	for _, file := range pl.src.Files {
		for _, spec := range file.Imports {
			if strings.Trim(spec.Path.Value, "\"`") == RuntimePath {
				pl.report(spec.Pos(), diag.Undefined, "add the module: go get github.com/tws-go/tws@latest",
					"package %s cannot be resolved", RuntimePath)
			}
		}
	}
}

func (pl *planner) directives() []*annot.Directive {
	var all []*annot.Directive
	for _, file := range pl.src.Files {
		all = append(all, annot.Directives(file, pl.report)...)
	}
	return all
}

// indexFields maps the field objects of the package's structs to their syntax.
func (pl *planner) indexFields() {
	for _, file := range pl.src.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					pl.indexField(field)
				}
			}
			return true
		})
	}
}

func (pl *planner) indexField(field *ast.Field) {
	names := field.Names
	if len(names) == 0 {
		if name := embeddedName(field.Type); name != nil {
			names = []*ast.Ident{name}
		}
	}
	for _, name := range names {
		if v, ok := pl.src.Info.Defs[name].(*types.Var); ok {
			pl.fields[v] = field
		}
	}
}

// embeddedName returns the identifier that an embedded field is named after.
func embeddedName(expr ast.Expr) *ast.Ident {
	switch e := expr.(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.ParenExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.IndexListExpr:
		return embeddedName(e.X)
	}
	return nil
}

// runtimeType returns the name and type arguments of a type of the runtime
// package, "" for every other type.
func runtimeType(t types.Type) (name string, args *types.TypeList) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return "", nil
	}
	obj := named.Obj()
	if obj.Pkg() == nil || obj.Pkg().Path() != RuntimePath {
		return "", nil
	}
	return obj.Name(), named.TypeArgs()
}

// typeString prints a type as the package's own code would, more or less.
func (pl *planner) typeString(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		switch p.Path() {
		case pl.src.Path:
			return ""
		case RuntimePath:
			return "tws"
		}
		return p.Name()
	})
}

// qualified spells a type with full import paths, the package's own types bare:
// its name in the lock file. The spelling is ours and not that of go/types, which
// may change.
func (pl *planner) qualified(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return types.Typ[t.Kind()].Name() // byte is uint8
	case *types.Slice:
		return "[]" + pl.qualified(t.Elem())
	case *types.Pointer:
		return "*" + pl.qualified(t.Elem())
	case *types.Named:
		name := t.Obj().Name()
		if pkg := t.Obj().Pkg(); pkg != nil && pkg.Path() != pl.src.Path {
			name = pkg.Path() + "." + name
		}
		var args []string
		for arg := range t.TypeArgs().Types() {
			args = append(args, pl.qualified(arg))
		}
		if args != nil {
			name += "[" + strings.Join(args, ",") + "]"
		}
		return name
	}
	return types.TypeString(t, (*types.Package).Path) // no part of a schema
}

// invalid reports whether a type depends on one that does not exist.
func invalid(t types.Type) bool { return isInvalid(t, make(map[types.Type]bool)) }

func isInvalid(t types.Type, seen map[types.Type]bool) bool {
	t = types.Unalias(t)
	if t == nil || t == types.Typ[types.Invalid] {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if isInvalid(arg, seen) {
				return true
			}
		}
		return t.Underlying() == types.Typ[types.Invalid]
	case *types.Pointer:
		return isInvalid(t.Elem(), seen)
	case *types.Slice:
		return isInvalid(t.Elem(), seen)
	case *types.Array:
		return isInvalid(t.Elem(), seen)
	case *types.Chan:
		return isInvalid(t.Elem(), seen)
	case *types.Map:
		return isInvalid(t.Key(), seen) || isInvalid(t.Elem(), seen)
	case *types.Signature:
		return isInvalid(t.Params(), seen) || isInvalid(t.Results(), seen)
	case *types.Tuple:
		for v := range t.Variables() {
			if isInvalid(v.Type(), seen) {
				return true
			}
		}
	case *types.Struct:
		for v := range t.Fields() {
			if isInvalid(v.Type(), seen) {
				return true
			}
		}
	}
	return false
}

// undefined reports that the type at expr does not resolve, in the words of the
// type checker if it has complained there.
func (pl *planner) undefined(expr ast.Node, what string) {
	if path := pl.unresolvedPackage(expr); path != "" {
		pl.report(expr.Pos(), diag.Undefined, "add the module that has it: go get "+path, "%s: package %s cannot be resolved", what, path)
		return
	}
	for _, e := range pl.src.Errors {
		if expr.Pos() <= e.Pos && e.Pos < expr.End() {
			pl.report(e.Pos, diag.Undefined, "declare or import it; the generator needs the types of annotated declarations",
				"%s: %s", what, e.Msg)
			return
		}
	}
	pl.report(expr.Pos(), diag.Undefined, "declare or import it; the generator needs the types of annotated declarations",
		"%s: the type cannot be resolved", what)
}

// unresolvedPackage returns the path of a package that expr refers to and that
// could not be loaded, or "".
func (pl *planner) unresolvedPackage(expr ast.Node) (path string) {
	ast.Inspect(expr, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if name, ok := pl.src.Info.Uses[id].(*types.PkgName); ok && len(name.Imported().Scope().Names()) == 0 {
				path = name.Imported().Path()
			}
		}
		return path == ""
	})
	return path
}

// sort puts the plan into its documented order.
func (pl *planner) sort() {
	out := pl.out
	slices.SortStableFunc(out.Processors, func(a, b *Processor) int { return strings.Compare(a.Schema.Name, b.Schema.Name) })
	slices.SortStableFunc(out.Tables, func(a, b *Table) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(out.Sinks, func(a, b *Sink) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(out.Flows, func(a, b *Flow) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(out.Structs, func(a, b *Struct) int { return strings.Compare(a.Ident, b.Ident) })
	slices.SortStableFunc(out.Rows, func(a, b *Row) int { return strings.Compare(a.Struct.Ident, b.Struct.Ident) })
	slices.SortStableFunc(out.Guards, func(a, b *Guard) int { return strings.Compare(a.GoName, b.GoName) })
	slices.SortStableFunc(out.Imported, func(a, b *Guard) int {
		return strings.Compare(pl.qualified(a.Go), pl.qualified(b.Go))
	})
}
