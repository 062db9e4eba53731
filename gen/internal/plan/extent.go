package plan

import (
	"go/token"
	"go/types"
	"slices"

	"github.com/tws-go/tws/gen/internal/diag"
)

// What a type may come to. A schema is data, a tree in which a struct stands
// with all its fields wherever it occurs: structs that hold the next one twice
// double it at each level. And an instance of a generic type may hold a larger
// instance of the same type, without end, which Go's type checker does not
// always refuse.
const (
	// maxFields is the number of fields of a struct, with those of nested structs
	// counted at every place where they occur.
	maxFields = 10_000
	// maxDepth is how many structs and lists may lie within each other.
	maxDepth = 100
	// maxSpelled is the number of types that one type is spelled with.
	maxSpelled = 1_000
	// maxEmbedded is how many structs one may embed, with those that they embed.
	maxEmbedded = 200
)

const flatten = "keep an id instead of the value, or flatten the tree into a list"

// extent is what a type comes to, at most one above each limit.
type extent struct{ fields, depth int }

func (e extent) over() bool { return e.fields > maxFields || e.depth > maxDepth }

// extent returns that of a value's type, nothing for a struct that is still being
// planned, and so contains itself.
func (pl *planner) extent(v Value) extent {
	var e extent
	for ; v.Elem != nil; v = *v.Elem {
		e.depth++
	}
	if v.Struct != nil {
		inner := pl.extents[v.Struct]
		e.fields, e.depth = inner.fields, min(e.depth+inner.depth, maxDepth+1)
	}
	return e
}

// measure notes the extent of a planned struct and reports one that is above a
// limit, unless a part of it has been.
func (pl *planner) measure(s *structPlan) {
	var all extent
	reported := false
	for _, f := range s.Fields {
		part := pl.extent(f.Value)
		reported = reported || part.over()
		all.fields = min(all.fields+1+part.fields, maxFields+1)
		all.depth = min(max(all.depth, 1+part.depth), maxDepth+1)
	}
	pl.extents[s.Struct] = all
	switch {
	case reported:
	case all.fields > maxFields:
		TooLarge(&pl.diags, pl.src.Position(s.pos), pl.typeString(s.Go))
	case all.depth > maxDepth && !pl.deep:
		pl.report(s.pos, diag.TooLarge, flatten, "type %s nests structs and lists more than %d deep", pl.typeString(s.Go), maxDepth)
	}
}

// TooLarge adds the diagnostic that a type has too many fields.
func TooLarge(to *diag.List, pos token.Position, name string) {
	to.Add(pos, diag.TooLarge, "keep an id instead of the nested value, or use a list in place of the repeated fields",
		"type %s has more than %d fields, those of nested structs counted wherever they occur", name, maxFields)
}

// tooNested reports types that need not come to an end, one of a kind. After one
// with type arguments no instance of a generic type is looked at: there may be
// any number of them.
func (pl *planner) tooNested(t types.Type, u use) bool {
	named := innermost(t)
	generic := named != nil && named.TypeArgs().Len() > 0
	deep, long := u.depth >= maxDepth && !scalar(t), !spellable(t)
	switch {
	case pl.endless && generic, pl.deep && deep:
		return true
	case !deep && !long:
		return false
	}
	switch again := pl.again(named); {
	case again != nil:
		generic = true
		pl.report(u.pos, diag.Recursive, flatten, "the type %s contains itself with ever longer type arguments (in %s)", again.Obj().Name(), u.root)
	case long:
		pl.report(u.pos, diag.TooLarge, "declare structs in place of nested type arguments",
			"%s has a type that is spelled with more than %d types", u.root, maxSpelled)
	default:
		pl.report(u.pos, diag.TooLarge, flatten, "%s nests structs and lists more than %d deep", u.root, maxDepth)
	}
	pl.endless = pl.endless || generic
	pl.deep = pl.deep || deep
	return true
}

// again returns the innermost instance of a generic type that is part of another
// instance of it: of the types being planned and the one about to be.
func (pl *planner) again(next *types.Named) *types.Named {
	path := pl.open
	if next != nil {
		path = append(slices.Clone(path), next)
	}
	for i := len(path) - 1; i > 0; i-- {
		same := func(o *types.Named) bool { return o.Origin() == path[i].Origin() }
		if path[i].TypeArgs().Len() > 0 && slices.ContainsFunc(path[:i], same) {
			return path[i]
		}
	}
	return nil
}

// scalar reports whether t, or what it points to, has no parts.
func scalar(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	_, ok := t.Underlying().(*types.Basic)
	return ok || wellKnown(t) != ""
}

// innermost returns the named type behind pointers and slices, nil for others.
func innermost(t types.Type) *types.Named {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return t
	case *types.Pointer:
		return innermost(t.Elem())
	case *types.Slice:
		return innermost(t.Elem())
	}
	return nil
}

// isOpen reports whether t is being planned.
func (pl *planner) isOpen(t *types.Named) bool {
	return slices.ContainsFunc(pl.open, func(o *types.Named) bool { return types.Identical(o, t) })
}

// spellable reports whether t is spelled with few enough types. Only then may it
// be printed: what is one type to the checker may be a text without end.
func spellable(t types.Type) bool {
	s := spelling{left: maxSpelled}
	s.spell(t)
	return s.left > 0
}

// spelling counts types down to zero.
type spelling struct{ left int }

func (s *spelling) spell(t types.Type) {
	if s.left--; s.left <= 0 {
		return
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			s.spell(arg)
		}
	case *types.Map:
		s.spell(t.Key())
		s.spell(t.Elem())
	case *types.Struct:
		s.variables(t.Fields())
	case *types.Signature:
		s.variables(t.Params().Variables())
		s.variables(t.Results().Variables())
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			s.spell(m.Signature())
		}
		for embedded := range t.EmbeddedTypes() {
			s.spell(embedded)
		}
	case *types.Union:
		for term := range t.Terms() {
			s.spell(term.Type())
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		s.spell(t.Elem())
	}
}

func (s *spelling) variables(all func(yield func(*types.Var) bool)) {
	for v := range all {
		s.spell(v.Type())
	}
}

// embedsEndlessly reports whether the structs that t embeds, and that those
// embed, come to no end: a search for methods would not either.
func embedsEndlessly(t types.Type) bool {
	queue := []types.Type{t}
	for i := 0; i < len(queue); i++ {
		if i > maxEmbedded || !spellable(queue[i]) {
			return true
		}
		t := queue[i]
		if p, ok := types.Unalias(t).(*types.Pointer); ok {
			t = p.Elem()
		}
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			continue
		}
		for f := range s.Fields() {
			if f.Embedded() && !slices.ContainsFunc(queue, func(o types.Type) bool { return types.Identical(o, f.Type()) }) {
				queue = append(queue, f.Type())
			}
		}
	}
	return false
}
