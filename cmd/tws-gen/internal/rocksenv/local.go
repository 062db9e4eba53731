package rocksenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// fromDir uses the RocksDB in a directory that has include and lib. from says
// where the directory's name comes from.
func fromDir(dir, from string) (*library, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("rocksenv: %s=%s: %w", from, dir, err)
	}
	include := filepath.Join(abs, "include")
	if _, err := os.Stat(filepath.Join(include, "rocksdb", "c.h")); err != nil {
		return nil, fmt.Errorf("rocksenv: %s=%s: %w; it must be a directory with include/rocksdb/c.h and lib/librocksdb.so", from, dir, err)
	}
	if err := checkMacros(include); err != nil {
		return nil, fmt.Errorf("rocksenv: %s=%s: %w", from, dir, err)
	}
	libDir := filepath.Join(abs, "lib")
	shared, err := isShared(libDir)
	if err != nil {
		return nil, fmt.Errorf("rocksenv: %s=%s: %w", from, dir, err)
	}
	lib := &library{
		libDir:  libDir,
		cflags:  []string{"-I" + include},
		ldflags: []string{"-L" + libDir, "-lrocksdb"},
	}
	if !shared {
		lib.ldflags = append(lib.ldflags, "-lstdc++", "-lpthread", "-ldl", "-lm")
	}
	return lib, nil
}

// isShared says whether the library in libDir is a shared one. A static one
// needs what it was itself linked with.
func isShared(libDir string) (bool, error) {
	for _, name := range []string{"librocksdb.so", "librocksdb.dylib", "librocksdb.a"} {
		if _, err := os.Stat(filepath.Join(libDir, name)); err == nil {
			return name != "librocksdb.a", nil
		}
	}
	return false, fmt.Errorf("%s has no librocksdb.so, librocksdb.dylib or librocksdb.a", libDir)
}

var versionMacro = regexp.MustCompile(`(?m)^\s*#\s*define\s+ROCKSDB_(MAJOR|MINOR)\s+(\d+)`)

// checkMacros checks the version that the headers name. Headers that name none,
// such as c.h alone, pass: the store checks the library when it starts.
func checkMacros(include string) error {
	found := map[string]string{}
	for _, name := range []string{"version.h", "c.h"} {
		text, err := os.ReadFile(filepath.Join(include, "rocksdb", name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, m := range versionMacro.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = m[2]
		}
	}
	if len(found) == 0 {
		return nil
	}
	if have := found["MAJOR"] + "." + found["MINOR"]; have != rocksMinor {
		return fmt.Errorf("its headers are of RocksDB %s, but %s %s is written for RocksDB %s; use a RocksDB %s, or unset ROCKSDB_DIR to have the release build fetched",
			have, wrapperModule, wrapperMinor, rocksMinor, rocksMinor)
	}
	return nil
}

// fromPkgConfig uses an installed RocksDB if pkg-config knows a matching one.
func fromPkgConfig(ctx context.Context) (*library, error) {
	version, err := output(ctx, "", "pkg-config", "--modversion", "rocksdb")
	if err != nil {
		return nil, err
	}
	if version != rocksMinor && !strings.HasPrefix(version, rocksMinor+".") {
		return nil, fmt.Errorf("it knows RocksDB %s, which does not match %s", version, rocksMinor)
	}
	libDir, err := output(ctx, "", "pkg-config", "--variable=libdir", "rocksdb")
	if err != nil {
		return nil, err
	}
	shared, err := isShared(libDir)
	if err != nil {
		return nil, err
	}
	libs := []string{"--libs", "rocksdb"}
	if !shared {
		libs = []string{"--static", "--libs", "rocksdb"}
	}
	cflags, err := output(ctx, "", "pkg-config", "--cflags", "rocksdb")
	if err != nil {
		return nil, err
	}
	ldflags, err := output(ctx, "", "pkg-config", libs...)
	if err != nil {
		return nil, err
	}
	return &library{libDir: libDir, cflags: strings.Fields(cflags), ldflags: strings.Fields(ldflags)}, nil
}

// output runs a program and returns what it prints, without white space around
// it. An error carries the end of what the program said.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("%s is not installed", name)
		}
		said := lastLines(out.String()+errOut.String(), 5)
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, said)
	}
	return strings.TrimSpace(out.String()), nil
}

// lastLines returns the last n lines of s that say something, in one line.
func lastLines(s string, n int) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
