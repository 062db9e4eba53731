package embedded

import (
	"testing"

	"github.com/tws-go/tws/golden/gen/embedded/base"
	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

// B-60: no embedded field is lost, whatever it shadows.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	e := new(Embedded)
	roundtrip.Binding(t, e.BindTWS(new(tws.Binder)), 0, 1, 255)
	roundtrip.State[State](t, e.State)
	roundtrip.Map[base.Kind, *base.Entity](t, e.Kinds)
	roundtrip.EncodingJSON(t, (*Row)(nil).TWSRow())
}

// B-51: an embedded nil pointer stays nil.
func TestNilStaysNil(t *testing.T) {
	t.Parallel()
	row := (*Row)(nil).TWSRow()
	v := Row{Stamp: &Stamp{}}
	if err := row.Decode(row.Append(nil, &Row{}), &v); err != nil || v.Stamp != nil {
		t.Errorf("got %v, %v, want nil", v.Stamp, err)
	}
}
