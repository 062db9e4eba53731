package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tws-go/tws/runtime/epoch"
)

// logForm is what standard error gets while a pipeline runs.
type logForm string

const (
	logLive logForm = "live"
	logText logForm = "text"
	logJSON logForm = "json"
)

// report tells the user what a run does. Its methods are safe for concurrent
// use.
type report struct {
	env     *env
	options *runOptions
	form    logForm
	screen  *screen
	log     *slog.Logger
	begin   time.Time
	// inPlace says that progress goes to live lines; set by start.
	inPlace bool
	// quit asks for the end of the drawing, which closes drawn.
	quit, drawn chan struct{}

	mu    sync.Mutex
	flows totals
	fresh bool // flows has what is not on the screen
}

func newReport(e *env, o *runOptions) (*report, error) {
	r := &report{
		env: e, options: o, form: o.log, begin: e.clock.Now(),
		screen: &screen{w: e.stderr, columns: e.columns},
		quit:   make(chan struct{}), drawn: make(chan struct{}),
		flows: totals{},
	}
	terminal := e.columns() > 0
	switch {
	case r.form == logLive && !terminal:
		return nil, &usageError{path: "run", text: "--log live needs a terminal on standard error; use text or json"}
	case r.form == "" && terminal:
		r.form = logLive
	case r.form == "":
		r.form = logText
	}
	r.log = slog.New(r.form.handler(r.screen, e.name, o.quiet))
	return r, nil
}

// handler returns the log handler of a form.
func (f logForm) handler(w io.Writer, name string, quiet bool) slog.Handler {
	least := slog.LevelInfo
	if quiet {
		least = slog.LevelWarn
	}
	switch f {
	case logJSON:
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: least})
	case logText:
		return slog.NewTextHandler(w, &slog.HandlerOptions{Level: least})
	}
	return &plainHandler{w: w, name: name, least: least}
}

// start says how the pipeline runs, once it is open, so that what is wrong with
// the command line comes alone; and it begins to draw. targets are what its
// flows write: rows on the same terminal would be wiped off by live lines, so
// then every epoch gets a line that stays.
func (r *report) start(store string, targets map[string]string) {
	o := r.options
	trigger, until := "available-now", "until the input ends"
	if o.trigger > 0 {
		trigger, until = o.trigger.String(), "an epoch every "+o.trigger.String()+", Ctrl-C stops"
	}
	if o.store == "" && !r.env.hasRocks() {
		r.log.Info(rocksMissing + ", using the memory store; for RocksDB " + rocksRemedy)
	}
	if r.form == logLive {
		r.log.Info(fmt.Sprintf("running, %s; checkpoint %s, tables %s, store %s", until, o.checkpoint, o.tables, store))
	} else {
		r.log.Info("start", "trigger", trigger, "checkpoint", o.checkpoint, "tables", o.tables, "store", store)
	}
	console := slices.Contains(slices.Collect(maps.Values(targets)), "console")
	r.inPlace = r.form == logLive && !o.quiet && !(console && r.env.shared())
	if r.inPlace {
		go r.draw()
	}
}

// draw brings the live lines up to date, not more often than people can read.
func (r *report) draw() {
	defer close(r.drawn)
	const pause = 100 * time.Millisecond
	for {
		select {
		case <-r.quit:
			r.show()
			return
		case <-r.env.clock.After(pause):
			r.show()
		}
	}
}

func (r *report) show() {
	r.mu.Lock()
	var lines []string
	fresh := r.fresh
	if fresh {
		lines = r.flows.lines(r.screen.columns() - 1)
	}
	r.fresh = false
	r.mu.Unlock()
	if fresh {
		r.screen.show(lines)
	}
}

// epoch takes note of an epoch; it is the pipeline's OnEpoch.
func (r *report) epoch(s epoch.Stats) {
	r.mu.Lock()
	r.flows.add(s)
	r.fresh = true
	r.mu.Unlock()
	switch {
	case r.inPlace:
		return
	case r.form == logLive:
		r.log.Info(totalOf(s).line(s.Flow, maxLine))
		return
	}
	r.log.Info("epoch", r.epochFields(s)...)
}

// epochFields is an epoch as a log line: everything in JSON, for machines; in
// text only what a person looks for, and the rest when it is out of the ordinary.
func (r *report) epochFields(s epoch.Stats) []any {
	fields := []any{
		"flow", s.Flow, "epoch", s.Epoch, "rows_in", s.RowsIn, "keys", s.Keys, "timers", s.Timers,
		"rows_out", s.RowsOut, "took_ms", millis(s.Took.Total()),
	}
	if r.form == logJSON || s.Malformed > 0 {
		fields = append(fields, "malformed", s.Malformed)
	}
	if r.form == logJSON || s.Late > 0 {
		fields = append(fields, "rows_late", s.Late)
	}
	if !s.Watermark.IsZero() {
		fields = append(fields, "watermark", s.Watermark)
	}
	if r.form == logJSON || s.Attempt > 1 {
		fields = append(fields, "attempt", s.Attempt)
	}
	if r.form == logJSON {
		fields = append(fields, "clock", s.Clock, "bytes_in", s.BytesIn, "bytes_out", s.BytesOut,
			"state_puts", s.StatePuts, "state_deletes", s.StateDeletes, "changelog_bytes", s.ChangelogBytes,
			"timers_set", s.TimersSet, "timers_cancelled", s.TimersCancelled)
	}
	return fields
}

func (r *report) stopping(s os.Signal) {
	r.log.Info(signalName(s) + ": stopping after the epochs in progress; once more stops at once")
}

func (r *report) abort(s os.Signal) {
	r.log.Info(signalName(s) + ": stopped at once; epochs that were in progress run again at the next start")
}

// end says what the run has done.
func (r *report) end(ctx context.Context, err error) {
	if r.inPlace {
		close(r.quit)
		<-r.drawn
		r.screen.keep()
	}
	outcome := "done"
	switch {
	case err != nil:
		outcome = "failed"
	case ctx.Err() != nil:
		outcome = "stopped"
	}
	r.mu.Lock()
	sum := r.flows.sum()
	r.mu.Unlock()
	if err != nil && sum.epochs == 0 {
		return // the error says it all
	}
	elapsed := r.env.clock.Now().Sub(r.begin)
	if r.form == logLive {
		r.log.Info(fmt.Sprintf("%s: %s in %s", outcome, sum, short(elapsed)))
		return
	}
	r.log.Info(outcome, "epochs", sum.epochs, "rows_in", sum.rowsIn, "malformed", sum.malformed,
		"rows_late", sum.late, "timers", sum.timers, "rows_out", sum.rowsOut, "elapsed_ms", millis(elapsed))
}
