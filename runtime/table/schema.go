package table

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tws-go/tws/schemas"
)

// metadata is the metadata of one field in a table's schema.
type metadata map[string]json.RawMessage

// typeKey is the key in a field's metadata that tells the field's wire type
// where Delta's type does not. Only durations need it.
const typeKey = "tws.type"

// schemaField is a field as it is read from a schemaString.
type schemaField struct {
	Name     string          `json:"name"`
	Type     json.RawMessage `json:"type"`
	Nullable bool            `json:"nullable"`
	Metadata metadata        `json:"metadata"`
}

// schemaType is a type that is not a scalar as it is read, in any of its forms.
type schemaType struct {
	Type         string          `json:"type"`
	Fields       []schemaField   `json:"fields"`
	ElementType  json.RawMessage `json:"elementType"`
	ContainsNull *bool           `json:"containsNull"`
}

// schemaString returns the row type as the text of a metaData action.
func schemaString(row *column) (string, error) {
	text, err := marshal(row.schemaType())
	if err != nil {
		return "", fmt.Errorf("encode schema: %w", err)
	}
	return string(text), nil
}

// The forms in which types are written.
type (
	structType struct {
		Type   string       `json:"type"`
		Fields []fieldEntry `json:"fields"`
	}
	fieldEntry struct {
		Name     string            `json:"name"`
		Type     any               `json:"type"`
		Nullable bool              `json:"nullable"`
		Metadata map[string]string `json:"metadata"`
	}
	arrayType struct {
		Type         string `json:"type"`
		ElementType  any    `json:"elementType"`
		ContainsNull bool   `json:"containsNull"`
	}
)

// schemaType returns the column's type in the form in which it is written.
func (c *column) schemaType() any {
	switch c.kind {
	case schemas.List:
		elem := c.children[0]
		return arrayType{Type: "array", ElementType: elem.schemaType(), ContainsNull: elem.nullable}
	case schemas.Struct:
		fields := make([]fieldEntry, len(c.children))
		for i, f := range c.children {
			fields[i] = fieldEntry{Name: f.name, Type: f.schemaType(), Nullable: f.nullable, Metadata: f.wireMetadata()}
		}
		return structType{Type: "struct", Fields: fields}
	}
	return deltaName(c.kind)
}

func (c *column) wireMetadata() map[string]string {
	innermost, text := c.wireType()
	if innermost.kind == schemas.Duration {
		return map[string]string{typeKey: text}
	}
	return map[string]string{}
}

// wireType returns what stands below all the lists that a field is, and the
// text that typeKey has if that is a duration. The element of a list has no
// metadata of its own.
func (c *column) wireType() (innermost *column, text string) {
	if c.kind != schemas.List {
		return c, string(schemas.Duration)
	}
	innermost, text = c.children[0].wireType()
	return innermost, "array<" + text + ">"
}

// marshal encodes without HTML escapes and without a line end.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// parseSchema returns the row type that a schemaString describes. Types that
// this package does not handle are kept by name.
func parseSchema(text string) (*column, error) {
	root, err := parseType([]byte(text), 0)
	if err != nil {
		return nil, fmt.Errorf("schemaString: %w", err)
	}
	if root.kind != schemas.Struct {
		return nil, fmt.Errorf("schemaString: the row is of type %s, not a struct", root.typeText())
	}
	root.layOut("", 0, 0, 0)
	return root, nil
}

func parseType(text []byte, depth int) (*column, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("types are nested more than %d levels deep", maxDepth)
	}
	if len(text) > 0 && text[0] == '"' {
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, err
		}
		return &column{kind: kindOf(name), foreign: name}, nil
	}
	var t schemaType
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	switch t.Type {
	case "struct":
		return parseStruct(t.Fields, depth)
	case "array":
		elem, err := parseType(t.ElementType, depth+1)
		if err != nil {
			return nil, err
		}
		elem.name = elementName
		elem.nullable = t.ContainsNull == nil || *t.ContainsNull
		return &column{kind: schemas.List, children: []*column{elem}}, nil
	case "":
		return nil, fmt.Errorf("a type has no name")
	}
	return &column{foreign: t.Type}, nil
}

func parseStruct(fields []schemaField, depth int) (*column, error) {
	c := &column{kind: schemas.Struct}
	for _, f := range fields {
		child, err := parseType(f.Type, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.Name, err)
		}
		child.name, child.nullable, child.metadata = f.Name, f.Nullable, f.Metadata
		innermost, text := child.wireType()
		if innermost.kind == schemas.Int64 && string(f.Metadata[typeKey]) == `"`+text+`"` {
			innermost.kind = schemas.Duration
		}
		c.children = append(c.children, child)
	}
	if len(fields) == 0 {
		// Parquet cannot hold it, so there is nothing to read or write.
		return &column{foreign: "struct<>"}, nil
	}
	return c, nil
}

// differences says, column by column, what keeps rows of type want from being
// written to a table whose row type is have. The order of columns is no
// difference: Delta matches them by name. A column that only the table has is
// one unless extra accepts it.
func differences(want, have *column, extra func(*column) bool) []string {
	var diffs []string
	for _, w := range want.children {
		h := have.child(w.name)
		if h == nil {
			diffs = append(diffs, fmt.Sprintf("column %s (%s) is not in the table", w.path, w.typeText()))
			continue
		}
		diffs = append(diffs, typeDifferences(w, h, extra)...)
	}
	for _, h := range have.children {
		if want.child(h.name) != nil || extra(h) {
			continue
		}
		diffs = append(diffs, fmt.Sprintf("column %s (%s) of the table is not in the row type", h.path, h.typeText()))
	}
	return diffs
}

func typeDifferences(want, have *column, extra func(*column) bool) []string {
	var diffs []string
	if want.nullable && !have.nullable {
		diffs = append(diffs, fmt.Sprintf("column %s accepts no nulls in the table", want.path))
	}
	switch {
	case want.kind == schemas.Struct && have.kind == schemas.Struct:
		return append(diffs, differences(want, have, extra)...)
	case want.kind == schemas.List && have.kind == schemas.List:
		return append(diffs, typeDifferences(want.children[0], have.children[0], extra)...)
	case want.typeText() != have.typeText():
		diffs = append(diffs, fmt.Sprintf("column %s is %s in the table and %s in the row type", want.path, have.typeText(), want.typeText()))
	}
	return diffs
}
