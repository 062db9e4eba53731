package heartbeat

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/codec"
	"github.com/tws-go/tws/golden/gen/internal/roundtrip"
	tws "github.com/tws-go/tws/runtime"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	h := new(Heartbeat)
	roundtrip.Binding(t, h.BindTWS(new(tws.Binder)), -1<<63, -1, 0, 1, 1<<63-1)
	roundtrip.State[Sensor](t, h.Sensor)
	roundtrip.State[Reading](t, h.Recent)
	roundtrip.Map[string, int64](t, h.ByType, "", "\x00", "\x00\x01", "a", "a\x00", "a\xff", "b")
	roundtrip.EncodingJSON(t, (*Reading)(nil).TWSRow())
	roundtrip.EncodingJSON(t, (*Alert)(nil).TWSRow())
}

func TestReadingAsText(t *testing.T) {
	t.Parallel()
	row := (*Reading)(nil).TWSRow()
	v := Reading{SensorID: 7, SensorType: "door \"A\"", Value: -1}
	text, err := row.AppendJSON(nil, &v)
	if want := `{"sensor_id":7,"sensor_type":"door \"A\"","sensor_value":-1}`; err != nil || string(text) != want {
		t.Errorf("got %s (%v), want %s", text, err, want)
	}
	want := []string{"Int 7", `String door "A"`, "Int -1"}
	if got := roundtrip.Columns(row, v); !slices.Equal(got, want) {
		t.Errorf("got columns %q, want %q", got, want)
	}
	if got, want := string(row.Append(nil, &v)), "\x93\x07\xa8door \"A\"\xff"; got != want {
		t.Errorf("got msgpack %q, want %q", got, want)
	}
}

func TestMalformedJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"sensor_id":1,"sensor_type":"a"}`:                                    "missing",
		`{"sensor_id":1,"sensor_type":"a","sensor_value":2,"sensor_value":2}`:  "duplicate",
		`{"sensor_id":1,"sensor_type":"a","sensor_value":1.0}`:                 "1.0",
		`{"sensor_id":1,"sensor_type":"a","sensor_value":9223372036854775808}`: "sensor_value",
		`{"sensor_id":null,"sensor_type":"a","sensor_value":2}`:                "null",
		`{"sensor_id":1,"sensor_type":"a","sensor_value":2}{}`:                 "after",
		`null`: "null",
		`[]`:   "object",
	} {
		var v Reading
		err := (*Reading)(nil).TWSRow().DecodeJSON([]byte(text), &v)
		var je *codec.JSONError
		if !errors.As(err, &je) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one about %s", text, err, want)
		}
	}
	var v Reading
	other := `{"more":[{"x":[]}],"sensor_value":2,"sensor_type":"a","sensor_id":1}`
	if err := (*Reading)(nil).TWSRow().DecodeJSON([]byte(other), &v); err != nil || v != (Reading{1, "a", 2}) {
		t.Errorf("unknown fields and another order: got %v, %v", v, err)
	}
}

func TestNoJSONForm(t *testing.T) {
	t.Parallel()
	v := Alert{LastHeartbeat: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
	got, err := (*Alert)(nil).TWSRow().AppendJSON([]byte("before"), &v)
	if string(got) != "before" || err == nil || !strings.Contains(err.Error(), "last_heartbeat_time") {
		t.Errorf("got %q, %v, want the input back and an error that names the field", got, err)
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	p := tws.NewPipeline(tws.Options{})
	Register(p)
}
