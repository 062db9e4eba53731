package codec

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// unhex turns "c0 ff" into bytes.
func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readerOf(b []byte) *Reader {
	r := new(Reader)
	r.Reset(b)
	return r
}

func wantMessage(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", want)
	} else if err.Error() != want {
		t.Errorf("got error  %s\nwant error %s", err, want)
	}
}

func TestAppendIntShortestForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    int64
		want string
	}{
		{0, "00"}, {1, "01"}, {127, "7f"}, {128, "cc 80"}, {255, "cc ff"}, {256, "cd 0100"},
		{65535, "cd ffff"}, {65536, "ce 00010000"}, {math.MaxUint32, "ce ffffffff"},
		{math.MaxUint32 + 1, "cf 0000000100000000"}, {math.MaxInt64, "cf 7fffffffffffffff"},
		{-1, "ff"}, {-32, "e0"}, {-33, "d0 df"}, {-128, "d0 80"}, {-129, "d1 ff7f"},
		{-32768, "d1 8000"}, {-32769, "d2 ffff7fff"}, {math.MinInt32, "d2 80000000"},
		{math.MinInt32 - 1, "d3 ffffffff7fffffff"}, {math.MinInt64, "d3 8000000000000000"},
	} {
		got := AppendInt(nil, c.v)
		if !bytes.Equal(got, unhex(t, c.want)) {
			t.Errorf("%d: got %x, want %s", c.v, got, c.want)
		}
		r := readerOf(got)
		if v := r.Int64(); v != c.v || r.Done() != nil {
			t.Errorf("%d: read back %d, %v", c.v, v, r.Done())
		}
	}
	r := readerOf(AppendUint(nil, math.MaxUint64))
	if v := r.Uint64(); v != math.MaxUint64 || r.Done() != nil {
		t.Errorf("MaxUint64: read back %d, %v", v, r.Done())
	}
}

// readers are the typed methods of Reader.
var readers = map[string]func(*Reader) any{
	"bool":     func(r *Reader) any { return r.Bool() },
	"int8":     func(r *Reader) any { return r.Int8() },
	"int16":    func(r *Reader) any { return r.Int16() },
	"int32":    func(r *Reader) any { return r.Int32() },
	"int64":    func(r *Reader) any { return r.Int64() },
	"int":      func(r *Reader) any { return r.Int() },
	"uint8":    func(r *Reader) any { return r.Uint8() },
	"uint16":   func(r *Reader) any { return r.Uint16() },
	"uint32":   func(r *Reader) any { return r.Uint32() },
	"uint64":   func(r *Reader) any { return r.Uint64() },
	"uint":     func(r *Reader) any { return r.Uint() },
	"float32":  func(r *Reader) any { return r.Float32() },
	"float64":  func(r *Reader) any { return r.Float64() },
	"string":   func(r *Reader) any { return r.String() },
	"bytes":    func(r *Reader) any { return string(r.Bytes()) },
	"time":     func(r *Reader) any { return r.Time() },
	"duration": func(r *Reader) any { return r.Duration() },
}

