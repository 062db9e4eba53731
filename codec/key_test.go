package codec

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// lawful checks the laws of one key type over all pairs of the values: the order
// of the bytes is the order of the values, no key is a prefix of another, and a
// key reads back and ends where it ends.
func lawful[T any](t *testing.T, values []T, appendKey func([]byte, T) []byte, read func(*KeyReader) T, compare func(a, b T) int) {
	t.Helper()
	keys := make([][]byte, len(values))
	for i, v := range values {
		keys[i] = appendKey([]byte("dst"), v)[3:]
		var r KeyReader
		r.Reset(append(appendKey(nil, v), "rest"...))
		if got := read(&r); r.Err() != nil || compare(got, v) != 0 || string(r.Rest()) != "rest" {
			t.Errorf("%v: read back %v with rest %q, %v", v, got, r.Rest(), r.Err())
		}
	}
	for i, a := range values {
		for j, b := range values {
			want := compare(a, b)
			if got := bytes.Compare(keys[i], keys[j]); got != want {
				t.Fatalf("%v and %v compare as %d, their keys %x and %x as %d", a, b, want, keys[i], keys[j], got)
			}
			if want != 0 && bytes.HasPrefix(keys[i], keys[j]) {
				t.Fatalf("the key %x of %v starts with the key %x of %v", keys[i], a, keys[j], b)
			}
		}
	}
}

// ints returns random and special integers, cut to T.
func ints[T ~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint](seed uint64) []T {
	special := []int64{math.MinInt64, math.MinInt32, math.MinInt16, -256, -129, -128, -2, -1, 0, 1, 2, 127, 128, 255, 256,
		math.MaxInt16, math.MaxUint16, math.MaxInt32, math.MaxUint32, math.MaxInt64}
	out := make([]T, 0, 200)
	for _, v := range special {
		out = append(out, T(v))
	}
	for rng := rand.New(rand.NewPCG(seed, 0)); len(out) < 200; {
		out = append(out, T(anyInt(rng)))
	}
	return out
}

// B-23: keys sort as their values do, negative ones before positive ones.
func TestKeyOrderOfIntegers(t *testing.T) {
	t.Parallel()
	var all8 []int8
	for v := math.MinInt8; v <= math.MaxInt8; v++ {
		all8 = append(all8, int8(v))
	}
	lawful(t, all8, AppendKeyInt8, (*KeyReader).Int8, cmp.Compare[int8])
	lawful(t, ints[int16](1), AppendKeyInt16, (*KeyReader).Int16, cmp.Compare[int16])
	lawful(t, ints[int32](2), AppendKeyInt32, (*KeyReader).Int32, cmp.Compare[int32])
	lawful(t, ints[int64](3), AppendKeyInt64, (*KeyReader).Int64, cmp.Compare[int64])
	lawful(t, ints[int](4), AppendKeyInt, (*KeyReader).Int, cmp.Compare[int])
	lawful(t, ints[uint8](5), AppendKeyUint8, (*KeyReader).Uint8, cmp.Compare[uint8])
	lawful(t, ints[uint16](6), AppendKeyUint16, (*KeyReader).Uint16, cmp.Compare[uint16])
	lawful(t, ints[uint32](7), AppendKeyUint32, (*KeyReader).Uint32, cmp.Compare[uint32])
	lawful(t, ints[uint64](8), AppendKeyUint64, (*KeyReader).Uint64, cmp.Compare[uint64])
	lawful(t, ints[uint](9), AppendKeyUint, (*KeyReader).Uint, cmp.Compare[uint])
	lawful(t, ints[time.Duration](10), AppendKeyDuration, (*KeyReader).Duration, cmp.Compare[time.Duration])
	lawful(t, []bool{false, true}, AppendKeyBool, (*KeyReader).Bool, func(a, b bool) int {
		return bytes.Compare(AppendBool(nil, a), AppendBool(nil, b))
	})
}

// compareFloats is the order of keys: NaN is last and equal to itself.
func compareFloats[T float32 | float64](a, b T) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	}
	return cmp.Compare(a, b)
}

// B-23: so do floats.
func TestKeyOrderOfFloats(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 0))
	floats := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0,
		math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1), math.NaN(), math.Float64frombits(0xfff8000000000123)}
	small := []float32{-math.MaxFloat32, -math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat32, math.MaxFloat32}
	for _, v := range floats {
		small = append(small, float32(v))
	}
	for len(floats) < 200 {
		floats = append(floats, math.Float64frombits(rng.Uint64()), rng.NormFloat64())
		small = append(small, math.Float32frombits(rng.Uint32()), float32(rng.NormFloat64()))
	}
	lawful(t, floats, AppendKeyFloat64, (*KeyReader).Float64, compareFloats[float64])
	lawful(t, small, AppendKeyFloat32, (*KeyReader).Float32, compareFloats[float32])
}

