package plan

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/tws-go/tws/gen/internal/diag"
	"github.com/tws-go/tws/schemas"
)

// use is where and why a type is planned.
type use struct {
	pos token.Pos
	// root says what needs the type: "state Heartbeat.Sensor".
	root string
	// path leads from there to the value: "" for the value itself, "[]" for its
	// elements, "Reading.Tags[]" within a struct.
	path string
	// depth is the number of structs and lists around the value.
	depth int
}

func (u use) elem() use {
	u.path += "[]"
	u.depth++
	return u
}

// String says where a value is, as the subject of a sentence.
func (u use) String() string {
	switch {
	case u.path == "":
		return u.root
	case strings.HasPrefix(u.path, "[]"):
		return "an element of " + u.root
	}
	return "field " + u.path + " (in " + u.root + ")"
}

var basicKinds = map[types.BasicKind]schemas.Kind{
	types.Bool:    schemas.Bool,
	types.Int:     schemas.Int64,
	types.Int8:    schemas.Int8,
	types.Int16:   schemas.Int16,
	types.Int32:   schemas.Int32,
	types.Int64:   schemas.Int64,
	types.Uint:    schemas.Uint64,
	types.Uint8:   schemas.Uint8,
	types.Uint16:  schemas.Uint16,
	types.Uint32:  schemas.Uint32,
	types.Uint64:  schemas.Uint64,
	types.Float32: schemas.Float32,
	types.Float64: schemas.Float64,
	types.String:  schemas.String,
}

// value plans a type. The Wire of structs is filled in by resolve.
func (pl *planner) value(t types.Type, u use) Value {
	v := Value{Go: t}
	if kind := wellKnown(t); kind != "" {
		v.Wire.Kind, v.Flat = kind, true
		return v
	}
	if pl.tooNested(t, u) || pl.refused(t, u) {
		return v
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		pl.open = append(pl.open, named)
		defer func() { pl.open = pl.open[:len(pl.open)-1] }()
	}
	switch under := t.Underlying().(type) {
	case *types.Basic:
		v.Wire.Kind, v.Flat = basicKinds[under.Kind()], true
		if v.Wire.Kind == "" {
			pl.unsupported(t, u, "use a sized integer, float, bool or string")
		}
	case *types.Slice:
		pl.slice(&v, under, u)
	case *types.Pointer:
		pl.optional(&v, under, u)
	case *types.Struct:
		v.Wire.Kind = schemas.Struct
		v.Struct = pl.structure(t, under, u)
		v.Flat = v.Struct.Flat
	default:
		pl.unsupported(t, u, replacement(under))
	}
	return v
}

// wellKnown returns the kind of the two types of package time that have one.
func wellKnown(t types.Type) schemas.Kind {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != "time" {
		return ""
	}
	switch named.Obj().Name() {
	case "Time":
		return schemas.Timestamp
	case "Duration":
		return schemas.Duration
	}
	return ""
}

// replacement says what to use instead of an unsupported type.
func replacement(t types.Type) string {
	switch t.(type) {
	case *types.Map:
		return "use a tws.MapState, or a slice of structs with a key and a value"
	case *types.Array:
		return "use a slice"
	case *types.Interface:
		return "use a concrete type"
	}
	return "remove it, or exclude the field with the tag `tws:\"-\"`"
}

func (pl *planner) unsupported(t types.Type, u use, fix string) {
	pl.report(u.pos, diag.Unsupported, fix, "%s has the type %s, which is not supported", u, pl.typeString(t))
}

// refused reports types that are supported by their form, but not as they are.
func (pl *planner) refused(t types.Type, u use) bool {
	plain := types.Unalias(t)
	switch plain := plain.(type) {
	case *types.TypeParam:
		pl.report(u.pos, diag.Unsupported, "use a concrete type", "%s has the type parameter %s, which has no schema", u, plain)
		return true
	case *types.Struct:
		pl.report(u.pos, diag.Unsupported, "declare it as a type with a name", "%s is an anonymous struct, which is not supported", u)
		return true
	case *types.Named:
		return pl.refusedNamed(plain, u)
	}
	if invalid(plain) {
		pl.undefinedAt(u)
		return true
	}
	return false
}

func (pl *planner) undefinedAt(u use) {
	for _, e := range pl.src.Errors {
		a, b := pl.src.Position(e.Pos), pl.src.Position(u.pos)
		if a.Filename == b.Filename && a.Line == b.Line {
			pl.report(e.Pos, diag.Undefined, "declare or import it; the generator needs the types of annotated declarations",
				"%s: %s", u.root, e.Msg)
			return
		}
	}
	pl.report(u.pos, diag.Undefined, "declare or import it; the generator needs the types of annotated declarations",
		"%s: the type cannot be resolved", u)
}

