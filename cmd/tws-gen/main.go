// Command tws-gen generates the code behind annotated Go packages: typed state
// accessors, codecs and the wiring of flows. Run "tws-gen help" for how to use
// it, or see docs/reference/tws-gen.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tws-go/tws/cmd/tws-gen/internal/rocksenv"
	"github.com/tws-go/tws/gen"
)

// Exit codes.
const (
	exitOK     = 0
	exitFaults = 1 // diagnostics, or files out of date
	exitUsage  = 2 // bad usage, or the run could not be tried
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// verbs are the words that a command line may begin with.
var verbs = []string{"check", "env", "explain", "version", "help"}

// command is one invocation.
type command struct {
	stdout, stderr io.Writer

	dir   string
	tags  string
	make  bool // env: print a makefile
	fetch bool // env: may download
}

const usage = `tws-gen generates the code behind annotated Go packages.

Usage:

	tws-gen [flags] [packages]        generate; packages default to "."
	tws-gen check [flags] [packages]  write nothing, fail if anything is out of date
	tws-gen env [flags]               print the variables for a build with RocksDB
	tws-gen explain TWS012            explain a diagnostic; without a code list all
	tws-gen version                   print the version

For each package with annotations it writes

	<package>_tws.go      accessors, codecs, Register; never edit it
	tws.lock.json         ids of states, timers and fields; commit it
	cmd/<package>/main.go the pipeline's main function, once; it is yours then

Annotate like this, and run "go generate":

	//go:generate go tool tws-gen

	type Counter struct {
		tws.Processor[string, Click, Count] ` + "`tws:\"counter\"`" + `
		Total tws.ValueState[int64]         ` + "`tws:\"total,ttl=24h\"`" + `
	}

	//tws:table
	var Counts tws.StreamingTable[Count]

	//tws:flow target=Counts
	func CountClicks(f *tws.Flow) tws.Stream[Count] { … }

Flags:

	-C dir        run as if started in dir
	-tags list    build tags, separated by commas
	-make         env: print a makefile instead of shell commands
	-fetch=false  env: do not download RocksDB if it is not there

Exit codes: 0 done, 1 faults in the packages or files out of date, 2 wrong usage
or a run that could not be tried.
`

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &command{stdout: stdout, stderr: stderr}
	verb := "generate"
	if len(args) > 0 && slices.Contains(verbs, args[0]) {
		verb, args = args[0], args[1:]
	}
	rest, err := c.flags(verb, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		verb = "help"
	case err != nil:
		fmt.Fprintf(stderr, "tws-gen: %v\nRun \"tws-gen help\" for usage.\n", err)
		return exitUsage
	}
	code, err := c.do(ctx, verb, rest)
	if err != nil {
		fmt.Fprintf(stderr, "tws-gen: %v\n", err)
		return exitUsage
	}
	return code
}

// flags parses the flags that a verb has.
func (c *command) flags(verb string, args []string) ([]string, error) {
	set := flag.NewFlagSet("tws-gen", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	switch verb {
	case "generate", "check":
		set.StringVar(&c.dir, "C", "", "")
		set.StringVar(&c.tags, "tags", "", "")
	case "env":
		set.StringVar(&c.dir, "C", "", "")
		set.BoolVar(&c.make, "make", false, "")
		set.BoolVar(&c.fetch, "fetch", true, "")
	}
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	rest := set.Args()
	for _, arg := range rest {
		if strings.HasPrefix(arg, "-") {
			return nil, fmt.Errorf("flag %s stands behind an argument; flags come first", arg)
		}
	}
	if (verb == "env" || verb == "version") && len(rest) > 0 {
		return nil, fmt.Errorf("%s takes no arguments, got %q", verb, rest[0])
	}
	return rest, nil
}

func (c *command) do(ctx context.Context, verb string, args []string) (int, error) {
	switch verb {
	case "env":
		return c.env(ctx)
	case "explain":
		return c.explain(args)
	case "help":
		_, err := io.WriteString(c.stdout, usage)
		return exitOK, err
	case "version":
		_, err := fmt.Fprintln(c.stdout, "tws-gen", version())
		return exitOK, err
	}
	result, err := interruptible(ctx, func() (*gen.Result, error) {
		return gen.Run(ctx, gen.Config{Dir: c.dir, Patterns: args, Tags: c.tags})
	})
	if err != nil {
		return exitUsage, misspelt(err, verb, args)
	}
	if len(result.Diagnostics) > 0 {
		if err := result.Diagnostics.Write(c.stderr, c.workDir()); err != nil {
			return exitUsage, err
		}
		return exitFaults, nil
	}
	if err := result.Warnings.Write(c.stderr, c.workDir()); err != nil {
		return exitUsage, err
	}
	if verb == "check" {
		return c.check(result)
	}
	return c.generate(ctx, result)
}

// stopGrace is how long an interrupted run may take to end by itself.
const stopGrace = 200 * time.Millisecond

// interruptible runs what does not write anything, and does not wait for it much
// longer than for the context: the type checker, for one, does not look at that.
func interruptible(ctx context.Context, run func() (*gen.Result, error)) (*gen.Result, error) {
	type outcome struct {
		result *gen.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := run()
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
	}
	// It ends the go command that it may have started.
	select {
	case <-done:
	case <-time.After(stopGrace):
	}
	return nil, fmt.Errorf("nothing was written: %w", context.Cause(ctx))
}

// misspelt adds to the error of a run without a verb which one may be meant.
func misspelt(err error, verb string, args []string) error {
	if verb != "generate" || len(args) == 0 || strings.ContainsAny(args[0], "./") {
		return err
	}
	near := gen.Nearest(args[0], verbs)
	if near == "" {
		return err
	}
	return fmt.Errorf("%w\ndid you mean \"tws-gen %s\"? The command comes before flags and packages", err, near)
}

// workDir is the directory that printed paths are relative to.
func (c *command) workDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// env prints the variables of a build with RocksDB, and nothing else, to stdout.
func (c *command) env(ctx context.Context) (int, error) {
	env, err := rocksenv.Find(ctx, rocksenv.Options{Dir: c.dir, Fetch: c.fetch, Stderr: c.stderr})
	if err != nil {
		return exitUsage, err
	}
	text := env.Shell()
	if c.make {
		text = env.Make()
	}
	_, err = io.WriteString(c.stdout, text)
	return exitOK, err
}

// version is the version of the module that the command was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
