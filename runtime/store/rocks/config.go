// Package rocks is the state store on RocksDB, through grocksdb, and the only
// package that uses cgo. It is built with RocksDB if cgo is on and the tag
// grocksdb_no_link is set, as in the environment that tws-gen env prints; in
// every other build it has a New that says what is missing.
//
// # Model
//
// A store is one RocksDB with two column families: "default" is the point
// family, "ordered" the ordered one, ids 0 and 1, as in the bytes of a batch. A
// batch is a RocksDB write batch and written without RocksDB's log. Memtables of
// both families are always flushed together, so what is on disk after a crash is
// the content at some mark, and the mark is in it.
//
// One block cache and one budget for memtables serve all stores of an engine
// (see [Config]).
//
// # Files
//
// Beside RocksDB's files a store has one of its own, STORE (see manifest.go): the
// layout's version, RocksDB's version, and the mark that the store had when it
// was last closed, snapshotted or restored. A store that is found at an older
// mark has lost something and is refused.
//
// A new store is made in a temporary directory that is renamed when it is
// complete, so a directory without STORE or without RocksDB's CURRENT is damaged,
// never new, unless it is empty.
//
// # Lifetimes
//
// Everything native belongs to a Store or to the Engine and is freed by its
// Close. Bytes that leave the package are copies in Go memory, except for the
// value that MultiGet shows during the call. Go memory is passed to C for the
// length of a call only, and C never calls Go.
package rocks

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Config bounds an engine. The zero value is the default.
type Config struct {
	// MemoryBytes bounds the memory of all stores together: blocks read from
	// files, their indexes and filters, and changes not yet flushed, for which
	// half of it is set aside. 0 takes a quarter of what the process may use:
	// of the control group's limit, or of the machine's memory. Less than 16 MiB
	// is taken as 16 MiB.
	MemoryBytes int64
}

const (
	minMemory = 16 << 20
	// defaultLimit stands for the limit where none can be found.
	defaultLimit = 2 << 30
)

// memory returns the bytes for cache and memtables.
func (c Config) memory() int64 {
	bytes := c.MemoryBytes
	if bytes <= 0 {
		bytes = memoryLimit("/") / 4
	}
	return max(bytes, minMemory)
}

// memoryLimit returns how much memory the process may use: the smallest limit of
// its control groups (version 2 or 1), or the machine's memory. root is the
// directory that has proc and sys.
func memoryLimit(root string) int64 {
	limit := int64(0)
	for _, file := range limitFiles(root) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// "max", and for version 1 a huge number, stand for no limit.
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	if total := totalMemory(root); total > 0 && (limit == 0 || total < limit) {
		limit = total
	}
	if limit == 0 {
		return defaultLimit
	}
	return limit
}

// limitFiles returns the files that may hold a limit: of the process's group and
// of all groups around it, which inside a container are at the top.
func limitFiles(root string) []string {
	groups := filepath.Join(root, "sys/fs/cgroup")
	files := []string{filepath.Join(groups, "memory.max"), filepath.Join(groups, "memory/memory.limit_in_bytes")}
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return files
	}
	for line := range strings.Lines(string(text)) {
		// id:controllers:path, with no controllers in version 2.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for dir := parts[2]; strings.Trim(dir, "/.") != ""; dir = filepath.Dir(dir) {
			if parts[1] == "" {
				files = append(files, filepath.Join(groups, dir, "memory.max"))
			} else if strings.Contains(","+parts[1]+",", ",memory,") {
				files = append(files, filepath.Join(groups, "memory", dir, "memory.limit_in_bytes"))
			}
		}
	}
	return files
}

// totalMemory returns the machine's memory, or 0.
func totalMemory(root string) int64 {
	text, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}
