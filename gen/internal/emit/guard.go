package emit

import (
	"cmp"
	"go/types"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
)

// guardFunc names the function whose name the compiler prints when a guard
// fails.
const guardFunc = "run_go_generate"

// guards writes functions that compile only as long as the types are what they
// were when the file was generated.
func (e *emitter) guards() {
	structs := slices.Concat(e.pkg.Guards, e.pkg.Imported)
	defined := e.definedTypes()
	if len(structs) > 0 {
		e.structGuards(structs)
	}
	if len(defined) > 0 {
		e.definedGuards(defined)
	}
	if len(structs)+len(defined) > 0 {
		guard := e.names.choose(guardFunc)
		e.decl(doc(guard+" takes a value of a type as it was when tws-gen ran."),
			jen.Func().Id(guard).Types(jen.Id("T").Id("any")).Params(jen.Id("T")).Block())
	}
}

// structGuards guards structs: a value of a struct type with a name is
// assignable to the type written out in full only if fields, types and tags are
// the same.
//
// The types are type arguments, not parameters of function literals, so that go
// vet does not take a struct with a lock in it for one passed by value.
func (e *emitter) structGuards(structs []*plan.Guard) {
	guard := e.names.choose(guardFunc)
	e.decl(
		doc("A processor, state or row type that changed since tws-gen ran does not compile here. The fix is to run: go generate ./..."),
		jen.Func().Id("_").Params().BlockFunc(func(g *jen.Group) {
			for _, s := range structs {
				g.Id(guard).Types(e.structType(s.Struct)).Call(e.typ(s.Go).Values())
			}
		}))
}

// definedGuards guards types that are defined over a basic type: a pointer to
// one can be converted to a pointer to another only if both are defined over the
// same. The codecs convert values, which would cut off what a narrower type
// cannot hold.
func (e *emitter) definedGuards(defined []*types.Named) {
	local := func(t *types.Named) string {
		return e.names.local(guardFunc + "_" + t.Underlying().String())
	}
	guard := e.names.choose(guardFunc)
	e.decl(
		doc("Nor does a type that is defined over another basic type than then."),
		jen.Func().Id("_").Params().BlockFunc(func(g *jen.Group) {
			declared := map[string]bool{}
			for _, t := range defined {
				was := local(t)
				if !declared[was] {
					g.Type().Id(was).Id(t.Underlying().String())
					declared[was] = true
				}
				pointer := jen.Parens(jen.Op("*").Add(e.typ(t))).Call(jen.Nil())
				g.Id(guard).Call(jen.Parens(jen.Op("*").Id(was)).Call(pointer))
			}
		}))
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
