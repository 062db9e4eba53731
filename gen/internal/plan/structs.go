package plan

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/tws-go/tws/gen/internal/annot"
	"github.com/tws-go/tws/gen/internal/diag"
)

// structFields plans the fields of a struct.
func (pl *planner) structFields(s *structPlan, u use) {
	label := pl.typeString(s.Go)
	taken := make(map[string]*types.Var)
	for i := range s.under.NumFields() {
		f := s.under.Field(i)
		at := use{pos: u.pos, root: u.root, path: label + "." + f.Name(), depth: u.depth + 1}
		if s.own {
			at.pos = f.Pos()
		}
		if invalid(f.Type()) && s.own {
			pl.undefinedAt(at)
			continue
		}
		field := pl.field(s, f, s.under.Tag(i), at)
		if field == nil {
			s.Flat = s.Flat && f.Name() == "_"
			continue
		}
		if other, ok := taken[field.Wire]; ok {
			if node := pl.fieldNode(f); node == nil || node != pl.fieldNode(other) {
				pl.report(at.pos, diag.WireName, "give one of them another name in a tws or json tag",
					"fields %s and %s of %s have the same name %q on the wire", other.Name(), f.Name(), label, field.Wire)
			}
			continue
		}
		taken[field.Wire] = f
		s.Fields = append(s.Fields, field)
		s.Flat = s.Flat && field.Value.Flat
	}
}

// field plans one field, nil if it is not encoded.
func (pl *planner) field(s *structPlan, f *types.Var, tagText string, at use) *Field {
	if f.Name() == "_" {
		return nil
	}
	tag := pl.fieldTag(f, tagText, at)
	json := annot.ParseJSON(tagText)
	if tag.Excluded() || (tag == nil || tag.Name == "") && json.Excluded {
		return nil
	}
	if !f.Exported() {
		fix := "export it, or exclude it with the tag `tws:\"-\"`"
		if !s.own {
			fix = "declare a struct of your own and convert"
		}
		if s.own || !s.unexported {
			pl.report(at.pos, diag.Unexported, fix, "%s is not exported", at)
		}
		s.unexported = true
		return nil
	}
	field := &Field{Name: f.Name(), Wire: f.Name()}
	switch {
	case tag != nil && tag.Name != "":
		field.Wire = tag.Name
	case json.Name != "":
		field.Wire = json.Name
	case f.Embedded() && isStruct(f.Type()):
		s.unnamed = append(s.unnamed, at.pos)
	}
	if json.Quoted {
		s.quoted = append(s.quoted, at.pos)
	}
	pl.wireName(field.Wire, at)
	pl.fieldLine(f, field.Wire, at)
	field.Value = pl.value(f.Type(), at)
	field.Omit = json.Omit || field.Value.Wire.Optional
	return field
}

func isStruct(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// fieldTag reads a field's tws tag and reports options, of which there are none
// yet.
func (pl *planner) fieldTag(f *types.Var, text string, at use) *annot.Tag {
	lit := &ast.BasicLit{ValuePos: at.pos, Kind: token.STRING, Value: strconv.Quote(text)}
	report := func(_ token.Pos, code diag.Code, fix, message string, args ...any) {
		pl.report(at.pos, code, fix, message, args...)
	}
	if node := pl.fieldNode(f); node != nil {
		lit, report = node.Tag, pl.report
	}
	tag := annot.ParseTag(lit, report)
	if tag == nil {
		return nil
	}
	for _, o := range tag.Options {
		report(o.Pos, diag.UnknownOption, "write the field's name only", "a field of a row or state struct takes no option %q", o.Key)
	}
	return tag
}

// fieldLine reports a tag that names several fields declared on one line.
func (pl *planner) fieldLine(f *types.Var, wire string, at use) {
	node := pl.fieldNode(f)
	if node != nil && len(node.Names) > 1 && wire != f.Name() && node.Names[0].Name == f.Name() {
		pl.report(node.Tag.Pos(), diag.WireName, "declare the fields one by one, each with its own tag",
			"the name %q applies to %d fields", wire, len(node.Names))
	}
}

func (pl *planner) wireName(name string, at use) {
	bad := strings.IndexFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '"' || r == '\\' || r == '\uFFFD'
	})
	if bad >= 0 || len(name) > maxName || strings.TrimSpace(name) != name {
		pl.report(at.pos, diag.WireName, "use a short name without quotes, backslashes and control characters",
			"%s cannot be named %s on the wire", at, strconv.Quote(name))
	}
}

