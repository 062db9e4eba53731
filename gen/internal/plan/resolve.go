package plan

import (
	"cmp"
	"go/types"
	"slices"

	"github.com/tws-go/tws/schemas"
)

// resolve fills in the wire types of structs, now that fields have ids, and
// lists the structs. Recursive types have been refused before; one that is left
// in a plan with diagnostics ends where it meets itself.
func (pl *planner) resolve() {
	open := make(map[*Struct]bool)
	for _, s := range pl.sortedStructs() {
		pl.resolveStruct(s.Struct, open)
		pl.out.Structs = append(pl.out.Structs, s.Struct)
	}
	for _, p := range pl.out.Processors {
		pl.resolveValue(&p.Key, open)
		p.Schema.Key = p.Key.Wire
		for _, s := range p.States {
			pl.resolveValue(&s.Key, open)
			pl.resolveValue(&s.Value, open)
			s.Schema.Value = s.Value.Wire
			if s.Schema.Kind == schemas.MapState {
				key := s.Key.Wire
				s.Schema.Key = &key
			}
			p.Schema.States = append(p.Schema.States, s.Schema)
		}
		for _, t := range p.Timers {
			p.Schema.Timers = append(p.Schema.Timers, t.Schema)
		}
		slices.SortFunc(p.Schema.States, func(a, b schemas.State) int { return cmp.Compare(a.ID, b.ID) })
		slices.SortFunc(p.Schema.Timers, func(a, b schemas.Timer) int { return cmp.Compare(a.ID, b.ID) })
	}
}

func (pl *planner) resolveStruct(s *Struct, open map[*Struct]bool) {
	if s.Wire.Kind != "" || open[s] {
		return
	}
	open[s] = true
	wire := schemas.Type{Kind: schemas.Struct, Name: pl.qualified(s.Go)}
	s.InOrder = slices.IsSortedFunc(s.Fields, func(a, b *Field) int { return cmp.Compare(a.ID, b.ID) })
	for _, f := range s.Fields {
		pl.resolveValue(&f.Value, open)
		if inner := f.Value.nested(); inner != nil {
			s.InOrder = s.InOrder && inner.InOrder
		}
		wire.Fields = append(wire.Fields, schemas.Field{ID: f.ID, Name: f.Wire, Type: f.Value.Wire})
	}
	slices.SortFunc(wire.Fields, func(a, b schemas.Field) int { return cmp.Compare(a.ID, b.ID) })
	s.Wire = wire
}

func (pl *planner) resolveValue(v *Value, open map[*Struct]bool) {
	if v.Struct != nil {
		pl.resolveStruct(v.Struct, open)
		optional := v.Wire.Optional
		v.Wire = v.Struct.Wire
		v.Wire.Optional = optional
	}
	if v.Elem != nil {
		pl.resolveValue(v.Elem, open)
		elem := v.Elem.Wire
		v.Wire.Elem = &elem
	}
}

// nested returns the struct in a value, through lists, nil if there is none.
func (v Value) nested() *Struct {
	for v.Elem != nil {
		v = *v.Elem
	}
	return v.Struct
}

// guards lists the struct types whose change must break the build.
func (pl *planner) guards() {
	for _, p := range pl.out.Processors {
		if obj := pl.src.Types.Scope().Lookup(p.GoName); obj != nil {
			if s, ok := obj.Type().Underlying().(*types.Struct); ok {
				pl.out.Guards = append(pl.out.Guards, &Guard{GoName: p.GoName, Struct: s, Go: obj.Type()})
			}
		}
	}
	for _, s := range pl.sortedStructs() {
		switch {
		case s.own && !s.generic:
			name := s.Go.(*types.Named).Obj().Name()
			pl.out.Guards = append(pl.out.Guards, &Guard{GoName: name, Struct: s.under, Go: s.Go})
		case s.own || pl.nameable(s.under):
			pl.out.Imported = append(pl.out.Imported, &Guard{Struct: s.under, Go: s.Go})
		}
	}
}

// nameable reports whether this package can write down the identical struct
// type.
func (pl *planner) nameable(s *types.Struct) bool {
	for f := range s.Fields() {
		if !f.Exported() || !pl.nameableType(f.Type()) {
			return false
		}
	}
	return true
}

func (pl *planner) nameableType(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return t.Kind() != types.Invalid
	case *types.Pointer:
		return pl.nameableType(t.Elem())
	case *types.Slice:
		return pl.nameableType(t.Elem())
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if !pl.nameableType(arg) {
				return false
			}
		}
		pkg := t.Obj().Pkg()
		return pkg == nil || pkg.Path() == pl.src.Path || t.Obj().Exported() && importable(pl.src.Path, pkg.Path())
	}
	return false // excluded fields only: not worth the rest
}
