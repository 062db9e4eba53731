package emit

import (
	"cmp"
	"go/types"
	"maps"
	"slices"

	"github.com/tws-go/tws/gen/internal/plan"
)

// use says which functions of a struct something calls.
type use struct {
	typ        bool // twsType
	columnList bool // twsColumns
	msgpack    bool // twsAppend, twsDecode
	unmarshal  bool // twsUnmarshal, twsUnmarshalJSON
	clone      bool // twsClone
	json       bool // twsAppendJSON, twsReadJSON
	columns    bool // twsAppendColumns, twsReadColumns
	key        bool // twsAppendKey, twsReadKey
}

// need holds the uses of every struct that has any.
type need map[*plan.Struct]*use

func newNeed(p *plan.Package) need {
	n := need{}
	for _, proc := range p.Processors {
		n.key(proc.Key)
		for _, s := range proc.States {
			n.key(s.Key)
			n.each(s.Value, n.typ, n.msgpack)
			if !s.Value.Flat {
				n.each(s.Value, n.clone)
			}
		}
	}
	for _, row := range p.Rows {
		if !row.HasMethod {
			n.row(row.Struct)
		}
	}
	return n
}

// of returns the uses of s, to be read or changed.
func (n need) of(s *plan.Struct) *use {
	if n[s] == nil {
		n[s] = new(use)
	}
	return n[s]
}

// structs returns the structs with uses in order of their identifiers.
func (n need) structs() []*plan.Struct {
	return slices.SortedFunc(maps.Keys(n), func(a, b *plan.Struct) int { return cmp.Compare(a.Ident, b.Ident) })
}

// each applies marks to the struct in v, through lists, if there is one.
func (n need) each(v plan.Value, marks ...func(*plan.Struct)) {
	for v.Elem != nil {
		v = *v.Elem
	}
	if v.Struct == nil {
		return
	}
	for _, mark := range marks {
		mark(v.Struct)
	}
}

// spread marks s and applies the mark to the structs in its fields. It ends
// where a struct was marked before.
func (n need) spread(s *plan.Struct, flag *bool, mark func(*plan.Struct)) {
	if *flag {
		return
	}
	*flag = true
	for _, f := range s.Fields {
		n.each(f.Value, mark)
	}
}

func (n need) typ(s *plan.Struct)     { n.spread(s, &n.of(s).typ, n.typ) }
func (n need) msgpack(s *plan.Struct) { n.spread(s, &n.of(s).msgpack, n.msgpack) }
func (n need) json(s *plan.Struct)    { n.spread(s, &n.of(s).json, n.json) }
func (n need) columns(s *plan.Struct) { n.spread(s, &n.of(s).columns, n.columns) }
func (n need) keyed(s *plan.Struct)   { n.spread(s, &n.of(s).key, n.keyed) }

func (n need) clone(s *plan.Struct) {
	if !s.Flat {
		n.spread(s, &n.of(s).clone, n.clone)
	}
}

// columnList marks the functions that the column list of s is made of.
func (n need) columnList(s *plan.Struct) {
	if s.InOrder {
		n.typ(s)
		return
	}
	n.spread(s, &n.of(s).columnList, n.columnList)
}

func (n need) key(v plan.Value) {
	if v.Go != nil {
		n.each(v, n.typ, n.keyed)
	}
}

func (n need) row(s *plan.Struct) {
	n.columnList(s)
	n.msgpack(s)
	n.json(s)
	n.columns(s)
	n.of(s).unmarshal = true
}

// partial reports whether s has fields that are not encoded. Such a field must
// not come through a decode or a copy: a value would have it or not depending on
// where it was read from.
func partial(s *plan.Struct) bool {
	n := 0
	for f := range s.Go.Underlying().(*types.Struct).Fields() {
		if f.Name() != "_" {
			n++
		}
	}
	return n != len(s.Fields)
}

// byID returns the fields of s in the order of the wire.
func byID(s *plan.Struct) []*plan.Field {
	return slices.SortedFunc(slices.Values(s.Fields), func(a, b *plan.Field) int { return cmp.Compare(a.ID, b.ID) })
}
