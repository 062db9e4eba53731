package golden_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tws-go/tws/gen"
)

// diagCases holds one folder per case: the package in.go, which may have more
// files and packages below it, and want.txt, what the generator says of it.
const diagCases = "diag/testdata"

// TestDiagnostics compares every word and every position of every diagnostic.
//
// B-9, B-16, B-46, B-53, B-57, B-58, B-60, B-64, B-103
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(diagCases + "/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	// One run for all cases reads the runtime package once.
	config := gen.Config{}
	for _, dir := range dirs {
		config.Patterns = append(config.Patterns, "./"+filepath.ToSlash(dir)+"/...")
	}
	result, err := gen.Run(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]gen.Diagnostics)
	for _, d := range append(result.Diagnostics, unformatted(t)...) {
		dir := caseOf(t, d.Pos.Filename)
		said[dir] = append(said[dir], d)
	}
	seen := make(map[string]bool)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			abs, err := filepath.Abs(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			if err := said[filepath.Base(dir)].Write(&got, abs); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, filepath.Join(dir, "want.txt"), got.String())
			wantOnly(t, filepath.Base(dir), got.String(), seen)
		})
	}
	for _, e := range gen.Catalogue() {
		if !seen[string(e.Code)] {
			t.Errorf("%s (%s) has no golden case", e.Code, e.Title)
		}
	}
}

// unformatted runs the cases whose in.go does not parse, which is kept from
// gofmt under the name in.go.txt. They need a module, but not what it requires.
func unformatted(t *testing.T) gen.Diagnostics {
	t.Helper()
	files, err := filepath.Glob(diagCases + "/*/in.go.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case that does not parse: %v", err)
	}
	var said gen.Diagnostics
	for _, file := range files {
		dir := t.TempDir()
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"go.mod": "module in\n", "in.go": string(src)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		result, err := gen.Run(context.Background(), gen.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		home, err := filepath.Abs(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range result.Diagnostics {
			d.Pos.Filename = filepath.Join(home, filepath.Base(d.Pos.Filename))
			said = append(said, d)
		}
	}
	return said
}

// caseOf returns the case that a file belongs to.
func caseOf(t *testing.T, file string) string {
	t.Helper()
	root, err := filepath.Abs(diagCases)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(root, file)
	if err != nil || strings.HasPrefix(rel, "..") {
		t.Fatalf("diagnostic outside of the cases: %s", file)
	}
	return strings.Split(filepath.ToSlash(rel), "/")[0]
}

var codeText = regexp.MustCompile(`error\[(TWS\d+)\]`)

// wantOnly checks that a case named after a code says nothing else, and that
// every diagnostic has a fix.
func wantOnly(t *testing.T, name, got string, seen map[string]bool) {
	t.Helper()
	code := strings.ToUpper(strings.Split(name, "_")[0])
	codes := codeText.FindAllStringSubmatch(got, -1)
	if len(codes) == 0 {
		t.Errorf("no diagnostic at all")
	}
	for _, m := range codes {
		seen[m[1]] = true
		if m[1] != code {
			t.Errorf("the case for %s is told %s too", code, m[1])
		}
	}
	if fixes := strings.Count(got, "\n\tfix: "); fixes != len(codes) {
		t.Errorf("%d diagnostics have %d fixes", len(codes), fixes)
	}
}

// compareGolden compares got with a golden file, or records it with -update.
func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; record it with -update", err)
	}
	if got != string(want) {
		t.Errorf("%s differs, re-record with -update if that is right\n--- got\n%s--- want\n%s", file, got, want)
	}
}
