package codec

import (
	"strings"
	"testing"
	"time"
)

// ceiling is the number of allocations that a function may make at most.
type ceiling struct {
	name string
	most float64
	run  func()
}

func checkCeilings(t *testing.T, ceilings []ceiling) {
	t.Helper()
	for _, c := range ceilings {
		if got := testing.AllocsPerRun(100, c.run); got > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.name, got, c.most)
		}
	}
}

// Appending into room that is there allocates nothing.
func TestAppendersDoNotAllocate(t *testing.T) { // not parallel: it measures
	dst := make([]byte, 0, 4096)
	text, data := "tab\t\x00é\xff"+strings.Repeat("text", 20), []byte("some\x00data")
	at := instants[9]
	checkCeilings(t, []ceiling{
		{"msgpack", 0, func() { everything(dst) }},
		{"AppendString", 0, func() { AppendString(dst, text) }},
		{"AppendTime", 0, func() { AppendTime(AppendTime(AppendTime(dst, at), instants[0]), instants[1]) }},
		{"AppendHeader", 0, func() { AppendHeader(dst, Header{Version: 300, Expires: true, ExpiresAtMicros: 1}) }},
		{"key of integers", 0, func() { AppendKeyUint16(AppendKeyInt64(AppendKeyBool(dst, true), -1), 1) }},
		{"key of floats", 0, func() { AppendKeyFloat32(AppendKeyFloat64(dst, -1.5), 1.5) }},
		{"key of texts", 0, func() { AppendKeyBytes(AppendKeyString(dst, text), data) }},
		{"key of times", 0, func() { AppendKeyDuration(AppendKeyTime(dst, at), time.Hour) }},
		{"AppendJSONString", 0, func() { AppendJSONString(dst, text) }},
		{"JSON numbers", 0, func() {
			b, err := AppendJSONFloat(AppendJSONUint(AppendJSONInt(dst, -1<<60), 1<<60), 1e-9, 64)
			if err != nil || len(b) == 0 {
				t.Error(err)
			}
		}},
		{"AppendJSONBool, Bytes, Duration", 0, func() { AppendJSONDuration(AppendJSONBytes(AppendJSONBool(dst, true), data), time.Hour) }},
		{"AppendJSONTime", 0, func() {
			if _, err := AppendJSONTime(dst, at); err != nil {
				t.Error(err)
			}
		}},
	})
}

// Reading allocates what it returns and nothing else.
func TestReadersAllocateOnlyWhatTheyReturn(t *testing.T) { // not parallel: it measures
	numbers := AppendArrayHeader(nil, 6)
	numbers = AppendInt(numbers, -1<<40)
	numbers = AppendUint(numbers, 1<<40)
	numbers = AppendFloat64(AppendFloat32(numbers, 1.5), 0.1)
	numbers = AppendDuration(AppendTime(numbers, instants[11]), time.Hour)
	all := everything(nil)
	key := AppendKeyTime(AppendKeyFloat64(AppendKeyInt64(nil, -5), 1.5), instants[8])
	keyText := AppendKeyString(nil, "a\x00b")
	header := AppendHeader(nil, Header{Version: 300, Expires: true})
	plain := []byte(`{"id":18446744073709551615,"x":-0.123456789012345678,"d":-5,"ok":true,"none":null,"skip":[{"a":"b\n"},1.5e3]}`)
	text := []byte(`"some text of more than thirty-two bytes"`)
	at := []byte(`"2024-01-01T00:00:00.5Z"`)
	var r Reader
	var kr KeyReader
	var jr JSONReader
	readPlain := func() {
		jr.Reset(plain)
		if !readNumbers(&jr) {
			t.Error(jr.Err())
		}
	}
	readPlain() // grows the buffers that are kept
	checkCeilings(t, []ceiling{
		{"numbers and times", 0, func() {
			r.Reset(numbers)
			r.Struct(6)
			r.At("a")
			r.Int64()
			r.Uint64()
			r.Float32()
			r.Float64()
			r.Time()
			r.Duration()
			r.EndStruct()
			if r.Done() != nil {
				t.Error(r.Err())
			}
		}},
		{"two strings and bytes", 3, func() {
			r.Reset(all)
			if readEverything(&r) != nil {
				t.Error(r.Err())
			}
		}},
		{"Skip", 0, func() { r.Reset(all); r.Skip() }},
		{"ReadHeader", 0, func() {
			if _, _, err := ReadHeader(header); err != nil {
				t.Error(err)
			}
		}},
		{"key", 0, func() { kr.Reset(key); kr.Int64(); kr.Float64(); kr.Time() }},
		{"key of a string with escapes", 2, func() { kr.Reset(keyText); _ = kr.String() }},
		{"JSON object of numbers", 0, readPlain},
		{"JSON string", 1, func() { jr.Reset(text); _ = jr.String() }},
		{"JSON time", 0, func() { jr.Reset(at); jr.Time() }},
	})
}

func readNumbers(r *JSONReader) bool {
	var id, none bool
	for r.BeginObject(); r.NextField(); {
		switch string(r.Name()) {
		case "id":
			r.Mark(&id)
			r.Uint(64)
		case "x":
			r.Float(64)
		case "d":
			r.Duration()
		case "ok":
			r.Bool()
		case "none":
			none = r.Null()
		default:
			r.Skip()
		}
	}
	r.Need(id, "id")
	return none && r.End() == nil
}
