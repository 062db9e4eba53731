package gen_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/gen"
	"github.com/tws-go/tws/gen/internal/testmod"
	"github.com/tws-go/tws/schemas"
)

// counter is a small annotated package.
const counter = `
-- counter.go --
package counter

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

type Click struct {
	Page string ` + "`json:\"page\"`" + `
	By   User   ` + "`json:\"by\"`" + `
}

type User struct{ Name string }

type Count struct {
	Page string
	N    int64
}

type Stats struct {
	N    int64
	Last User
}

// Counter counts clicks.
type Counter struct {
	tws.Processor[string, Click, Count] ` + "`tws:\"counter\"`" + `

	Stats tws.ValueState[Stats] ` + "`tws:\"stats\"`" + `
	Users tws.ListState[User]
}

func (c *Counter) HandleInputRows(ctx *tws.InputContext, page string, rows iter.Seq[Click], out tws.Emitter[Count]) error {
	return nil
}

//tws:table
var Counts tws.StreamingTable[Count]

//tws:flow target=Counts
func CountClicks(f *tws.Flow) tws.Stream[Count] {
	return undefinedSoFar(f)
}
`

func run(t testing.TB, dir string, patterns ...string) *gen.Result {
	t.Helper()
	result, err := gen.Run(context.Background(), gen.Config{Dir: dir, Patterns: patterns})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// generate runs without diagnostics and writes the files.
func generate(t testing.TB, dir string, patterns ...string) *gen.Result {
	t.Helper()
	result := run(t, dir, patterns...)
	for _, d := range result.Diagnostics {
		t.Errorf("unexpected: %v", d)
	}
	for _, f := range result.Files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.Path, f.Content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range result.Removed {
		if err := os.Remove(f.Path); err != nil {
			t.Fatal(err)
		}
	}
	return result
}

// edit replaces text in a file, which must be there.
func edit(t testing.TB, path string, pairs ...string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !bytes.Contains(content, []byte(pairs[i])) {
			t.Fatalf("%s has no %q", path, pairs[i])
		}
		content = bytes.ReplaceAll(content, []byte(pairs[i]), []byte(pairs[i+1]))
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readLock(t testing.TB, dir string) *schemas.Lock {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, schemas.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	lock, err := schemas.ReadLock(content)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func ids(lock *schemas.Lock, name string) string {
	var parts []string
	for _, f := range lock.Struct(name).Fields {
		part := fmt.Sprintf("%s=%d", f.Name, f.ID)
		if f.Removed {
			part += "(removed)"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func names(files []gen.File, dir string) []string {
	var list []string
	for _, f := range files {
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil {
			rel = f.Path
		}
		list = append(list, filepath.ToSlash(rel)+" "+string(f.Kind))
	}
	return list
}

func TestRunReturnsLockFirst(t *testing.T) {
	t.Parallel()
	dir := testmod.New(t, counter)
	result := generate(t, dir)
	want := []string{"tws.lock.json lock", "counter_tws.go generated", "cmd/counter/main.go scaffold"}
	if got := names(result.Files, dir); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	again := run(t, dir)
	for _, f := range again.Files {
		if f.Changed() {
			t.Errorf("a second run changes %s", f.Path)
		}
	}
	if len(again.Files) != 2 {
		t.Errorf("a second run returns %q, the main function is the user's by now", names(again.Files, dir))
	}
}

// B-65
//
// It sets the number of processors, so that it does not run beside other tests.
func TestDeterminism(t *testing.T) {
	// Two packages, one importing the other, declarations over several files.
	parts := strings.Split(counter, "type User struct{ Name string }\n")
	archive := func(name string) string {
		return strings.Replace(parts[0], "counter.go", name, 1) + parts[1] +
			"-- " + strings.ToUpper(name[:1]) + "user.go --\npackage counter\n\ntype User struct{ Name string }\n" +
			"-- other/other.go --\npackage other\n\nimport (\n\t\"" + testmod.Path + "\"\n\ttws \"github.com/tws-go/tws/runtime\"\n)\n\n" +
			"//tws:table\nvar Copies tws.StreamingTable[counter.Count]\n"
	}
	want := ""
	for i := range 20 {
		old := runtime.GOMAXPROCS([]int{1, 8}[i%2])
		name := []string{"counter.go", "zzz.go"}[i/2%2]
		dir := testmod.New(t, archive(name))
		var got strings.Builder
		for _, f := range run(t, dir, "./...").Files {
			rel, err := filepath.Rel(dir, f.Path)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "== %s %s\n%s", rel, f.Kind, f.Content)
			if bytes.Contains(f.Content, []byte(dir)) {
				t.Errorf("%s names the folder it was generated in", rel)
			}
		}
		runtime.GOMAXPROCS(old)
		if want == "" {
			want = got.String()
		}
		if got.String() != want {
			t.Fatalf("run %d differs from the first", i)
		}
	}
	for _, file := range []string{"counter_tws.go", "other/other_tws.go"} {
		if !strings.Contains(want, file) {
			t.Errorf("%s was not generated", file)
		}
	}
}

func TestLockKeepsIDs(t *testing.T) {
	t.Parallel()
	dir := testmod.New(t, counter)
	generate(t, dir)
	source := filepath.Join(dir, "counter.go")

	// Rows may change freely; ids stay with their names.
	edit(t, source, "\tPage string `json:\"page\"`\n\tBy   User   `json:\"by\"`", "\tAt int64\n\tBy User `json:\"by\"`\n\tPage2 string")
	generate(t, dir)
	if got, want := ids(readLock(t, dir), "Click"), "page=1(removed) by=2 At=3 Page2=4"; got != want {
		t.Errorf("Click has %s, want %s", got, want)
	}
	// A name that comes back is a new field.
	edit(t, source, "Page2 string", "Page string `json:\"page\"`")
	generate(t, dir)
	if got, want := ids(readLock(t, dir), "Click"), "page=1(removed) by=2 At=3 Page2=4(removed) page=5"; got != want {
		t.Errorf("Click has %s, want %s", got, want)
	}
	// Stored structs: order does not matter, Go names do not either.
	edit(t, source,
		"type Stats struct {\n\tN    int64\n\tLast User\n}", "type Totals struct {\n\tNewest Person `tws:\"Last\"`\n\tN int64\n}",
		"ValueState[Stats]", "ValueState[Totals]", "type User struct", "type Person struct",
		"By User", "By Person", "ListState[User]", "ListState[Person]")
	generate(t, dir)
	lock := readLock(t, dir)
	if got, want := ids(lock, "Totals"), "N=1 Last=2"; got != want {
		t.Errorf("Totals has %s, want %s", got, want)
	}
	if lock.Struct("Stats") != nil || lock.Struct("User") != nil {
		t.Error("a type that was renamed in Go is in the lock under its old name too")
	}
}

func TestLockAllowsAdditions(t *testing.T) {
	t.Parallel()
	dir := testmod.New(t, counter)
	generate(t, dir)
	edit(t, filepath.Join(dir, "counter.go"),
		"\tUsers tws.ListState[User]\n", "\tFirst tws.ValueState[int64]\n\tUsers tws.ListState[User] `tws:\",ttl=1h\"`\n\tT tws.Timer\n",
		"//tws:table", "func (c *Counter) HandleExpiredTimer(ctx *tws.TimerContext, page string, t tws.ExpiredTimer, out tws.Emitter[Count]) error {\n\treturn nil\n}\n\n//tws:table")
	generate(t, dir)
	p := readLock(t, dir).Processor("counter")
	var got []string
	for _, s := range p.States {
		got = append(got, fmt.Sprintf("%d %s %v", s.ID, s.Name, s.TTL()))
	}
	if want := []string{"1 stats 0s", "2 users 1h0m0s", "3 first 0s"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(p.Timers) != 1 || p.NextStateID != 4 || p.NextTimerID != 2 {
		t.Errorf("next ids %d and %d, timers %v", p.NextStateID, p.NextTimerID, p.Timers)
	}
}

func TestStaleFiles(t *testing.T) {
	t.Parallel()
	dir := testmod.New(t, counter)
	generate(t, dir)
	// The package is renamed: its output moves.
	edit(t, filepath.Join(dir, "counter.go"), "package counter", "package clicks")
	result := generate(t, dir)
	if got := names(result.Removed, dir); !slices.Equal(got, []string{"counter_tws.go generated"}) {
		t.Errorf("removed %q", got)
	}
	// Without annotations nothing may be left, but the lock guards stored state.
	testmod.Write(t, dir, "-- counter.go --\npackage clicks\n")
	result = run(t, dir)
	if len(result.Diagnostics) != 1 || result.Diagnostics[0].Code != "TWS063" {
		t.Errorf("got %v, want the lost processor to be refused", result.Diagnostics)
	}
	if err := os.Remove(filepath.Join(dir, schemas.LockFile)); err != nil {
		t.Fatal(err)
	}
	result = generate(t, dir)
	if got := names(result.Removed, dir); !slices.Equal(got, []string{"clicks_tws.go generated"}) || len(result.Files) > 0 {
		t.Errorf("removed %q, wrote %q", got, names(result.Files, dir))
	}
}

// B-61
func TestOldOutputDoesNotMatter(t *testing.T) {
	t.Parallel()
	dir := testmod.New(t, counter)
	generate(t, dir)
	output := filepath.Join(dir, "counter_tws.go")
	want, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"empty":    nil,
		"half":     want[:len(want)/2],
		"conflict": []byte("<<<<<<< HEAD\n" + string(want) + "=======\n" + string(want) + ">>>>>>> branch\n"),
		"other":    []byte("// Code generated by tws-gen from package counter. DO NOT EDIT.\n\npackage counter\n\nvar Count, Counter int\n"),
		"crlf":     bytes.ReplaceAll(want, []byte("\n"), []byte("\r\n")),
	} {
		if err := os.WriteFile(output, content, 0o644); err != nil {
			t.Fatal(err)
		}
		generate(t, dir)
		if got, err := os.ReadFile(output); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the output was not restored: %v", name, err)
		}
	}
}

func TestRowMethodOfPackageInTheSameRun(t *testing.T) {
	t.Parallel()
	// a imports b; that b.Row gets its method in this very run must not make the
	// first run's output different from the second's.
	dir := testmod.New(t, `
-- a/a.go --
package a

import (
	"example.com/sensors/b"
	tws "github.com/tws-go/tws/runtime"
)

//tws:table
var Rows tws.StreamingTable[b.Row]
-- b/b.go --
package b

import tws "github.com/tws-go/tws/runtime"

type Row struct{ X int64 }

//tws:table
var Rows tws.StreamingTable[Row]
`)
	generate(t, dir, "./...")
	for _, f := range run(t, dir, "./...").Files {
		if f.Changed() {
			t.Errorf("a second run changes %s", f.Path)
		}
	}
}

func TestUnannotatedPackages(t *testing.T) {
	t.Parallel()
	dir := testmod.New(t, "-- a.go --\npackage a\n\n// tws is mentioned only.\nvar X = 1\n-- b/b.go --\npackage b\n-- c/c_test.go --\npackage c\n")
	result := generate(t, dir, "./...")
	if len(result.Files)+len(result.Removed) > 0 || result.Packages != 0 {
		t.Errorf("got %q for packages without annotations", names(result.Files, dir))
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ archive, pattern, want string }{
		"two packages":  {"-- a.go --\npackage a\n-- b.go --\npackage b\n", ".", "two packages, a and b"},
		"no such":       {"-- a.go --\npackage a\n", "./nowhere", "nowhere"},
		"broken module": {"-- a.go --\npackage a\n-- go.mod --\nmodul x\n", ".", "go.mod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := gen.Run(context.Background(), gen.Config{Dir: testmod.New(t, test.archive), Patterns: []string{test.pattern}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want it to say %q", err, test.want)
			}
		})
	}
}
