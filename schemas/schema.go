// Package schemas is the model of what a processor keeps and what a row holds:
// wire types, fields with their stable ids, states, timers.
//
// A schema describes bytes, not Go: renaming a Go type or moving its package is
// no change; giving a field another name or another wire type is. Ids are given
// out by the tool, live in a committed lock file (see [Lock]) and are never
// reused, so names may change while bytes keep their meaning.
//
// The package is a leaf: it imports the standard library only, knows no clock
// and no file system, and everything in it is a plain value that is safe to
// copy. A value must not be changed while others read it.
package schemas

// Kind is the wire kind of a [Type]. Its text is written to lock files and
// checkpoints and must not change.
type Kind string

// The wire kinds. Go's int and uint are int64 and uint64 on the wire.
const (
	Bool      Kind = "bool"
	Int8      Kind = "int8"
	Int16     Kind = "int16"
	Int32     Kind = "int32"
	Int64     Kind = "int64"
	Uint8     Kind = "uint8"
	Uint16    Kind = "uint16"
	Uint32    Kind = "uint32"
	Uint64    Kind = "uint64"
	Float32   Kind = "float32"
	Float64   Kind = "float64"
	String    Kind = "string"
	Bytes     Kind = "bytes"
	Timestamp Kind = "timestamp" // an instant with nanoseconds, always UTC when read
	Duration  Kind = "duration"  // nanoseconds
	List      Kind = "list"
	Struct    Kind = "struct"
)

// Type is a wire type. The zero Type is invalid.
type Type struct {
	Kind Kind `json:"kind"`
	// Optional is true for a Go pointer: the value may be absent.
	Optional bool `json:"optional,omitempty"`
	// Elem is the element type of a List, nil otherwise.
	Elem *Type `json:"elem,omitempty"`
	// Name is a Struct's name within its package's lock; "" for other kinds.
	Name string `json:"name,omitempty"`
	// Fields are a Struct's fields in id order; nil for other kinds.
	Fields []Field `json:"fields,omitempty"`
}

// Field is one field of a struct, or one column of a row.
type Field struct {
	// ID is the field's stable number within its struct, from 1.
	ID int `json:"id"`
	// Name is the field's name on the wire: JSON key and table column.
	Name string `json:"name"`
	Type Type   `json:"type"`
}

// StateKind says which kind of state variable a [State] is.
type StateKind string

// The kinds of state variable.
const (
	ValueState StateKind = "value"
	ListState  StateKind = "list"
	MapState   StateKind = "map"
)

// State is one state variable of a processor.
type State struct {
	// ID is the variable's stable number within its processor, from 1. It is
	// part of the variable's keys in the store.
	ID   int       `json:"id"`
	Name string    `json:"name"`
	Kind StateKind `json:"kind"`
	// Key is the type of a map's keys, nil for other kinds.
	Key *Type `json:"key,omitempty"`
	// Value is the type of the value, of a list's elements or a map's values.
	Value Type `json:"value"`
	// Version is the schema version new values are written with, from 1.
	Version int `json:"version"`
	// TTLMicros is the time to live in microseconds; 0 means none.
	TTLMicros int64 `json:"ttl_micros,omitempty"`
}

// Timer is one named timer of a processor.
type Timer struct {
	// ID is the timer's stable number within its processor, from 1; 0 is the
	// id of raw timers.
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Time modes of a processor. The text is written to checkpoints.
const (
	TimeNone       = "none"
	TimeProcessing = "processing"
	TimeEvent      = "event"
)

// Output modes of a processor. The text is written to checkpoints.
const (
	OutputAppend = "append"
	OutputUpdate = "update"
)

// Processor is everything about a processor that its checkpoint depends on.
type Processor struct {
	Name       string  `json:"name"`
	TimeMode   string  `json:"time_mode"`
	OutputMode string  `json:"output_mode"`
	Key        Type    `json:"key"`
	States     []State `json:"states,omitempty"` // in id order
	Timers     []Timer `json:"timers,omitempty"` // in id order
}
