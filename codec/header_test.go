package codec

import (
	"bytes"
	"math"
	"testing"
)

func TestHeaderRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		h    Header
		want string
	}{
		{Header{Version: 1}, "00 01"},
		{Header{Version: 127}, "00 7f"},
		{Header{Version: 128}, "00 8001"},
		{Header{Version: math.MaxInt32}, "00 ffffffff07"},
		{Header{Version: 1, Expires: true}, "01 0000000000000000 01"},
		{Header{Version: 300, Expires: true, ExpiresAtMicros: 1}, "01 0000000000000001 ac02"},
		{Header{Version: 2, Expires: true, ExpiresAtMicros: -1}, "01 ffffffffffffffff 02"},
		{Header{Version: 2, Expires: true, ExpiresAtMicros: math.MaxInt64}, "01 7fffffffffffffff 02"},
	} {
		got := AppendHeader([]byte{}, c.h)
		if !bytes.Equal(got, unhex(t, c.want)) {
			t.Errorf("%+v: got %x, want %s", c.h, got, c.want)
		}
		h, body, err := ReadHeader(append(got, 'b', 'o'))
		if h != c.h || string(body) != "bo" || err != nil {
			t.Errorf("%+v: read back %+v, body %q, %v", c.h, h, body, err)
		}
	}
	// An expiry that does not count is not stored.
	if got := AppendHeader(nil, Header{Version: 1, ExpiresAtMicros: 5}); !bytes.Equal(got, []byte{0, 1}) {
		t.Errorf("got %x", got)
	}
}

func TestHeaderRefusesWhatNoWriterWrites(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                        "codec: header: want flags, got the end of the input at byte 0",
		"02 01":                   "codec: header: unknown flags 0x02: written by a newer version, or corrupt at byte 0",
		"81 0000000000000000 01":  "codec: header: unknown flags 0x81: written by a newer version, or corrupt at byte 0",
		"01 00000000":             "codec: header: truncated: want 8 more bytes, have 4 at byte 1",
		"01 0000000000000000":     "codec: header: schema version is truncated at byte 9",
		"00":                      "codec: header: schema version is truncated at byte 1",
		"00 80":                   "codec: header: schema version is truncated at byte 1",
		"00 00":                   "codec: header: schema version is not within 1 to 2147483647 at byte 1",
		"00 8080808008":           "codec: header: schema version is not within 1 to 2147483647 at byte 1",
		"00 ffffffffffffffffff7f": "codec: header: schema version is not within 1 to 2147483647 at byte 1",
		"00 8100":                 "codec: header: schema version is not in its shortest form at byte 1",
	} {
		h, body, err := ReadHeader(unhex(t, in))
		wantMessage(t, err, want)
		if h != (Header{}) || body != nil {
			t.Errorf("%s: got %+v and %x with the error", in, h, body)
		}
	}
}

func TestAppendHeaderPanicsAtAWrongVersion(t *testing.T) {
	t.Parallel()
	tooHigh := int64(math.MaxInt32) + 1 // wraps on platforms of 32 bits
	for _, version := range []int{0, -1, math.MinInt32, int(tooHigh)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("version %d passes", version)
				}
			}()
			AppendHeader(nil, Header{Version: version})
		}()
	}
}

func TestHeaderExpiresAtTheMicrosecond(t *testing.T) {
	t.Parallel()
	h := Header{Version: 1, Expires: true, ExpiresAtMicros: 1000}
	for now, want := range map[int64]bool{999: false, 1000: true, 1001: true, math.MinInt64: false, math.MaxInt64: true} {
		if got := h.Expired(now); got != want {
			t.Errorf("expired at %d: got %v", now, got)
		}
	}
	if (Header{Version: 1, ExpiresAtMicros: 1000}).Expired(math.MaxInt64) {
		t.Error("a value without expiry expires")
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add(AppendHeader(nil, Header{Version: 1}))
	f.Add(AppendHeader(nil, Header{Version: 300, Expires: true, ExpiresAtMicros: 1 << 50}))
	f.Add([]byte{0, 0x81, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, body, err := ReadHeader(b)
		if err != nil {
			return
		}
		if again := append(AppendHeader(nil, h), body...); !bytes.Equal(again, b) {
			t.Errorf("%x reads as %+v, which is written %x", b, h, again)
		}
	})
}
