//go:build (linux || darwin) && !never

package constrained

import (
	"testing"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

// B-62: the generated file is built exactly when its input is.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := new(Seen)
	roundtrip.Binding(t, s.BindTWS(new(tws.Binder)), "", "a")
	roundtrip.State[uint32](t, s.Times, 0, 1<<32-1)
}
