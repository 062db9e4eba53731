package codec

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// event is a row as generated code would read it.
type event struct {
	id     uint64
	sensor string
	values []float64
	at     time.Time
	inner  *event
}

func (e *event) readJSON(r *JSONReader) {
	var id, sensor, values, at, inner bool
	r.BeginObject()
	for r.NextField() {
		switch string(r.Name()) {
		case "id":
			r.Mark(&id)
			e.id = r.Uint(64)
		case "sensor":
			r.Mark(&sensor)
			e.sensor = r.String()
		case "values":
			r.Mark(&values)
			for r.BeginArray(); r.NextElem(); {
				e.values = append(e.values, r.Float(64))
			}
		case "at":
			r.Mark(&at)
			e.at = r.Time()
		case "inner":
			r.Mark(&inner)
			if !r.Null() {
				e.inner = new(event)
				e.inner.readJSON(r)
			}
		default:
			r.Skip()
		}
	}
	r.Need(id, "id")
	r.Need(sensor, "sensor")
}

func readEvent(in string) (*event, error) {
	var r JSONReader
	var e event
	r.Reset([]byte(in))
	e.readJSON(&r)
	return &e, r.End()
}

func TestJSONReaderReadsAnObject(t *testing.T) {
	t.Parallel()
	e, err := readEvent(" { \"id\" : 9007199254740993,\t\"sensor\":\"a\\u00e9\\n\\ud83d\\ude00\\/\",\r\n\"other\":{\"x\":[1,{}, [ ],null,true,false,\"\\t\",-1.5e+3]}," +
		`"values":[1,-2.5,1e3,0.1],"at":"2024-01-01T01:00:00.5+01:00","inner":{"id":1,"sensor":"","inner":null}}` + "\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if e.id != 9007199254740993 || e.sensor != "aé\n😀/" || len(e.values) != 4 || e.values[1] != -2.5 || e.values[2] != 1000 {
		t.Errorf("got %+v", e)
	}
	if want := time.Date(2024, 1, 1, 0, 0, 0, 5e8, time.UTC); e.at != want {
		t.Errorf("at is %v", e.at)
	}
	if e.inner == nil || e.inner.id != 1 || e.inner.inner != nil {
		t.Errorf("inner is %+v", e.inner)
	}
}

