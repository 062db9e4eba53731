package kafka

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tws-go/tws/runtime/stream"
)

// Format says how the value of a record and a row correspond.
type Format uint8

const (
	// JSON is one JSON object, read strictly by the row type's generated codec:
	// missing fields, values of other types and anything after the object are
	// errors; unknown fields are passed over.
	JSON Format = iota
	// Msgpack is what the row type's generated codec makes of a row elsewhere:
	// a msgpack array of the fields in the order of their ids. It is compact,
	// and meant for topics between pipelines that share the row type.
	Msgpack
	// Raw takes the value as it is; T must be []byte. A source uses the bytes again
	// once the function that got the row has returned: copy what is to be kept.
	Raw
	// String takes the value as text; T must be string. It does not check that
	// the text is UTF-8.
	String
)

// String names the format.
func (f Format) String() string {
	switch f {
	case JSON:
		return "JSON"
	case Msgpack:
		return "msgpack"
	case Raw:
		return "raw"
	case String:
		return "string"
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// decoder returns what decodes values into rows. It overwrites all of a row and
// keeps nothing of the value, except that a row of Raw is the value.
func decoder[T any](f Format, row *stream.Row[T]) (func(value []byte, row *T) error, error) {
	switch f {
	case JSON:
		if row == nil || row.DecodeJSON == nil {
			return nil, fmt.Errorf("type %s has no JSON decoder: run go generate in its package", reflect.TypeFor[T]())
		}
		return row.DecodeJSON, nil
	case Msgpack:
		if row == nil || row.Decode == nil {
			return nil, fmt.Errorf("type %s has no msgpack decoder: run go generate in its package", reflect.TypeFor[T]())
		}
		return row.Decode, nil
	case Raw:
		return plainDecoder[T](f, func(value []byte, row any) error {
			*row.(*[]byte) = value
			return nil
		})
	case String:
		return plainDecoder[T](f, func(value []byte, row any) error {
			*row.(*string) = string(value)
			return nil
		})
	}
	return nil, fmt.Errorf("field Format is %d: use kafka.JSON, Msgpack, Raw or String", f)
}

// plainDecoder checks that T is the one type that a format has.
func plainDecoder[T any](f Format, decode func(value []byte, row any) error) (func([]byte, *T) error, error) {
	ok := false
	switch any((*T)(nil)).(type) {
	case *[]byte:
		ok = f == Raw
	case *string:
		ok = f == String
	}
	if !ok {
		want := map[Format]string{Raw: "[]byte", String: "string"}[f]
		return nil, fmt.Errorf("format %s needs rows of type %s, not %s", f, want, reflect.TypeFor[T]())
	}
	return func(value []byte, row *T) error { return decode(value, row) }, nil
}

// errTombstone is why a record without a value can be malformed.
var errTombstone = errors.New("the record has no value (OnTombstone says to fail)")
