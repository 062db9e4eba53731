// Package rocksenv finds or fetches the RocksDB library that a build needs and
// says which environment variables make the Go tool use it. It needs no cgo.
//
// # Model
//
// A build wants two things: a C header, rocksdb/c.h, and a library, both of the
// RocksDB release that the Go wrapper github.com/linxGnu/grocksdb v1.11 is
// written for, which is RocksDB 11.1. [Find] looks in this order and takes the
// first that is there:
//
//  1. ROCKSDB_DIR, a directory with include/rocksdb/c.h and lib/librocksdb.*.
//     If it is set, nothing else is tried.
//  2. An earlier fetch, in the user's cache directory.
//  3. A fetch: Maven brings the official release build, which the RocksDB
//     project publishes inside the Java archive org.rocksdb:rocksdbjni; that
//     library exports the whole C interface. The header comes with grocksdb.
//  4. pkg-config, if it knows a RocksDB 11.1.
//
// CGO_ENABLED=0 in the environment means that the build wants no RocksDB (it
// then has the memory store only), so Find looks for nothing.
//
// # Layout of the cache
//
//	<user cache>/tws/rocksdb-11.1.2-<os>-<arch>[-musl]/
//	    SHA256SUMS              the hash of each file below, as sha256sum writes it
//	    include/rocksdb/c.h
//	    lib/librocksdb.so       .dylib on macOS
//
// # Invariants
//
//   - The directory appears by one rename after everything in it is complete, so
//     a fetch that was cut short is never used and concurrent fetches are safe.
//   - The library's SHA-256 is the one recorded in platform.go for the release;
//     every use of the cache checks all files against SHA256SUMS again.
//   - Find changes nothing outside the cache.
package rocksenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Versions that belong together. grocksdb is bound to one RocksDB minor.
const (
	rocksVersion  = "11.1.2"
	rocksMinor    = "11.1"
	wrapperModule = "github.com/linxGnu/grocksdb"
	wrapperMinor  = "v1.11"
	wrapperPinned = "v1.11.1"
)

// Options say where Find looks. The zero value looks from the current directory,
// fetches nothing and prints nothing.
type Options struct {
	// Dir is a directory of the module that is to be built, for the version of
	// grocksdb it uses; "" is the current directory.
	Dir string
	// Fetch allows a download of 87 MB by Maven if there is no library yet.
	Fetch bool
	// Stderr gets a line before something slow begins; nil for none.
	Stderr io.Writer
	// CacheDir replaces the user's cache directory (os.UserCacheDir).
	CacheDir string
}

// Find returns the environment for a build that uses RocksDB. It reads the
// process's environment (ROCKSDB_DIR, PATH and what the Go tool reads) and runs
// go, mvn and pkg-config as needed. If there is no library it can use, the error
// says which ways there are to get one.
func Find(ctx context.Context, o Options) (*Env, error) {
	f, err := newFinder(o)
	if err != nil {
		return nil, err
	}
	return f.find(ctx)
}

// finder is one run of Find.
type finder struct {
	Options
	platform platform
}

func newFinder(o Options) (*finder, error) {
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.CacheDir == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("rocksenv: no cache directory: %w", err)
		}
		o.CacheDir = dir
	}
	cache, err := filepath.Abs(o.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("rocksenv: cache directory %s: %w", o.CacheDir, err)
	}
	o.CacheDir = cache
	return &finder{Options: o, platform: hostPlatform(runtime.GOOS, runtime.GOARCH, muslLibc("/lib"))}, nil
}

func (f *finder) find(ctx context.Context) (*Env, error) {
	if os.Getenv("CGO_ENABLED") == "0" {
		return &Env{CGOEnabled: false}, nil
	}
	if dir := os.Getenv("ROCKSDB_DIR"); dir != "" {
		lib, err := fromDir(dir, "ROCKSDB_DIR")
		if err != nil {
			return nil, err
		}
		return f.environment(ctx, lib)
	}
	lib, fetchErr := f.fromCache(ctx)
	if fetchErr == nil {
		return f.environment(ctx, lib)
	}
	lib, pkgErr := fromPkgConfig(ctx)
	if pkgErr == nil {
		return f.environment(ctx, lib)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("rocksenv: %w", ctx.Err())
	}
	return nil, noneFound(fetchErr, pkgErr)
}

// noneFound says why there is no library and which ways there are to get one.
func noneFound(fetchErr, pkgErr error) error {
	var b strings.Builder
	fmt.Fprintf(&b, "rocksenv: no RocksDB %s to build with:\n", rocksMinor)
	fmt.Fprintf(&b, "  fetch: %v\n  pkg-config: %v\n", fetchErr, pkgErr)
	b.WriteString("one of these helps:\n")
	b.WriteString("  install Maven (mvn), and the official release build is fetched by itself;\n")
	fmt.Fprintf(&b, "  set ROCKSDB_DIR to a RocksDB %s of your own with include/rocksdb/c.h and lib/librocksdb.so;\n", rocksMinor)
	b.WriteString("  or build with CGO_ENABLED=0, which leaves the memory store only.")
	return errors.New(b.String())
}

// library is a RocksDB that was found.
type library struct {
	libDir  string
	cflags  []string
	ldflags []string
}