// B-48: numbers in any form are read exactly or refused.
func TestReaderNumberMatrix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, typ string
		want    any // a value, or an error as a string
	}{
		{"cd 012c", "int8", "codec: f: 300 overflows int8 at byte 0"},
		{"ff", "uint64", "codec: f: -1 overflows uint64 at byte 0"},
		{"cf ffffffffffffffff", "int64", "codec: f: 18446744073709551615 overflows int64 at byte 0"},
		{"cf ffffffffffffffff", "int", "codec: f: 18446744073709551615 overflows int at byte 0"},
		{"cf ffffffffffffffff", "duration", "codec: f: 18446744073709551615 overflows duration at byte 0"},
		{"cf 0000010000000000", "int32", "codec: f: 1099511627776 overflows int32 at byte 0"},
		{"cc 80", "int8", "codec: f: 128 overflows int8 at byte 0"},
		{"d1 ff7f", "int8", "codec: f: -129 overflows int8 at byte 0"},
		{"cd 8000", "int16", "codec: f: 32768 overflows int16 at byte 0"},
		{"cd 0100", "uint8", "codec: f: 256 overflows uint8 at byte 0"},
		{"ce 00010000", "uint16", "codec: f: 65536 overflows uint16 at byte 0"},
		{"cf 0000000100000000", "uint32", "codec: f: 4294967296 overflows uint32 at byte 0"},
		{"d3 8000000000000000", "uint", "codec: f: -9223372036854775808 overflows uint at byte 0"},
		{"d0 80", "int8", int8(-128)},
		{"d2 80000000", "int64", int64(math.MinInt32)},
		{"cc ff", "int16", int16(255)},
		{"d3 0000000000000005", "uint8", uint8(5)}, // not the shortest form
		{"cf 0000000000000005", "int8", int8(5)},
		{"cf 00000000ffffffff", "uint", uint(math.MaxUint32)},

		{"07", "float64", 7.0},
		{"fe", "float32", float32(-2)},
		{"cf 0020000000000000", "float64", float64(1 << 53)},
		{"cf 0020000000000001", "float64", "codec: f: 9007199254740993 is not exactly representable as float64 at byte 0"},
		{"cf 8000000000000000", "float64", float64(1 << 63)},
		{"d3 8000000000000000", "float64", float64(math.MinInt64)},
		{"d3 8000000000000001", "float64", "codec: f: -9223372036854775807 is not exactly representable as float64 at byte 0"},
		{"cf ffffffffffffffff", "float64", "codec: f: 18446744073709551615 is not exactly representable as float64 at byte 0"},
		{"ce 01000001", "float32", "codec: f: 16777217 is not exactly representable as float32 at byte 0"},
		{"ce 01000000", "float32", float32(1 << 24)},
		{"ca 3dcccccd", "float64", float64(float32(0.1))},
		{"cb 3fb999999999999a", "float32", "codec: f: 0.1 is not exactly representable as float32 at byte 0"},
		{"cb 3ff8000000000000", "float32", float32(1.5)},
		{"cb 7ff0000000000000", "float32", float32(math.Inf(1))},
		{"cb 47f0000000000000", "float32", "codec: f: 3.402823669209385e+38 is not exactly representable as float32 at byte 0"},
		{"cb 3ff8000000000000", "int64", "codec: f: want int64, got float at byte 0"},
		{"cb 4024000000000000", "int64", "codec: f: want int64, got float at byte 0"}, // 10.0
		{"c0", "int64", "codec: f: want int64, got nil at byte 0"},
		{"c0", "float64", "codec: f: want float64, got nil at byte 0"},
		{"c0", "string", "codec: f: want string, got nil at byte 0"},
		{"c0", "time", "codec: f: want time, got nil at byte 0"},
		{"c0", "bool", "codec: f: want bool, got nil at byte 0"},
		{"01", "bool", "codec: f: want bool, got int at byte 0"},
		{"a131", "int", "codec: f: want int, got string at byte 0"},
		{"c401ff", "string", "codec: f: want string, got bytes at byte 0"},
		{"a1ff", "bytes", "codec: f: want bytes, got string at byte 0"},
		{"90", "string", "codec: f: want string, got array at byte 0"},
		{"80", "uint8", "codec: f: want uint8, got map at byte 0"},
		{"c3", "duration", "codec: f: want duration, got bool at byte 0"},
		{"c1", "float32", "codec: f: want float32, got the invalid byte 0xc1 at byte 0"},
		{"d6ff00000000", "int64", "codec: f: want int64, got ext at byte 0"},
		{"", "int64", "codec: f: want int64, got the end of the input at byte 0"},
	} {
		r := readerOf(unhex(t, c.in))
		r.At("f")
		got := readers[c.typ](r)
		if msg, ok := c.want.(string); ok {
			wantMessage(t, r.Err(), msg)
			if got != readers[c.typ](readerOf(nil)) {
				t.Errorf("%s as %s: %v returned with the error", c.in, c.typ, got)
			}
		} else if got != c.want || r.Done() != nil {
			t.Errorf("%s as %s: got %v, %v", c.in, c.typ, got, r.Done())
		}
	}
}

