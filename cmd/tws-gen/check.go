package main

import (
	"fmt"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/tws-go/tws/gen"
)

// check prints how files differ from what a run would write. A main function is
// written once and may be deleted, so that a missing one is no difference.
func (c *command) check(result *gen.Result) (int, error) {
	code := exitOK
	for _, f := range append(result.Files, result.Removed...) {
		if f.Kind == gen.Scaffold || !f.Changed() {
			continue
		}
		code = exitFaults
		if _, err := c.stdout.Write(c.diff(f)); err != nil {
			return exitUsage, err
		}
	}
	if code != exitOK {
		fmt.Fprintln(c.stderr, "tws-gen: generated files are out of date; run go generate ./...")
	}
	return code, nil
}

// diff shows the difference between a file as it is and as it should be.
func (c *command) diff(f gen.File) []byte {
	name := c.relative(f.Path)
	from, to := "a/"+name, "b/"+name
	if f.Old == nil {
		from = "/dev/null"
	}
	if f.Content == nil {
		to = "/dev/null"
	}
	return diff.Diff(from, f.Old, to, f.Content)
}

func (c *command) relative(path string) string {
	if rel, err := filepath.Rel(c.workDir(), path); err == nil {
		path = rel
	}
	return filepath.ToSlash(path)
}