// key plans a type that is used as a key.
func (pl *planner) key(t types.Type, u use) Value {
	before := len(pl.diags)
	v := pl.value(t, u)
	if len(pl.diags) > before {
		return v // one complaint is enough
	}
	if why := pl.notKey(v, pl.typeString(t), make(map[*Struct]bool)); why != "" {
		pl.report(u.pos, diag.KeyType, "use bool, integers, string, time.Time, time.Duration or a struct of these",
			"%s cannot be a key: %s", u.root, why)
	}
	return v
}

// notKey returns why values are no keys, "" if they are. It looks at every struct
// once; seen are those that are keys.
func (pl *planner) notKey(v Value, path string, seen map[*Struct]bool) string {
	switch {
	case v.Wire.Optional:
		return path + " is a pointer, which is compared by address"
	case v.Elem != nil || v.Wire.Kind == "bytes":
		return path + " is a slice, which is not comparable"
	case v.Wire.Kind == "float32" || v.Wire.Kind == "float64":
		return path + " is a float: NaN equals nothing, and 0 equals -0 with other bytes"
	case v.Struct == nil || seen[v.Struct]:
		return ""
	case len(v.Struct.Fields) == 0:
		return path + " has no fields"
	}
	under := v.Struct.Go.Underlying().(*types.Struct)
	encoded := 0
	for i := range under.NumFields() {
		if under.Field(i).Name() != "_" {
			encoded++
		}
	}
	if encoded != len(v.Struct.Fields) {
		return path + " leaves a field out, so that different keys would be one"
	}
	for _, f := range v.Struct.Fields {
		if why := pl.notKey(f.Value, path+"."+f.Name, seen); why != "" {
			return why
		}
	}
	seen[v.Struct] = true
	return ""
}

// nameStructs gives every struct its Ident: own types first, so that theirs are
// the plain ones.
func (pl *planner) nameStructs() {
	sorted := pl.sortedStructs()
	slices.SortStableFunc(sorted, func(a, b *structPlan) int { return rank(a) - rank(b) })
	taken := make(map[string]bool)
	for _, s := range sorted {
		ident := ident(s.Go, pl.src.Path)
		unique := ident
		for n := 2; taken[unique]; n++ {
			unique = ident + itoa(n)
		}
		taken[unique] = true
		s.Ident = unique
	}
}

func rank(s *structPlan) int {
	switch {
	case s.own && !s.generic:
		return 0
	case s.own:
		return 1
	}
	return 2
}

func (pl *planner) sortedStructs() []*structPlan {
	var sorted []*structPlan
	for _, s := range pl.structs {
		sorted = append(sorted, s)
	}
	slices.SortFunc(sorted, func(a, b *structPlan) int { return strings.Compare(a.name, b.name) })
	return sorted
}

// ident spells a type as part of an identifier: Reading, ModelReading,
// PairStringInt64, PairSliceString.
func ident(t types.Type, own string) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		name := upperFirst(t.Obj().Name())
		if pkg := t.Obj().Pkg(); pkg != nil && pkg.Path() != own {
			name = upperFirst(pkg.Name()) + name
		}
		for arg := range t.TypeArgs().Types() {
			name += ident(arg, own)
		}
		return name
	case *types.Basic:
		return upperFirst(t.Name())
	case *types.Slice:
		return "Slice" + ident(t.Elem(), own)
	case *types.Pointer:
		return "Ptr" + ident(t.Elem(), own)
	}
	return "Type" // of an unsupported type argument; made unique by a number
}
