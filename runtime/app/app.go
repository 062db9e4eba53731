// Package app is the command line of a pipeline binary. The whole of a main
// function is
//
//	func main() { app.Main(heartbeat.Register) }
//
// # Model
//
// A [command] is a node of a small tree: it has options, and either commands
// below it or a function that does the work. Parsing, help and "did you mean"
// come from the same declarations, so they cannot disagree.
//
// Standard output belongs to data: rows of a console sink, rows and descriptions
// of tables, help that was asked for. Everything else goes to standard error,
// through one [screen], which keeps progress lines, log lines and messages from
// running into each other.
//
// This package is the one place where state stores and tables are wired to the
// engine: stores_rocks.go and stores_missing.go list the stores that a build has.
//
// docs/reference/cli.md describes the command line for users, its exit codes
// included.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/term"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
)

// Main runs the command line in os.Args and exits. register declares the flows
// of the pipeline; it is called once, and only by commands that run them.
func Main(register func(*tws.Pipeline)) {
	os.Exit(execute(context.Background(), system(), register, os.Args[1:]))
}

// env is what a command line needs of the world around it.
type env struct {
	name   string // the binary's, for messages
	stdout io.Writer
	stderr io.Writer
	// columns is the width of the terminal that stderr is, 0 if it is none.
	columns func() int
	// shared says that stdout is a terminal, most likely the same one.
	shared func() bool
	clock  epoch.Clock
	// environ returns the variables of the environment, NAME=VALUE.
	environ func() []string
	// signals asks for the signals that stop a pipeline; release gives them
	// back to the system's default.
	signals func() (received <-chan os.Signal, release func())
	// exit ends the process at once.
	exit func(code int)
	// stores are those of the build, the default first.
	stores []storeKind
}

// system is the world outside of tests.
func system() *env {
	return &env{
		name:   filepath.Base(os.Args[0]),
		stdout: os.Stdout, stderr: os.Stderr,
		columns: terminalColumns,
		shared:  func() bool { return term.IsTerminal(int(os.Stdout.Fd())) },
		clock:   epoch.SystemClock{},
		environ: os.Environ,
		signals: stopSignals,
		exit:    os.Exit,
		stores:  builtStores(),
	}
}

func terminalColumns() int {
	if os.Getenv("TERM") == "dumb" {
		return 0
	}
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func stopSignals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, e *env, register func(*tws.Pipeline), args []string) int {
	inv, err := parse(commands(register), args)
	if err != nil {
		return e.fail(err)
	}
	if inv.help {
		fmt.Fprint(e.stdout, inv.command.helpText(e.name))
		return exitDone
	}
	if inv.command.run == nil { // nothing but the name of a group of commands
		fmt.Fprint(e.stderr, inv.command.helpText(e.name))
		return exitUsage
	}
	if err := inv.command.run(ctx, e, inv.args); err != nil {
		return e.fail(err)
	}
	return exitDone
}

// commands returns the whole command line.
func commands(register func(*tws.Pipeline)) *command {
	return &command{
		about: "A pipeline of stateful flows: one binary that reads streams, keeps state in a checkpoint and writes tables and sinks, exactly once.",
		examples: []example{
			{"run", "read what is there, fire the timers that are due, end"},
			{"run --trigger 10s", "go on until stopped, with an epoch every 10 seconds"},
			{"table show NAME", "print the rows of a table"},
		},
		commands: []*command{runCommand(register), tableCommand(), versionCommand()},
	}
}
