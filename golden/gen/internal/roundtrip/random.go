package roundtrip

import (
	"go/token"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Random returns a value in which every encoded field is set at random: nil,
// empty and full, zero, extreme and ordinary. Times are in UTC and floats are
// numbers, so that the value has a JSON form and comes back equal.
func Random[T any](seed uint64) T {
	var v T
	g := generator{rand.New(rand.NewPCG(seed, 1))}
	if seed > 0 { // the first value is the zero value
		g.fill(reflect.ValueOf(&v).Elem(), 0)
	}
	return v
}

type generator struct{ *rand.Rand }

// texts are strings that encoders get wrong.
var texts = []string{"", "a", "\x00", "a\x00b", "\"\\/\b\n\u2028<&>", "größe 世界 🙂", strings.Repeat("long ", 60)}

func (g generator) fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		// Any instant of the years 1 to 9999.
		v.Set(reflect.ValueOf(time.Unix(g.Int64N(253402300799+62135596800)-62135596800, g.Int64N(1e9)).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(g.Int64() << g.IntN(64) >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(g.Uint64() >> g.IntN(64) & (math.MaxUint64 >> (64 - v.Type().Bits())))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(g.NormFloat64() * math.Pow(10, float64(g.IntN(60)-30)))))
	case reflect.String:
		v.SetString(texts[g.IntN(len(texts))])
	case reflect.Pointer:
		if g.IntN(3) > 0 && depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		g.fillSlice(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && encoded(f) {
				g.fill(v.Field(i), depth+1)
			}
		}
	}
}

func (g generator) fillSlice(v reflect.Value, depth int) {
	n := g.IntN(4)
	if depth > 4 {
		n = min(n, 1)
	}
	if g.IntN(3) == 0 {
		return // nil
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		g.fill(v.Index(i), depth+1)
	}
}

// encoded reports whether a field is encoded.
func encoded(f reflect.StructField) bool {
	return f.Tag.Get("tws") != "-" && f.Tag.Get("json") != "-"
}

// scramble changes everything that a value points to, in place.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scramble(v.Elem())
			v.Elem().SetZero()
		}
	case reflect.Slice:
		for i := range v.Len() {
			scramble(v.Index(i))
			if v.Index(i).Kind() == reflect.Uint8 {
				v.Index(i).SetUint(^v.Index(i).Uint() & 0xff)
				continue
			}
			v.Index(i).SetZero()
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				scramble(f)
			}
		}
	}
}

// exported compares structs by their exported fields, as the codecs see them.
var exported = cmp.FilterPath(func(p cmp.Path) bool {
	f, ok := p.Last().(cmp.StructField)
	return ok && !token.IsExported(f.Name())
}, cmp.Ignore())

// equalButNil compares values in which nil and empty lists are the same.
func equalButNil[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(fillLists(want), fillLists(got), exported); diff != "" {
		t.Fatalf("%s: another value came back (-want +got):\n%s", what, diff)
	}
}

// fillLists returns a copy in which no list is nil, bytes excepted.
func fillLists[T any](v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	out.Set(filled(reflect.ValueOf(&v).Elem()))
	return out.Interface().(T)
}

func filled(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(filled(v.Elem()))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Type().Elem().PkgPath() == "" {
			break
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(filled(v.Index(i)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(filled(v.Field(i)))
			}
		}
	}
	return out
}
