package twstest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/memory"
)

type order struct{ ID int }

type refund struct{ ID int }

var refunds tws.StreamingTable[refund]

// orders passes the source orders on, if the configuration does not say that
// it is called otherwise.
func orders(f *tws.Flow) tws.Stream[order] {
	return tws.ReadStream(f, memory.NewRows[order](f.String("source", "orders")))
}

func fromTable(f *tws.Flow) tws.Stream[refund] { return tws.ReadStream(f, &refunds) }

func noSource(f *tws.Flow) tws.Stream[order] { return tws.Stream[order]{} }

// recorder is a test that fails without failing this one. It knows whose line a
// failure is reported at: that of the first caller that is no helper.
type recorder struct {
	testing.TB
	helpers []string
	at      string
	text    string
}

func (r *recorder) Helper() { r.helpers = append(r.helpers, callers()[1]) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.text = fmt.Sprintf(format, args...)
	for _, name := range callers()[1:] {
		if !slices.Contains(r.helpers, name) {
			r.at = name
			break
		}
	}
	runtime.Goexit()
}

// callers returns the names of the functions that called the one that calls it.
func callers() []string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var names []string
	for {
		f, more := frames.Next()
		names = append(names, f.Function)
		if !more {
			return names
		}
	}
}

func TestMistakesOfTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []Step
		want  string
	}{
		"rows of another type": {
			[]Step{Rows(refund{1})},
			`the flow reads no source of twstest.refund; it reads "orders" of twstest.order`,
		},
		"rows to a misspelt source": {
			[]Step{RowsTo("ordesr", order{1})},
			`the flow reads no source "ordesr" of twstest.order, did you mean "orders"?; it reads "orders" of twstest.order`,
		},
		"rows of another type to a source": {
			[]Step{RowsTo("orders", refund{1})},
			`the flow reads no source "orders" of twstest.refund; it reads "orders" of twstest.order`,
		},
		"time that goes back": {
			[]Step{Rows(order{1}), Advance(-time.Second)},
			"Advance: the clock cannot go back, and -1s is negative",
		},
		"configuration too late": {
			[]Step{Rows(order{1}), Conf("source", "others")},
			"Conf comes after Rows: it holds for the whole run, so put it before the steps in which something happens",
		},
		"a start too late":  {[]Step{Restart(), At(Start)}, "At comes after Restart: "},
		"tables too late":   {[]Step{RowsTo("orders", order{1}), Tables(func(*tws.Pipeline) {})}, "Tables comes after RowsTo: "},
		"wrong after right": {[]Step{Advance(0), Rows(order{1}), Rows(refund{2})}, "no source of twstest.refund"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fails(t, c.want, func(r *recorder) { Run(r, orders, c.steps...) })
			fails(t, c.want, func(r *recorder) { RunError(r, orders, c.steps...) })
		})
	}
	fails(t, `the flow reads no source of twstest.order; it reads a table of twstest.refund`,
		func(r *recorder) { Run(r, fromTable, Rows(order{1})) })
	fails(t, "the flow function returns a stream that no call made", func(r *recorder) { Run(r, noSource, Rows(order{1})) })
	fails(t, "the flow ran without an error", func(r *recorder) { RunError(r, orders, Rows(order{1})) })
}

// fails fails unless the test fails with the text, at its own line.
func fails(t *testing.T, want string, test func(*recorder)) {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	if !strings.HasPrefix(r.text, "twstest: ") || !strings.Contains(r.text, want) {
		t.Errorf("the test fails with %q, want %q", r.text, want)
	}
	if !strings.Contains(r.at, "twstest.TestMistakesOfTests") {
		t.Errorf("%q is reported at a line of %s, want the test's", r.text, r.at)
	}
}

// Configuration, wherever it stands before the rows, holds after a restart too.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	Run(t, orders, At(Start.Add(time.Hour)), Conf("source", "others"), RowsTo("others", order{1}), Restart(), RowsTo("others", order{2})).
		Want(order{1}, order{2})
}
