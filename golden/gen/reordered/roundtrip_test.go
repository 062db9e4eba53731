package reordered

import (
	"slices"
	"testing"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	r := new(Reordered)
	// A is the first part of the key, though declared after B.
	roundtrip.Binding(t, r.BindTWS(new(tws.Binder)), Inner{A: 1, B: "b"}, Inner{A: 2, B: "a"})
	roundtrip.State[Partial](t, r.One)
	roundtrip.State[Row](t, r.Two)
	roundtrip.Map[Inner, Bare](t, r.Three)
	roundtrip.EncodingJSON(t, (*Row)(nil).TWSRow())
}

func TestOrder(t *testing.T) {
	t.Parallel()
	row := (*Row)(nil).TWSRow()
	v := Row{First: 1, Second: "2", Inner: Inner{A: 3, B: "4"}}
	if got, want := string(row.Append(nil, &v)), "\x96\x01\xa12\x92\x03\xa14\x92\xc2\x92\x00\xa0\xc0\xc0"; got != want {
		t.Errorf("msgpack in id order: got %q, want %q", got, want)
	}
	want := []string{
		"String 2", "Int 1", "BeginStruct", "String 4", "Int 3", "EndStruct",
		"BeginStruct", "Bool false", "BeginStruct", "String ", "Int 0", "EndStruct", "EndStruct",
		"BeginList 0", "EndList", "Null",
	}
	if got := roundtrip.Columns(row, v); !slices.Equal(got, want) {
		t.Errorf("columns in declaration order: got %q, want %q", got, want)
	}
	text, err := row.AppendJSON(nil, &v)
	wantText := `{"second":"2","first":1,"inner":{"B":"4","A":3},"outer":{"X":false,"Inner":{"B":"","A":0}},"List":[]}`
	if string(text) != wantText || err != nil {
		t.Errorf("JSON in declaration order: got %s, want %s (%v)", text, wantText, err)
	}
}

// What is not encoded comes back neither from the store nor from a copy.
func TestNotEncoded(t *testing.T) {
	t.Parallel()
	v := Partial{Kept: "k", Cache: map[string]int{"a": 1}, note: "n", More: []string{"m"}, Also: func() {}}
	c := twsClonePartial(&v)
	if c.Cache != nil || c.note != "" || c.Also != nil || c.Kept != "k" || c.More[0] != "m" {
		t.Errorf("got the copy %+v", c)
	}
	if b := twsCloneBare(&Bare{Cache: v.Cache}); b.Cache != nil {
		t.Errorf("got the copy %+v", b)
	}
}
