// Package gen turns annotated Go packages into Go files: it loads a package,
// plans what its annotations ask for, and emits one file per package, together
// with the lock file that keeps the ids of stored state.
//
// The steps are packages of their own, each with one way in:
//
//	load   Go packages, from source, nothing compiled
//	annot  the grammar of tags and directives
//	plan   meaning: every check, and a complete plan of what to generate
//	emit   the plan as Go source
//	diag   what is wrong, where, and how to fix it
//
// This package writes nothing: [Run] returns the files as they should be, and
// cmd/tws-gen puts them there.
package gen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tws-go/tws/gen/internal/diag"
	"github.com/tws-go/tws/gen/internal/emit"
	"github.com/tws-go/tws/gen/internal/load"
	"github.com/tws-go/tws/gen/internal/plan"
	"github.com/tws-go/tws/schemas"
)

// Config says what to generate for.
type Config struct {
	// Dir is the directory that Patterns are relative to, "" for the current one.
	Dir string
	// Patterns are package patterns of the go command; none mean ".".
	Patterns []string
	// Tags are build tags, separated by commas.
	Tags string
}

// Kind says what a file is for.
type Kind string

// The kinds of file.
const (
	// Generated is Go source that is overwritten by every run.
	Generated Kind = "generated"
	// LockFile holds the ids of stored state.
	LockFile Kind = "lock"
	// Scaffold is written once, if it does not exist, and is the user's then.
	Scaffold Kind = "scaffold"
)

// File is a file as it should be.
type File struct {
	Path    string // absolute
	Kind    Kind
	Content []byte
	// Old is the content on disk, nil if the file does not exist.
	Old []byte
}

// Changed reports whether the file on disk is another, or is not there.
func (f File) Changed() bool { return f.Old == nil || !bytes.Equal(f.Old, f.Content) }

// Result is the outcome of a run.
type Result struct {
	// Files are in the order in which they must be written: the lock of a
	// package comes before its generated file, so that ids in use are never
	// unknown to the lock, whenever writing stops.
	Files []File
	// Removed are files of earlier runs that belong to nothing any more.
	Removed []File
	// Diagnostics are the faults found. If there are any, nothing must be
	// written.
	Diagnostics diag.List
	// Warnings are diagnostics without a code: what may be meant as it is, so
	// that files are written all the same.
	Warnings diag.List
	// Packages is the number of annotated packages.
	Packages int
}

// Run generates for all packages that match the patterns. An error means that it
// could not be tried; faults in the packages are diagnostics of the result. The
// same sources give the same result, whatever the directory, the environment and
// the order of files.
func Run(ctx context.Context, c Config) (*Result, error) {
	patterns := c.Patterns
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	loader, err := load.New(ctx, load.Config{Dir: c.Dir, Patterns: patterns, Tags: c.Tags})
	if err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	result := new(Result)
	for i := range loader.Packages() {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("gen: %w", context.Cause(ctx))
		}
		p, err := loader.Load(i)
		if err != nil {
			return nil, fmt.Errorf("gen: %w", err)
		}
		if err := result.add(loader, p); err != nil {
			return nil, fmt.Errorf("gen: package %s: %w", p.Path, err)
		}
	}
	result.Diagnostics = result.Diagnostics.Sorted()
	result.Warnings = result.Warnings.Sorted()
	return result, nil
}

// add generates for one package.
func (r *Result) add(loader *load.Loader, p *load.Package) error {
	for _, e := range p.Syntax {
		r.Diagnostics.Add(e.Pos, diag.Syntax, "correct the syntax; nothing is generated until the package parses", "%s", e.Msg)
	}
	if p.TooLarge != nil {
		plan.TooLarge(&r.Diagnostics, p.Position(p.TooLarge.Pos()), p.TooLarge.Name.Name)
	}
	if len(p.Syntax) > 0 || !p.Annotated || p.TooLarge != nil {
		return nil
	}
	lock, err := r.readLock(filepath.Join(p.Dir, schemas.LockFile))
	if err != nil {
		return err
	}
	planned := plan.New(p, lock.content, lock.path)
	r.Diagnostics = append(r.Diagnostics, planned.Diagnostics...)
	r.Warnings = append(r.Warnings, planned.Warnings...)
	if planned.Package == nil {
		r.stale(p, "", lock, planned.Lock == nil)
		return nil
	}
	r.Packages++
	return r.generate(loader, p, planned, lock)
}

