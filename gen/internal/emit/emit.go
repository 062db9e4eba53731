// Package emit writes the Go file that tws-gen generates for a plan.
//
// The output is meant to be read: it is what a careful person would write by
// hand for the same types. Each block of it has a source file here of the same
// name: register.go writes Register, guard.go the guards, and so on. What is
// common to them is small:
//
//   - names.go chooses identifiers, so that nothing generated collides with, or
//     is hidden by, anything the user declared;
//   - gotype.go prints Go types, scalar.go knows the codec calls of each wire
//     kind, place.go the expressions that values are read from and stored to;
//   - need.go finds out which struct needs which codecs, since code that nothing
//     calls is not emitted.
//
// The functions of a struct T end in T's Ident:
//
//	twsTypeT           schemas.Type, fields in id order
//	twsColumnsT        columns in declaration order, if that differs
//	twsAppendT         msgpack, fields in id order
//	twsDecodeT         msgpack, overwrites all of *T
//	twsUnmarshalT      msgpack, whole input
//	twsCloneT          deep copy, if an assignment is none
//	twsAppendTJSON     JSON, fields in declaration order
//	twsReadTJSON       JSON, from a reader
//	twsUnmarshalTJSON  JSON, whole input
//	twsAppendTColumns  columns, in declaration order
//	twsReadTColumns    columns, from a reader
//	twsAppendKeyT      order-preserving key
//	twsReadKeyT        order-preserving key
//	twsRowT            row codecs of a type that cannot carry the method TWSRow
//
// The encodings agree on these rules:
//
//   - A struct is an array of its fields in id order in msgpack, and its fields
//     in id order in keys; JSON objects and columns are in declaration order.
//   - A pointer is an optional value: nil is nil in msgpack, null in columns, and
//     left out of JSON objects; in JSON lists it is null.
//   - Msgpack keeps nil and empty lists apart. JSON and columns write a nil list
//     as an empty one. A nil []byte is null in JSON and empty in columns.
//   - A JSON field with omitempty or omitzero is left out when it is zero (lists
//     and bytes: nil; structs: if they can be compared) and may be absent when
//     read. What may be absent may also be null; anything else may not, and must
//     occur exactly once. Unknown fields are skipped.
//   - Decoders overwrite all of their target, also fields that are not encoded.
//     Copies have zero in those, so that a value does not depend on whether it
//     came from memory or from the store.
//   - Encoding fails in JSON only, on numbers and instants that JSON cannot hold.
//
// A plan is complete and consistent, so emission does not fail on anything the
// user wrote; an error from [File] is a bug here. Equal plans give equal bytes.
package emit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"
	"golang.org/x/tools/imports"

	"github.com/tws-go/tws/gen/internal/load"
	"github.com/tws-go/tws/gen/internal/plan"
)

// Import paths that generated code may use beside those of the user's types.
const (
	runtimePath = "github.com/tws-go/tws/runtime"
	codecPath   = "github.com/tws-go/tws/codec"
	schemasPath = "github.com/tws-go/tws/schemas"
)

// Header returns the first line of the file generated for a package of that
// name. It holds no version, so that a new tws-gen does not touch files whose
// content is the same.
func Header(pkg string) string {
	return load.Header + " from package " + pkg + ". DO NOT EDIT."
}

// emitter writes one file.
type emitter struct {
	pkg   *plan.Package
	file  *jen.File
	names *names
	local locals
	need  need
}

// File returns the content of the generated file for p, formatted.
func File(p *plan.Package) ([]byte, error) {
	e := newEmitter(p)
	if len(p.Tables)+len(p.Sinks)+len(p.Flows) > 0 {
		e.register()
	}
	e.guards()
	for _, proc := range p.Processors {
		e.bind(proc)
		for _, s := range proc.States {
			e.accessor(proc, s)
		}
	}
	for _, s := range e.need.structs() {
		for _, row := range p.Rows {
			if row.Struct == s {
				e.row(row)
			}
		}
		e.structCodecs(s)
	}
	return e.render()
}

func newEmitter(p *plan.Package) *emitter {
	file := jen.NewFilePathName(p.Path, p.Name)
	file.NoFormat = true
	n := newNames(p)
	for path, im := range n.imports {
		if im.explicit {
			file.ImportAlias(path, im.alias)
		} else {
			file.ImportName(path, im.alias)
		}
	}
	return &emitter{pkg: p, file: file, names: n, local: n.locals(), need: newNeed(p)}
}

// structCodecs writes the codecs of s that something calls.
func (e *emitter) structCodecs(s *plan.Struct) {
	use := e.need.of(s)
	if use.typ {
		e.schemaType(s)
	}
	if use.columnList {
		e.columnList(s)
	}
	if use.msgpack {
		e.appendMsgpack(s)
		e.decodeMsgpack(s)
	}
	if use.unmarshal {
		e.unmarshalMsgpack(s)
	}
	if use.clone {
		e.clone(s)
	}
	if use.json {
		e.appendJSON(s)
		e.readJSON(s)
	}
	if use.unmarshal {
		e.unmarshalJSON(s)
	}
	if use.columns {
		e.appendColumns(s)
		e.readColumns(s)
	}
	if use.key {
		e.appendKey(s)
		e.readKey(s)
	}
}

// decl adds a declaration with its doc comment. Each paragraph of the doc is
// wrapped; the user's own words go through [emitter.userDoc].
func (e *emitter) decl(doc []string, code jen.Code) {
	for _, line := range doc {
		e.file.Comment(line)
	}
	e.file.Add(code)
	e.file.Line()
}

// render formats the file: the header, then what was added, with the imports of
// the standard library in a group of their own.
func (e *emitter) render() ([]byte, error) {
	var src bytes.Buffer
	fmt.Fprintf(&src, "%s\n\n", Header(e.pkg.Name))
	if c := e.pkg.BuildConstraint; c != "" {
		fmt.Fprintf(&src, "//go:build %s\n\n", strings.TrimPrefix(c, "//go:build "))
	}
	if err := e.file.Render(&src); err != nil {
		return nil, fmt.Errorf("emit: package %s: %w", e.pkg.Path, err)
	}
	out, err := imports.Process(e.pkg.Name+"_tws.go", src.Bytes(), &imports.Options{
		FormatOnly: true, Comments: true, TabIndent: true, TabWidth: 8,
	})
	if err != nil {
		return nil, fmt.Errorf("emit: package %s: formatting the generated file: %w", e.pkg.Path, err)
	}
	return out, nil
}
