package plan

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/tws-go/tws/gen/internal/diag"
)

// rowUse is one use of a type as a row.
type rowUse struct {
	t    types.Type
	pos  token.Pos
	root string
	// external is true if a source, table or sink uses it: then the pipeline
	// must know the row without a processor's binding.
	external bool
	table    bool
}

func (pl *planner) row(t types.Type, pos token.Pos, root string, external bool) {
	pl.rows = append(pl.rows, rowUse{t: t, pos: pos, root: root, external: external})
}

// generic functions of the runtime package whose first type argument is a row.
var rowFunctions = map[string]bool{
	"ReadStream":  true,
	"ReadBounded": true,
	"NewSink":     true,
	"AppendFlow":  true,
	"AppendOnce":  true,
}

// readRows finds the row types of sources and sinks in function bodies.
func (pl *planner) readRows() {
	first := len(pl.rows)
	for id, instance := range pl.src.Info.Instances {
		obj := pl.src.Info.Uses[id]
		if obj == nil || !fromRuntime(obj) || !rowFunctions[obj.Name()] || instance.TypeArgs.Len() == 0 {
			continue
		}
		t := instance.TypeArgs.At(0)
		if _, param := types.Unalias(t).(*types.TypeParam); param || invalid(t) {
			continue
		}
		pl.row(t, id.Pos(), "the row of "+obj.Name(), true)
	}
	slices.SortFunc(pl.rows[first:], func(a, b rowUse) int { return cmp.Compare(a.pos, b.pos) })
}

// collectRows plans every row type.
func (pl *planner) collectRows() {
	pl.readRows()
	planned := make(map[string]*Row)
	for _, u := range pl.rows {
		if pl.tooNested(u.t, use{pos: u.pos, root: u.root}) {
			continue
		}
		name := pl.qualified(types.Unalias(u.t))
		row := planned[name]
		if row == nil {
			if row = pl.newRow(u); row == nil {
				continue
			}
			planned[name] = row
			pl.out.Rows = append(pl.out.Rows, row)
		}
		if u.external && !row.Own && !row.HasMethod {
			row.Registered = true
		}
		if u.table && !row.HasMethod {
			pl.columns(row, u)
		}
	}
}

// newRow plans one row type, nil if it cannot be one.
func (pl *planner) newRow(u rowUse) *Row {
	at := use{pos: u.pos, root: u.root}
	if invalid(u.t) {
		pl.undefinedAt(at)
		return nil
	}
	named, ok := types.Unalias(u.t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !isStruct(named) || wellKnown(named) != "" {
		fix := "declare a struct type with one field per column"
		if p, pointer := types.Unalias(u.t).(*types.Pointer); pointer {
			fix = "use " + pl.typeString(p.Elem()) + " itself"
		}
		pl.report(u.pos, diag.RowType, fix, "%s has the type %s, which is not a struct type with a name", u.root, pl.typeString(u.t))
		return nil
	}
	row := &Row{Own: named.Obj().Pkg().Path() == pl.src.Path && named.TypeArgs().Len() == 0}
	if !row.Own && hasRowMethod(named) {
		row.HasMethod = true
		row.Struct = &Struct{Ident: ident(named, pl.src.Path), Go: named}
		return row
	}
	before := len(pl.diags)
	v := pl.value(named, at)
	if row.Struct = v.Struct; row.Struct == nil {
		return nil
	}
	if len(pl.diags) == before {
		pl.rowRules(pl.structs[pl.qualified(named)], at, make(map[string]bool))
	}
	return row
}

// hasRowMethod reports whether *T itself, not a field of it, has the generated
// method.
func hasRowMethod(t *types.Named) bool {
	for m := range t.Methods() {
		if m.Name() == "TWSRow" {
			return true
		}
	}
	return false
}

// rowRules reports what is fine in state but not in rows, where our codecs stand
// in for encoding/json.
func (pl *planner) rowRules(s *structPlan, u use, seen map[string]bool) {
	if seen[s.name] {
		return
	}
	seen[s.name] = true
	label := pl.typeString(s.Go)
	for _, pos := range s.unnamed {
		pl.report(pos, diag.Embedded, "name the field, or give it a json or tws tag with a name",
			"%s embeds a struct without a name for it (in %s)", label, u.root)
	}
	for _, pos := range s.quoted {
		pl.report(pos, diag.CustomCodec, "remove the option, or make the field a string",
			"%s uses the json option string, which generated codecs do not have", label)
	}
	pl.customCodec(s.Go, s.pos, label, u)
	for i, f := range s.Fields {
		pos := s.pos
		if s.own {
			pos = pl.fieldPos(s, f, i)
		}
		pl.rowValue(f.Value, pos, label+"."+f.Name, u, seen)
	}
}

func (pl *planner) rowValue(v Value, pos token.Pos, path string, u use, seen map[string]bool) {
	switch {
	case v.Struct != nil:
		pl.rowRules(pl.structs[pl.qualified(v.Struct.Go)], u, seen)
	case v.Elem != nil:
		pl.customCodec(v.Go, pos, path, u)
		pl.rowValue(*v.Elem, pos, path+"[]", u, seen)
	default:
		pl.customCodec(v.Go, pos, path, u)
	}
}

// fieldPos returns where a planned field is declared.
func (pl *planner) fieldPos(s *structPlan, f *Field, _ int) token.Pos {
	for v := range s.under.Fields() {
		if v.Name() == f.Name {
			return v.Pos()
		}
	}
	return s.pos
}

// customCodec reports methods that encoding/json would call.
func (pl *planner) customCodec(t types.Type, pos token.Pos, path string, u use) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || wellKnown(named) != "" {
		return
	}
	for method := range named.Methods() {
		switch method.Name() {
		case "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText":
			pl.report(pos, diag.CustomCodec, "use a type without the method, and convert in a Map before or after",
				"type %s of %s (in %s) has the method %s, which generated codecs do not call",
				pl.typeString(named), path, u.root, method.Name())
			return
		}
	}
}

// columns reports names that a table cannot tell apart.
func (pl *planner) columns(row *Row, u rowUse) {
	seen := make(map[string]string)
	for _, f := range row.Struct.Fields {
		lower := strings.ToLower(f.Wire)
		if other, ok := seen[lower]; ok && other != f.Wire {
			pl.report(u.pos, diag.WireName, "rename one of the columns in a json or tws tag",
				"columns %s and %s of %s differ in case only, which tables do not tell apart", other, f.Wire, u.root)
		}
		seen[lower] = f.Wire
	}
}
