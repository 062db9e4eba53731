// Command pipeline runs the crash tests' pipeline as a process of its own, so that
// a test can kill it. Usage: pipeline FOLDER STORE [step]
//
// With step, it prints a line at every point of the commit order and waits for one,
// so that it never gets far ahead of the one who kills it.
package main

import (
	"fmt"
	"os"

	"github.com/tws-go/tws/golden/crash/internal/pipeline"
	"github.com/tws-go/tws/runtime/epoch"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: pipeline FOLDER STORE [step]")
	}
	open, ok := pipeline.Engines[args[1]]
	if !ok {
		return fmt.Errorf("there is no store %q", args[1])
	}
	stores, err := open()
	if err != nil {
		return err
	}
	o := pipeline.Options{Stores: stores, Conf: pipeline.Small()}
	if len(args) > 2 {
		o.AtPoint, o.NoSync = step, true
	}
	return pipeline.Run(pipeline.Layout{Dir: args[0]}, o)
}

func step(p epoch.Point) error {
	fmt.Println(p)
	_, err := os.Stdin.Read(make([]byte, 1))
	return err
}
