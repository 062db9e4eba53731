package aliases

import (
	"testing"
	"time"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

// B-57: an instance of a generic type is generated with its arguments.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	a := new(Aliased)
	b := a.BindTWS(new(tws.Binder))
	roundtrip.Binding(t, b, "", "a", "b")
	roundtrip.State[Row](t, a.Last)
	roundtrip.Map[Level, Ratio](t, a.Levels, -1<<63, -1, 0, 1)
	roundtrip.State[Pair[string, int64]](t, a.Pair)
	roundtrip.State[Pairs](t, a.Pairs)
	roundtrip.Map[Instant, Wait](t, a.ByTime, time.Unix(-1, 5).UTC(), time.Unix(5, 0).UTC())
	roundtrip.Map[Tiny, Tags](t, a.ByTiny, 0, 1, 255)
	if got, want := b.Out.Type, "aliases.Pair[aliases.SensorID, aliases.Row]"; got != want {
		t.Errorf("got row type %s, want %s", got, want)
	}
}
