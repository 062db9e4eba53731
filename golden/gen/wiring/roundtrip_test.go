package wiring

import (
	"testing"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	roundtrip.Row(t, (*Event)(nil).TWSRow())
	roundtrip.Row(t, (*Count)(nil).TWSRow())
	Register(tws.NewPipeline(tws.Options{}))
}
