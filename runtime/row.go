package tws

import (
	"reflect"

	"github.com/tws-go/tws/runtime/stream"
)

// The contract of sources and sinks lives in package stream; these are the names
// that user code and generated code know it by.
type (
	// Row holds the generated codecs of a row type.
	Row[T any] = stream.Row[T]
	// Source is an input of rows.
	Source[T any] = stream.Source[T]
	// BoundedSource is an input that has an end.
	BoundedSource[T any] = stream.BoundedSource[T]
	// SinkImpl is an output of rows.
	SinkImpl[T any] = stream.SinkImpl[T]
	// ColumnWriter receives a row column by column.
	ColumnWriter = stream.ColumnWriter
	// ColumnReader hands out a row column by column.
	ColumnReader = stream.ColumnReader
)

// UseRow makes the codecs of a row type known to a pipeline whose type is of
// another package and has no generated TWSRow. Generated code calls it.
func UseRow[T any](p *Pipeline, r *Row[T]) { p.rows[reflect.TypeFor[T]()] = r }

// rowOf returns the codecs of a row type, or nil if none are known.
func rowOf[T any](p *Pipeline) *Row[T] {
	if r := stream.RowOf[T](); r != nil {
		return r
	}
	r, _ := p.rows[reflect.TypeFor[T]()].(*Row[T])
	return r
}
