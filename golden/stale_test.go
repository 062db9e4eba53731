package golden_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A package whose annotated types changed since generation does not compile, and
// the compiler names the command that mends it, in a line that does not print the
// type's fields.
func TestStaleDoesNotCompile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, old, new string }{
		{"ttl", "heartbeat/in.go", "recent,ttl=1h", "recent,ttl=2h"},
		{"state type", "heartbeat/in.go", "tws.ValueState[Sensor]", "tws.ValueState[Reading]"},
		{"state name", "heartbeat/in.go", "sensorState", "sensor"},
		{"time mode", "heartbeat/in.go", "time=processing", "time=event"},
		{"state struct", "heartbeat/in.go", "Type          string\n", "Type string\n\tMore int\n"},
		{"row name", "heartbeat/in.go", `json:"sensor_id"`, `json:"id"`},
		{"row order", "reordered/in.go", "X     bool\n\tInner Inner", "Inner Inner\n\tX bool"},
		{"configuration", "heartbeat/in.go", "Patience time.Duration", "Patience, Pause time.Duration"},
		{"instance", "aliases/in.go", "First  A\n\tSecond B", "First A\n\tNext, Second B"},
		{"defined type", "aliases/in.go", "Level int", "Level int8"},
		{"foreign struct", "foreign/x/model/model.go", "ID    int64", "ID, Old int64"},
		{"foreign defined type", "foreign/x/model/model.go", "Level uint16", "Level uint8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := build(t, filepath.Join("gen", test.file), test.old, test.new)
			if err == nil || !strings.Contains(out, "run_go_generate") {
				t.Errorf("want an error that names run_go_generate, got %v:\n%s", err, out)
			}
			if strings.Contains(out, "struct{") {
				t.Errorf("the error prints a struct:\n%s", out)
			}
		})
	}
}

// build compiles a case with one replacement in one of its files.
func build(t *testing.T, file, old, new string) (out string, err error) {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(src), old) {
		t.Fatalf("%s does not contain %q", file, old)
	}
	changed := filepath.Join(t.TempDir(), "changed.go")
	write(t, changed, []byte(strings.ReplaceAll(string(src), old, new)))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	write(t, list, overlay)
	dir := "./gen/" + strings.Split(filepath.ToSlash(file), "/")[1]
	combined, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, dir).CombinedOutput()
	return string(combined), err
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