// B-81: a row is one object, and nothing follows it.
func TestJSONReaderRefusesMalformedRows(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"id":1,"inner":`, 300)
	for in, want := range map[string]string{
		`{"id":1,"sensor":"a"}{"id":2}`:          "codec: '{': data after the JSON value at byte 21",
		`{"id":1,"sensor":"a"} x`:                "codec: 'x': data after the JSON value at byte 22",
		"{\"id\":1,\"sensor\":\"a\"}\x00":        "codec: byte 0x00: data after the JSON value at byte 21",
		``:                                       "codec: want object, got the end of the input at byte 0",
		"  \n":                                   "codec: want object, got the end of the input at byte 3",
		`null`:                                   "codec: want object, got null at byte 0",
		`[]`:                                     "codec: want object, got array at byte 0",
		` 3`:                                     "codec: want object, got 3 at byte 1",
		`"x"`:                                    "codec: want object, got string at byte 0",
		`nul`:                                    "codec: want object, got 'n' at byte 0",
		"\xef\xbb\xbf{}":                         "codec: the input starts with a byte order mark: remove it at byte 0",
		`{}`:                                     "codec: id: missing field at byte 1",
		`{"id":1}`:                               "codec: sensor: missing field at byte 7",
		`{"id":1,"sensor":"a","inner":{"id":1}}`: "codec: inner.sensor: missing field at byte 36",
		`{"id":1,"id":1}`:                        "codec: id: duplicate field at byte 8",
		`{"id":1,"sensor":"a","inner":{"id":1,"id":2}}`: "codec: inner.id: duplicate field at byte 37",
		`{"id":1,}`:                 "codec: id: a comma precedes '}' at byte 8",
		`{,"id":1}`:                 "codec: want field name, got ',' at byte 1",
		`{"id":1 "sensor":""}`:      "codec: id: want ',' or '}', got string at byte 8",
		`{"id":1;`:                  "codec: id: want ',' or '}', got ';' at byte 7",
		`{"id" 1}`:                  "codec: id: want ':', got 1 at byte 6",
		`{id:1}`:                    "codec: want field name, got 'i' at byte 1",
		`{'id':1}`:                  "codec: want field name, got ''' at byte 1",
		`{"id":1`:                   "codec: id: want ',' or '}', got the end of the input at byte 7",
		`{"id":`:                    "codec: id: want integer, got the end of the input at byte 6",
		`{"id`:                      "codec: a string has no closing quote at byte 1",
		`{"id":1,"i`:                "codec: a string has no closing quote at byte 8",
		`{`:                         "codec: want field name, got the end of the input at byte 1",
		`{"values":[1,]}`:           "codec: values[0]: a comma precedes ']' at byte 13",
		`{"values":[1,"x"]}`:        "codec: values[1]: want number, got string at byte 13",
		`{"values":[1 2]}`:          "codec: values[0]: want ',' or ']', got 2 at byte 13",
		`{"values":[,1]}`:           "codec: values[0]: want number, got ',' at byte 11",
		`{"values":[1}`:             "codec: values[0]: want ',' or ']', got '}' at byte 12",
		`{"values":{"a":1}}`:        "codec: values: want array, got object at byte 10",
		`{"other":[1,{"a":truth}]}`: "codec: other[1].a: want bool, got 't' at byte 17",
		`{"other":nil}`:             "codec: other: want a value, got 'n' at byte 9",
		`{"other":trueish}`:         "codec: other: want ',' or '}', got 'i' at byte 13",
		`{"other":01}`:              `codec: other: "01" is not a JSON number at byte 9`,
		`{"a\"b":"` + "\n\"}":       "codec: a\"b: control character 0x0a in a string: write it as an escape at byte 9",
		"{\"a\":\"\xc3\x28\"}":      "codec: a: byte 0xc3 in a string is not UTF-8 at byte 6",
		"{\"\xff\":1}":              "codec: byte 0xff in a string is not UTF-8 at byte 2",
		`{"a":"\x41"}`:              `codec: a: unknown escape: '\' before 'x' at byte 6`,
		`{"a":"z\u12g4"}`:           `codec: a: \u needs four hexadecimal digits at byte 7`,
		`{"a":"\u12"}`:              `codec: a: \u needs four hexadecimal digits at byte 6`,
		`{"a":"\ud800"}`:            `codec: a: \ud800 is half of a surrogate pair at byte 6`,
		`{"a":"\ud800\u0041"}`:      `codec: a: \ud800 is half of a surrogate pair at byte 6`,
		`{"a":"\ude00\ud83d"}`:      `codec: a: \ude00 is half of a surrogate pair at byte 6`,
		`{"a":"x\`:                  `codec: a: a string has no closing quote at byte 5`,
		deep:                        "codec: inner" + strings.Repeat(".inner", 30) + ".…: nested too deeply: the limit is 256 levels at byte 4096",
	} {
		_, err := readEvent(in)
		wantMessage(t, err, want)
		var jsonErr *JSONError
		if !errors.As(err, &jsonErr) {
			t.Errorf("%s: the error is a %T", in, err)
		}
	}
}

// B-102: deep input is an error and does not exhaust the stack.
func TestJSONDepthIsLimited(t *testing.T) {
	t.Parallel()
	var r JSONReader
	r.Reset([]byte(strings.Repeat("[", 1_000_000)))
	r.Skip()
	wantMessage(t, r.End(), "codec: "+strings.Repeat("[0]", 31)+".…: nested too deeply: the limit is 256 levels at byte 256")
	r.Reset([]byte(strings.Repeat("[", 256) + strings.Repeat("]", 256)))
	if r.Skip(); r.End() != nil {
		t.Error(r.End())
	}
}

var jsonReaders = map[string]func(*JSONReader) any{
	"bool":     func(r *JSONReader) any { return r.Bool() },
	"int8":     func(r *JSONReader) any { return r.Int(8) },
	"int16":    func(r *JSONReader) any { return r.Int(16) },
	"int32":    func(r *JSONReader) any { return r.Int(32) },
	"int64":    func(r *JSONReader) any { return r.Int(64) },
	"uint8":    func(r *JSONReader) any { return r.Uint(8) },
	"uint16":   func(r *JSONReader) any { return r.Uint(16) },
	"uint32":   func(r *JSONReader) any { return r.Uint(32) },
	"uint64":   func(r *JSONReader) any { return r.Uint(64) },
	"float32":  func(r *JSONReader) any { return r.Float(32) },
	"float64":  func(r *JSONReader) any { return r.Float(64) },
	"string":   func(r *JSONReader) any { return r.String() },
	"bytes":    func(r *JSONReader) any { return string(r.Bytes()) },
	"time":     func(r *JSONReader) any { return r.Time() },
	"duration": func(r *JSONReader) any { return r.Duration() },
}

// wrong is an error message as a table's wanted value.
type wrong string

// B-82: integers are exact and take no way through a float.
func TestJSONReaderScalars(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, in string
		want    any
	}{
		{"uint64", "9007199254740993", uint64(9007199254740993)},
		{"int64", "9007199254740993", int64(9007199254740993)},
		{"uint64", "18446744073709551615", uint64(math.MaxUint64)},
		{"uint64", "18446744073709551616", wrong("codec: 18446744073709551616 overflows uint64 at byte 0")},
		{"uint64", "99999999999999999999", wrong("codec: 99999999999999999999 overflows uint64 at byte 0")},
		{"int64", "18446744073709551615", wrong("codec: 18446744073709551615 overflows int64 at byte 0")},
		{"int64", "9223372036854775807", int64(math.MaxInt64)},
		{"int64", "9223372036854775808", wrong("codec: 9223372036854775808 overflows int64 at byte 0")},
		{"int64", "-9223372036854775808", int64(math.MinInt64)},
		{"int64", "-9223372036854775809", wrong("codec: -9223372036854775809 overflows int64 at byte 0")},
		{"int8", "127", int64(127)},
		{"int8", "128", wrong("codec: 128 overflows int8 at byte 0")},
		{"int8", "-128", int64(-128)},
		{"int8", "-129", wrong("codec: -129 overflows int8 at byte 0")},
		{"int16", "32768", wrong("codec: 32768 overflows int16 at byte 0")},
		{"int32", "2147483648", wrong("codec: 2147483648 overflows int32 at byte 0")},
		{"uint8", "255", uint64(255)},
		{"uint8", "256", wrong("codec: 256 overflows uint8 at byte 0")},
		{"uint16", "65536", wrong("codec: 65536 overflows uint16 at byte 0")},
		{"uint32", "4294967296", wrong("codec: 4294967296 overflows uint32 at byte 0")},
		{"uint8", "-1", wrong("codec: -1 overflows uint8 at byte 0")},
		{"uint8", "-0", wrong("codec: -0 overflows uint8 at byte 0")},
		{"int8", "-0", int64(0)},
		{"int64", "1.0", wrong("codec: want integer, got 1.0 at byte 0")},
		{"int64", "1e3", wrong("codec: want integer, got 1e3 at byte 0")},
		{"int64", "1.5", wrong("codec: want integer, got 1.5 at byte 0")},
		{"uint8", "1E0", wrong("codec: want integer, got 1E0 at byte 0")},
		{"int64", "01", wrong(`codec: "01" is not a JSON number at byte 0`)},
		{"int64", "-", wrong(`codec: "-" is not a JSON number at byte 0`)},
		{"int64", "--1", wrong(`codec: "-" is not a JSON number at byte 0`)},
		{"int64", "+1", wrong("codec: want integer, got '+' at byte 0")},
		{"int64", "null", wrong("codec: want integer, got null at byte 0")},
		{"int64", `"1"`, wrong("codec: want integer, got string at byte 0")},
		{"int64", strings.Repeat("9", 100), wrong("codec: " + strings.Repeat("9", 40) + "… overflows int64 at byte 0")},

		{"float64", "0", 0.0},
		{"float64", "-0.0", math.Copysign(0, -1)},
		{"float64", "1E+2", 100.0},
		{"float64", "0.1", 0.1},
		{"float64", "1e-400", 0.0},
		{"float64", "1e400", wrong("codec: 1e400 overflows float64 at byte 0")},
		{"float32", "0.1", float64(float32(0.1))},
		{"float32", "1e39", wrong("codec: 1e39 overflows float32 at byte 0")},
		{"float64", "1.", wrong(`codec: "1." is not a JSON number at byte 0`)},
		{"float64", ".5", wrong("codec: want number, got '.' at byte 0")},
		{"float64", "1e", wrong(`codec: "1e" is not a JSON number at byte 0`)},
		{"float64", "1e+", wrong(`codec: "1e+" is not a JSON number at byte 0`)},
		{"float64", "NaN", wrong("codec: want number, got 'N' at byte 0")},
		{"float64", "0x10", wrong("codec: 'x': data after the JSON value at byte 1")},
		{"float64", "1_0", wrong("codec: '_': data after the JSON value at byte 1")},

		{"bool", "true", true},
		{"bool", " false ", false},
		{"bool", "1", wrong("codec: want bool, got 1 at byte 0")},
		{"bool", "True", wrong("codec: want bool, got 'T' at byte 0")},
		{"string", `""`, ""},
		{"string", `"\"\\\/\b\f\n\r\t\u0000"`, "\"\\/\b\f\n\r\t\x00"},
		{"string", `"\u00E9\u00e9"`, "éé"},
		{"string", "\"a\xc3\xa9\xff\"", wrong("codec: byte 0xff in a string is not UTF-8 at byte 4")},
		{"duration", `"\x"`, wrong(`codec: unknown escape: '\' before 'x' at byte 1`)},
		{"string", "5", wrong("codec: want string, got 5 at byte 0")},
		{"string", "null", wrong("codec: want string, got null at byte 0")},

		{"bytes", `"AP8="`, "\x00\xff"},
		{"bytes", `"AP8\u003d"`, "\x00\xff"},
		{"bytes", `""`, ""},
		{"bytes", `"AP8"`, wrong("codec: bad base64: illegal base64 data at input byte 0 at byte 0")},
		{"bytes", `"AP9="`, wrong("codec: bad base64: illegal base64 data at input byte 3 at byte 0")},
		{"bytes", `"_w=="`, wrong("codec: bad base64: illegal base64 data at input byte 0 at byte 0")},
		{"bytes", `"AP8=\n"`, wrong("codec: line break in base64 at byte 0")},
		{"bytes", `[1]`, wrong("codec: want base64 string, got array at byte 0")},

		{"time", `"2024-01-01T00:00:00Z"`, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"time", `"2024-01-01T02:00:00.123456789+02:00"`, time.Date(2024, 1, 1, 0, 0, 0, 123456789, time.UTC)},
		{"time", `"2024-01-01"`, wrong(`codec: want RFC 3339 time, got "2024-01-01" at byte 0`)},
		{"time", `"2024-02-30T00:00:00Z"`, wrong(`codec: want RFC 3339 time, got "2024-02-30T00:00:00Z" at byte 0`)},
		{"time", `"2024-01-01T0:00:00Z"`, wrong(`codec: want RFC 3339 time, got "2024-01-01T0:00:00Z" at byte 0`)},
		{"time", `"2024-01-01T00:00:00,5Z"`, wrong(`codec: want RFC 3339 time, got "2024-01-01T00:00:00,5Z" at byte 0`)},
		{"time", `"2024-01-01T00:00:60Z"`, wrong(`codec: want RFC 3339 time, got "2024-01-01T00:00:60Z" at byte 0`)},
		{"time", `"2024-01-01T00:00:00+24:00"`, wrong(`codec: want RFC 3339 time, got "2024-01-01T00:00:00+24:00" at byte 0`)},
		{"time", `"2024-01-01T00:00:00+00:60"`, wrong(`codec: want RFC 3339 time, got "2024-01-01T00:00:00+00:60" at byte 0`)},
		{"time", `"2024-01-01T00:00:00.Z"`, wrong(`codec: want RFC 3339 time, got "2024-01-01T00:00:00.Z" at byte 0`)},
		{"time", `"2024-01-01t00:00:00z"`, wrong(`codec: want RFC 3339 time, got "2024-01-01t00:00:00z" at byte 0`)},
		{"time", `"2024-01-01T00:00:00"`, wrong(`codec: want RFC 3339 time, got "2024-01-01T00:00:00" at byte 0`)},
		{"time", `"2024-01-01T00:00:00.1234567899-23:59"`, time.Date(2024, 1, 1, 23, 59, 0, 123456789, time.UTC)},
		{"time", `1704067200`, wrong("codec: want RFC 3339 time, got 1704067200 at byte 0")},

		{"duration", "90", 90 * time.Nanosecond},
		{"duration", "-9223372036854775808", time.Duration(math.MinInt64)},
		{"duration", `"1m30s"`, 90 * time.Second},
		{"duration", `"90"`, wrong(`codec: want duration such as 90 or "1m30s", got "90" at byte 0`)},
		{"duration", "1.5", wrong("codec: want integer, got 1.5 at byte 0")},
	} {
		var r JSONReader
		r.Reset([]byte(c.in))
		got := jsonReaders[c.typ](&r)
		err := r.End()
		if msg, ok := c.want.(wrong); ok {
			wantMessage(t, err, string(msg))
		} else if !sameValue(got, c.want) || err != nil {
			t.Errorf("%s as %s: got %v, %v, want %v", c.in, c.typ, got, err, c.want)
		}
	}
}

func TestJSONBytesKeepNilAndCopy(t *testing.T) {
	t.Parallel()
	var r JSONReader
	for _, want := range [][]byte{nil, {}, {1, 2, 3}} {
		src := AppendJSONBytes(nil, want)
		r.Reset(src)
		got := r.Bytes()
		if err := r.End(); err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%#v: got %#v, %v", want, got, err)
		}
	}
	src := []byte(`["plain","es\u0063aped"]`)
	r.Reset(src)
	r.BeginArray()
	r.NextElem()
	a := r.String()
	r.NextElem()
	b := r.String()
	clear(src)
	r.Reset([]byte(`"\u0058XXXXXX"`))
	if _ = r.String(); a != "plain" || b != "escaped" {
		t.Errorf("strings alias the input or the buffer: %q, %q", a, b)
	}
}

func TestJSONReaderErrorSticks(t *testing.T) {
	t.Parallel()
	var r, none JSONReader
	r.Reset([]byte(`{"a":1}`))
	if r.End() == nil {
		t.Error("End before the value: no error")
	}
	r.Reset([]byte(`{"a":1}`))
	r.BeginObject()
	r.NextField()
	cause := errors.New("too odd")
	r.Fail(nil)
	r.Int(64)
	r.Fail(cause)
	wantMessage(t, r.Err(), "codec: a: too odd at byte 5")
	if !errors.Is(r.Err(), cause) {
		t.Error("the cause is lost")
	}
	for typ, read := range jsonReaders {
		if got := read(&r); got != read(&none) {
			t.Errorf("%s after an error: got %v", typ, got)
		}
	}
	seen := true
	r.Mark(&seen)
	r.Need(false, "b")
	r.BeginArray()
	r.Skip()
	if r.NextField() || r.NextElem() || !r.Null() || r.End() != r.Err() {
		t.Error("a loop goes on after an error")
	}
	wantMessage(t, r.Err(), "codec: a: too odd at byte 5")
}

func TestJSONReaderMisuseIsAnError(t *testing.T) {
	t.Parallel()
	for name, misuse := range map[string]func(*JSONReader){
		"NextField at the top":   func(r *JSONReader) { r.NextField() },
		"NextElem at the top":    func(r *JSONReader) { r.NextElem() },
		"NextElem in an object":  func(r *JSONReader) { r.BeginObject(); r.NextElem() },
		"a value not read":       func(r *JSONReader) { r.BeginObject(); r.NextField(); r.NextField() },
		"an object not finished": func(r *JSONReader) { r.BeginObject(); r.NextField(); r.Skip() },
	} {
		var r JSONReader
		r.Reset([]byte(`{"a":1}`))
		if misuse(&r); r.End() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
