package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// jsonOf is what encoding/json writes without HTML escaping.
func jsonOf(t testing.TB, v any) string {
	t.Helper()
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

func TestAppendJSONString(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       `""`,
		"plain":                  `"plain"`,
		"a\"b\\c/d":              `"a\"b\\c/d"`,
		"<&>":                    `"<&>"`,
		"\b\f\n\r\t\x00\x1f\x7f": "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\"",
		"é日本😀":                   `"é日本😀"`,
		"\u2028\u2029":           `"\u2028\u2029"`,
		"a\xffb\xc3":             `"a\ufffdb\ufffd"`,
		"\ufffd":                 "\"\ufffd\"",
	} {
		if got := string(AppendJSONString([]byte("x"), in)); got != "x"+want {
			t.Errorf("%q: got %s, want %s", in, got[1:], want)
		}
	}
}

func FuzzAppendJSONString(f *testing.F) {
	f.Add("a\"b\\c\n\u2028\xff<")
	f.Add("\xed\xa0\x80\xf4\x90\x80\x80")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(AppendJSONString(nil, s)), jsonOf(t, s); got != want {
			t.Errorf("%q: got %s, encoding/json writes %s", s, got, want)
		}
	})
}

func TestAppendJSONScalarsAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 0))
	for range 3000 {
		s := anySample(rng)
		check := func(got []byte, v any) {
			t.Helper()
			if want := jsonOf(t, v); string(got) != want {
				t.Errorf("got %s, encoding/json writes %s", got, want)
			}
		}
		check(AppendJSONInt(nil, s.I64), s.I64)
		check(AppendJSONUint(nil, s.U64), s.U64)
		check(AppendJSONBool(nil, s.Flag), s.Flag)
		check(AppendJSONBytes(nil, s.Data), s.Data)
		check(AppendJSONDuration(nil, s.Took), s.Took)
	}
}

func TestAppendJSONFloatAsEncodingJSON(t *testing.T) {
	t.Parallel()
	floats := []float64{0, math.Copysign(0, -1), 1, -1.5, 0.1, 1e-6, 9.99e-7, 1e-9, 1.5e-9, 1e20, 1e21, -1e21, 1e100, 1e-100,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat32, math.SmallestNonzeroFloat32}
	for rng := rand.New(rand.NewPCG(22, 0)); len(floats) < 3000; {
		if v := math.Float64frombits(rng.Uint64()); !math.IsNaN(v) && !math.IsInf(v, 0) {
			floats = append(floats, v, rng.NormFloat64())
		}
	}
	for _, v := range floats {
		got, err := AppendJSONFloat(nil, v, 64)
		if want := jsonOf(t, v); string(got) != want || err != nil {
			t.Errorf("%v: got %s, %v, encoding/json writes %s", v, got, err, want)
		}
		small := float32(v)
		if math.IsInf(float64(small), 0) {
			continue
		}
		got, err = AppendJSONFloat(nil, float64(small), 32)
		if want := jsonOf(t, small); string(got) != want || err != nil {
			t.Errorf("float32 %v: got %s, %v, encoding/json writes %s", small, got, err, want)
		}
	}
}

func TestAppendJSONRefusesWhatJSONCannotHold(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		math.NaN():   "codec: JSON has no number NaN",
		math.Inf(1):  "codec: JSON has no number +Inf",
		math.Inf(-1): "codec: JSON has no number -Inf",
	} {
		got, err := AppendJSONFloat([]byte("dst"), v, 64)
		wantMessage(t, err, want)
		if string(got) != "dst" {
			t.Errorf("%v: dst became %q", v, got)
		}
	}
	for _, year := range []int{-1, 10000} {
		got, err := AppendJSONTime([]byte("dst"), time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC))
		if !errors.Is(err, errJSONYear) || string(got) != "dst" {
			t.Errorf("year %d: got %q, %v", year, got, err)
		}
	}
	// The year that counts is the one in UTC.
	if _, err := AppendJSONTime(nil, time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200))); err == nil {
		t.Error("an instant of the year 10000 in UTC passes")
	}
}

// B-50: times are written in UTC, whatever their zone.
func TestAppendJSONTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   time.Time
		want string
	}{
		{time.Time{}, `"0001-01-01T00:00:00Z"`},
		{instants[8], `"2024-01-01T00:00:00.000000005Z"`},
		{instants[9], `"2024-01-01T00:30:00.000000005Z"`},
		{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), `"0000-01-01T00:00:00Z"`},
		{instants[12], `"9999-12-31T23:59:59.999999999Z"`},
		{time.Date(2024, 1, 1, 0, 0, 0, 500_000_000, time.UTC), `"2024-01-01T00:00:00.5Z"`},
	} {
		got, err := AppendJSONTime(nil, c.in)
		if string(got) != c.want || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
		var r JSONReader
		r.Reset(got)
		if back := r.Time(); !back.Equal(c.in) || back.Location() != time.UTC || back.IsZero() != c.in.IsZero() || r.End() != nil {
			t.Errorf("%s: read back %v, %v", got, back, r.End())
		}
	}
}
