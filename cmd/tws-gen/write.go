package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tws-go/tws/gen"
)

// generate writes what has changed and removes what is left over.
func (c *command) generate(ctx context.Context, result *gen.Result) (int, error) {
	w := writer{rename: os.Rename}
	if err := w.write(ctx, result); err != nil {
		return exitUsage, err
	}
	if result.Packages == 0 && len(result.Removed) == 0 {
		fmt.Fprintln(c.stderr, "tws-gen: no annotated package matches; see \"tws-gen help\" for how to annotate one")
	}
	return exitOK, nil
}

// writer puts files in place. Everything is written to temporary files beside
// the final ones before the first of them is renamed, so that a full disk or a
// missing permission changes nothing. Should it stop between two renames, every
// file is whole, old or new, and the next run completes the rest: a lock is in
// place before the file that uses its ids.
type writer struct {
	rename func(from, to string) error
}

// staged is a file that has been written and waits to be renamed.
type staged struct{ temp, path string }

func (w writer) write(ctx context.Context, result *gen.Result) (err error) {
	var all []staged
	defer func() {
		for _, s := range all {
			if e := os.Remove(s.temp); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}()
	for _, f := range result.Files {
		if !f.Changed() {
			continue // also its time of modification stays
		}
		if ctx.Err() != nil {
			break
		}
		s, err := stage(f)
		if s.temp != "" {
			all = append(all, s)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("nothing was written: %w", context.Cause(ctx))
	}
	for _, s := range all {
		if err := w.rename(s.temp, s.path); err != nil {
			return fmt.Errorf("write %s: %w", s.path, err)
		}
	}
	for _, f := range result.Removed {
		if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s, which is left over from an earlier run: %w", f.Path, err)
		}
	}
	return nil
}

// stage writes a file's content beside it. A link is followed, so that the file
// it leads to changes. Two runs at once do not meet: each has its own names.
func stage(f gen.File) (staged, error) {
	path := f.Path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if f.Kind == gen.Scaffold {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return staged{}, err
		}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return staged{}, err
	}
	s := staged{temp: temp.Name(), path: path}
	_, err = temp.Write(f.Content)
	err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err == nil {
		err = sweep(s)
	}
	return s, err
}

// abandoned is the age at which a temporary file is none of a running command.
const abandoned = time.Hour

// sweep removes temporary files for the same path that killed runs left behind.
func sweep(s staged) error {
	mine, err := os.Stat(s.temp)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(s.temp))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "."+filepath.Base(s.path)+".") || !strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		info, err := e.Info()
		if err != nil || mine.ModTime().Sub(info.ModTime()) < abandoned {
			continue // gone meanwhile, or of a run beside this one
		}
		if err := os.Remove(filepath.Join(filepath.Dir(s.temp), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
