package codec

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// JSONReader reads one JSON value from a byte slice. The zero JSONReader reads
// nothing; give it input with Reset. See the package comment for its sticky
// error.
//
//	r.BeginObject()
//	for r.NextField() {
//		switch string(r.Name()) {
//		case "sensor":
//			r.Mark(&sensor)
//			v.Sensor = r.String()
//		default:
//			r.Skip()
//		}
//	}
//	r.Need(sensor, "sensor")
//	err := r.End()
//
// It is strict: what it reads, encoding/json reads as the same value, and beyond
// that it refuses invalid UTF-8, lone surrogates, a byte order mark and more
// than 256 levels. Names are compared exactly, case included.
type JSONReader struct {
	src     []byte
	off     int // the next byte to read
	start   int // the first byte of the value or token begun last
	depth   int // objects and arrays that are open
	err     error
	name    []byte // what Name returns
	nameBuf []byte // holds a name that had escapes
	textBuf []byte // holds a string that had escapes
	open    [maxDepth + 1]jsonLevel
	steps   [pathLevels]jsonStep
}

// jsonLevel is the state of an open object or array, by depth from 1.
type jsonLevel uint8

const (
	jsonObject  jsonLevel = 1
	jsonArray   jsonLevel = 2
	jsonStarted jsonLevel = 4 // its first field or element has been found
)

// jsonStep is one step of an error path, by depth from 1: where the raw name of
// the current field is in the input, or the index of the current element. It
// costs nothing until there is an error.
type jsonStep struct{ from, to, index int }

var errNotOpen = errors.New("NextField needs an open object, NextElem an open array")

var byteOrderMark = []byte("\xef\xbb\xbf")

// Reset makes r read src from its start and forgets everything else but its
// buffers. r reads from src itself, so src must not change until r is done.
func (r *JSONReader) Reset(src []byte) {
	r.src, r.off, r.start, r.depth, r.err, r.name = src, 0, 0, 0, nil, nil
	if bytes.HasPrefix(src, byteOrderMark) {
		r.Fail(errors.New("the input starts with a byte order mark: remove it"))
	}
}

// BeginObject opens an object. NextField, called until it returns false, closes
// it.
func (r *JSONReader) BeginObject() { r.openLevel('{', jsonObject, "object") }

// BeginArray opens an array. NextElem, called until it returns false, closes it.
func (r *JSONReader) BeginArray() { r.openLevel('[', jsonArray, "array") }

// NextField moves to the next field of the object opened last and returns true,
// its name being Name; the value is next. It returns false when the object has
// ended and after an error.
func (r *JSONReader) NextField() bool {
	if !r.next(jsonObject, '}') {
		return false
	}
	if r.begin() != '"' {
		r.unexpected("field name")
		return false
	}
	r.setStep(jsonStep{})
	from := r.off + 1
	name, ok := r.scanString(&r.nameBuf)
	if !ok {
		return false
	}
	r.name = name
	r.setStep(jsonStep{from: from, to: r.off - 1})
	if r.begin() != ':' {
		r.unexpected("':'")
		return false
	}
	r.off++
	r.start = from - 1
	return true
}

// Name returns the name of the current field, without escapes. It may alias the
// input and is valid until the next call of NextField.
func (r *JSONReader) Name() []byte { return r.name }

// NextElem moves to the next element of the array opened last and returns true;
// the value is next. It returns false when the array has ended and after an
// error.
func (r *JSONReader) NextElem() bool {
	if !r.next(jsonArray, ']') {
		return false
	}
	if r.depth < pathLevels {
		r.steps[r.depth].index++
	}
	return true
}

// Mark records that the current field was seen, and fails if it was before. It
// must be called before the value is read.
func (r *JSONReader) Mark(seen *bool) {
	if *seen {
		r.Fail(errDuplicate)
	}
	*seen = true
}

// Need fails, naming the field, unless it was seen. It is called when NextField
// has returned false.
func (r *JSONReader) Need(seen bool, name string) {
	if seen || r.err != nil {
		return
	}
	path := r.path()
	if path != "" {
		path += "."
	}
	r.err = &JSONError{Path: path + name, Offset: r.start, Err: errMissing}
}

// Skip moves over one value of any kind and checks it as if it were read.
func (r *JSONReader) Skip() {
	switch c := r.begin(); {
	case c == '{':
		for r.BeginObject(); r.NextField(); {
			r.Skip()
		}
	case c == '[':
		for r.BeginArray(); r.NextElem(); {
			r.Skip()
		}
	case c == '"':
		r.text("a value")
	case c == 't' || c == 'f':
		r.Bool()
	case c == 'n' && r.Null():
	default:
		r.number("a value")
	}
}

// Fail makes err the reader's error, with the path of the current value and the
// offset of the value begun last, unless there is one already. A nil err
// changes nothing.
func (r *JSONReader) Fail(err error) {
	if r.err == nil && err != nil {
		r.err = &JSONError{Path: r.path(), Offset: r.start, Err: err}
	}
}

