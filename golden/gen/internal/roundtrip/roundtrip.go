// Package roundtrip checks generated codecs: that what they write is what they
// read, that copies share nothing, that damaged input is an error, that columns
// are what the schema says. The generator's golden cases use it.
package roundtrip

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tws-go/tws/codec"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/schemas"
)

// seeds is the number of random values that each check tries.
const seeds = 40

// Row checks the codecs of a row type with random values and the given ones.
func Row[T any](t *testing.T, row *tws.Row[T], values ...T) {
	t.Helper()
	t.Run("row "+row.Type, func(t *testing.T) {
		for seed := range uint64(seeds) {
			values = append(values, Random[T](seed))
		}
		for i := range values {
			checkMsgpack(t, row.Append, row.Decode, &values[i])
			checkJSON(t, row, &values[i])
			checkColumns(t, row, &values[i])
		}
	})
}

// EncodingJSON checks that encoding/json reads what the row's encoder writes,
// and the row's decoder what encoding/json writes.
func EncodingJSON[T any](t *testing.T, row *tws.Row[T]) {
	t.Helper()
	for seed := range uint64(seeds) {
		v := Random[T](seed)
		ours, err := row.AppendJSON(nil, &v)
		if err != nil {
			t.Fatalf("AppendJSON: %v", err)
		}
		var theirs T
		if err := json.Unmarshal(ours, &theirs); err != nil {
			t.Fatalf("encoding/json does not read %s: %v", ours, err)
		}
		equalButNil(t, "encoding/json", v, theirs)
		text, err := json.Marshal(fillLists(v))
		if err != nil {
			t.Fatal(err)
		}
		var back T
		if err := row.DecodeJSON(text, &back); err != nil {
			t.Fatalf("DecodeJSON of %s: %v", text, err)
		}
		// They leave out empty bytes, so compare texts.
		again, err := json.Marshal(fillLists(back))
		if err != nil || !bytes.Equal(text, again) {
			t.Fatalf("DecodeJSON of %s is worth %s (%v)", text, again, err)
		}
	}
}

// State checks the codec that an accessor was bound with.
func State[T any](t *testing.T, accessor any, values ...T) {
	t.Helper()
	vc := field[tws.ValueCodec[T]](accessor, "codec")
	t.Run(reflect.TypeOf(accessor).String(), func(t *testing.T) {
		for seed := range uint64(seeds) {
			values = append(values, Random[T](seed))
		}
		decode := func(src []byte, v *T) error {
			var r codec.Reader
			r.Reset(src)
			vc.Decode(&r, v)
			return r.Done()
		}
		for i := range values {
			checkMsgpack(t, vc.Append, decode, &values[i])
			checkClone(t, vc, &values[i])
		}
	})
}

// Map checks the codecs of a map's accessor. The keys must be in order.
func Map[K comparable, V any](t *testing.T, accessor any, keys ...K) {
	t.Helper()
	State[V](t, accessor)
	Key(t, field[tws.KeyCodec[K]](accessor, "keys"), keys...)
}

// Key checks the codec of a key type. The keys must be in order.
func Key[K comparable](t *testing.T, kc tws.KeyCodec[K], keys ...K) {
	t.Helper()
	for seed := range uint64(seeds) {
		checkKey(t, kc, Random[K](seed))
	}
	var last []byte
	for _, k := range keys {
		enc := checkKey(t, kc, k)
		if bytes.Compare(last, enc) >= 0 {
			t.Errorf("key %v is %x, which does not sort after %x", k, enc, last)
		}
		last = enc
	}
}

// Binding checks a binding against what it was generated from.
func Binding[K comparable, In, Out any](t *testing.T, b tws.Binding[K, In, Out], keys ...K) {
	t.Helper()
	if got := b.Processor.Fingerprint(); got != b.Fingerprint {
		t.Errorf("processor %s has the fingerprint %s, generated %s", b.Processor.Name, got, b.Fingerprint)
	}
	Key(t, b.Key, keys...)
	Row(t, b.In)
	Row(t, b.Out)
}

// field reads a private field of the cell that an accessor embeds.
func field[F any](accessor any, name string) F {
	cell := reflect.ValueOf(accessor).Elem().Field(0)
	f := cell.FieldByName(name)
	if f.Type() != reflect.TypeFor[F]() {
		panic(fmt.Sprintf("roundtrip: %s of %T is a %s, not a %s", name, accessor, f.Type(), reflect.TypeFor[F]()))
	}
	return *(*F)(unsafe.Pointer(f.UnsafeAddr()))
}

func checkMsgpack[T any](t *testing.T, enc func([]byte, *T) []byte, dec func([]byte, *T) error, v *T) {
	t.Helper()
	text := enc([]byte("x"), v)
	if text[0] != 'x' {
		t.Fatal("Append does not append")
	}
	text = text[1:]
	got := Random[T](7) // must be overwritten
	if err := dec(text, &got); err != nil {
		t.Fatalf("decoding %x: %v", text, err)
	}
	if diff := cmp.Diff(*v, got, exported); diff != "" {
		t.Fatalf("another value came back (-want +got):\n%s", diff)
	}
	for n := range min(len(text), 300) {
		if err := dec(text[:n], &got); err == nil {
			t.Fatalf("the first %d bytes of %x decode without an error", n, text)
		}
	}
	if err := dec(append(text, 0xc0), &got); err == nil {
		t.Fatalf("a byte more than %x decodes without an error", text)
	}
}

