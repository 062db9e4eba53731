package wide

import (
	"testing"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	w := new(Wide)
	b := w.BindTWS(new(tws.Binder))
	roundtrip.Binding(t, b, 0, 1, 1<<63, 1<<64-1)
	roundtrip.State[Row](t, w.Last)
	roundtrip.State[Long](t, w.Long)
	roundtrip.EncodingJSON(t, b.In)
	roundtrip.EncodingJSON(t, b.Out)
	if got := len(b.In.Columns); got != 300 {
		t.Errorf("got %d columns, want 300", got)
	}
}
