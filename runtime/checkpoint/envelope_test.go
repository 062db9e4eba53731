package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/stream"
)

// seal is an independent writer of envelopes, for headers that the package
// itself never writes.
func seal(header, payload string) []byte {
	return fmt.Appendf(nil, "%s %s\n%s", header, sum([]byte(header+" "), []byte(payload)), payload)
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		data []byte
		want string // part of the error; "" means sound
	}{
		{"sound", seal("tws plan 1 4", "body"), ""},
		{"no payload", seal("tws plan 1 0", ""), ""},
		{"empty", nil, "empty"},
		{"no line", []byte("tws plan 1 4 xxh3:"), "cut off"},
		{"long line", bytes.Repeat([]byte("x"), 300), "cut off"},
		{"other magic", seal("two plan 1 4", "body"), "not that of a tws record"},
		{"fields", seal("tws plan 1  4", "body"), "not that of a tws record"},
		{"version 0", seal("tws plan 0 4", "body"), "not that of a tws record"},
		{"version x", seal("tws plan x 4", "body"), "not that of a tws record"},
		{"negative length", seal("tws plan 1 -4", "body"), "not that of a tws record"},
		{"huge length", seal("tws plan 1 99999999999999999999", "body"), "not that of a tws record"},
		{"longer length", seal("tws plan 1 5", "body"), "4 bytes of payload where the header says 5"},
		{"checksum", bytes.Replace(seal("tws plan 1 4", "body"), []byte("body"), []byte("bodx"), 1), "checksum"},
		{"kind", seal("tws decision 1 4", "body"), "holds a decision record, not a plan record"},
		{"newer", seal("tws plan 2 4", "body"), "plan format 2, this build knows 1"},
		{"newer of other kind", seal("tws ends 2 4", "body"), "holds a ends record"},
	}
	for _, tt := range tests {
		payload, rest, err := openEnvelope(tt.data, kindPlan)
		if tt.want == "" {
			if err != nil || len(rest) > 0 || !bytes.HasSuffix(tt.data, payload) {
				t.Errorf("%s: %q, %q, %v", tt.name, payload, rest, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestRecordEnd(t *testing.T) {
	t.Parallel()
	data, err := encodeRecord(kindEnds, Ends{})
	must(t, err)
	for _, wrong := range [][]byte{data[:len(data)-1], append(bytes.Clone(data), '\n')} {
		if err := decodeRecord(wrong, kindEnds, &Ends{}); err == nil || !strings.Contains(err.Error(), "does not end") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// A payload that this build does not understand, under a sound checksum.
func TestRecordPayload(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"epoch":1,"new_field":2}`: `unknown field "new_field"`,
		`{"epoch":"x"}`:             "cannot unmarshal",
		`{"epoch":1} {}`:            "invalid character",
		`{"epoch":1`:                "unexpected end",
		``:                          "unexpected end",
	} {
		data := append(seal(fmt.Sprintf("tws plan 1 %d", len(payload)), payload), '\n')
		if err := decodeRecord(data, kindPlan, &Plan{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", payload, err, want)
		}
	}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	d := Decision{Epoch: 1, Attempt: 1, Plan: samplePlan(1)}
	spaced := d
	spaced.Sink.State = []byte("{ \"a\" : 1 }")
	compact := d
	compact.Sink.State = []byte(`{"a":1}`)
	if spaced.Manifest() != compact.Manifest() {
		t.Error("white space changes the manifest")
	}
	seen := map[string]bool{d.Manifest(): true, compact.Manifest(): true}
	retry := d
	retry.Attempt = 2
	seen[retry.Manifest()] = true
	other := d
	other.Changelogs = []stream.Artefact{{Path: "x"}}
	seen[other.Manifest()] = true
	if len(seen) != 4 {
		t.Errorf("manifests collide: %v", seen)
	}
	broken := d
	broken.Sink.State = []byte("{")
	if got := broken.Manifest(); got != "" {
		t.Errorf("manifest of what is no JSON: %q", got)
	}
}

func FuzzRecord(f *testing.F) {
	sound, err := encodeRecord(kindPlan, samplePlan(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound, 0)
	f.Add(sound[:len(sound)/2], 9)
	f.Add(seal("tws plan 2 4", "body"), 3)
	f.Add([]byte("tws plan 1 18446744073709551615 xxh3:0000000000000000\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		var p Plan
		err := decodeRecord(data, kindPlan, &p)
		var newer *newerError
		var damage errDamage
		if err != nil {
			if !errors.As(err, &newer) && !errors.As(err, &damage) {
				t.Fatalf("neither damaged nor newer: %v", err)
			}
			return
		}
		flipped := bytes.Clone(data)
		flipped[uint(at)%uint(len(data))] ^= 1 << (uint(at) / uint(len(data)) % 8)
		if err := decodeRecord(flipped, kindPlan, &p); err == nil {
			t.Fatalf("a changed bit is not found: %q", flipped)
		}
	})
}

// Whatever a decision's payload is, its manifest survives the disk.
func FuzzDecision(f *testing.F) {
	sound, err := encodeJSON(Decision{Epoch: 1, Plan: samplePlan(1), Sink: stream.Staged{State: []byte(`{"a":[1,null]}`)}}, "  ")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound)
	f.Add([]byte(`{"plan":{"sources":[{"from":null,"to":"<\u2028"}]},"sink":{"state":null}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		var first, second Decision
		if decodeJSON(payload, &first) != nil {
			return
		}
		data, err := encodeRecord(kindDecision, first)
		if err != nil {
			return // for example, a number that is no position
		}
		if err := decodeRecord(data, kindDecision, &second); err != nil {
			t.Fatal(err)
		}
		if first.Manifest() == "" || first.Manifest() != second.Manifest() {
			t.Fatalf("%q became %q", first.Manifest(), second.Manifest())
		}
	})
}
