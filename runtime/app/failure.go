package app

import (
	"errors"
	"fmt"
	"strings"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/config"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/table"
)

// The exit codes. They are part of the command line's contract: supervisors tell
// by them whether starting again can help. A second signal exits with 128 and
// the signal's number.
const (
	exitDone   = 0 // finished, or stopped cleanly
	exitFailed = 1 // starting again may help
	exitUsage  = 2 // the command line or the configuration is wrong, or a cluster refuses our user
	exitLocked = 3 // another process uses the checkpoint
	exitUnfit  = 4 // the checkpoint does not fit the program, its source, its table or its sink
)

var exitCodeNote = note{title: "Exit codes", lines: []noteLine{
	{"0", "done, or stopped cleanly by a signal"},
	{"1", "the pipeline failed; the checkpoint is intact"},
	{"2", "wrong command line or configuration, or a cluster that refuses our user"},
	{"3", "another process uses the checkpoint"},
	{"4", "the checkpoint does not fit the program, its source, its table or its sink, and a person has to choose"},
	{"130, 143", "a second SIGINT or SIGTERM ended the process at once"},
}}

// exitCode returns the exit code that an error means.
func exitCode(err error) int {
	var usage *usageError
	var conf *tws.ConfigError
	var moved *stream.SinkMovedError
	var missing *stream.RecordMissingError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), errors.As(err, &conf), errors.Is(err, stream.ErrMisconfigured):
		return exitUsage
	case errors.Is(err, checkpoint.ErrLocked):
		return exitLocked
	case errors.Is(err, tws.ErrFlowChanged), errors.As(err, &moved), errors.As(err, &missing),
		errors.Is(err, table.ErrMismatch), errors.Is(err, table.ErrUnpublished), errors.Is(err, stream.ErrLostData):
		return exitUnfit
	}
	return exitFailed
}

// fail tells the user about an error and returns its exit code.
func (e *env) fail(err error) int {
	for _, text := range messages(err) {
		fmt.Fprintf(e.stderr, "%s: %s\n", e.name, strings.TrimPrefix(strings.TrimPrefix(text, "tws: "), "engine: "))
	}
	if hint := e.hint(err); hint != "" {
		fmt.Fprintln(e.stderr, "hint: "+hint)
	}
	return exitCode(err)
}

// hint says what to do about errors whose message cannot know it.
func (e *env) hint(err error) string {
	var usage *usageError
	var malformed *stream.MalformedError
	var moved *stream.SinkMovedError
	var placed *placedError
	switch {
	case errors.As(err, &placed):
		return placed.hint
	case errors.As(err, &usage):
		return strings.Join(nonEmpty(e.name, usage.path, "--help"), " ") + " says what it takes"
	case errors.As(err, &malformed):
		return "nothing of this epoch took effect; correct the input and start again, or set OnMalformed of the source to Drop (file.Drop, kafka.Drop), which passes over what is no row and counts it"
	case errors.As(err, &moved) && moved.Location != "":
		return "--tables names the folder that the pipeline's tables are in"
	case errors.Is(err, tws.ErrFlowChanged):
		return "nothing was changed; restore what the checkpoint was made with (the declarations and their tws.lock.json), or run with a fresh --checkpoint, a fresh --tables and fresh topics: all output is written again"
	case errors.Is(err, store.ErrCorrupt):
		return "the folders flows/*/store in the checkpoint can be deleted: state is made anew from snapshots and changelogs"
	case errors.Is(err, tws.ErrEpochTooLarge):
		return "nothing of this epoch took effect; give it more memory with --conf tws.epoch-memory-mb=N, or make epochs smaller with --conf tws.max-rows=N"
	}
	return ""
}

// placedError is an error about a setting, with where that is.
type placedError struct {
	err  error
	hint string
}

func (e *placedError) Error() string { return e.err.Error() }

func (e *placedError) Unwrap() error { return e.err }

// placed adds to an error about a setting of a cluster where that is.
func placed(c config.Config, err error) error {
	var wrong *stream.SettingError
	if !errors.As(err, &wrong) {
		return err
	}
	at := c.Where(wrong.Cluster, wrong.Key)
	if at == "" {
		return &placedError{err, "clusters are described in " + defaultConfig + ", in the file that --config names, or by variables such as " + config.Variable("main", "brokers") + "; docs/reference/configuration.md has the keys"}
	}
	return &placedError{err, "cluster " + wrong.Cluster + " has this from " + at}
}

// messages returns the texts of an error, one for each error that was joined
// into it, each with the context that the joined ones were wrapped in.
func messages(err error) []string {
	text := err.Error()
	switch wrapper := err.(type) {
	case interface{ Unwrap() []error }:
		var parts, all []string
		for _, e := range wrapper.Unwrap() {
			parts = append(parts, e.Error())
			all = append(all, messages(e)...)
		}
		if text == strings.Join(parts, "\n") {
			return all
		}
	case interface{ Unwrap() error }:
		inner := wrapper.Unwrap()
		if inner == nil {
			break
		}
		prefix, ok := strings.CutSuffix(text, inner.Error())
		if all := messages(inner); ok && len(all) > 1 {
			for i := range all {
				all[i] = prefix + all[i]
			}
			return all
		}
	}
	return []string{text}
}

// panicError is a panic outside of a processor: in a flow function, or in a bug
// of ours.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }
