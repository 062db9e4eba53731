// Package stream is the contract between the engine and what it reads from and
// writes to: sources, sinks, the rows that pass between them and the positions
// that name a place in a source.
//
// Implementations live in the packages below this one and in user code. They
// never see the engine: a source hands out rows between two positions, a sink
// stages rows and publishes them when told. What makes the whole exactly once is
// the order in which the engine calls them, written down in ARCHITECTURE.md.
package stream

import (
	"time"

	"github.com/tws-go/tws/schemas"
)

// Row holds the generated, reflection-free codecs of a row type T. The user's
// own types carry it as the generated method TWSRow; see [RowOf].
//
// All functions are safe for concurrent use. Functions that take a *T neither
// keep nor change it, except the decoders, which overwrite all of it.
type Row[T any] struct {
	// Type is T's name for messages, such as "heartbeat.Reading".
	Type string
	// Columns are the row's fields in declaration order.
	Columns []schemas.Field
	// Append encodes v for the exchange between stages.
	Append func(dst []byte, v *T) []byte
	// Decode decodes what Append wrote. src may be reused after the call.
	Decode func(src []byte, v *T) error
	// AppendJSON encodes v as one JSON object without line ends. It fails on
	// values that JSON cannot hold, such as NaN, and then returns dst as it was.
	AppendJSON func(dst []byte, v *T) ([]byte, error)
	// DecodeJSON strictly decodes one JSON object and nothing after it.
	DecodeJSON func(src []byte, v *T) error
	// AppendColumns hands the values of v to w, one call for each column.
	AppendColumns func(w ColumnWriter, v *T)
	// ReadColumns takes the values of v from r, the same columns in the same
	// order as AppendColumns. What r has failed at stays zero; r tells at the
	// row's end.
	ReadColumns func(r ColumnReader, v *T)
}

// RowOf returns the codecs that T carries as its generated method TWSRow, or nil
// if it has none.
func RowOf[T any]() *Row[T] {
	if r, ok := any((*T)(nil)).(interface{ TWSRow() *Row[T] }); ok {
		return r.TWSRow()
	}
	return nil
}

// ColumnWriter receives the columns of a row from left to right, depth first.
// Every column is exactly one call, or a bracket of calls between Begin and End.
// Integers of all widths come as Int or Uint; the column's type says the width.
// A writer keeps its first error until the row ends. Strings and byte slices may
// be reused by the caller after the call.
type ColumnWriter interface {
	Null()
	Bool(bool)
	Int(int64)
	Uint(uint64)
	Float(float64)
	String(string)
	Bytes([]byte)
	Time(time.Time)
	Duration(time.Duration)
	BeginList(n int)
	EndList()
	BeginStruct()
	EndStruct()
}

// ColumnReader hands out the columns of a row from left to right, depth first, as
// a [ColumnWriter] takes them. A reader keeps its first error until the row ends:
// from then on columns are null, lists have no further elements and values are
// zero.
type ColumnReader interface {
	// Null reports whether the next column is null, and if so passes it. Before
	// any other method it need not be called: there a null is an error.
	Null() bool
	Bool() bool
	// Int, Uint and Float return numbers that fit the given number of bits; any
	// other is an error.
	Int(bits int) int64
	Uint(bits int) uint64
	Float(bits int) float64
	String() string
	// Bytes returns bytes that belong to the caller, nil if the column is null.
	Bytes() []byte
	Time() time.Time
	Duration() time.Duration
	// BeginList opens a list; null is an empty one. NextElem reports whether an element follows, and
	// closes the list if none does.
	BeginList()
	NextElem() bool
	BeginStruct()
	EndStruct()
}