func TestKeyOfMinusZeroAndNaN(t *testing.T) {
	t.Parallel()
	var r KeyReader
	minus := math.Copysign(0, -1)
	r.Reset(AppendKeyFloat32(AppendKeyFloat64(nil, minus), float32(minus)))
	if a, b := r.Float64(), r.Float32(); math.Signbit(a) || math.Signbit(float64(b)) || r.Done() != nil {
		t.Errorf("-0 reads back as %v and %v, %v", a, b, r.Done())
	}
	nan := math.Float64frombits(0xfff8000000000123)
	if a, b := AppendKeyFloat64(nil, nan), AppendKeyFloat64(nil, math.NaN()); !bytes.Equal(a, b) {
		t.Errorf("NaNs have the keys %x and %x", a, b)
	}
}

func texts() []string {
	out := []string{"", "a", "ab", "b", "\x00", "\x00\x00", "\x00\x01", "\x00\xff", "\x01", "\xff", "\xff\xff", "\xff\x00",
		"a\x00", "a\x00b", "a\x01", "a\xff", "a\x00\xff", "a\x00\x01", "\x00a", "é", "日本"}
	for rng := rand.New(rand.NewPCG(12, 0)); len(out) < 200; {
		out = append(out, anyText(rng))
	}
	return out
}

func TestKeyOrderOfStringsAndBytes(t *testing.T) {
	t.Parallel()
	lawful(t, texts(), AppendKeyString, (*KeyReader).String, strings.Compare)
	var data [][]byte
	for _, s := range texts() {
		data = append(data, []byte(s))
		if !bytes.Equal(AppendKeyBytes(nil, []byte(s)), AppendKeyString(nil, s)) {
			t.Errorf("%q has another key as bytes", s)
		}
	}
	lawful(t, append(data, nil), AppendKeyBytes, (*KeyReader).Bytes, bytes.Compare)
	var r KeyReader
	r.Reset(AppendKeyBytes(nil, nil))
	if b := r.Bytes(); b == nil || len(b) != 0 || r.Done() != nil {
		t.Errorf("a nil slice reads back as %#v, %v", b, r.Done())
	}
}

func TestKeyOrderOfTimes(t *testing.T) {
	t.Parallel()
	values := append([]time.Time(nil), instants...)
	for rng := rand.New(rand.NewPCG(13, 0)); len(values) < 200; {
		values = append(values, time.Unix(int64(anyInt(rng))>>10, rng.Int64N(1e9)))
	}
	lawful(t, values, AppendKeyTime, (*KeyReader).Time, time.Time.Compare)
}

// A key of several parts sorts by the first part that differs.
func TestKeyOrderOfConcatenations(t *testing.T) {
	t.Parallel()
	type tuple struct {
		s string
		i int16
		b []byte
		f float64
	}
	rng := rand.New(rand.NewPCG(14, 0))
	pool := texts()[:25]
	var values []tuple
	for range 300 {
		values = append(values, tuple{pool[rng.IntN(25)], int16(rng.IntN(3) - 1), []byte(pool[rng.IntN(25)]), float64(rng.IntN(3) - 1)})
	}
	lawful(t, values,
		func(dst []byte, v tuple) []byte {
			return AppendKeyFloat64(AppendKeyBytes(AppendKeyInt16(AppendKeyString(dst, v.s), v.i), v.b), v.f)
		},
		func(r *KeyReader) tuple { return tuple{r.String(), r.Int16(), r.Bytes(), r.Float64()} },
		func(a, b tuple) int {
			return cmp.Or(strings.Compare(a.s, b.s), cmp.Compare(a.i, b.i), bytes.Compare(a.b, b.b), cmp.Compare(a.f, b.f))
		})
}

var keyReaders = map[string]func(*KeyReader) any{
	"bool":     func(r *KeyReader) any { return r.Bool() },
	"int8":     func(r *KeyReader) any { return r.Int8() },
	"int16":    func(r *KeyReader) any { return r.Int16() },
	"int32":    func(r *KeyReader) any { return r.Int32() },
	"int64":    func(r *KeyReader) any { return r.Int64() },
	"int":      func(r *KeyReader) any { return r.Int() },
	"uint8":    func(r *KeyReader) any { return r.Uint8() },
	"uint16":   func(r *KeyReader) any { return r.Uint16() },
	"uint32":   func(r *KeyReader) any { return r.Uint32() },
	"uint64":   func(r *KeyReader) any { return r.Uint64() },
	"uint":     func(r *KeyReader) any { return r.Uint() },
	"float32":  func(r *KeyReader) any { return r.Float32() },
	"float64":  func(r *KeyReader) any { return r.Float64() },
	"string":   func(r *KeyReader) any { return r.String() },
	"bytes":    func(r *KeyReader) any { return string(r.Bytes()) },
	"time":     func(r *KeyReader) any { return r.Time() },
	"duration": func(r *KeyReader) any { return r.Duration() },
}