// Err returns the first error, a *[JSONError], or nil.
func (r *JSONReader) Err() error { return r.err }

// End returns Err, or an error if the value has not been read to its end or
// anything but white space follows it.
func (r *JSONReader) End() error {
	c := r.begin()
	switch {
	case r.err != nil:
	case r.depth > 0:
		r.Fail(errors.New("the value has not been read to its end"))
	case r.off < len(r.src):
		r.Fail(fmt.Errorf("%s: data after the JSON value", quoteJSON(c)))
	}
	return r.err
}

// openLevel consumes the first byte of an object or array.
func (r *JSONReader) openLevel(opener byte, level jsonLevel, want string) {
	switch c := r.begin(); {
	case r.err != nil:
	case c != opener:
		r.unexpected(want)
	case r.depth == maxDepth:
		r.Fail(errTooDeep)
	default:
		r.off++
		r.depth++
		r.open[r.depth] = level
		r.setStep(jsonStep{index: -1})
	}
}

// setStep sets the path's step at the current level.
func (r *JSONReader) setStep(s jsonStep) {
	if r.depth < pathLevels {
		r.steps[r.depth] = s
	}
}

// next moves to the next field or element of the level opened last: over the
// comma or, returning false, over the closer.
func (r *JSONReader) next(kind jsonLevel, closer byte) bool {
	c := r.begin()
	level := r.open[r.depth]
	switch {
	case r.err != nil:
		return false
	case r.depth == 0 || level&^jsonStarted != kind:
		r.Fail(errNotOpen)
		return false
	case c == closer:
		r.off++
		r.depth--
		return false
	case level&jsonStarted == 0:
		r.open[r.depth] |= jsonStarted
		return true
	case c != ',':
		r.unexpected("',' or '" + string(rune(closer)) + "'")
		return false
	}
	r.off++
	if r.begin() == closer {
		r.Fail(fmt.Errorf("a comma precedes '%c'", closer))
		return false
	}
	return true
}

// begin moves over white space to the next token and returns its first byte; it
// is 0, which starts no token, at the end of the input and after an error.
func (r *JSONReader) begin() byte {
	if r.err != nil {
		return 0
	}
	for r.off < len(r.src) {
		switch c := r.src[r.off]; c {
		case ' ', '\t', '\r', '\n':
			r.off++
		default:
			r.start = r.off
			return c
		}
	}
	r.start = r.off
	return 0
}

// unexpected fails because the next token is not what is wanted.
func (r *JSONReader) unexpected(want string) {
	if r.err == nil {
		r.Fail(errWant(want, r.describe()))
	}
}

// failAt fails at an offset within a token.
func (r *JSONReader) failAt(offset int, err error) {
	if r.err == nil {
		r.start = offset
		r.Fail(err)
	}
}

// describe names the next token, for errors.
func (r *JSONReader) describe() string {
	if r.off >= len(r.src) {
		return "the end of the input"
	}
	switch c := r.src[r.off]; {
	case c == '"':
		return "string"
	case c == '{':
		return "object"
	case c == '[':
		return "array"
	case c == '-' || isDigit(c):
		end, _, _ := scanNumber(r.src, r.off)
		return shorten(r.src[r.off:end])
	default:
		for _, word := range []string{"true", "false", "null"} {
			if r.at(word) {
				return word
			}
		}
		return quoteJSON(c)
	}
}

// at tells whether the input goes on with word.
func (r *JSONReader) at(word string) bool {
	end := r.off + len(word)
	return end <= len(r.src) && string(r.src[r.off:end]) == word
}

// quoteJSON shows one byte of the input, for errors.
func quoteJSON(c byte) string {
	if c >= ' ' && c < 0x7f {
		return "'" + string(rune(c)) + "'"
	}
	return fmt.Sprintf("byte 0x%02x", c)
}

// shorten shows a number of the input, for errors.
func shorten(number []byte) string {
	const most = 40
	if len(number) > most {
		return string(number[:most]) + "…"
	}
	return string(number)
}

// path renders the steps to the current value.
func (r *JSONReader) path() string {
	var out []byte
	for level := 1; level <= r.depth && level < pathLevels; level++ {
		out = r.appendStep(out, level)
	}
	if r.depth >= pathLevels {
		out = append(out, ".…"...)
	}
	return string(out)
}

func (r *JSONReader) appendStep(out []byte, level int) []byte {
	step := r.steps[level]
	if r.open[level]&jsonArray != 0 {
		if step.index < 0 {
			return out
		}
		return append(strconv.AppendInt(append(out, '['), int64(step.index), 10), ']')
	}
	if step.to == 0 {
		return out // no field yet
	}
	if len(out) > 0 {
		out = append(out, '.')
	}
	out, _, _ = unescapeJSON(out, r.src[step.from:step.to])
	return out
}
