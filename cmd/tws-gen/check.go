package main

import (
	"fmt"
	"path/filepath"

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
		name := c.relative(f.Path)
		if _, err := fmt.Fprint(c.stdout, unifiedDiff(name, f.Old, f.Content)); err != nil {
			return exitUsage, err
		}
	}
	if code != exitOK {
		fmt.Fprintln(c.stderr, "tws-gen: generated files are out of date; run go generate ./...")
	}
	return code, nil
}

func (c *command) relative(path string) string {
	if rel, err := filepath.Rel(c.workDir(), path); err == nil {
		path = rel
	}
	return filepath.ToSlash(path)
}
