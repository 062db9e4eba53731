package unicode

import (
	"testing"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	a := new(Äpfel)
	roundtrip.Binding(t, a.BindTWS(new(tws.Binder)), "", "ä", "世")
	roundtrip.State[Été](t, a.Zähler)
	roundtrip.Map[string, int64](t, a.世界, "a", "ä", "世")
}
