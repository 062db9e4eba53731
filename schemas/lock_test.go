package schemas

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "re-record golden files")

func testLock() *Lock {
	return &Lock{
		Processors: []LockedProcessor{
			{
				Name: "heartbeat", NextStateID: 5, NextTimerID: 3, Key: Type{Kind: Struct, Name: "Key"},
				States: []LockedState{
					{State: State{ID: 4, Name: "byType", Kind: MapState, Key: &Type{Kind: String}, Value: Type{Kind: Int64}, Version: 1}},
					{State: State{ID: 1, Name: "sensor", Kind: ValueState, Value: Type{Kind: Struct, Name: "Sensor"}, Version: 1, TTLMicros: 3_600_000_000}},
					{State: State{ID: 2, Name: "gone", Kind: ListState, Value: Type{Kind: Bytes}, Version: 1}, Removed: true},
				},
				Timers: []LockedTimer{{Timer: Timer{ID: 2, Name: "silent"}}, {Timer: Timer{ID: 1, Name: "old"}, Removed: true}},
			},
			{Name: "empty", NextStateID: 1, NextTimerID: 1, Key: Type{Kind: Bool}},
		},
		Structs: []LockedStruct{
			{Name: "Sensor", NextFieldID: 4, Fields: []LockedField{
				{Field: Field{ID: 3, Name: "Seen", Type: Type{Kind: List, Elem: &Type{Kind: Struct, Name: "example.com/m.At", Optional: true}}}},
				{Field: Field{ID: 1, Name: "a<b>&c", Type: Type{Kind: String}}},
				{Field: Field{ID: 2, Name: "Seen", Type: Type{Kind: Int8}}, Removed: true},
			}},
			{Name: "Key", NextFieldID: 2, Fields: []LockedField{{Field: Field{ID: 1, Name: "ID", Type: Type{Kind: Int64}}}}},
			{Name: "example.com/m.At", NextFieldID: 1},
			{Name: "Unused", NextFieldID: 1, Removed: true},
		},
	}
}

