package checkpoint

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// layoutVersion is the version of the directory as a whole.
const layoutVersion = 1

// identity is what makes a checkpoint this one.
type identity struct {
	uid       string
	keyGroups int
	forks     int
}

// identityRecord is the content of the file "checkpoint".
type identityRecord struct {
	UID       string `json:"uid"`
	KeyGroups int    `json:"key_groups"`
	Layout    int    `json:"layout"`
}

// forkRecord is the content of a file "fork-NNNN". Parent is the UID it
// replaces.
type forkRecord struct {
	UID    string `json:"uid"`
	Parent string `json:"parent"`
}

const identityName = "checkpoint"

func forkName(n int) string { return fmt.Sprintf("fork-%04d", n) }

// readIdentity reads the checkpoint's record and its forks. ok is false if dir
// holds no checkpoint.
func readIdentity(dir string) (id identity, ok bool, err error) {
	path := filepath.Join(dir, identityName)
	var r identityRecord
	if err := readJSON(path, kindCheckpoint, &r); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return identity{}, false, checkEmpty(dir)
		}
		return identity{}, false, err
	}
	if r.Layout > layoutVersion {
		return identity{}, false, fmt.Errorf("%w: %s has layout %d, this build knows %d: use the build that wrote it, or a newer one",
			ErrNewer, path, r.Layout, layoutVersion)
	}
	if r.UID == "" || r.Layout < 1 || r.KeyGroups < 1 || r.KeyGroups > MaxKeyGroups {
		return identity{}, false, corrupt(path, "uid %q, %d key groups, layout %d make no sense", r.UID, r.KeyGroups, r.Layout)
	}
	id = identity{uid: r.UID, keyGroups: r.KeyGroups}
	return id, true, id.readForks(dir)
}

// readForks follows the chain of forks. Each names the one before, so that a
// lost record shows.
func (id *identity) readForks(dir string) error {
	numbers, err := listForks(dir)
	if err != nil {
		return err
	}
	for i, n := range numbers {
		path := filepath.Join(dir, forkName(n))
		var r forkRecord
		if err := readJSON(path, kindFork, &r); err != nil {
			return err
		}
		if n != i+1 || r.Parent != id.uid || r.UID == "" {
			return corrupt(path, "it does not follow UID %s: a fork record is missing or from another checkpoint", id.uid)
		}
		id.uid = r.UID
		id.forks = n
	}
	return nil
}

func listForks(dir string) ([]int, error) {
	names, err := listNames(dir)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		digits, isFork := strings.CutPrefix(name, "fork-")
		if n, ok := parseNumber(digits, 4); isFork && ok && n > 0 {
			numbers = append(numbers, int(n))
		}
	}
	return numbers, nil
}

// checkEmpty makes sure that a directory without a checkpoint record has not
// merely lost it.
func checkEmpty(dir string) error {
	_, err := os.Lstat(filepath.Join(dir, "flows"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checkpoint: open %s: %w", dir, err)
	}
	return corrupt(filepath.Join(dir, identityName), "the file is missing")
}

func (c *Checkpoint) writeIdentity(keyGroups int) (identity, error) {
	if keyGroups == 0 {
		keyGroups = DefaultKeyGroups
	}
	r := identityRecord{UID: newUID(), KeyGroups: keyGroups, Layout: layoutVersion}
	if err := c.createJSON(filepath.Join(c.dir, identityName), kindCheckpoint, r); err != nil {
		return identity{}, err
	}
	return identity{uid: r.UID, keyGroups: keyGroups}, nil
}

func (c *Checkpoint) writeFork(id identity) (identity, error) {
	r := forkRecord{UID: newUID(), Parent: id.uid}
	id.forks++
	id.uid = r.UID
	return id, c.createJSON(filepath.Join(c.dir, forkName(id.forks)), kindFork, r)
}

// newUID returns a random UUID (version 4).
func newUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: see its documentation
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
