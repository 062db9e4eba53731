package runtime

import (
	"testing"
	clock "time"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	rt "github.com/tws-go/tws/runtime"
)

// B-55: a package and types called like the packages that generated code imports.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	p := new(Processor)
	roundtrip.Binding(t, p.BindTWS(new(rt.Binder)), clock.Unix(0, 0).UTC(), clock.Unix(1, 0).UTC())
	roundtrip.State[Row](t, p.Value)
	roundtrip.State[schemas](t, p.List)
	roundtrip.Map[clock.Duration, runtime](t, p.Map, -1, 1)
	roundtrip.EncodingJSON(t, (*Row)(nil).TWSRow())
}
