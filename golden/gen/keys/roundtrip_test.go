package keys

import (
	"testing"
	"time"

	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	at := func(sec, nsec int64) time.Time { return time.Unix(sec, nsec).UTC() }
	k := new(Keys)
	roundtrip.Binding(t, k.BindTWS(new(tws.Binder)),
		Site{Name: "", Floor: 127},
		Site{Name: "a", Floor: -128, Room: Room{Code: 1}},
		Site{Name: "a", Floor: 0, Room: Room{Code: -1}, Since: at(9, 0)},
		Site{Name: "a", Floor: 0, Room: Room{Code: 1}},
		Site{Name: "a", Floor: 0, Room: Room{Code: 1, Open: true}},
		Site{Name: "a", Floor: 0, Room: Room{Code: 1, Open: true, For: 1}},
		Site{Name: "a", Floor: 0, Room: Room{Code: 1, Open: true, For: 1}, Since: at(0, 0)},
		Site{Name: "a\x00", Floor: -128},
		Site{Name: "a\x00\x00", Floor: -128},
		Site{Name: "ab", Floor: -128},
	)
	roundtrip.Map[bool, int64](t, k.Bool, false, true)
	roundtrip.Map[int, int64](t, k.Int, -1<<63, -1, 0, 1, 1<<63-1)
	roundtrip.Map[int8, int64](t, k.Int8, -128, -1, 0, 127)
	roundtrip.Map[int16, int64](t, k.Int16, -1<<15, -256, -1, 0, 255, 1<<15-1)
	roundtrip.Map[int32, int64](t, k.Int32, -1<<31, -1, 0, 1<<31-1)
	roundtrip.Map[int64, int64](t, k.Int64, -1<<63, -1, 0, 1<<63-1)
	roundtrip.Map[uint, int64](t, k.Uint, 0, 255, 256, 1<<64-1)
	roundtrip.Map[uint8, int64](t, k.Uint8, 0, 128, 255)
	roundtrip.Map[uint16, int64](t, k.Uint16, 0, 255, 256, 1<<16-1)
	roundtrip.Map[uint32, int64](t, k.Uint32, 0, 1<<31, 1<<32-1)
	roundtrip.Map[uint64, int64](t, k.Uint64, 0, 1<<63, 1<<64-1)
	roundtrip.Map[string, int64](t, k.String, "", "\x00", "\x00\xff", "\x01", "a", "a\x00b", "ab", "\xff")
	roundtrip.Map[time.Time, int64](t, k.Time, time.Time{}, at(-1, 999), at(0, 0), at(0, 1), at(1<<40, 0))
	roundtrip.Map[time.Duration, int64](t, k.Duration, -1, 0, 1, time.Hour)
	roundtrip.Map[Name, int64](t, k.Name, "", "a", "b")
	roundtrip.Map[Code, int64](t, k.Code, -2, -1, 0, 1)
	roundtrip.Map[Open, int64](t, k.Open, false, true)
	roundtrip.Map[Room, Site](t, k.Room, Room{Code: -1, Open: true}, Room{}, Room{For: 1}, Room{Open: true})
	roundtrip.Map[Site, []Room](t, k.Sites)
}

// B-9: one instant in two zones is one key.
func TestZonesOfKeys(t *testing.T) {
	t.Parallel()
	b := new(Keys).BindTWS(new(tws.Binder))
	utc := time.Date(2024, 1, 1, 10, 0, 0, 0, time.UTC)
	there := utc.In(time.FixedZone("", 2*60*60))
	one, two := b.Key.Append(nil, Site{Since: utc}), b.Key.Append(nil, Site{Since: there})
	if string(one) != string(two) {
		t.Errorf("%v is %x, %v is %x", utc, one, there, two)
	}
}