func TestKeyReaderRefusesWhatNoAppenderWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, in, want string }{
		{"bool", "02", "codec: key: want bool, got byte 0x02 at byte 0"},
		{"bool", "", "codec: key: truncated: want 1 more bytes, have 0 at byte 0"},
		{"int8", "", "codec: key: truncated: want 1 more bytes, have 0 at byte 0"},
		{"int64", "80000000000000", "codec: key: truncated: want 8 more bytes, have 7 at byte 0"},
		{"uint16", "80", "codec: key: truncated: want 2 more bytes, have 1 at byte 0"},
		{"float32", "7fffffff", "codec: key: want float32, got the bits 0x80000000, which no key has at byte 0"},
		{"float32", "ffc00001", "codec: key: want float32, got the bits 0x7fc00001, which no key has at byte 0"},
		{"float64", "7fffffffffffffff", "codec: key: want float64, got the bits 0x8000000000000000, which no key has at byte 0"},
		{"float64", "0007ffffffffffff", "codec: key: want float64, got the bits 0xfff8000000000000, which no key has at byte 0"},
		{"float64", "00", "codec: key: truncated: want 8 more bytes, have 1 at byte 0"},
		{"string", "6162", "codec: key: truncated: a string has no terminator at byte 0"},
		{"string", "6100", "codec: key: truncated: a string has no terminator at byte 0"},
		{"bytes", "00ff", "codec: key: truncated: a string has no terminator at byte 0"},
		{"string", "610002", "codec: key: byte 0x02 follows 0x00 in a string: want 0x01 or 0xff at byte 1"},
		{"bytes", "00ff0000", "codec: key: byte 0x00 follows 0x00 in a string: want 0x01 or 0xff at byte 2"},
		{"time", "800000000000000000", "codec: key: truncated: want 12 more bytes, have 9 at byte 0"},
		{"time", "80000000000000003b9aca00", "codec: key: time with 1000000000 nanoseconds in its second at byte 0"},
	} {
		var r KeyReader
		r.Reset(unhex(t, c.in))
		got := keyReaders[c.typ](&r)
		wantMessage(t, r.Err(), c.want)
		var none KeyReader
		if got != keyReaders[c.typ](&none) || r.Rest() != nil || r.Done() != r.Err() {
			t.Errorf("%s of %s: got %v, rest %x, done %v", c.typ, c.in, got, r.Rest(), r.Done())
		}
		for typ, read := range keyReaders { // the first error sticks
			if v := read(&r); v != read(&none) {
				t.Errorf("%s after an error: got %v", typ, v)
			}
		}
		wantMessage(t, r.Err(), c.want)
	}
	var r KeyReader
	r.Reset([]byte{1, 2, 3})
	r.Bool()
	wantMessage(t, r.Done(), "codec: key: 2 bytes left over at byte 1")
}

func FuzzKeyOfStrings(f *testing.F) {
	f.Add("a", "ab", int64(-1))
	f.Add("a\x00", "a", int64(1))
	f.Add("\xff", "\x00\xff", int64(0))
	f.Fuzz(func(t *testing.T, a, b string, i int64) {
		ka, kb := AppendKeyInt64(AppendKeyString(nil, a), i), AppendKeyInt64(AppendKeyString(nil, b), i)
		if bytes.Compare(ka, kb) != strings.Compare(a, b) {
			t.Errorf("%q and %q: keys %x and %x", a, b, ka, kb)
		}
		var r KeyReader
		r.Reset(ka)
		if s, n := r.String(), r.Int64(); s != a || n != i || r.Done() != nil {
			t.Errorf("%q, %d: read back %q, %d, %v", a, i, s, n, r.Done())
		}
	})
}

// What reads as a key is written with the same bytes.
func FuzzKeyReaderIsExact(f *testing.F) {
	f.Add([]byte("a\x00\xff\x00\x01"), byte(0))
	f.Add(AppendKeyTime(nil, instants[8]), byte(1))
	f.Add(AppendKeyFloat64(nil, -1.5), byte(2))
	f.Add(AppendKeyFloat32(nil, 1.5), byte(3))
	f.Fuzz(func(t *testing.T, b []byte, which byte) {
		var r KeyReader
		r.Reset(b)
		var again []byte
		switch which % 5 {
		case 0:
			again = AppendKeyString(nil, r.String())
		case 1:
			again = AppendKeyTime(nil, r.Time())
		case 2:
			again = AppendKeyFloat64(nil, r.Float64())
		case 3:
			again = AppendKeyFloat32(nil, r.Float32())
		case 4:
			again = AppendKeyBytes(AppendKeyBool(nil, r.Bool()), r.Bytes())
		}
		if r.Err() == nil && !bytes.Equal(append(again, r.Rest()...), b) {
			t.Errorf("%x is written %x", b, again)
		}
	})
}
