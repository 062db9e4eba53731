package emit

import (
	"cmp"
	"go/types"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
)

// guardName is the name that the compiler prints when a guard fails.
const guardName = "run_go_generate"

// guards writes a function for each type, which compiles only as long as the
// type is what it was when the file was generated.
//
// What the type was has a name in the function, an alias for a struct, so that
// the compiler prints the name and not a struct of any length.
func (e *emitter) guards() {
	for _, s := range slices.Concat(e.pkg.Guards, e.pkg.Imported) {
		e.structGuard(s)
	}
	for _, t := range e.definedTypes() {
		e.definedGuard(t)
	}
}

// structGuard guards a struct: a value of a struct type with a name is
// assignable to the type written out in full only if fields, types and tags are
// the same.
func (e *emitter) structGuard(s *plan.Guard) {
	was := e.names.local(guardName)
	e.decl(e.guardDoc(s.Go), jen.Func().Id("_").Params().Block(
		jen.Type().Id(was).Op("=").Add(e.structType(s.Struct)),
		jen.Var().Id("_").Id(was).Op("=").Add(e.typ(s.Go)).Values(),
	))
}

// definedGuard guards a type that is defined over a basic type: a pointer to one
// can be converted to a pointer to another only if both are defined over the
// same. The codecs convert values, which would cut off what a narrower type
// cannot hold.
func (e *emitter) definedGuard(t *types.Named) {
	was := e.names.local(guardName)
	e.decl(e.guardDoc(t), jen.Func().Id("_").Params().Block(
		jen.Type().Id(was).Id(t.Underlying().String()),
		jen.Id("_").Op("=").Parens(jen.Op("*").Id(was)).Call(
			jen.Parens(jen.Op("*").Add(e.typ(t))).Call(jen.Nil())),
	))
}

func (e *emitter) guardDoc(t types.Type) []string {
	name := types.TypeString(t, func(p *types.Package) string {
		if p.Path() == e.pkg.Path {
			return ""
		}
		return p.Name()
	})
	return append(doc("If this does not compile, "+name+" has changed since tws-gen ran."), "// Run: go generate ./...")
}

// definedTypes returns the types defined over basic ones that the codecs deal
// with, in order of what they are defined over and of their names.
func (e *emitter) definedTypes() []*types.Named {
	found := map[*types.Named]bool{}
	add := func(v plan.Value) {
		for v.Elem != nil {
			v = *v.Elem
		}
		if v.Go == nil {
			return
		}
		if v.Wire.Optional {
			v = deref(v)
		}
		named, ok := types.Unalias(v.Go).(*types.Named)
		if _, basic := v.Go.Underlying().(*types.Basic); ok && basic && named.Obj().Pkg().Path() != "time" {
			found[named] = true
		}
	}
	for _, proc := range e.pkg.Processors {
		add(proc.Key)
		for _, s := range proc.States {
			add(s.Key)
			add(s.Value)
		}
	}
	for _, s := range e.need.structs() {
		for _, f := range s.Fields {
			add(f.Value)
		}
	}
	var list []*types.Named
	for t := range found {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *types.Named) int {
		return cmp.Or(cmp.Compare(a.Underlying().String(), b.Underlying().String()), cmp.Compare(a.String(), b.String()))
	})
	return list
}
