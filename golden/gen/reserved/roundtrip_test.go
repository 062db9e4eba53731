package reserved

import (
	"testing"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

// B-54, B-55: whatever the user calls things, the generated code compiles and
// means what it says.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	p := new(Reserved)
	roundtrip.Binding(t, p.BindTWS(new(tws.Binder)), "", "a")
	roundtrip.State[Words](t, p.State)
	roundtrip.State[dst](t, p.Proc)
	roundtrip.Map[b, []string](t, p.Kinds, b{}, b{"", "a"}, b{"a", ""}, b{"a\x00", ""}, b{"aa", ""})
	roundtrip.State[ok](t, p.b)
}