func TestFloatsKeepEveryBit(t *testing.T) {
	t.Parallel()
	for _, bits := range []uint64{0, 1, 1 << 63, 1<<63 | 1, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff8 << 48, 0x7ff8<<48 | 0xbeef, 0x3ff8 << 48} {
		r := readerOf(AppendFloat64(nil, math.Float64frombits(bits)))
		if got := math.Float64bits(r.Float64()); got != bits || r.Done() != nil {
			t.Errorf("%016x: got %016x, %v", bits, got, r.Done())
		}
	}
	for _, bits := range []uint32{0, 1, 1 << 31, 0x7f800000, 0xff800000, 0x7fc00000, 0x7fc0beef, 0x3f800000} {
		r := readerOf(AppendFloat32(nil, math.Float32frombits(bits)))
		if got := math.Float32bits(r.Float32()); got != bits || r.Done() != nil {
			t.Errorf("%08x: got %08x, %v", bits, got, r.Done())
		}
	}
}

func TestStringsAndBytesOfEveryLength(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536} {
		want := strings.Repeat("\x80", n) // not UTF-8
		b := AppendBytes(AppendString(nil, want), []byte(want))
		r := readerOf(b)
		s, data := r.String(), r.Bytes()
		if s != want || data == nil || string(data) != want || r.Done() != nil {
			t.Errorf("length %d does not read back: %v", n, r.Done())
		}
		clear(b)
		if s != want || string(data) != want {
			t.Errorf("length %d: the value aliases the input", n)
		}
	}
	r := readerOf(AppendBytes(nil, nil))
	if r.Bytes() != nil || r.Done() != nil {
		t.Errorf("a nil slice does not read back as nil: %v", r.Done())
	}
}

func TestLengthsBeyondMsgpackPanic(t *testing.T) {
	t.Parallel()
	tooLong := uint64(1) << 32
	for name, appendIt := range map[string]func(int){
		"array":  func(n int) { AppendArrayHeader(nil, n) },
		"string": func(n int) { appendStringHeader(nil, n) },
		"bytes":  func(n int) { appendLength(nil, msgBin8, n) },
	} {
		func() {
			defer func() {
				if got := recover(); got != "codec: length 4294967296: msgpack holds 0 to 4294967295" {
					t.Errorf("%s: recovered %v", name, got)
				}
			}()
			appendIt(int(tooLong))
		}()
	}
	defer func() {
		if recover() == nil {
			t.Error("a negative length passes")
		}
	}()
	AppendArrayHeader(nil, -1)
}

var instants = []time.Time{
	{},
	time.Unix(0, 0), time.Unix(0, 1), time.Unix(-1, 999999999), time.Unix(1<<32-1, 0), time.Unix(1<<32, 0),
	time.Unix(1<<34-1, 999999999), time.Unix(1<<34, 0),
	time.Date(2024, 1, 1, 0, 0, 0, 5, time.UTC),
	time.Date(2024, 1, 1, 9, 30, 0, 5, time.FixedZone("JST", 9*3600)),
	time.Date(2024, 1, 1, 0, 0, 0, 5, time.FixedZone("", 3600)),
	time.Date(1600, 2, 29, 1, 2, 3, 4, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
	time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(250000, 1, 1, 0, 0, 0, 7, time.UTC),
}

// B-50: an instant comes back as the same instant, in UTC, in any local zone.
func TestTimesAreUTC(t *testing.T) { // not parallel: it sets time.Local
	local := time.Local
	defer func() { time.Local = local }()
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("JST", 9*3600), time.FixedZone("NST", -12600)} {
		time.Local = zone
		for _, want := range append(instants, time.Now(), time.Now().In(zone)) {
			b := AppendTime(nil, want)
			if other := AppendTime(nil, want.UTC()); !bytes.Equal(b, other) {
				t.Errorf("%v: the bytes depend on the zone: %x and %x", want, b, other)
			}
			r := readerOf(b)
			got := r.Time()
			if err := r.Done(); err != nil || !got.Equal(want) || got.Location() != time.UTC || got.IsZero() != want.IsZero() {
				t.Errorf("%v: got %v, %v", want, got, err)
			}
			var kr KeyReader
			kr.Reset(AppendKeyTime(nil, want))
			got = kr.Time()
			if err := kr.Done(); err != nil || !got.Equal(want) || got.Location() != time.UTC || got.IsZero() != want.IsZero() {
				t.Errorf("%v as a key: got %v, %v", want, got, err)
			}
		}
	}
}

