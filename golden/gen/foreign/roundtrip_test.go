package foreign

import (
	"testing"

	xmodel "github.com/tws-go/tws/golden/gen/foreign/x/model"
	ymodel "github.com/tws-go/tws/golden/gen/foreign/y/model"
	"github.com/tws-go/tws/golden/gen/heartbeat"
	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

// B-55: two packages of one name, and a type of that name.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	f := new(Foreign)
	roundtrip.Binding(t, f.BindTWS(new(tws.Binder)),
		ymodel.Place{Floor: -1, Room: "z"}, ymodel.Place{Floor: 1, Room: "a"}, ymodel.Place{Floor: 1, Room: "b"})
	roundtrip.State[model](t, f.Model)
	roundtrip.Map[ymodel.Place, []xmodel.Place](t, f.Places)
	roundtrip.State[heartbeat.Alert](t, f.Alerts)

	e := new(Echo)
	roundtrip.Binding(t, e.BindTWS(new(tws.Binder)), "", "a")
	Register(tws.NewPipeline(tws.Options{}))
}
