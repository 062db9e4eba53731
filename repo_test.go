// Package tws_test holds the rules of the repository as a whole: who may import
// whom (imports_test.go), how the code is written (style_test.go) and that the
// documents are true (docs_test.go). A broken rule fails by its name and with
// its reason. CONTRIBUTING.md says how to change one.
package tws_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// module is the path that every package of ours begins with.
const module = "github.com/tws-go/tws"

// broken fails a rule: what is wrong, and why the rule is there.
func broken(t *testing.T, rule, reason, format string, args ...any) {
	t.Helper()
	t.Errorf("rule %q is broken: "+format+"\n\twhy the rule: %s", append(append([]any{rule}, args...), reason)...)
}

// repoFiles returns the repository's files by slash-separated path, without what
// was built, fetched or left by a run: folders whose name begins with a dot and
// the top-level folder bin.
var repoFiles = sync.OnceValues(func() ([]string, error) {
	var files []string
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if e.IsDir() {
			if name == "bin" || name != "." && strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		files = append(files, name)
		return nil
	})
	return files, err
})

func files(t *testing.T, suffix string) []string {
	t.Helper()
	all, err := repoFiles()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range all {
		if strings.HasSuffix(name, suffix) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Fatalf("the repository has no %s files: the test looks in the wrong place", suffix)
	}
	return found
}

// goFile is one parsed Go file.
type goFile struct {
	name      string // "runtime/flow.go"
	syntax    *ast.File
	source    []byte
	lines     int
	test      bool
	generated bool
}

func (f *goFile) folder() string { return path.Dir(f.name) }

var fileSet = token.NewFileSet()

// place returns "runtime/flow.go:17".
func place(pos token.Pos) string {
	p := fileSet.Position(pos)
	return (&token.Position{Filename: p.Filename, Line: p.Line}).String()
}

// goFiles returns the Go files that are compiled: no testdata.
func goFiles(t *testing.T) []*goFile {
	t.Helper()
	parsed, err := parsedFiles()
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

var parsedFiles = sync.OnceValues(func() ([]*goFile, error) {
	all, err := repoFiles()
	if err != nil {
		return nil, err
	}
	var parsed []*goFile
	for _, name := range all {
		if !strings.HasSuffix(name, ".go") || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		source, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // generated anew at this moment
		}
		if err != nil {
			return nil, err
		}
		syntax, err := parser.ParseFile(fileSet, name, source, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, &goFile{
			name: name, syntax: syntax, source: source,
			lines: bytes.Count(source, []byte("\n")), test: strings.HasSuffix(name, "_test.go"),
			generated: ast.IsGenerated(syntax),
		})
	}
	return parsed, nil
})

// handWritten returns the files that people write, without the generator's test
// cases, which are written as users write.
func handWritten(t *testing.T) []*goFile {
	t.Helper()
	var found []*goFile
	for _, f := range goFiles(t) {
		if !f.generated && !strings.HasPrefix(f.name, "golden/gen/") {
			found = append(found, f)
		}
	}
	return found
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath   string
	Name         string
	Dir          string
	Standard     bool
	Module       *struct{ Path string }
	GoFiles      []string
	CgoFiles     []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Error        *struct{ Err string }
}

// folder returns the folder of a package of ours, "" for any other.
func (p *goPackage) folder() string {
	if p.ImportPath == module {
		return "."
	}
	folder, ours := strings.CutPrefix(p.ImportPath, module+"/")
	if !ours {
		return ""
	}
	return folder
}

// graph is all packages of a build with all they import, by import path.
type graph map[string]*goPackage

// ours returns the packages of the repository.
func (g graph) ours() []*goPackage {
	var found []*goPackage
	for _, p := range g {
		if p.folder() != "" {
			found = append(found, p)
		}
	}
	return found
}

// listed are the two builds whose imports are checked, without and with RocksDB.
// Listing needs no C compiler and no RocksDB.
var listed = map[string]func() (graph, error){
	"CGO_ENABLED=0": sync.OnceValues(func() (graph, error) { return list("CGO_ENABLED=0", rocksTag) }),
	"CGO_ENABLED=1": sync.OnceValues(func() (graph, error) { return list("CGO_ENABLED=1", rocksTag) }),
}

// rocksTag is the build tag that tws-gen env sets.
const rocksTag = "grocksdb_no_link"

// list asks the go command for the packages of a build.
func list(env, tags string) (graph, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-test", "-tags="+tags,
		"-json=ImportPath,Name,Dir,Standard,Module,GoFiles,CgoFiles,Imports,TestImports,XTestImports,Error", "./...")
	cmd.Env = append(os.Environ(), env)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	g := graph{}
	for d := json.NewDecoder(bufio.NewReader(bytes.NewReader(out))); ; {
		p := new(goPackage)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return g, nil
		} else if err != nil {
			return nil, err
		}
		// "a [b.test]" is a compiled for the test of b; its imports are those of
		// a, which comes by itself. "b.test" is the test's main function.
		if !strings.Contains(p.ImportPath, " ") && !strings.HasSuffix(p.ImportPath, ".test") {
			g[p.ImportPath] = p
		}
	}
}

// eachBuild runs check for both builds.
func eachBuild(t *testing.T, check func(t *testing.T, g graph)) {
	t.Helper()
	for env, load := range listed {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			g, err := load()
			if err != nil {
				t.Fatalf("go list: %v", err)
			}
			if len(g.ours()) < 10 {
				t.Fatalf("go list knows %d packages of ours: the test looks in the wrong place", len(g.ours()))
			}
			check(t, g)
		})
	}
}