// lockOnDisk is a package's lock as it was found.
type lockOnDisk struct {
	path    string
	bytes   []byte        // nil if there is no file
	content *schemas.Lock // nil if there is no file, or it is unusable
}

// readLock reads a lock. One that is unusable is a diagnostic, which keeps it
// from being overwritten.
func (r *Result) readLock(path string) (lockOnDisk, error) {
	lock := lockOnDisk{path: path}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lock, nil
	}
	if err != nil {
		return lock, fmt.Errorf("read lock: %w", err)
	}
	lock.bytes = content
	lock.content, err = schemas.ReadLock(content)
	pos := token.Position{Filename: path}
	message := strings.TrimPrefix(fmt.Sprint(err), "schemas: ")
	switch {
	case errors.Is(err, schemas.ErrLockNewer):
		r.Diagnostics.Add(pos, diag.LockNewer, "update tws-gen: go get -tool github.com/tws-go/tws/cmd/tws-gen@latest", "%s", message)
	case errors.Is(err, schemas.ErrLockEdited):
		r.Diagnostics.Add(pos, diag.LockEdited, "restore it from version control: git checkout -- "+schemas.LockFile, "%s", message)
	case err != nil:
		r.Diagnostics.Add(pos, diag.LockDamaged,
			"restore it from version control; in a merge conflict take one side whole, then run tws-gen again", "%s", message)
	}
	return lock, nil
}

// generate adds the files of an annotated package.
func (r *Result) generate(loader *load.Loader, p *load.Package, planned plan.Result, lock lockOnDisk) error {
	file := File{Path: filepath.Join(p.Dir, p.Name+load.Suffix), Kind: Generated}
	if err := r.readOld(&file, p); err != nil {
		return err
	}
	if len(r.Diagnostics) > 0 {
		return nil // there may be more in the packages to come, but no files
	}
	var err error
	if file.Content, err = emit.File(planned.Package); err != nil {
		return err
	}
	loader.Written(file.Path, file.Content)
	r.Files = append(r.Files, File{
		Path: lock.path, Kind: LockFile, Content: planned.Lock.Marshal(), Old: lock.bytes,
	}, file)
	if main, ok := scaffold(planned.Package); ok {
		r.Files = append(r.Files, main)
	}
	r.stale(p, file.Path, lock, false)
	return nil
}

// readOld reads the file that is to be replaced, and refuses one that is not
// the generator's.
func (r *Result) readOld(file *File, p *load.Package) error {
	old, err := os.ReadFile(file.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read generated file: %w", err)
	}
	if !load.Generated(file.Path, old) {
		r.Diagnostics.Add(token.Position{Filename: file.Path, Line: 1, Column: 1}, diag.Foreign,
			"rename the file, or delete it if it is an output that lost its first line",
			"this file has the name of the generated one and was not generated: its header is missing")
	}
	file.Old = old
	return nil
}

// stale notes generated files that the package does not need any more: all but
// the one at keep. withLock is true if the lock goes with them.
func (r *Result) stale(p *load.Package, keep string, lock lockOnDisk, withLock bool) {
	for path, content := range p.Old {
		if path != keep {
			r.Removed = append(r.Removed, File{Path: path, Kind: Generated, Old: content})
		}
	}
	if withLock && lock.bytes != nil && len(p.Old) > 0 {
		r.Removed = append(r.Removed, File{Path: lock.path, Kind: LockFile, Old: lock.bytes})
	}
	slices.SortFunc(r.Removed, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}
