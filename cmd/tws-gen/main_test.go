package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts run the command as a process of its own: this test binary under the
// name tws-gen.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tws-gen": main})
}

// TestScripts runs testdata/script. Each folder of a script that holds a file
// module is made a module that uses this one from the source tree; the scripts
// need no network.
//
// B-61, B-62, B-65, B-95, B-96
func TestScripts(t *testing.T) {
	goEnv := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	cache, modules := goEnv("GOCACHE"), goEnv("GOMODCACHE")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOCACHE", cache)
			env.Setenv("GOMODCACHE", modules)
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOFLAGS", "-mod=readonly")
			env.Setenv("GOTOOLCHAIN", "local")
			return makeModules(env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mtime": mtime,
		},
	})
}

// makeModules turns every folder with a file named module into a module of the
// path that the file holds.
func makeModules(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "*", "module"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "module")); err == nil {
		found = append(found, filepath.Join(dir, "module"))
	}
	for _, file := range found {
		path, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := makeModule(filepath.Dir(file), strings.TrimSpace(string(path))); err != nil {
			return err
		}
	}
	return nil
}

// makeModule writes a go.mod that requires what this module does, and this module
// itself as it is in the source tree.
func makeModule(dir, path string) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	text := strings.Replace(string(mod), "module github.com/tws-go/tws", "module "+path, 1) +
		"\nrequire github.com/tws-go/tws v0.0.0\n\nreplace github.com/tws-go/tws => " + root + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644)
}

// mtime sets the time of modification of a file to long ago, or, as "! mtime",
// fails if the file was written since.
func mtime(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] mtime file")
	}
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	longAgo := info.ModTime().AddDate(-1, 0, 0)
	if !neg {
		ts.Check(os.Chtimes(path, longAgo, longAgo))
		return
	}
	dir, err := os.Stat(filepath.Dir(path))
	ts.Check(err)
	if info.ModTime().After(dir.ModTime().AddDate(0, -6, 0)) {
		ts.Fatalf("%s was written", args[0])
	}
}
