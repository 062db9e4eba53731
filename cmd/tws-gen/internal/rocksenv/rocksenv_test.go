package rocksenv

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const fakeLib = "\x7fELF a library that is only good for tests"

// world is a machine made of fakes: a PATH with only the programs a test puts
// there, an empty cache, and a module directory of grocksdb.
type world struct {
	t      *testing.T
	bin    string
	module string
	finder *finder
	stderr *strings.Builder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, bin: t.TempDir(), module: t.TempDir(), stderr: &strings.Builder{}}
	for _, name := range []string{"ROCKSDB_DIR", "CGO_ENABLED"} {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", w.bin+":/bin:/usr/bin")
	t.Setenv("FAKE_ARGS", filepath.Join(t.TempDir(), "args"))
	write(t, filepath.Join(w.module, "c.h"), "/* c.h */\n")
	var err error
	w.finder, err = newFinder(Options{Stderr: w.stderr, Fetch: true, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(fakeLib))
	w.finder.platform = hostPlatform("linux", "amd64", false)
	w.finder.platform.sha256 = hex.EncodeToString(sum[:])
	w.program("go", `
case "$1 $2" in
"env -json") echo '{"GOFLAGS":"-buildvcs=false","CGO_CFLAGS":"-O2 -g","CGO_LDFLAGS":"-O2 -g"}' ;;
"list -m") echo "v1.11.1 `+w.module+`" ;;
*) echo "unexpected: go $*" >&2; exit 3 ;;
esac`)
	w.program("mvn", `echo "not reachable" >&2; exit 1`)
	w.program("pkg-config", `echo "Package rocksdb was not found" >&2; exit 1`)
	return w
}

// program puts a shell script on the PATH.
func (w *world) program(name, script string) {
	w.t.Helper()
	path := filepath.Join(w.bin, name)
	write(w.t, path, "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// maven makes mvn deliver a file.
func (w *world) maven(jar string) {
	w.program("mvn", `
echo "$*" >> "$FAKE_ARGS"
for a; do case "$a" in -DoutputDirectory=*) cp "`+jar+`" "${a#*=}/rocksdbjni-11.1.2.jar" ;; esac; done`)
}

// jar makes an archive with one library.
func (w *world) jar(entry, content string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "a.jar")
	f, err := os.Create(path)
	if err != nil {
		w.t.Fatal(err)
	}
	z := zip.NewWriter(f)
	e, err := z.Create(entry)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := e.Write([]byte(content)); err != nil {
		w.t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		w.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) find() *Env {
	w.t.Helper()
	e, err := w.finder.find(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// fails runs find and checks that its error says all of the words.
func (w *world) fails(words ...string) {
	w.t.Helper()
	e, err := w.finder.find(w.t.Context())
	if err == nil {
		w.t.Fatalf("found %+v, want an error", e)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("error %q\nlacks %q", err, word)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const realJarEntry = "librocksdbjni-linux64.so"

func TestFetchThenCache(t *testing.T) {
	w := newWorld(t)
	w.maven(w.jar(realJarEntry, fakeLib))
	e := w.find()
	dir := w.finder.cachePath()
	want := &Env{
		CGOEnabled: true,
		CGOCFlags:  "-I" + dir + "/include -O2 -g",
		CGOLDFlags: "-L" + dir + "/lib -lrocksdb '-Wl,-rpath,$ORIGIN' -Wl,-rpath," + dir + "/lib -O2 -g",
		GOFlags:    "-buildvcs=false -tags=grocksdb_no_link",
		LibDir:     dir + "/lib",
	}
	if *e != *want {
		t.Errorf("got  %+v\nwant %+v", *e, *want)
	}
	if lib, err := os.ReadFile(filepath.Join(dir, "lib", "librocksdb.so")); err != nil || string(lib) != fakeLib {
		t.Errorf("library is %q, %v", lib, err)
	}
	if header, err := os.ReadFile(filepath.Join(dir, "include", "rocksdb", "c.h")); err != nil || string(header) != "/* c.h */\n" {
		t.Errorf("header is %q, %v", header, err)
	}
	args, err := os.ReadFile(os.Getenv("FAKE_ARGS"))
	if err != nil || !strings.HasPrefix(string(args), "-q -B dependency:copy -Dartifact=org.rocksdb:rocksdbjni:11.1.2 -DoutputDirectory=/") {
		t.Errorf("mvn was called with %q, %v", args, err)
	}
	if n := strings.Count(w.stderr.String(), "\n"); n != 1 || !strings.Contains(w.stderr.String(), "87 MB") {
		t.Errorf("progress is %q, want one line with the size", w.stderr)
	}

	w.program("mvn", `echo "called again" >&2; exit 1`)
	w.finder.Fetch = false
	if again := w.find(); *again != *e {
		t.Errorf("from the cache: %+v\nafter the fetch: %+v", *again, *e)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 1 {
		t.Errorf("the cache holds %v, %v, want the one directory", entries, err)
	}
}

func TestFetchFails(t *testing.T) {
	tests := []struct {
		name  string
		setup func(w *world)
		words []string
	}{
		{"mvn missing", func(w *world) {
			// Only the fakes and nothing else, for a machine may have a real mvn.
			os.Remove(filepath.Join(w.bin, "mvn"))
			w.t.Setenv("PATH", w.bin)
		}, []string{"mvn is not installed"}},
		{"mvn fails", func(w *world) {}, []string{"mvn -q -B dependency:copy", "exit status 1", "not reachable"}},
		{"mvn leaves nothing", func(w *world) { w.program("mvn", "exit 0") }, []string{"mvn ended well but left no archive"}},
		{"corrupt archive", func(w *world) {
			jar := filepath.Join(w.t.TempDir(), "bad.jar")
			write(w.t, jar, "not a zip file")
			w.maven(jar)
		}, []string{"archive rocksdbjni-11.1.2.jar", "not a valid zip file"}},
		{"no such entry", func(w *world) { w.maven(w.jar("other.so", fakeLib)) }, []string{realJarEntry}},
		{"wrong library", func(w *world) { w.maven(w.jar(realJarEntry, fakeLib+"!")) }, []string{"SHA-256", "not the RocksDB 11.1.2 release"}},
		{"unknown platform", func(w *world) { w.finder.platform = hostPlatform("plan9", "386", false) }, []string{"no library for plan9-386"}},
		{"other grocksdb", func(w *world) {
			w.maven(w.jar(realJarEntry, fakeLib))
			w.program("go", `echo "v1.10.7 /nowhere"`)
		}, []string{"grocksdb v1.10.7", "go get github.com/linxGnu/grocksdb@v1.11.1"}},
		{"may not fetch", func(w *world) { w.finder.Fetch = false }, []string{"nothing was fetched yet"}},
		{"other pkg-config", func(w *world) { w.program("pkg-config", "echo 7.8.3") }, []string{"it knows RocksDB 7.8.3, which does not match 11.1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			test.setup(w)
			w.fails(append(test.words, "install Maven", "set ROCKSDB_DIR", "CGO_ENABLED=0")...)
			if _, err := os.Stat(w.finder.cachePath()); !os.IsNotExist(err) {
				t.Errorf("a failed fetch left %s: %v", w.finder.cachePath(), err)
			}
		})
	}
}

func TestDamagedCache(t *testing.T) {
	for _, file := range []string{"lib/librocksdb.so", "include/rocksdb/c.h", sumsFile} {
		t.Run(file, func(t *testing.T) {
			w := newWorld(t)
			w.maven(w.jar(realJarEntry, fakeLib))
			want := w.find()
			damaged := filepath.Join(w.finder.cachePath(), file)
			write(t, damaged, "damaged")
			w.finder.Fetch = false
			w.fails("the earlier fetch is damaged", damaged, "delete")
			w.finder.Fetch = true
			if got := w.find(); *got != *want {
				t.Errorf("after another fetch: %+v, want %+v", *got, *want)
			}
			if err := verify(w.finder.cachePath()); err != nil {
				t.Errorf("another fetch did not mend the cache: %v", err)
			}
		})
	}
}

func TestConcurrentFetch(t *testing.T) {
	w := newWorld(t)
	w.maven(w.jar(realJarEntry, fakeLib))
	w.finder.Stderr = os.Stderr
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, err := w.finder.find(t.Context()); err != nil {
				t.Error(err)
			}
			if err := verify(w.finder.cachePath()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	entries, err := os.ReadDir(filepath.Dir(w.finder.cachePath()))
	if err != nil || len(entries) != 1 {
		t.Errorf("the cache holds %v, %v, want the one directory", entries, err)
	}
}

func TestWrapperOutsideModule(t *testing.T) {
	w := newWorld(t)
	w.maven(w.jar(realJarEntry, fakeLib))
	w.program("go", `
case "$*" in
"env -json"*) echo '{"GOFLAGS":"","CGO_CFLAGS":"","CGO_LDFLAGS":""}' ;;
"list -m"*) echo "go: not in a module" >&2; exit 1 ;;
"mod download -json github.com/linxGnu/grocksdb@v1.11.1") echo '{"Dir":"`+w.module+`"}' ;;
*) echo "unexpected: go $*" >&2; exit 3 ;;
esac`)
	if e := w.find(); e.GOFlags != "-tags=grocksdb_no_link" {
		t.Errorf("GOFLAGS %q", e.GOFlags)
	}
}

func TestCgoDisabled(t *testing.T) {
	w := newWorld(t)
	t.Setenv("CGO_ENABLED", "0")
	if got := w.find().Shell(); got != "export CGO_ENABLED='0'\n" {
		t.Errorf("got %q", got)
	}
}

// Every platform has a name of its own and a library and hash of its own.
func TestPlatformNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		goos, goarch      string
		musl              bool
		name, lib, origin string
	}{
		{"linux", "amd64", false, "linux-amd64", "librocksdb.so", "$ORIGIN"},
		{"linux", "arm64", true, "linux-arm64-musl", "librocksdb.so", "$ORIGIN"},
		{"darwin", "arm64", true, "darwin-arm64", "librocksdb.dylib", "@loader_path"},
	}
	for _, test := range tests {
		p := hostPlatform(test.goos, test.goarch, test.musl)
		if p.name != test.name || p.lib != test.lib || p.origin != test.origin || p.entry == "" || len(p.sha256) != 64 {
			t.Errorf("%s/%s musl %v: %+v", test.goos, test.goarch, test.musl, p)
		}
	}
	seen := map[string]string{}
	for name, e := range entries() {
		for _, v := range e {
			if other, ok := seen[v]; ok {
				t.Errorf("%s and %s share %s", name, other, v)
			}
			seen[v] = name
		}
	}
}

func TestMuslLibc(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if muslLibc(dir) {
		t.Error("an empty directory is taken for musl")
	}
	write(t, filepath.Join(dir, "ld-musl-x86_64.so.1"), "")
	if !muslLibc(dir) {
		t.Error("musl is not seen")
	}
}

func shell(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("sh: %v: %s", err, out)
	}
	return string(out)
}