func (pl *planner) refusedNamed(t *types.Named, u use) bool {
	obj := t.Obj()
	pkg := obj.Pkg()
	switch {
	case invalid(t):
		pl.undefinedAt(u)
	case pkg == nil: // error, comparable
		pl.unsupported(t, u, "use a concrete type")
	case pkg.Path() == "sync" || pkg.Path() == "sync/atomic":
		pl.unsupported(t, u, "keep locks and atomics out of rows and state; exclude the field with the tag `tws:\"-\"`")
	case pkg.Path() == RuntimePath && (isHandle(t) || isProcessorType(t)):
		pl.stray(u.pos, u.String())
	case pkg.Path() != pl.src.Path && !obj.Exported():
		pl.report(u.pos, diag.Unsupported, "export the type, or exclude the field with the tag `tws:\"-\"`",
			"%s has the type %s, which its package does not export", u, pl.typeString(t))
	case pkg.Path() == pl.src.Path && pkg.Scope().Lookup(obj.Name()) != obj:
		pl.report(u.pos, diag.Unsupported, "declare the type at package level",
			"%s has the type %s, which is local to a function", u, obj.Name())
	case !importable(pl.src.Path, pkg.Path()):
		pl.report(u.pos, diag.Unsupported, "move the type out of the internal package",
			"%s has the type %s of package %s, which this package may not import", u, pl.typeString(t), pkg.Path())
	case isSlice(t) && pl.isOpen(t):
		pl.recursive(t, u)
	case overTime(t):
		pl.unsupported(t, u, "use time.Time itself: a type declared over it has none of its methods")
	default:
		return false
	}
	return true
}

// importable applies the rule of internal directories.
func importable(from, path string) bool {
	i := strings.LastIndex("/"+path+"/", "/internal/")
	if i < 0 || from == path {
		return true
	}
	parent := strings.TrimSuffix(("/" + path)[1:max(i, 1)], "/")
	return parent == "" || from == parent || strings.HasPrefix(from, parent+"/")
}

// overTime reports whether t is declared over time.Time: it has its fields.
func overTime(t *types.Named) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok || s.NumFields() == 0 || s.Field(0).Pkg() == nil {
		return false
	}
	return s.Field(0).Pkg().Path() == "time" && s.Field(0).Name() == "wall"
}

func isSlice(t *types.Named) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

func (pl *planner) recursive(t types.Type, u use) {
	pl.report(u.pos, diag.Recursive, flatten, "%s makes the type %s contain itself", u, pl.typeString(t))
}

func (pl *planner) slice(v *Value, t *types.Slice, u use) {
	if basic, ok := types.Unalias(t.Elem()).(*types.Basic); ok && basic.Kind() == types.Uint8 {
		v.Wire.Kind = schemas.Bytes
		return
	}
	elem := pl.value(t.Elem(), u.elem())
	v.Wire.Kind, v.Elem = schemas.List, &elem
}

func (pl *planner) optional(v *Value, t *types.Pointer, u use) {
	if _, named := types.Unalias(v.Go).(*types.Named); named {
		pl.unsupported(v.Go, u, "write the pointer type itself")
		return
	}
	switch t.Elem().Underlying().(type) {
	case *types.Pointer:
		pl.unsupported(v.Go, u, "use a single pointer: nil means absent")
		return
	case *types.Slice:
		pl.unsupported(v.Go, u, "use the slice itself: it can be empty, and nil")
		return
	}
	inner := pl.value(t.Elem(), u)
	v.Wire, v.Struct = inner.Wire, inner.Struct
	v.Wire.Optional = true
}

// structPlan is a struct while it is planned.
type structPlan struct {
	*Struct
	pos  token.Pos
	done bool
	// own is true for a type declared in the package, generic is true for an
	// instance of a generic type.
	own, generic bool
	name         string // in the lock file
	under        *types.Struct
	// unnamed are the embedded structs without a name of their own.
	unnamed []token.Pos
	// unexported is true once an unexported field was found.
	unexported bool
	// quoted are fields with the json option string.
	quoted []token.Pos
}

// structure plans a named struct type, once.
func (pl *planner) structure(t types.Type, under *types.Struct, u use) *Struct {
	name := pl.qualified(types.Unalias(t))
	if s := pl.structs[name]; s != nil {
		if !s.done {
			pl.recursive(t, u)
		}
		return s.Struct
	}
	named := types.Unalias(t).(*types.Named)
	s := &structPlan{
		Struct:  &Struct{Go: types.Unalias(t), Flat: true},
		pos:     u.pos,
		own:     named.Obj().Pkg().Path() == pl.src.Path,
		generic: named.TypeArgs().Len() > 0,
		name:    name,
		under:   under,
	}
	pl.structs[name] = s
	if s.own {
		s.pos = named.Obj().Pos()
		pl.typeFiles[pl.src.Position(s.pos).Filename] = true
	}
	pl.structFields(s, u)
	pl.measure(s)
	s.done = true
	return s.Struct
}

// fieldNode returns the syntax of a field of the package's own structs.
func (pl *planner) fieldNode(f *types.Var) *ast.Field { return pl.fields[f.Origin()] }
