package golden_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/gen"
)

// Every folder of gen is an ordinary package: hand-written input, and beside it
// the generated file and the lock as the generator writes them. That they
// compile and round-trip is tested in the packages themselves.
//
// B-54, B-55, B-57, B-62, B-65
func TestGenerated(t *testing.T) {
	t.Parallel()
	// One run for all cases reads the runtime package once.
	result, err := gen.Run(t.Context(), gen.Config{Patterns: []string{"./gen/..."}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range result.Diagnostics {
		t.Error(d)
	}
	if t.Failed() {
		return
	}
	files := make(map[string][]gen.File)
	for _, f := range result.Files {
		files[filepath.Dir(f.Path)] = append(files[filepath.Dir(f.Path)], f)
	}
	for _, dir := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			noOthers(t, dir, compare(t, files[dir]))
		})
	}
	if got, want := result.Packages, len(cases(t)); got != want {
		t.Errorf("generated for %d packages, want %d", got, want)
	}
}

// cases returns the absolute folders of the cases.
func cases(t *testing.T) []string {
	t.Helper()
	inputs, err := filepath.Glob("gen/*/in.go")
	if err != nil || len(inputs) < 12 {
		t.Fatalf("found the cases %v (%v), want a dozen or more", inputs, err)
	}
	var dirs []string
	for _, in := range inputs {
		dir, err := filepath.Abs(filepath.Dir(in))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// compare holds the files of a run against those on disk, or records them, and
// returns their paths. Scaffolds are written once and then belong to the user;
// the cases do without.
func compare(t *testing.T, files []gen.File) []string {
	t.Helper()
	var made []string
	for _, f := range files {
		if f.Kind == gen.Scaffold {
			continue
		}
		made = append(made, f.Path)
		switch {
		case !f.Changed():
		case *update:
			if err := os.WriteFile(f.Path, f.Content, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s is not what the generator writes; if that is right, record it with -update (-want +got):\n%s",
				filepath.Base(f.Path), cmp.Diff(lines(f.Content), lines(f.Old)))
		}
	}
	if len(made) != 2 {
		t.Errorf("got the files %v, want a generated one and a lock", made)
	}
	return made
}

// noOthers reports, or removes, files that look generated and are not.
func noOthers(t *testing.T, dir string, made []string) {
	t.Helper()
	for _, pattern := range []string{"*_tws.go", "*.lock.json"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			switch {
			case slices.Contains(made, path):
			case *update:
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s is a file that the generator does not write", path)
			}
		}
	}
}

func lines(b []byte) []string {
	var text []string
	for line := range bytes.Lines(b) {
		text = append(text, string(line))
	}
	return text
}