func TestLockGolden(t *testing.T) {
	t.Parallel()
	const file = "testdata/tws.lock.json"
	got := testLock().Marshal()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLockRoundTrip(t *testing.T) {
	t.Parallel()
	content := testLock().Marshal()
	for name, variant := range map[string][]byte{
		"as written":   content,
		"crlf":         bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n")),
		"other indent": bytes.ReplaceAll(content, []byte("  "), []byte("\t")),
	} {
		lock, err := ReadLock(variant)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := lock.Marshal(); !bytes.Equal(got, content) {
			t.Errorf("%s: read and written again it is\n%s", name, got)
		}
	}
	lock := testLock()
	slices.Reverse(lock.Processors)
	slices.Reverse(lock.Structs)
	if !bytes.Equal(lock.Marshal(), content) {
		t.Error("the order of the slices changes the file")
	}
	if lock.Structs[3].Name != "Sensor" {
		t.Error("Marshal sorted the caller's slices")
	}
}

func TestEmptyLock(t *testing.T) {
	t.Parallel()
	lock, err := ReadLock(new(Lock).Marshal())
	if err != nil || len(lock.Processors)+len(lock.Structs) > 0 {
		t.Errorf("got %v, %v", lock, err)
	}
}

func TestLockStored(t *testing.T) {
	t.Parallel()
	lock := testLock()
	got := lock.Stored()
	for _, name := range []string{"Sensor", "Key", "example.com/m.At"} {
		if !got[name] {
			t.Errorf("%s is part of stored state", name)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %v", got)
	}
	lock.Processors[0].Removed = true
	if got := lock.Stored(); len(got) != 0 {
		t.Errorf("a removed processor stores %v", got)
	}
	if lock.Processor("heartbeat") != nil {
		t.Error("a removed processor is found by name")
	}
}

// B-47
func TestReadLockRefuses(t *testing.T) {
	t.Parallel()
	good := string(testLock().Marshal())
	replace := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the lock has no %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	tests := []struct {
		name, content string
		is            error
		want          string
	}{
		{"empty", "", ErrLockDamaged, "unexpected end"},
		{"half", good[:len(good)/2], ErrLockDamaged, "line "},
		{"not json", "hello", ErrLockDamaged, "line 1"},
		{"no format", "{}", ErrLockDamaged, "no format"},
		{"newer", `{"format": 999, "shape": "unknown"}`, ErrLockNewer, "format 999"},
		{"unknown key", replace(`"next_state_id"`, `"next_id"`), ErrLockDamaged, "next_id"},
		{"behind", good + "{}", ErrLockDamaged, "after top-level value"},
		{"conflict", replace("  \"structs\"", "<<<<<<< HEAD\n  \"structs\""), ErrLockDamaged, "conflict marker in line"},
		{"conflict end", good + ">>>>>>> branch\n", ErrLockDamaged, "conflict marker"},
		{"edited number", replace(`"next_state_id": 5`, `"next_state_id": 6`), ErrLockEdited, "checksum"},
		{"edited name", replace(`"sensor"`, `"sensors"`), ErrLockEdited, "checksum"},
		{"edited sum", replace(`"sum": "sha256:`, `"sum": "sha256:0`), ErrLockEdited, "checksum"},
		{"id twice", replace(`"id":4,"name":"byType"`, `"id":1,"name":"byType"`), ErrLockDamaged, "id 1 is given twice"},
		{"id too high", replace(`"id":4,"name":"byType"`, `"id":5,"name":"byType"`), ErrLockDamaged, "id 5 is not between"},
		{"id zero", replace(`{"id":2,"name":"silent"}`, `{"id":0,"name":"silent"}`), ErrLockDamaged, "id 0 is not between"},
		{"name twice", replace(`"byType"`, `"sensor"`), ErrLockDamaged, "sensor is there twice"},
		{"no name", replace(`"byType"`, `""`), ErrLockDamaged, "no name"},
		{"processor twice", replace(`"name": "empty"`, `"name": "heartbeat"`), ErrLockDamaged, "processor heartbeat is there twice"},
		{"struct twice", replace(`"name": "Unused"`, `"name": "Key"`), ErrLockDamaged, "struct Key is there twice"},
		{"missing struct", replace(`"kind":"struct","name":"Sensor"`, `"kind":"struct","name":"Senso"`), ErrLockDamaged, `no struct "Senso"`},
		{"unknown type", replace(`{"kind":"int64"}`, `{"kind":"int63"}`), ErrLockDamaged, "int63"},
		{"named scalar", replace(`{"kind":"int64"}`, `{"kind":"int64","name":"X"}`), ErrLockDamaged, "has a name"},
		{"list without elem", replace(`"kind":"bytes"`, `"kind":"list"`), ErrLockDamaged, "element type"},
		{"inline fields", replace(`"kind":"struct","name":"Sensor"`, `"kind":"struct","name":"Sensor","fields":[{"id":1,"name":"x","type":{"kind":"bool"}}]`), ErrLockDamaged, "fields of its own"},
		{"unknown kind", replace(`"kind":"value"`, `"kind":"set"`), ErrLockDamaged, `unknown kind "set"`},
		{"map without key", replace(`"key":{"kind":"string"},`, ``), ErrLockDamaged, "has a key"},
		{"version", replace(`"version":1`, `"version":0`), ErrLockDamaged, "version 0"},
		{"ttl", replace(`"ttl_micros":3600000000`, `"ttl_micros":-1`), ErrLockDamaged, "negative TTL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lock, err := ReadLock([]byte(test.content))
			if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %v with %q", err, test.is, test.want)
			}
			if lock != nil {
				t.Error("got a lock with the error")
			}
		})
	}
}

// FuzzReadLock: whatever the file holds, reading it does not panic, and what is
// accepted is written again as something that reads the same.
func FuzzReadLock(f *testing.F) {
	f.Add(testLock().Marshal())
	f.Add(new(Lock).Marshal())
	f.Add([]byte(`{"format":1,"processors":[],"structs":[],"sum":""}`))
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte("<<<<<<< HEAD\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		lock, err := ReadLock(content)
		if err != nil {
			return
		}
		lock.Stored()
		written := lock.Marshal()
		again, err := ReadLock(written)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, written)
		}
		if !bytes.Equal(again.Marshal(), written) {
			t.Fatal("not canonical")
		}
	})
}