func TestTimeRefusesWhatIsNoInstant(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"d6 01 00000000":                     "codec: want time, got ext of type 1 at byte 0",
		"d5 ff 0000":                         "codec: want time of 4, 8 or 12 bytes, got 2 at byte 0",
		"d7 ff ee6b2800 00000000":            "codec: time with 1000000000 nanoseconds in its second at byte 0",
		"c7 0c ff 3b9aca00 0000000000000000": "codec: time with 1000000000 nanoseconds in its second at byte 0",
		"c7 0c ff 3b9ac9":                    "codec: truncated: want 12 more bytes, have 3 at byte 0",
		"c7":                                 "codec: truncated: want 1 more bytes, have 0 at byte 0",
	} {
		r := readerOf(unhex(t, in))
		if got := r.Time(); !got.IsZero() {
			t.Errorf("%s: got %v", in, got)
		}
		wantMessage(t, r.Err(), want)
	}
	// Any header may carry an instant, not only the shortest.
	r := readerOf(unhex(t, "c7 04 ff 00000001 c8 0008 ff 0000000000000001"))
	if a, b := r.Time(), r.Time(); a.Unix() != 1 || b.Unix() != 1 || r.Done() != nil {
		t.Errorf("got %v and %v, %v", a, b, r.Done())
	}
}

func TestStructAndListShapes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 15, 16, 65535, 65536} {
		b := AppendArrayHeader(nil, n)
		for range n {
			b = AppendNil(b)
		}
		r := readerOf(b)
		if got, ok := r.List(); got != n || !ok {
			t.Errorf("List: got %d, %v, want %d", got, ok, n)
		}
		r.Reset(b)
		r.Struct(n)
		for range n {
			r.Skip()
		}
		r.EndStruct()
		if err := r.Done(); err != nil {
			t.Errorf("Struct of %d: %v", n, err)
		}
	}
	r := readerOf([]byte{msgNil})
	if n, ok := r.List(); n != 0 || ok || r.Done() != nil {
		t.Errorf("nil list: got %d, %v, %v", n, ok, r.Done())
	}
}

func TestNilConsumesOnlyNil(t *testing.T) {
	t.Parallel()
	r := readerOf(AppendInt(AppendNil(nil), 5))
	if !r.Nil() || r.Nil() || r.Int() != 5 || r.Done() != nil {
		t.Errorf("nil then 5 does not read: %v", r.Done())
	}
	if !r.Nil() || r.Err() == nil {
		t.Error("Nil at the end of the input is neither true nor an error")
	}
}

func TestReaderErrorsNamePathAndOffset(t *testing.T) {
	t.Parallel()
	b := AppendArrayHeader(nil, 2)
	b = AppendArrayHeader(b, 2)
	b = AppendString(b, "a string")
	b = AppendInt(b, 7)
	b = AppendInt(b, 8)
	r := readerOf(b)
	r.Struct(2)
	r.At("sensor")
	r.Struct(2)
	r.At("name")
	_ = r.String()
	r.At("type")
	_ = r.String()
	r.At("later")
	wantMessage(t, r.Err(), "codec: sensor.type: want string, got int at byte 11")
	r.Fail(errors.New("a second error"))
	if n := r.Int(); n != 0 || r.Err().(*DecodeError).Path != "sensor.type" {
		t.Errorf("the first error does not stick: %d, %v", n, r.Err())
	}

	r.Reset(b)
	r.At("last")
	r.Struct(2)
	r.At("sensor")
	r.Skip()
	r.At("count")
	r.Int8()
	r.Fail(nil)
	if r.Err() != nil {
		t.Fatalf("Fail(nil): %v", r.Err())
	}
	cause := errors.New("counts are odd")
	r.Fail(cause)
	wantMessage(t, r.Err(), "codec: last.count: counts are odd at byte 12")
	if !errors.Is(r.Err(), cause) {
		t.Error("the cause is lost")
	}

	r.Reset(b)
	r.Struct(2)
	r.At("inner")
	r.Struct(2)
	r.Skip()
	r.Skip()
	r.EndStruct()
	r.At("outer")
	r.Bool()
	wantMessage(t, r.Err(), "codec: outer: want bool, got int at byte 12")

	r.Reset(b)
	r.Struct(3)
	wantMessage(t, r.Err(), "codec: want 3 fields, got 2 at byte 0")
	r.Reset([]byte{1, 2})
	r.Int()
	wantMessage(t, r.Done(), "codec: 1 bytes left over at byte 1")
	r.Reset([]byte{msgNil})
	r.Struct(0)
	wantMessage(t, r.Err(), "codec: want struct, got nil at byte 0")
	r.Reset([]byte{0x80})
	r.List()
	wantMessage(t, r.Err(), "codec: want array, got map at byte 0")
}

