package codec

import (
	"errors"
	"fmt"
	"strconv"
)

// DecodeError says what a [Reader], a [KeyReader] or [ReadHeader] could not
// read, and where.
type DecodeError struct {
	// Path names the field, as in "sensor.type"; "" if no field was named.
	Path string
	// Offset is the first byte of the value at fault, from 0.
	Offset int
	// Err is the cause.
	Err error
}

// Error returns the whole message on one line.
func (e *DecodeError) Error() string { return located(e.Path, e.Offset, e.Err) }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// JSONError says what a [JSONReader] could not read, and where.
type JSONError struct {
	// Path names the value, as in "sensors[2].type"; "" for the outermost one.
	Path string
	// Offset is the byte at fault, from 0.
	Offset int
	// Err is the cause.
	Err error
}

// Error returns the whole message on one line.
func (e *JSONError) Error() string { return located(e.Path, e.Offset, e.Err) }

// Unwrap returns the cause.
func (e *JSONError) Unwrap() error { return e.Err }

func located(path string, offset int, err error) string {
	if path != "" {
		path += ": "
	}
	return "codec: " + path + err.Error() + " at byte " + strconv.Itoa(offset)
}

var (
	errTooDeep   = fmt.Errorf("nested too deeply: the limit is %d levels", maxDepth)
	errDuplicate = errors.New("duplicate field")
	errMissing   = errors.New("missing field")
)

func errWant(want, got string) error {
	return fmt.Errorf("want %s, got %s", want, got)
}

func errTruncated(want uint64, have int) error {
	return fmt.Errorf("truncated: want %d more bytes, have %d", want, have)
}

func errTrailing(n int) error {
	return fmt.Errorf("%d bytes left over", n)
}

// errRange says that number, in decimal, does not fit the type.
func errRange(number, typ string) error {
	return fmt.Errorf("%s overflows %s", number, typ)
}

func errInexact(number, typ string) error {
	return fmt.Errorf("%s is not exactly representable as %s", number, typ)
}
