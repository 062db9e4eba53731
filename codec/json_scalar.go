package codec

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Null returns true and consumes the next value if that is null, and false, with
// nothing consumed, otherwise. It returns true after an error.
func (r *JSONReader) Null() bool {
	r.begin()
	if r.err != nil {
		return true
	}
	if !r.at("null") {
		return false
	}
	r.off += len("null")
	return true
}

// Bool reads true or false.
func (r *JSONReader) Bool() bool {
	r.begin()
	switch {
	case r.err != nil:
	case r.at("true"):
		r.off += len("true")
		return true
	case r.at("false"):
		r.off += len("false")
	default:
		r.unexpected("bool")
	}
	return false
}

// Int reads an integer of so many bits, 8 to 64, exactly. A number that does not
// fit, or has a fraction or an exponent, even 1.0 and 1e3, is an error.
func (r *JSONReader) Int(bits int) int64 {
	token, ok := r.integer()
	if !ok {
		return 0
	}
	neg := token[0] == '-'
	if neg {
		token = token[1:]
	}
	limit := uint64(1) << (bits - 1) // of a negative number
	if !neg {
		limit--
	}
	v, ok := parseDigits(token)
	switch {
	case !ok || v > limit:
		r.overflow("int" + strconv.Itoa(bits))
		return 0
	case neg:
		return -int64(v)
	}
	return int64(v)
}

// Uint reads an unsigned integer of so many bits, 8 to 64, with the rules of
// [JSONReader.Int]; -0 is an error too.
func (r *JSONReader) Uint(bits int) uint64 {
	token, ok := r.integer()
	if !ok {
		return 0
	}
	v, ok := parseDigits(token)
	if !ok || v > math.MaxUint64>>(64-bits) {
		r.overflow("uint" + strconv.Itoa(bits))
		return 0
	}
	return v
}

// Float reads a number as the nearest float of so many bits, 32 or 64. One whose
// size is beyond the greatest float is an error.
func (r *JSONReader) Float(bits int) float64 {
	token, ok := r.number("number")
	if !ok {
		return 0
	}
	v, err := strconv.ParseFloat(string(token), bits)
	if err != nil {
		r.overflow("float" + strconv.Itoa(bits))
		return 0
	}
	return v
}

// String reads a string.
func (r *JSONReader) String() string {
	s, _ := r.text("string")
	return string(s)
}

// Bytes reads a string in standard base64 with padding into a new slice; null is
// a nil slice, "" is an empty one.
func (r *JSONReader) Bytes() []byte {
	if r.Null() {
		return nil
	}
	s, ok := r.text("base64 string")
	if !ok {
		return nil
	}
	// The decoder skips line breaks, which have no place here.
	if i := bytes.IndexAny(s, "\r\n"); i >= 0 {
		r.Fail(errors.New("line break in base64"))
		return nil
	}
	out, err := base64.StdEncoding.Strict().AppendDecode([]byte{}, s)
	if err != nil {
		r.Fail(fmt.Errorf("bad base64: %w", err))
		return nil
	}
	return out
}

// Duration reads an integer number of nanoseconds, or a string as
// [time.ParseDuration] takes it, such as "1m30s".
func (r *JSONReader) Duration() time.Duration {
	if r.begin() != '"' {
		return time.Duration(r.Int(64))
	}
	s, ok := r.text("duration")
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(string(s))
	if err != nil {
		r.Fail(fmt.Errorf("want duration such as 90 or %q, got %q", "1m30s", shorten(s)))
		return 0
	}
	return d
}

// integer consumes a number without fraction and exponent.
func (r *JSONReader) integer() (token []byte, ok bool) {
	c := r.begin()
	if c != '-' && !isDigit(c) {
		r.unexpected("integer")
		return nil, false
	}
	end, whole, ok := scanNumber(r.src, r.off)
	token = r.src[r.off:end]
	switch {
	case !ok:
		r.Fail(errNumber(token))
		return nil, false
	case !whole:
		r.unexpected("integer")
		return nil, false
	}
	r.off = end
	return token, true
}

// number consumes any number.
func (r *JSONReader) number(want string) (token []byte, ok bool) {
	c := r.begin()
	if c != '-' && !isDigit(c) {
		r.unexpected(want)
		return nil, false
	}
	end, _, ok := scanNumber(r.src, r.off)
	token = r.src[r.off:end]
	if !ok {
		r.Fail(errNumber(token))
		return nil, false
	}
	r.off = end
	return token, true
}

// overflow fails about the number just consumed.
func (r *JSONReader) overflow(typ string) {
	r.Fail(errRange(shorten(r.src[r.start:r.off]), typ))
}

func errNumber(token []byte) error {
	return fmt.Errorf("%q is not a JSON number", shorten(token))
}

// scanNumber finds the end of the number at off by the JSON grammar. whole is
// true if it has neither fraction nor exponent; ok is false if the bytes up to
// end are no number.
func scanNumber(b []byte, off int) (end int, whole, ok bool) {
	i := off
	if b[i] == '-' {
		i++
	}
	first := i
	i = skipDigits(b, i)
	if i == first || i-first > 1 && b[first] == '0' {
		return i, true, false
	}
	whole = true
	if i < len(b) && b[i] == '.' {
		whole, first = false, i+1
		if i = skipDigits(b, first); i == first {
			return i, false, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		whole, first = false, i+1
		if first < len(b) && (b[first] == '+' || b[first] == '-') {
			first++
		}
		if i = skipDigits(b, first); i == first {
			return i, false, false
		}
	}
	return i, whole, true
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

// parseDigits returns the value of decimal digits; ok is false if there is
// anything else, as a minus sign, or the value is beyond a uint64.
func parseDigits(digits []byte) (v uint64, ok bool) {
	for _, c := range digits {
		d := uint64(c - '0')
		if d > 9 || v > (math.MaxUint64-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	return v, true
}
