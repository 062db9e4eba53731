package twstest

import (
	"context"
	"fmt"
	"reflect"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/memory"
)

// Step is one thing that happens in a test: rows arrive, time passes.
type Step struct {
	name string
	// wrong says why the step cannot be done; "" if it can.
	wrong string
	// first says that the step holds for the whole run, wherever it stands.
	first bool
	// setUp runs for all steps before the flow is built.
	setUp func(*harness)
	// run runs in its turn, before epochs run.
	run func(*harness) error
}

// Rows lets rows arrive at the source of their type, with the clock's present instant
// as the source's timestamp. If the flow reads several
// sources of one row type, use [RowsTo].
func Rows[R any](rows ...R) Step {
	s := RowsTo("", rows...)
	s.name = "Rows"
	return s
}

// RowsTo lets rows arrive at the source of that name.
func RowsTo[R any](source string, rows ...R) Step {
	name := inputName{source, reflect.TypeFor[R]()}
	return Step{
		name: "RowsTo",
		setUp: func(h *harness) {
			if h.inputs.given[name] == nil {
				h.inputs.given[name] = &input{rows: &memory.Rows[R]{Name: source}}
			}
		},
		run: func(h *harness) error {
			h.inputs.given[name].rows.(*memory.Rows[R]).AppendAt(h.clock.Now(), rows...)
			return nil
		},
	}
}

// Tables makes the tables of an annotated package known by their names; register is
// its generated Register. A flow that reads a table takes the rows of [Rows] and
// [RowsTo] without it, as long as those are the only rows of their type. It stands
// before the steps in which something happens.
func Tables(register func(*tws.Pipeline)) Step {
	return Step{name: "Tables", first: true, setUp: func(h *harness) { h.tables = append(h.tables, register) }}
}

// Advance moves the clock. Timers that come due fire, all in one epoch, at the
// new time; to see each fire at its own time, advance in smaller steps. Event time
// does not move with it, only with rows that are later. The clock does not go back:
// d must not be negative.
func Advance(d time.Duration) Step {
	wrong := ""
	if d < 0 {
		wrong = fmt.Sprintf("the clock cannot go back, and %s is negative", d)
	}
	return Step{name: "Advance", wrong: wrong, run: func(h *harness) error {
		h.clock.Advance(d)
		return nil
	}}
}

// At sets the instant at which the clock starts, instead of [Start]. It stands
// before the steps in which something happens.
func At(start time.Time) Step {
	return Step{name: "At", first: true, setUp: func(h *harness) { h.clock = NewClock(start) }}
}

// Conf sets a configuration value of the flow for the whole run, restarts included.
// It stands before the steps in which something happens.
func Conf(key, value string) Step {
	return Step{name: "Conf", first: true, setUp: func(h *harness) { h.options.Conf[key] = value }}
}

// Restart closes the pipeline and opens it again from its checkpoint, as a new
// process would.
func Restart() Step {
	return Step{name: "Restart", run: func(h *harness) error {
		if err := h.runner.Close(); err != nil {
			return err
		}
		return h.open(context.Background())
	}}
}