// everything appends one value of each kind.
func everything(dst []byte) []byte {
	dst = AppendArrayHeader(dst, 11)
	dst = AppendBool(dst, true)
	dst = AppendInt(dst, -300)
	dst = AppendUint(dst, math.MaxUint64)
	dst = AppendFloat32(dst, 1.5)
	dst = AppendFloat64(dst, 0.1)
	dst = AppendString(dst, "a string of more than thirty-one bytes, in str 8")
	dst = AppendBytes(dst, []byte("bytes"))
	dst = AppendTime(dst, instants[11])
	dst = AppendDuration(dst, time.Hour)
	dst = AppendArrayHeader(dst, 2)
	dst = AppendNil(AppendString(dst, "elem"))
	return AppendNil(dst)
}

func readEverything(r *Reader) error {
	r.Struct(11)
	r.Bool()
	r.Int16()
	r.Uint64()
	r.Float32()
	r.Float64()
	_ = r.String()
	r.Bytes()
	r.Time()
	r.Duration()
	if n, _ := r.List(); n == 2 {
		_ = r.String()
		r.Nil()
	}
	r.Nil()
	r.EndStruct()
	return r.Done()
}

func TestEveryTruncationIsAnError(t *testing.T) {
	t.Parallel()
	whole := everything(nil)
	if err := readEverything(readerOf(whole)); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if readEverything(readerOf(whole[:n])) == nil {
			t.Errorf("cut to %d of %d bytes: no error", n, len(whole))
		}
		r := readerOf(whole[:n])
		if r.Skip(); r.Done() == nil {
			t.Errorf("cut to %d of %d bytes: skipped without error", n, len(whole))
		}
	}
	if readEverything(readerOf(append(whole, 0))) == nil {
		t.Error("a byte left over: no error")
	}
}

func TestSkipEveryForm(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"c0", "c2", "c3", "05", "e5", "cc 80", "cd 0100", "ce 00010000", "cf 0000000100000000",
		"d0 80", "d1 8000", "d2 80000000", "d3 8000000000000000", "ca 00000000", "cb 0000000000000000",
		"a0", "a161", "d9 01 61", "da 0001 61", "db 00000001 61", "c4 01 ff", "c5 0001 ff", "c6 00000001 ff",
		"d4 05 00", "d5 05 0000", "d6 05 00000000", "d7 05 0000000000000000",
		"d8 05 00000000000000000000000000000000", "c7 00 05", "c7 01 05 00", "c8 0001 05 00", "c9 00000001 05 00",
		"90", "91 c0", "92 9101 02", "dc 0001 c0", "dd 00000001 c0", "80", "81 a161 01", "de 0001 01 02", "df 00000001 01 02",
	} {
		r := readerOf(unhex(t, in))
		if r.Skip(); r.Done() != nil {
			t.Errorf("%s: %v", in, r.Done())
		}
	}
	for _, in := range []string{"c1", "91 c1", "81 00", "d4 05", "c7 02 05 00", "de ffff 00", "df ffffffff 00", "dd ffffffff", "dd ff", "d9"} {
		r := readerOf(unhex(t, in))
		if r.Skip(); r.Err() == nil {
			t.Errorf("%s: no error", in)
		}
	}
}

