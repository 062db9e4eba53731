package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"
)

// guardFunc names the function whose name the compiler prints when a guard
// fails.
const guardFunc = "run_go_generate"

// guards writes a function that compiles only as long as the structs are what
// they were: a struct value is assignable to a struct type written out in full
// only if fields, types and tags are the same.
//
// The types are type arguments, not parameters of function literals, so that go
// vet does not take a struct with a lock in it for one passed by value.
func (e *emitter) guards() {
	all := slices.Concat(e.pkg.Guards, e.pkg.Imported)
	if len(all) == 0 {
		return
	}
	guard := e.names.choose(guardFunc)
	e.decl(
		doc("A processor, state or row type that changed since tws-gen ran does not compile here. The fix is to run: go generate ./..."),
		jen.Func().Id("_").Params().BlockFunc(func(g *jen.Group) {
			for _, s := range all {
				g.Id(guard).Types(e.structType(s.Struct)).Call(e.typ(s.Go).Values())
			}
		}))
	e.decl(doc(guard+" takes a struct as it was when tws-gen ran."),
		jen.Func().Id(guard).Types(jen.Id("T").Id("any")).Params(jen.Id("T")).Block())
}
