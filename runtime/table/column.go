package table

import (
	"fmt"
	"strings"

	"github.com/tws-go/tws/schemas"
)

// maxDepth bounds the nesting of types. It keeps Parquet's levels within a byte
// and a hostile schema from exhausting the stack.
const maxDepth = 50

// column is a node of a table's schema: a column, a field of a struct, the
// element of a list, or, as the root, the whole row.
type column struct {
	name string
	// kind is the wire kind; "" for a type of another writer that this package
	// does not handle, whose name is in foreign.
	kind    schemas.Kind
	foreign string
	// nullable says whether the column may hold null. Fields are always
	// nullable, list elements only where the type is optional.
	nullable bool
	// optional says, of a row type's column, that its Go type has a value for
	// null.
	optional bool
	// metadata is what a table's schema says about a field beside its type.
	metadata metadata
	// children are the fields of a struct, or the one element of a list.
	children []*column

	// path is the column's full name for messages: "a.b[].c".
	path string
	// def is the definition level of a value that is there, rep the repetition
	// level of a value that continues the innermost list around it. An element
	// of a list has one level of each more than its list.
	def, rep uint8
	// firstLeaf and leaves are the range of Parquet columns below this one.
	firstLeaf, leaves int
}

// rowOf returns the row type with the given columns, or what keeps it from
// being a table's.
func rowOf(fields []schemas.Field) (*column, error) {
	root := &column{kind: schemas.Struct}
	children, err := columnsOf("", fields, 0)
	if err != nil {
		return nil, err
	}
	root.children = children
	root.layOut("", 0, 0, 0)
	return root, nil
}

func columnsOf(parent string, fields []schemas.Field, depth int) ([]*column, error) {
	if len(fields) == 0 {
		if parent == "" {
			return nil, fmt.Errorf("a table needs at least one column")
		}
		return nil, fmt.Errorf("column %s is a struct without fields, which Parquet cannot hold: give it a field or leave it out", parent)
	}
	seen := make(map[string]string, len(fields))
	columns := make([]*column, len(fields))
	for i, f := range fields {
		if err := checkName(parent, f.Name); err != nil {
			return nil, err
		}
		folded := strings.ToLower(f.Name)
		if other, ok := seen[folded]; ok {
			return nil, fmt.Errorf("columns %s and %s differ only in case, which Delta forbids: rename one of them",
				join(parent, other), join(parent, f.Name))
		}
		seen[folded] = f.Name
		c, err := columnOf(f.Name, join(parent, f.Name), f.Type, true, depth+1)
		if err != nil {
			return nil, err
		}
		columns[i] = c
	}
	return columns, nil
}

func columnOf(name, path string, t schemas.Type, nullable bool, depth int) (*column, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("column %s is nested more than %d levels deep", path, maxDepth)
	}
	c := &column{name: name, kind: t.Kind, nullable: nullable, optional: t.Optional || t.Kind == schemas.List || t.Kind == schemas.Bytes}
	switch {
	case t.Kind == schemas.Struct:
		children, err := columnsOf(path, t.Fields, depth)
		if err != nil {
			return nil, err
		}
		c.children = children
	case t.Kind == schemas.List:
		if t.Elem == nil {
			return nil, fmt.Errorf("column %s is a list without an element type", path)
		}
		elem, err := columnOf(elementName, path+"[]", *t.Elem, t.Elem.Optional, depth+1)
		if err != nil {
			return nil, err
		}
		c.children = []*column{elem}
	case deltaName(t.Kind) == "":
		return nil, fmt.Errorf("column %s has the unknown type %q", path, t.Kind)
	}
	return c, nil
}

// elementName is the name that Parquet gives the element of a list.
const elementName = "element"

// checkName refuses names that Delta allows only with column mapping, a feature
// of its own that not every reader has.
func checkName(parent, name string) error {
	if name == "" {
		return fmt.Errorf("a column of %s has no name", orRow(parent))
	}
	if i := strings.IndexAny(name, " ,;{}()\n\t="); i >= 0 {
		return fmt.Errorf("the name of column %s contains %q, which Delta forbids: rename the column", join(parent, name), name[i])
	}
	return nil
}

func orRow(parent string) string {
	if parent == "" {
		return "the row"
	}
	return parent
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// layOut fills in paths, levels and the numbers of leaves from the first one on.
// def and rep are the levels that the surroundings have when they are there.
func (c *column) layOut(path string, def, rep uint8, firstLeaf int) {
	if c.nullable {
		def++
	}
	c.path, c.def, c.rep, c.firstLeaf, c.leaves = path, def, rep, firstLeaf, 0
	for _, child := range c.children {
		if c.kind == schemas.List {
			child.layOut(path+"[]", def+1, rep+1, firstLeaf)
		} else {
			child.layOut(join(path, child.name), def, rep, firstLeaf+c.leaves)
		}
		c.leaves += child.leaves
	}
	if len(c.children) == 0 {
		c.leaves = 1
	}
}

// eachLeaf calls f for every Parquet column at or below c, in order.
func (c *column) eachLeaf(f func(*column)) {
	if len(c.children) == 0 {
		f(c)
	}
	for _, child := range c.children {
		child.eachLeaf(f)
	}
}

// leafColumns returns the Parquet columns at or below c, in order.
func (c *column) leafColumns() []*column {
	var leaves []*column
	c.eachLeaf(func(l *column) { leaves = append(leaves, l) })
	return leaves
}

// child returns the child with the given name, or nil.
func (c *column) child(name string) *column {
	for _, child := range c.children {
		if child.name == name {
			return child
		}
	}
	return nil
}

// deltaName returns Delta's name for a scalar kind, "" for any other kind.
func deltaName(k schemas.Kind) string {
	switch k {
	case schemas.Bool:
		return "boolean"
	case schemas.Int8:
		return "byte"
	case schemas.Int16, schemas.Uint8:
		return "short"
	case schemas.Int32, schemas.Uint16:
		return "integer"
	case schemas.Int64, schemas.Uint32, schemas.Duration:
		return "long"
	case schemas.Uint64:
		return "decimal(20,0)"
	case schemas.Float32:
		return "float"
	case schemas.Float64:
		return "double"
	case schemas.String:
		return "string"
	case schemas.Bytes:
		return "binary"
	case schemas.Timestamp:
		return "timestamp"
	}
	return ""
}

// kindOf is the inverse of deltaName as far as there is one: an unsigned kind
// comes back as the signed kind that holds it.
func kindOf(delta string) schemas.Kind {
	switch delta {
	case "boolean":
		return schemas.Bool
	case "byte":
		return schemas.Int8
	case "short":
		return schemas.Int16
	case "integer":
		return schemas.Int32
	case "long":
		return schemas.Int64
	case "decimal(20,0)":
		return schemas.Uint64
	case "float":
		return schemas.Float32
	case "double":
		return schemas.Float64
	case "string":
		return schemas.String
	case "binary":
		return schemas.Bytes
	case "timestamp":
		return schemas.Timestamp
	}
	return ""
}

// typeText returns the column's type as people write it, such as
// "array<struct<a:long,b:string>>".
func (c *column) typeText() string {
	switch c.kind {
	case "":
		return c.foreign
	case schemas.Duration:
		return "long (duration)"
	case schemas.List:
		return "array<" + c.children[0].typeText() + ">"
	case schemas.Struct:
		fields := make([]string, len(c.children))
		for i, f := range c.children {
			fields[i] = f.name + ":" + f.typeText()
		}
		return "struct<" + strings.Join(fields, ",") + ">"
	}
	return deltaName(c.kind)
}
