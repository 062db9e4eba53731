// Package durable makes files appear on a local disk at once and for good.
//
// # Model
//
// [Create] is put-if-absent: of any number of processes that create one name,
// exactly one succeeds; whoever opens the name sees the whole content or no file
// at all, also after a crash at any moment; and once Create has returned, the
// file survives a power failure.
//
// It works in these steps, in the file's own directory:
//
//  1. write the content to a temporary file whose name starts with
//     [TempPrefix], and fsync it;
//  2. link(2) it to the final name, which fails if that name exists;
//  3. unlink the temporary name;
//  4. fsync the directory.
//
// Two shorter ways are wrong. Creating the final name with O_EXCL shows the file
// before its content is there, so a crash leaves a torn file under a name that
// can never be taken again. Renaming onto the final name replaces what another
// process has just put there.
//
// On a file system without hard links, step 2 is a rename that refuses to
// replace, and where there is neither, Create refuses.
//
// A crash between steps leaves at most a temporary file. Whoever owns the
// directory removes those with [RemoveTemps], while nobody else can be creating
// files in it.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// TempPrefix starts the name of every temporary file and of nothing else.
// Readers of a directory skip such names.
const TempPrefix = ".tmp-"

// ErrUnsupported marks a file system on which a file cannot be created
// exclusively in one step.
var ErrUnsupported = errors.New("durable: file system cannot create exclusively")

// Create puts a file with the given content at path, or returns an error that
// matches [fs.ErrExist] if there is one. With sync false nothing is flushed to
// the disk, and the file is safe against the end of the process only.
//
// After any other error it is unknown whether the file exists. An error that
// matches [ErrUnsupported] means that it never can.
func Create(path string, data []byte, sync bool) error {
	return CreateParts(path, sync, data)
}

// CreateParts is [Create] for content that lies in several pieces.
func CreateParts(path string, sync bool, parts ...[]byte) error {
	return publisher{link: os.Link, rename: renameNoReplace}.create(path, sync, parts)
}

// publisher holds the two system calls that give a file its final name, so that
// tests can do without either.
type publisher struct {
	link, rename func(from, to string) error
}

func (p publisher) create(path string, sync bool, parts [][]byte) error {
	temp, err := writeTemp(filepath.Dir(path), sync, parts)
	if err != nil {
		return fmt.Errorf("durable: create %s: %w", path, err)
	}
	err = p.publish(temp, path)
	// The temporary name is gone already if it was renamed. If it cannot be
	// removed it is what a crash would have left, no reason to fail.
	_ = os.Remove(temp)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// A loser syncs too: the winner may have been killed before it could, and
	// the caller will act on the file that is there.
	if sync {
		if serr := SyncDir(filepath.Dir(path)); serr != nil {
			return serr
		}
	}
	return err
}

// publish gives the file temp the name path as well, or instead.
func (p publisher) publish(temp, path string) error {
	linkErr := p.link(temp, path)
	if linkErr == nil || sameFile(temp, path) {
		return nil
	}
	if !lacksLinks(linkErr) {
		return fmt.Errorf("durable: create %s: %w", path, linkErr)
	}
	renameErr := p.rename(temp, path)
	if renameErr == nil {
		return nil
	}
	if !lacksRename(renameErr) {
		return fmt.Errorf("durable: create %s: %w", path, renameErr)
	}
	return fmt.Errorf("%w: create %s: neither a hard link (%v) nor a rename that does not replace (%v) works here: put the directory on another file system",
		ErrUnsupported, path, linkErr, renameErr)
}

// sameFile reports whether both names are one file. A network file system may
// report a link that it made as failed, when the first answer was lost.
func sameFile(a, b string) bool {
	ai, err := os.Lstat(a)
	if err != nil {
		return false
	}
	bi, err := os.Lstat(b)
	return err == nil && os.SameFile(ai, bi)
}

// writeTemp writes a new temporary file in dir and returns its path.
func writeTemp(dir string, sync bool, parts [][]byte) (string, error) {
	f, err := openTemp(dir)
	if err != nil {
		return "", err
	}
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(f.Name()) // err is what the caller must know
		return "", err
	}
	return f.Name(), nil
}

// openTemp is os.CreateTemp, but with the permissions of an ordinary file.
func openTemp(dir string) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf("%s%016x", TempPrefix, rand.Uint64()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return f, err
		}
	}
}

// SyncDir makes the names in dir durable: what was created, renamed or removed.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("durable: sync directory: %w", err)
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("durable: sync directory: %w", err)
	}
	return nil
}

// MkdirAll creates dir and the parents it lacks. With sync true, each directory
// it creates is durable in its parent when it returns.
func MkdirAll(dir string, sync bool) error {
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return fmt.Errorf("durable: create directory %s: a file of that name is in the way", dir)
		}
		return syncParent(dir, sync)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("durable: create directory: %w", err)
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent, sync); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("durable: create directory: %w", err)
	}
	if !sync {
		return nil
	}
	if err := SyncDir(dir); err != nil {
		return err
	}
	return SyncDir(parent)
}

// syncParent makes the name of a directory durable that exists already: a process
// that was killed may have created it and not come to that. Whoever may not read
// the parent did not create it there.
func syncParent(dir string, sync bool) error {
	if !sync {
		return nil
	}
	if err := SyncDir(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// RemoveTemps removes the temporary files and directories that crashes left in
// dir. A dir that does not exist has none. The caller must be sure that nobody
// else is creating files in dir.
func RemoveTemps(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("durable: remove temporary files: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), TempPrefix) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("durable: remove temporary files: %w", err)
		}
	}
	return nil
}