// B-102: deep input is an error and does not exhaust the stack.
func TestDepthIsLimited(t *testing.T) {
	t.Parallel()
	million := bytes.Repeat([]byte{0x91}, 1_000_000)
	r := readerOf(million)
	r.Skip()
	wantMessage(t, r.Err(), "codec: nested too deeply: the limit is 256 levels at byte 256")

	r.Reset(million)
	for range 1_000_000 {
		r.Struct(1)
		r.At("next")
	}
	wantMessage(t, r.Err(), "codec: "+strings.Repeat("next.", 31)+"…: nested too deeply: the limit is 256 levels at byte 256")

	deepest := append(bytes.Repeat([]byte{0x91}, maxDepth), 1)
	r.Reset(deepest)
	if r.Skip(); r.Done() != nil {
		t.Errorf("%d levels: %v", maxDepth, r.Done())
	}
	r.Reset(deepest)
	for range maxDepth {
		r.Struct(1)
	}
	r.Int()
	for range maxDepth + 1 { // one too many does no harm
		r.EndStruct()
	}
	if err := r.Done(); err != nil {
		t.Error(err)
	}
}

type chain struct{ next *chain }

func (c *chain) decode(r *Reader) {
	r.Struct(1)
	if !r.Nil() {
		c.next = new(chain)
		c.next.decode(r)
	}
	r.EndStruct()
}

// B-102: a decoder that recurses through pointers ends at an error.
func TestRecursiveDecoderEndsAtAnError(t *testing.T) {
	t.Parallel()
	for _, in := range [][]byte{bytes.Repeat([]byte{0x91}, 100_000), {0x91, 0x91}, {0x91, 0x05}} {
		r := readerOf(in)
		new(chain).decode(r)
		if r.Done() == nil {
			t.Errorf("%d bytes: no error", len(in))
		}
	}
}

func TestClaimedLengthsAllocateNothing(t *testing.T) { // not parallel: it measures
	for in, read := range map[string]func(*Reader){
		"db ffffffff 61":    func(r *Reader) { _ = r.String() },
		"c6 ffffffff 61":    func(r *Reader) { r.Bytes() },
		"c9 ffffffff ff 61": func(r *Reader) { r.Time() },
		"dd ffffffff c0":    func(r *Reader) { listOfStrings(r) },
		"dc ffff c0":        func(r *Reader) { listOfStrings(r) },
		"df ffffffff 01":    func(r *Reader) { r.Skip() },
		"dd 7fffffff c0":    func(r *Reader) { r.Struct(math.MaxInt32) },
	} {
		b := unhex(t, in)
		var r Reader
		before := totalAlloc()
		for range 100 {
			r.Reset(b)
			read(&r)
		}
		if got := totalAlloc() - before; got > 200_000 {
			t.Errorf("%s: %d bytes allocated by 100 reads", in, got)
		}
		if r.Err() == nil {
			t.Errorf("%s: no error", in)
		}
	}
}

func listOfStrings(r *Reader) []string {
	n, ok := r.List()
	if !ok {
		return nil
	}
	out := make([]string, 0, n)
	for range n {
		out = append(out, r.String())
	}
	return out
}

func totalAlloc() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func FuzzReaderNeverPanics(f *testing.F) {
	f.Add(everything(nil), byte(0))
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, byte(3))
	f.Add([]byte{0xc7, 0x0c, 0xff}, byte(15))
	f.Fuzz(func(t *testing.T, b []byte, seed byte) {
		r := readerOf(b)
		for i := seed; r.Err() == nil; i++ {
			readOne(r, i)
		}
		if r.off > len(b) || r.Done() == nil {
			t.Errorf("reading on and on ends at %d of %d, %v", r.off, len(b), r.Err())
		}
	})
}

func readOne(r *Reader, which byte) {
	names := []string{"bool", "int8", "uint16", "int64", "uint64", "float32", "float64", "string", "bytes", "time", "duration"}
	switch n := int(which) % (len(names) + 4); n {
	case len(names):
		r.Skip()
	case len(names) + 1:
		r.List()
	case len(names) + 2:
		r.Struct(int(which) % 5)
	case len(names) + 3:
		if !r.Nil() {
			r.EndStruct()
			r.Skip()
		}
	default:
		readers[names[n]](r)
	}
}
