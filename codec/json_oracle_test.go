package codec

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// readAny reads any value as encoding/json does with UseNumber.
func readAny(r *JSONReader) any {
	switch c := r.begin(); c {
	case '{':
		out := map[string]any{}
		for r.BeginObject(); r.NextField(); {
			name := string(r.Name())
			out[name] = readAny(r)
		}
		return out
	case '[':
		out := []any{}
		for r.BeginArray(); r.NextElem(); {
			out = append(out, readAny(r))
		}
		return out
	case '"':
		return r.String()
	case 't', 'f':
		return r.Bool()
	}
	if r.Null() {
		return nil
	}
	token, _ := r.number("a value")
	return json.Number(token)
}

var jsonSeeds = []string{
	`{"a":[1,-2.5e3,{"b":null}],"c":"\u00e9\ud83d\ude00\n","a":true}`, ` [ ] `, `{"":""}`, `"\ud800"`, "\"\xff\"", `{"a":1,}`,
	`01`, `-0`, `1e400`, `18446744073709551615`, `"2024-01-01T00:00:00.5+01:00"`, `"AP8="`, `"1m30s"`, `null`, `truefalse`, "\"\x00\"",
}

// What JSONReader accepts, encoding/json reads as the same value; what it
// refuses, encoding/json refuses, but for the documented cases.
func FuzzJSONReaderAgainstEncodingJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r, skipper JSONReader
		r.Reset(b)
		got := readAny(&r)
		err := r.End()
		skipper.Reset(b)
		skipper.Skip()
		if skipErr := skipper.End(); (skipErr == nil) != (err == nil) {
			t.Fatalf("%q: reading gives %v, skipping %v", b, err, skipErr)
		}
		var want any
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		switch {
		case err == nil && !json.Valid(b):
			t.Errorf("%q: accepted, encoding/json refuses it", b)
		case err == nil && d.Decode(&want) != nil:
			t.Errorf("%q: accepted, encoding/json does not read it", b)
		case err == nil && !reflect.DeepEqual(got, want):
			t.Errorf("%q: got %#v, encoding/json reads %#v", b, got, want)
		case err != nil && json.Valid(b) && utf8.Valid(b) && !refusedByUsOnly(err):
			t.Errorf("%q: refused (%v), encoding/json accepts it", b, err)
		}
	})
}

func refusedByUsOnly(err error) bool {
	return strings.Contains(err.Error(), "surrogate") || strings.Contains(err.Error(), "nested too deeply")
}

// What a typed method accepts, encoding/json decodes into the same value.
func FuzzJSONScalarsAgainstEncodingJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		agree(t, b, (*JSONReader).Bool)
		agree(t, b, func(r *JSONReader) int8 { return int8(r.Int(8)) })
		agree(t, b, func(r *JSONReader) int32 { return int32(r.Int(32)) })
		agree(t, b, func(r *JSONReader) int64 { return r.Int(64) })
		agree(t, b, func(r *JSONReader) uint8 { return uint8(r.Uint(8)) })
		agree(t, b, func(r *JSONReader) uint64 { return r.Uint(64) })
		agree(t, b, func(r *JSONReader) float32 { return float32(r.Float(32)) })
		agree(t, b, func(r *JSONReader) float64 { return r.Float(64) })
		agree(t, b, (*JSONReader).String)
		agree(t, b, (*JSONReader).Bytes)
		agree(t, b, (*JSONReader).Time)
	})
}

func agree[T any](t *testing.T, b []byte, read func(*JSONReader) T) {
	t.Helper()
	var r JSONReader
	r.Reset(b)
	got := read(&r)
	if r.End() != nil {
		return
	}
	var want T
	if err := json.Unmarshal(b, &want); err != nil {
		t.Errorf("%q: got %#v, encoding/json fails: %v", b, got, err)
		return
	}
	if at, ok := any(got).(time.Time); ok {
		if !at.Equal(any(want).(time.Time)) {
			t.Errorf("%q: got %v, encoding/json reads %v", b, got, want)
		}
	} else if !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %#v, encoding/json reads %#v", b, got, want)
	}
}
