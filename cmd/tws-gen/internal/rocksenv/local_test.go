package rocksenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRocksdbDir(t *testing.T) {
	const header = "include/rocksdb/c.h"
	v := func(major, minor string) string {
		return "#pragma once\n#define ROCKSDB_MAJOR " + major + "\n#define ROCKSDB_MINOR " + minor + "\n#define ROCKSDB_PATCH 2\n"
	}
	tests := []struct {
		name    string
		files   map[string]string
		ldflags string // with DIR for the directory
		words   []string
	}{
		{"shared", map[string]string{header: "", "include/rocksdb/version.h": v("11", "1"), "lib/librocksdb.so": ""}, "-LDIR/lib -lrocksdb", nil},
		{"dylib", map[string]string{header: "", "lib/librocksdb.dylib": ""}, "-LDIR/lib -lrocksdb", nil},
		{"static", map[string]string{header: "", "lib/librocksdb.a": ""}, "-LDIR/lib -lrocksdb -lstdc++ -lpthread -ldl -lm", nil},
		{"macros in c.h", map[string]string{header: v("11", "1"), "lib/librocksdb.so": ""}, "-LDIR/lib -lrocksdb", nil},
		{"no header", map[string]string{"lib/librocksdb.so": ""}, "", []string{"c.h", "must be a directory with include/rocksdb/c.h"}},
		{"no library", map[string]string{header: ""}, "", []string{"has no librocksdb.so"}},
		{"older", map[string]string{header: "", "include/rocksdb/version.h": v("7", "8"), "lib/librocksdb.so": ""}, "", []string{"RocksDB 7.8", "RocksDB 11.1", "unset ROCKSDB_DIR"}},
		{"newer minor", map[string]string{header: v("11", "2"), "lib/librocksdb.so": ""}, "", []string{"RocksDB 11.2", "RocksDB 11.1"}},
		{"minor that begins alike", map[string]string{header: v("11", "10"), "lib/librocksdb.so": ""}, "", []string{"RocksDB 11.10"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			dir := t.TempDir()
			for name, text := range test.files {
				write(t, filepath.Join(dir, name), text)
			}
			t.Setenv("ROCKSDB_DIR", dir)
			if test.words != nil {
				w.fails(append(test.words, "ROCKSDB_DIR="+dir)...)
				return
			}
			e := w.find()
			want := strings.ReplaceAll(test.ldflags, "DIR", dir) + " '-Wl,-rpath,$ORIGIN' -Wl,-rpath," + dir + "/lib -O2 -g"
			if e.CGOLDFlags != want || e.CGOCFlags != "-I"+dir+"/include -O2 -g" || e.LibDir != dir+"/lib" {
				t.Errorf("got %+v, want CGO_LDFLAGS %s", *e, want)
			}
		})
	}
}

// A directory that the user names is used or refused, never passed over.
func TestRocksdbDirMissing(t *testing.T) {
	w := newWorld(t)
	w.maven(w.jar(realJarEntry, fakeLib))
	t.Setenv("ROCKSDB_DIR", filepath.Join(t.TempDir(), "missing"))
	w.fails("ROCKSDB_DIR=", "no such file or directory")
}

func TestRocksdbDirWithSpaces(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "my rocks")
	write(t, filepath.Join(dir, "include/rocksdb/c.h"), "")
	write(t, filepath.Join(dir, "lib/librocksdb.so"), "")
	t.Setenv("ROCKSDB_DIR", dir)
	e := w.find()
	if want := "'-I" + dir + "/include' -O2 -g"; e.CGOCFlags != want {
		t.Errorf("CGO_CFLAGS %q, want %q", e.CGOCFlags, want)
	}
	fields, err := splitFlags(e.CGOLDFlags)
	if err != nil || fields[0] != "-L"+dir+"/lib" {
		t.Errorf("CGO_LDFLAGS %q splits into %q, %v", e.CGOLDFlags, fields, err)
	}
}

func TestPkgConfig(t *testing.T) {
	for _, kind := range []string{"so", "a"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			libDir := t.TempDir()
			write(t, filepath.Join(libDir, "librocksdb."+kind), "")
			w.program("pkg-config", `
case "$*" in
"--modversion rocksdb") echo 11.1.7 ;;
"--variable=libdir rocksdb") echo `+libDir+` ;;
"--cflags rocksdb") echo -I/opt/include ;;
"--libs rocksdb") echo -L`+libDir+` -lrocksdb ;;
"--static --libs rocksdb") echo -L`+libDir+` -lrocksdb -lzstd ;;
*) exit 2 ;;
esac`)
			e := w.find()
			want := "-L" + libDir + " -lrocksdb"
			if kind == "a" {
				want += " -lzstd"
			}
			want += " '-Wl,-rpath,$ORIGIN' -Wl,-rpath," + libDir + " -O2 -g"
			if e.CGOLDFlags != want || e.CGOCFlags != "-I/opt/include -O2 -g" || e.LibDir != libDir {
				t.Errorf("got %+v, want CGO_LDFLAGS %s", *e, want)
			}
		})
	}
}

// Without a cached fetch, one is preferred to pkg-config, for a distribution's
// build can be slower by far; if the fetch fails, pkg-config serves.
func TestFetchBeforePkgConfig(t *testing.T) {
	w := newWorld(t)
	libDir := t.TempDir()
	write(t, filepath.Join(libDir, "librocksdb.so"), "")
	w.program("pkg-config", `case "$1" in --modversion) echo 11.1.2 ;; --variable*) echo `+libDir+` ;; *) echo -lrocksdb ;; esac`)
	if e := w.find(); e.LibDir != libDir {
		t.Errorf("with a failing mvn: %+v", *e)
	}
	w.maven(w.jar(realJarEntry, fakeLib))
	if e := w.find(); e.LibDir != filepath.Join(w.finder.cachePath(), "lib") {
		t.Errorf("with mvn: %+v", *e)
	}
	if _, err := os.Stat(w.finder.cachePath()); err != nil {
		t.Error(err)
	}
}