func checkJSON[T any](t *testing.T, row *tws.Row[T], v *T) {
	t.Helper()
	text, err := row.AppendJSON([]byte("x"), v)
	if err != nil {
		t.Fatalf("AppendJSON: %v", err)
	}
	text = text[1:]
	if !json.Valid(text) {
		t.Fatalf("no JSON: %s", text)
	}
	got := Random[T](7)
	if err := row.DecodeJSON(text, &got); err != nil {
		t.Fatalf("DecodeJSON of %s: %v", text, err)
	}
	equalButNil(t, "JSON", *v, got)
	again, err := row.AppendJSON(nil, &got)
	if err != nil || !bytes.Equal(text, again) {
		t.Fatalf("JSON is not stable: %s, then %s (%v)", text, again, err)
	}
	for n := range min(len(text), 300) {
		if err := row.DecodeJSON(text[:n], &got); err == nil {
			t.Fatalf("the first %d bytes of %s decode without an error", n, text)
		}
	}
	if err := row.DecodeJSON(append(text, " {}"...), &got); err == nil {
		t.Fatalf("two values in %s {} decode without an error", text)
	}
}

func checkClone[T any](t *testing.T, vc tws.ValueCodec[T], v *T) {
	t.Helper()
	want := vc.Append(nil, v)
	clone := *v
	if vc.Clone != nil {
		clone = vc.Clone(v)
	}
	if got := vc.Append(nil, &clone); !bytes.Equal(got, want) {
		t.Fatalf("a clone encodes to %x, the original to %x", got, want)
	}
	scramble(reflect.ValueOf(&clone).Elem())
	if got := vc.Append(nil, v); !bytes.Equal(got, want) {
		t.Fatalf("changing a clone changed the original")
	}
}

func checkKey[K comparable](t *testing.T, kc tws.KeyCodec[K], k K) []byte {
	t.Helper()
	enc := kc.Append([]byte("x"), k)[1:]
	var r codec.KeyReader
	r.Reset(append(bytes.Clone(enc), "rest"...))
	if got := kc.Read(&r); got != k || r.Err() != nil || string(r.Rest()) != "rest" {
		t.Fatalf("key %v came back as %v, with the rest %q: %v", k, got, r.Rest(), r.Err())
	}
	for n := range len(enc) {
		r.Reset(enc[:n])
		if kc.Read(&r); r.Err() == nil && n < len(enc) {
			t.Fatalf("the first %d bytes of key %x read without an error", n, enc)
		}
	}
	return enc
}

// checkColumns checks that a row writes what its columns say.
func checkColumns[T any](t *testing.T, row *tws.Row[T], v *T) {
	t.Helper()
	w := new(recorder)
	row.AppendColumns(w, v)
	rest, err := matchFields(row.Columns, w.calls)
	if err != nil {
		t.Fatalf("columns: %v in %v", err, w.calls)
	}
	if len(rest) > 0 {
		t.Fatalf("columns: %d calls too many: %v", len(rest), rest)
	}
	names := make(map[string]bool)
	for _, c := range row.Columns {
		names[c.Name] = true
	}
	if len(names) != len(row.Columns) {
		t.Fatalf("columns: a name occurs twice in %v", row.Columns)
	}
	got := Random[T](7) // must be overwritten
	p := &player{calls: w.calls}
	row.ReadColumns(p, &got)
	if p.err != nil || len(p.calls) > 0 {
		t.Fatalf("reading columns: %v, %d calls not taken of %v", p.err, len(p.calls), w.calls)
	}
	if diff := cmp.Diff(*v, got, exported, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("columns: another value came back (-want +got):\n%s", diff)
	}
}

// Columns returns the calls that a row makes, as text, for exact comparison.
func Columns[T any](row *tws.Row[T], v T) []string {
	w := new(recorder)
	row.AppendColumns(w, &v)
	var text []string
	for _, c := range w.calls {
		text = append(text, c.String())
	}
	return text
}

// kinds are the methods of a column writer by wire kind.
var kinds = map[schemas.Kind]string{
	schemas.Bool: "Bool", schemas.String: "String", schemas.Bytes: "Bytes",
	schemas.Timestamp: "Time", schemas.Duration: "Duration",
	schemas.Float32: "Float", schemas.Float64: "Float",
	schemas.Int8: "Int", schemas.Int16: "Int", schemas.Int32: "Int", schemas.Int64: "Int",
	schemas.Uint8: "Uint", schemas.Uint16: "Uint", schemas.Uint32: "Uint", schemas.Uint64: "Uint",
}
