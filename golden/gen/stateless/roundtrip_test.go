package stateless

import (
	"testing"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	timers := new(Timers)
	roundtrip.Binding(t, timers.BindTWS(new(tws.Binder)))
	if timers.First == nil || timers.Second == nil {
		t.Error("a timer field has no timer")
	}
	roundtrip.Binding(t, new(Nothing).BindTWS(new(tws.Binder)))
	roundtrip.Binding(t, new(Configured).BindTWS(new(tws.Binder)))
}
