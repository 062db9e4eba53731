package schemas

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func heartbeat() Processor {
	sensor := Type{Kind: Struct, Name: "Sensor", Fields: []Field{
		{ID: 1, Name: "Type", Type: Type{Kind: String}},
		{ID: 2, Name: "Seen", Type: Type{Kind: List, Elem: &Type{Kind: Timestamp}}},
	}}
	return Processor{
		Name: "heartbeat", TimeMode: TimeProcessing, OutputMode: OutputUpdate,
		Key: Type{Kind: Int64},
		States: []State{
			{ID: 1, Name: "sensor", Kind: ValueState, Value: sensor, Version: 1},
			{ID: 2, Name: "recent", Kind: ListState, Value: Type{Kind: Int64}, Version: 1, TTLMicros: 3_600_000_000},
			{ID: 3, Name: "byType", Kind: MapState, Key: &Type{Kind: String}, Value: Type{Kind: Int64}, Version: 1},
		},
		Timers: []Timer{{ID: 1, Name: "silent"}},
	}
}

// B-46
func TestCompatible(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Processor)
		want   []string
	}{
		{"same", func(*Processor) {}, nil},
		{"added state and timer", func(p *Processor) {
			p.States = append(p.States, State{ID: 4, Name: "new", Kind: ValueState, Value: Type{Kind: Bool}, Version: 1})
			p.Timers = append(p.Timers, Timer{ID: 2, Name: "other"})
		}, nil},
		{"ttl on, off, changed", func(p *Processor) {
			p.States[1].TTLMicros = 5
		}, nil},
		{"go type renamed", func(p *Processor) { p.States[0].Value.Name = "Device" }, nil},
		{"order of declaration", func(p *Processor) { slices.Reverse(p.States) }, nil},
		{"modes and name", func(p *Processor) {
			p.Name, p.TimeMode, p.OutputMode = "other", TimeEvent, OutputAppend
		}, []string{
			"name: was heartbeat, now other",
			"time mode: was processing, now event",
			"output mode: was update, now append",
		}},
		{"grouping key", func(p *Processor) { p.Key = Type{Kind: String} },
			[]string{"grouping key: was int64, now string"}},
		{"state kind", func(p *Processor) { p.States[1].Kind = ValueState },
			[]string{"state recent: was list<int64>, now value<int64>"}},
		{"map key", func(p *Processor) { p.States[2].Key = &Type{Kind: Int64} },
			[]string{"state byType: map key: was string, now int64"}},
		{"map key lost", func(p *Processor) { p.States[2].Key = nil },
			[]string{"state byType: map key: was string, now absent"}},
		{"optional", func(p *Processor) { p.States[1].Value.Optional = true },
			[]string{"state recent: was int64, now optional<int64>"}},
		{"removed", func(p *Processor) { p.States, p.Timers = p.States[1:], nil }, []string{
			"state sensor (id 1): was value<Sensor>, now absent",
			"timer silent (id 1): was declared, now absent",
		}},
		{"renamed", func(p *Processor) { p.States[1].Name, p.Timers[0].Name = "last", "quiet" }, []string{
			"name of state id 2: was recent, now last",
			"name of timer id 1: was silent, now quiet",
		}},
		{"id moved", func(p *Processor) { p.States[2].ID, p.Timers[0].ID = 9, 8 }, []string{
			"state byType (id 3): was map<string, int64>, now absent",
			"timer silent (id 1): was declared, now absent",
			"id of state byType: was 3, now 9",
			"id of timer silent: was 1, now 8",
		}},
		{"version", func(p *Processor) { p.States[0].Version = 2 },
			[]string{"state sensor: schema version: was 1, now 2"}},
		{"fields", func(p *Processor) {
			p.States[0].Value.Fields = []Field{
				{ID: 1, Name: "Kind", Type: Type{Kind: String}},
				{ID: 2, Name: "Seen", Type: Type{Kind: List, Elem: &Type{Kind: Int64}}},
				{ID: 3, Name: "Zone", Type: Type{Kind: String, Optional: true}},
			}
		}, []string{
			"state sensor: name of field id 1: was Type, now Kind",
			"state sensor: Seen[]: was timestamp, now int64",
			"state sensor: Zone: was absent, now optional<string>",
		}},
		{"field removed", func(p *Processor) { p.States[0].Value.Fields = p.States[0].Value.Fields[:1] },
			[]string{"state sensor: Seen: was list<timestamp>, now absent"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			declared := heartbeat()
			test.change(&declared)
			err := Compatible(heartbeat(), declared)
			if test.want == nil {
				if err != nil {
					t.Fatalf("got %v, want compatible", err)
				}
				return
			}
			var incompatible *IncompatibleError
			if !errors.As(err, &incompatible) {
				t.Fatalf("got %v, want an IncompatibleError", err)
			}
			var got []string
			for _, d := range incompatible.Differences {
				got = append(got, d.String())
				if !strings.Contains(err.Error(), d.String()) {
					t.Errorf("error %q does not tell %q", err, d)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestFingerprintSeesEverythingButOrder(t *testing.T) {
	t.Parallel()
	base := heartbeat().Fingerprint()
	if !strings.HasPrefix(base, "sha256:") || len(base) != len("sha256:")+64 {
		t.Fatalf("fingerprint %q has the wrong form", base)
	}
	same := heartbeat()
	slices.Reverse(same.States)
	if got := same.Fingerprint(); got != base {
		t.Errorf("order of states changed the fingerprint")
	}
	if same.States[0].ID != 3 {
		t.Errorf("Fingerprint sorted the caller's slice")
	}
	changes := map[string]func(*Processor){
		"name":   func(p *Processor) { p.Name = "x" },
		"mode":   func(p *Processor) { p.TimeMode = TimeNone },
		"ttl":    func(p *Processor) { p.States[1].TTLMicros++ },
		"key":    func(p *Processor) { p.Key.Kind = Int32 },
		"field":  func(p *Processor) { p.States[0].Value.Fields[1].Name = "x" },
		"timer":  func(p *Processor) { p.Timers[0].ID = 2 },
		"id":     func(p *Processor) { p.States[2].ID = 7 },
		"stkind": func(p *Processor) { p.States[2].Kind = ValueState },
	}
	for name, change := range changes {
		p := heartbeat()
		change(&p)
		if p.Fingerprint() == base {
			t.Errorf("%s: the fingerprint did not change", name)
		}
	}
}

func TestTypeString(t *testing.T) {
	t.Parallel()
	for want, typ := range map[string]Type{
		"int64":                   {Kind: Int64},
		"optional<string>":        {Kind: String, Optional: true},
		"list<optional<Reading>>": {Kind: List, Elem: &Type{Kind: Struct, Name: "Reading", Optional: true}},
		"struct{A int8, B bytes}": {Kind: Struct, Fields: []Field{{1, "A", Type{Kind: Int8}}, {2, "B", Type{Kind: Bytes}}}},
		"invalid":                 {},
	} {
		if got := typ.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := heartbeat().States[1].TTL(); got != time.Hour {
		t.Errorf("TTL is %v, want 1h", got)
	}
}
