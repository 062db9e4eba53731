// Package plan turns the declarations of an annotated package into a validated
// plan of what to generate. All semantic checks happen here; what comes out is
// complete and consistent, so that emission cannot fail on the user's input.
package plan

import (
	"go/token"
	"go/types"

	"github.com/tws-go/tws/schemas"
)

// Package is the plan for one annotated package.
type Package struct {
	Name string // package name
	Path string // import path
	Dir  string
	// Types is the type-checked package; types of the user are printed relative
	// to it.
	Types *types.Package
	// BuildConstraint is the //go:build expression that every annotated file
	// carries, "" if they carry none.
	BuildConstraint string

	Processors []*Processor // in order of name
	Tables     []*Table     // in order of name
	Sinks      []*Sink      // in order of name
	Flows      []*Flow      // in order of name
	Structs    []*Struct    // every struct that needs codecs, in order of Ident
	Rows       []*Row       // every row type, in order of Ident
	Guards     []*Guard     // own types, in order of type name
	// Imported are guards of struct types of other packages, in order of Go's
	// type string. Their fields are all exported, so that the identical struct
	// type can be written here; GoName is empty, print Go.
	Imported []*Guard
}

// Processor is an annotated processor type.
type Processor struct {
	GoName string // "Heartbeat"
	Doc    string
	Schema schemas.Processor // ids and versions assigned
	Key    Value             // grouping key
	In     types.Type
	Out    types.Type
	States []*State // in declaration order
	Timers []*Timer // in declaration order
	Pos    token.Position
}

// State is a state field of a processor.
type State struct {
	Field  string // "Sensor"
	Doc    string
	Schema schemas.State
	Key    Value // of a map
	Value  Value
	Pos    token.Position
}

// Timer is a named timer field of a processor.
type Timer struct {
	Field  string
	Doc    string
	Schema schemas.Timer
	Pos    token.Position
}

// Value is a Go type together with its wire type: what emission needs to write
// the code that encodes, decodes and copies it.
type Value struct {
	Go   types.Type
	Wire schemas.Type
	// Struct is the plan of the struct behind a wire struct, nil otherwise. With
	// Wire.Optional, Go is a pointer to it.
	Struct *Struct
	// Elem is the plan of a list's elements, nil otherwise.
	Elem *Value
	// Flat is true if a plain assignment copies all that is encoded and nothing
	// else: no slices, no pointers, no structs that leave fields out.
	Flat bool
}

// Struct is a struct type that needs codecs, of the package itself or imported.
type Struct struct {
	// Ident is the part that names of generated functions end in: "Reading" for
	// the package's own type, "ModelReading" for one of package model. Unique.
	Ident string
	Go    types.Type // named type
	Wire  schemas.Type
	// Fields are in declaration order; Fields[i].ID gives the order on the wire.
	Fields []*Field
	Flat   bool // as Value.Flat
	// InOrder is true if ids rise in declaration order, here and in all nested
	// structs, so that the fields of the wire type are the columns.
	InOrder bool
}

// Field is an encoded field of a struct.
type Field struct {
	Name string // Go name
	ID   int
	Wire string // name on the wire
	// Omit is true if an absent JSON field is no error and a zero value is left
	// out when writing JSON: pointers, and json tags with omitempty or omitzero.
	Omit  bool
	Value Value
}

// Row is a row type. Own rows get the method TWSRow.
type Row struct {
	Struct *Struct
	// Own is true for a type declared in the package.
	Own bool
	// HasMethod is true for a type of another package that carries a generated
	// TWSRow already: nothing is generated for it, and its Struct has only Ident
	// and Go.
	HasMethod bool
	// Registered is true if Register must make the row known to the pipeline:
	// not own, without a method, and used by a source, table or sink.
	Registered bool
}

// Guard is a struct type whose change since generation must break the build.
type Guard struct {
	GoName string
	Struct *types.Struct
	Go     types.Type // the type to pass: named, or an instance of a generic type
}

// Table is a streaming table.
type Table struct {
	GoName string // variable or function
	// Func is true if a function declares the table and its default flow.
	Func    bool
	Name    string
	Comment string
	Row     types.Type
	Pos     token.Position
}

// Sink is a sink variable.
type Sink struct {
	GoName string
	Name   string
	Row    types.Type
	Pos    token.Position
}

// Flow is a flow function.
type Flow struct {
	GoName string
	Name   string
	Target string // Go identifier of the table or sink variable
	Once   bool
	Pos    token.Position
}
