// Package testmod makes Go modules for tests of the generator: a temporary module
// that uses this one as it stands in the source tree.
package testmod

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Path is the import path of the modules that New makes.
const Path = "example.com/sensors"

// New makes a module of the files in a txtar archive and returns its folder.
// go.mod and go.sum are written unless the archive has them.
func New(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	Write(t, dir, archive)
	if err := module(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Write writes the files of a txtar archive to a folder, over existing ones.
func Write(t testing.TB, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// module writes go.mod and go.sum to dir, so that it is a module that uses this
// one from the source tree and needs no network.
func module(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return nil
	}
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	root := filepath.Dir(strings.TrimSpace(string(out)))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	text := strings.Replace(string(mod), "module github.com/tws-go/tws", "module "+Path, 1) +
		"\nrequire github.com/tws-go/tws v0.0.0\n\nreplace github.com/tws-go/tws => " + root + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644)
}
