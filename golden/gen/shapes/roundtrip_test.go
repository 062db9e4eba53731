package shapes

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := new(Shapes)
	roundtrip.Binding(t, s.BindTWS(new(tws.Binder)), "", "a")
	roundtrip.State[Everything](t, s.Everything)
	roundtrip.State(t, s.Numbers, nil, []int64{}, []int64{0, -1})
	roundtrip.State(t, s.Maybe, nil, &Point{}, &Point{X: 1})
	roundtrip.State(t, s.Tree, nil, &Lists{}, &Lists{Holes: []*Point{nil, {X: 1}}})
	roundtrip.Map[int8, [][]*string](t, s.Matrix, -128, -1, 0, 1, 127)
	roundtrip.State(t, s.Blob, nil, []byte{}, []byte{0, 255})
	roundtrip.State[Empty](t, s.Nothing)
	roundtrip.State[float32](t, s.Ratio, 0, -1.5, math.MaxFloat32)
	roundtrip.Map[time.Time, time.Duration](t, s.When,
		time.Time{}, time.Unix(-1, 0).UTC(), time.Unix(0, 0).UTC(), time.Unix(0, 1).UTC())
	roundtrip.EncodingJSON(t, (*Everything)(nil).TWSRow())
	roundtrip.EncodingJSON(t, (*Sparse)(nil).TWSRow())
}

func TestNilAndEmpty(t *testing.T) {
	t.Parallel()
	row := (*Everything)(nil).TWSRow()
	v := Everything{Lists: Lists{Texts: nil, Blobs: [][]byte{nil, {}}, Cube: [][][]int32{nil, {}, {nil, {1}}}}}
	var back Everything
	if err := row.Decode(row.Append(nil, &v), &back); err != nil {
		t.Fatal(err)
	}
	l := back.Lists
	if l.Texts != nil || l.Blobs[0] != nil || l.Blobs[1] == nil || l.Cube[0] != nil || l.Cube[1] == nil || l.Cube[2][0] != nil {
		t.Errorf("msgpack keeps nil and empty apart, got %#v", l)
	}
	text, err := row.AppendJSON(nil, &v)
	if err != nil || !strings.Contains(string(text), `"texts":[],"blobs":[null,""],"cube":[[],[],[[],[1]]]`) {
		t.Errorf("JSON writes nil lists as empty ones, got %s, %v", text, err)
	}
}

func TestLeftOut(t *testing.T) {
	t.Parallel()
	row := (*Sparse)(nil).TWSRow()
	for text, v := range map[string]Sparse{
		`{"listy":{"list":[]}}`: {},
		`{"flag":true,"count":1,"ratio":0.5,"name":"n","raw":"","tags":[],"took":1,"listy":{"list":[]}}`: {
			Flag: true, Count: 1, Ratio: 0.5, Name: "n", Raw: []byte{}, Tags: []string{}, Took: 1,
		},
		`{"point":{"X":1,"Y":0},"mixed":{"100%":0,"back tick":true},"listy":{"list":[2]},"note":""}`: {
			Point: Point{X: 1}, Mixed: Mixed{There: true}, Listy: Listy{List: []int64{2}}, Note: new(""),
		},
	} {
		if got, err := row.AppendJSON(nil, &v); string(got) != text || err != nil {
			t.Errorf("got %s (%v), want %s", got, err, text)
		}
	}
	var v Sparse
	nulls := `{"flag":null,"count":null,"ratio":null,"name":null,"raw":null,"tags":null,"at":null,"took":null,` +
		`"point":null,"mixed":null,"listy":null,"note":null}`
	if err := row.DecodeJSON([]byte(nulls), &v); err != nil || v.Tags != nil || v.Note != nil {
		t.Errorf("null is the same as absent: got %v, %v", v, err)
	}
	if err := row.DecodeJSON([]byte(`{}`), &v); err != nil {
		t.Errorf("everything may be left out: %v", err)
	}
}

func TestNoJSONForm(t *testing.T) {
	t.Parallel()
	row := (*Everything)(nil).TWSRow()
	for field, v := range map[string]Everything{
		"field Scalars: field f64: ":              {Scalars: Scalars{F64: math.NaN()}},
		"field Option: field point: field Y: ":    {Option: Optional{Point: &Point{Y: math.Inf(1)}}},
		"field Lists: field holes[1]: field X: ":  {Lists: Lists{Holes: []*Point{nil, {X: math.Inf(-1)}}}},
		"field Lists: field deep[1][0]: field at": {Lists: Lists{Deep: [][]Scalars{{}, {{At: time.Unix(1<<60, 0)}}}}},
	} {
		got, err := row.AppendJSON([]byte("before"), &v)
		if string(got) != "before" || err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("got %q, %v, want the input back and an error that begins with %q", got, err, field)
		}
		if errors.Unwrap(err) == nil {
			t.Errorf("error %v wraps nothing", err)
		}
		// Other encodings hold every value.
		var back Everything
		if err := row.Decode(row.Append(nil, &v), &back); err != nil {
			t.Errorf("msgpack: %v", err)
		}
	}
}
