package rocksenv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// noLinkTag keeps grocksdb from adding link flags of its own.
const noLinkTag = "grocksdb_no_link"

// Env is the environment that a build needs. The flag lists extend those that
// the Go tool has without it, so the user's own flags stay in force, and they do
// not grow if Find runs in an environment that Find made.
type Env struct {
	// CGOEnabled is false if the user asked for a build without cgo. The other
	// fields are empty then.
	CGOEnabled bool
	// CGOCFlags, CGOLDFlags and GOFlags are values of the variables CGO_CFLAGS,
	// CGO_LDFLAGS and GOFLAGS.
	CGOCFlags  string
	CGOLDFlags string
	GOFlags    string
	// LibDir is the absolute directory of the library, for a deployment that
	// wants to put the library beside the binary.
	LibDir string
}

// Var is one environment variable.
type Var struct{ Name, Value string }

// Vars returns the variables in a fixed order.
func (e *Env) Vars() []Var {
	if !e.CGOEnabled {
		return []Var{{"CGO_ENABLED", "0"}}
	}
	return []Var{
		{"CGO_ENABLED", "1"},
		{"CGO_CFLAGS", e.CGOCFlags},
		{"CGO_LDFLAGS", e.CGOLDFlags},
		{"GOFLAGS", e.GOFlags},
	}
}

// Environ returns the variables as NAME=value, for exec.Cmd.
func (e *Env) Environ() []string {
	var out []string
	for _, v := range e.Vars() {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

// Shell returns one line export NAME='value' per variable and nothing else, for
// a POSIX shell:
//
//	eval "$(tws-gen env)"
func (e *Env) Shell() string {
	var b strings.Builder
	for _, v := range e.Vars() {
		fmt.Fprintf(&b, "export %s='%s'\n", v.Name, strings.ReplaceAll(v.Value, "'", `'\''`))
	}
	return b.String()
}

// Make returns one line export NAME := value per variable, with make's own
// characters escaped. A makefile includes the file that it is written to, and a
// rule says how to make it, so that make runs the rule first and then starts
// over with the variables set for all commands:
//
//	include build/rocksdb.mk
//	build/rocksdb.mk: go.mod
//		go run ./cmd/tws-gen env -make > $@.tmp && mv $@.tmp $@
func (e *Env) Make() string {
	escape := strings.NewReplacer("$", "$$", "#", `\#`)
	var b strings.Builder
	for _, v := range e.Vars() {
		fmt.Fprintf(&b, "export %s := %s\n", v.Name, escape.Replace(v.Value))
	}
	return b.String()
}

// environment puts the flags for a library in front of those the Go tool has.
func (f *finder) environment(ctx context.Context, lib *library) (*Env, error) {
	out, err := output(ctx, f.Dir, "go", "env", "-json", "GOFLAGS", "CGO_CFLAGS", "CGO_LDFLAGS")
	if err != nil {
		return nil, fmt.Errorf("rocksenv: %w", err)
	}
	var have struct{ GOFLAGS, CGO_CFLAGS, CGO_LDFLAGS string }
	if err := json.Unmarshal([]byte(out), &have); err != nil {
		return nil, fmt.Errorf("rocksenv: go env: %w", err)
	}
	// Two run-time paths: the binary's own directory, for a binary that ships
	// with its library beside it, and the library's, for go test and go run,
	// whose binaries lie in temporary directories.
	ldflags := append(slices.Clone(lib.ldflags), "-Wl,-rpath,"+f.platform.origin, "-Wl,-rpath,"+lib.libDir)
	e := &Env{CGOEnabled: true, LibDir: lib.libDir}
	for _, v := range []struct {
		name, have string
		extend     func([]string) []string
		to         *string
	}{
		{"CGO_CFLAGS", have.CGO_CFLAGS, prepend(lib.cflags), &e.CGOCFlags},
		{"CGO_LDFLAGS", have.CGO_LDFLAGS, prepend(ldflags), &e.CGOLDFlags},
		{"GOFLAGS", have.GOFLAGS, addTag, &e.GOFlags},
	} {
		fields, err := splitFlags(v.have)
		if err != nil {
			return nil, fmt.Errorf("rocksenv: %s: %w", v.name, err)
		}
		if *v.to, err = joinFlags(v.extend(fields)); err != nil {
			return nil, fmt.Errorf("rocksenv: %s: %w", v.name, err)
		}
	}
	return e, nil
}

// prepend puts flags before those that are there, once.
func prepend(flags []string) func([]string) []string {
	return func(have []string) []string {
		out := slices.Clone(flags)
		for _, h := range have {
			if !slices.Contains(flags, h) {
				out = append(out, h)
			}
		}
		return out
	}
}
