package twstest

import (
	"context"
	"reflect"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/memory"
)

// Step is one thing that happens in a test: rows arrive, time passes.
type Step struct {
	// setUp runs for all steps before the flow is built.
	setUp func(*harness)
	// run runs in its turn, before epochs run.
	run func(*harness) error
}

// inputName finds the rows for a source; "" stands for any source of the type.
type inputName struct {
	source string
	row    reflect.Type
}

// input is the rows for the sources of one name and type.
type input struct {
	rows any    // *memory.Rows[R]
	used string // the source that reads them
}

// Rows lets rows arrive at the source of their type, with the clock's present instant
// as the source's timestamp. If the flow reads several
// sources of one row type, use [RowsTo].
func Rows[R any](rows ...R) Step { return RowsTo("", rows...) }

// RowsTo lets rows arrive at the source of that name.
func RowsTo[R any](source string, rows ...R) Step {
	name := inputName{source, reflect.TypeFor[R]()}
	return Step{
		setUp: func(h *harness) {
			if h.inputs[name] == nil {
				h.inputs[name] = &input{rows: &memory.Rows[R]{Name: source}}
			}
		},
		run: func(h *harness) error {
			h.inputs[name].rows.(*memory.Rows[R]).AppendAt(h.clock.Now(), rows...)
			return nil
		},
	}
}

// Tables makes the tables of an annotated package known by their names; register is
// its generated Register. A flow that reads a table takes the rows of [Rows] and
// [RowsTo] without it, as long as those are the only rows of their type.
func Tables(register func(*tws.Pipeline)) Step {
	return Step{setUp: func(h *harness) { h.tables = append(h.tables, register) }}
}

// Advance moves the clock. Timers that come due fire, all in one epoch, at the
// new time; to see each fire at its own time, advance in smaller steps.
func Advance(d time.Duration) Step {
	return Step{run: func(h *harness) error {
		h.clock.Advance(d)
		return nil
	}}
}

// At sets the instant at which the clock starts, instead of [Start].
func At(start time.Time) Step {
	return Step{setUp: func(h *harness) { h.clock = NewClock(start) }}
}

// Conf sets a configuration value of the flow.
func Conf(key, value string) Step {
	return Step{setUp: func(h *harness) { h.options.Conf[key] = value }}
}

// Restart closes the pipeline and opens it again from its checkpoint, as a new
// process would.
func Restart() Step {
	return Step{run: func(h *harness) error {
		if err := h.runner.Close(); err != nil {
			return err
		}
		return h.open(context.Background())
	}}
}
