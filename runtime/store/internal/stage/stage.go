// Package stage makes whole directories appear at once and for good, for the
// snapshots and restored copies of stores.
package stage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tws-go/tws/runtime/internal/durable"
)

// Dir creates dir, which must not exist, with what fill puts into the directory
// it is called with. A crash at any moment leaves either all of dir or nothing
// but a temporary directory beside it, whose name begins with
// durable.TempPrefix. The names in dir, and dir in its parent, are durable when
// Dir returns; fill makes the content of the files durable.
//
// fill is called with a path that does not exist yet, and creates it.
func Dir(dir string, fill func(temp string) error) error {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s: %w", dir, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := durable.MkdirAll(parent, true); err != nil {
		return err
	}
	// The temporary directory reserves a name for its child.
	temp, err := os.MkdirTemp(parent, durable.TempPrefix+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	child := filepath.Join(temp, "dir")
	if err := fill(child); err != nil {
		return err
	}
	if err := durable.SyncDir(child); err != nil {
		return err
	}
	if err := os.Rename(child, dir); err != nil {
		return err
	}
	return durable.SyncDir(parent)
}

// Link makes dst another name of the file src, or a copy where src's file
// system has no hard links or is another one. It is for files that nobody
// changes in place.
func Link(src, dst string) error {
	if err := os.Link(src, dst); err == nil {
		return nil
	}
	// Copy reports what is wrong with src or dst if that was the reason.
	return Copy(src, dst)
}

// Copy copies a file's content, durably, to dst, which must not exist.
func Copy(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
