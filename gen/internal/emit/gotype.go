package emit

import (
	"go/types"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/tws-go/tws/gen/internal/plan"
)

// typ returns the code of a type as the user would write it in the package.
// Aliases stay as they were written.
func (e *emitter) typ(t types.Type) *jen.Statement {
	switch t := t.(type) {
	case *types.Alias:
		return e.named(t.Obj(), t.TypeArgs())
	case *types.Named:
		return e.named(t.Obj(), t.TypeArgs())
	case *types.TypeParam:
		return jen.Id(t.Obj().Name())
	case *types.Pointer:
		return jen.Op("*").Add(e.typ(t.Elem()))
	case *types.Slice:
		return jen.Index().Add(e.typ(t.Elem()))
	case *types.Array:
		return jen.Index(jen.Lit(int(t.Len()))).Add(e.typ(t.Elem()))
	case *types.Map:
		return jen.Map(e.typ(t.Key())).Add(e.typ(t.Elem()))
	case *types.Chan:
		return e.chanType(t)
	case *types.Signature:
		return jen.Func().Add(e.signature(t))
	case *types.Struct:
		return e.structType(t)
	case *types.Interface:
		return e.interfaceType(t)
	case *types.Union:
		return e.union(t)
	}
	return e.basic(t)
}

// basic prints predeclared types and unsafe.Pointer.
func (e *emitter) basic(t types.Type) *jen.Statement {
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.UnsafePointer {
		return jen.Qual("unsafe", "Pointer")
	}
	return jen.Id(types.TypeString(t, nil))
}

func (e *emitter) named(obj *types.TypeName, args *types.TypeList) *jen.Statement {
	name := jen.Id(obj.Name())
	if obj.Pkg() != nil {
		name = jen.Qual(obj.Pkg().Path(), obj.Name())
	}
	if args.Len() == 0 {
		return name
	}
	var list []jen.Code
	for arg := range args.Types() {
		list = append(list, e.typ(arg))
	}
	return name.Types(list...)
}

func (e *emitter) chanType(t *types.Chan) *jen.Statement {
	elem := e.typ(t.Elem())
	switch t.Dir() {
	case types.SendOnly:
		return jen.Chan().Op("<-").Add(elem)
	case types.RecvOnly:
		return jen.Op("<-").Chan().Add(elem)
	}
	// chan (<-chan T) is not chan<- chan T.
	if inner, ok := t.Elem().(*types.Chan); ok && inner.Dir() == types.RecvOnly {
		elem = jen.Parens(elem)
	}
	return jen.Chan().Add(elem)
}

// signature prints parameters and results; parameter names are no part of the
// type.
func (e *emitter) signature(t *types.Signature) *jen.Statement {
	var params, results []jen.Code
	for i := range t.Params().Len() {
		typ := t.Params().At(i).Type()
		if t.Variadic() && i == t.Params().Len()-1 {
			params = append(params, jen.Op("...").Add(e.typ(typ.(*types.Slice).Elem())))
			continue
		}
		params = append(params, e.typ(typ))
	}
	for v := range t.Results().Variables() {
		results = append(results, e.typ(v.Type()))
	}
	code := jen.Params(params...)
	switch len(results) {
	case 0:
		return code
	case 1:
		return code.Add(results[0])
	}
	return code.Params(results...)
}

// structType prints a struct with its tags, which are part of its identity.
func (e *emitter) structType(t *types.Struct) *jen.Statement {
	var fields []jen.Code
	for i := range t.NumFields() {
		f := t.Field(i)
		code := e.typ(f.Type())
		if !f.Embedded() {
			code = jen.Id(f.Name()).Add(code)
		}
		if tag := t.Tag(i); tag != "" {
			code.Add(rawString(tag))
		}
		fields = append(fields, code)
		if f.Embedded() && i+1 < t.NumFields() && !t.Field(i+1).Embedded() {
			fields = append(fields, jen.Line())
		}
	}
	return jen.Struct(fields...)
}

func (e *emitter) interfaceType(t *types.Interface) *jen.Statement {
	var elems []jen.Code
	for embedded := range t.EmbeddedTypes() {
		elems = append(elems, e.typ(embedded))
	}
	for m := range t.ExplicitMethods() {
		elems = append(elems, jen.Id(m.Name()).Add(e.signature(m.Signature())))
	}
	return jen.Interface(elems...)
}

func (e *emitter) union(t *types.Union) *jen.Statement {
	code := jen.Null()
	for i := range t.Len() {
		if i > 0 {
			code.Op("|")
		}
		if t.Term(i).Tilde() {
			code.Op("~")
		}
		code.Add(e.typ(t.Term(i).Type()))
	}
	return code
}

// walkPackages calls yield for every package that types in the generated file
// may come from, possibly more than once.
func walkPackages(p *plan.Package, yield func(*types.Package)) {
	w := packageWalk{seen: map[types.Type]bool{}, yield: yield}
	for _, g := range slices.Concat(p.Guards, p.Imported) {
		w.fields(g.Struct)
		w.walk(g.Go)
	}
	for _, proc := range p.Processors {
		w.walk(proc.Key.Go, proc.In, proc.Out)
		for _, s := range proc.States {
			w.walk(s.Key.Go, s.Value.Go)
		}
	}
	for _, r := range p.Rows {
		w.walk(r.Struct.Go)
	}
	for _, s := range p.Structs {
		w.walk(s.Go)
		for _, f := range s.Fields {
			w.walk(f.Value.Go)
		}
	}
}

type packageWalk struct {
	seen  map[types.Type]bool
	yield func(*types.Package)
}

func (w *packageWalk) walk(list ...types.Type) {
	for _, t := range list {
		if t == nil || w.seen[t] {
			continue
		}
		w.seen[t] = true
		w.one(t)
	}
}

func (w *packageWalk) one(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		w.named(t.Obj(), t.TypeArgs())
	case *types.Named:
		w.named(t.Obj(), t.TypeArgs())
	case *types.Struct:
		w.fields(t)
	case *types.Map:
		w.walk(t.Key(), t.Elem())
	case *types.Signature:
		w.tuple(t.Params())
		w.tuple(t.Results())
	case *types.Interface:
		for embedded := range t.EmbeddedTypes() {
			w.walk(embedded)
		}
		for m := range t.ExplicitMethods() {
			w.walk(m.Signature())
		}
	case *types.Union:
		for i := range t.Len() {
			w.walk(t.Term(i).Type())
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.walk(t.Elem())
	case *types.Basic:
		if t.Kind() == types.UnsafePointer {
			w.yield(types.Unsafe)
		}
	}
}

func (w *packageWalk) named(obj *types.TypeName, args *types.TypeList) {
	if obj.Pkg() != nil {
		w.yield(obj.Pkg())
	}
	for arg := range args.Types() {
		w.walk(arg)
	}
}

func (w *packageWalk) fields(t *types.Struct) {
	for f := range t.Fields() {
		w.walk(f.Type())
	}
}

func (w *packageWalk) tuple(t *types.Tuple) {
	for v := range t.Variables() {
		w.walk(v.Type())
	}
}
