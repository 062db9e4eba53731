package tws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tws-go/tws/runtime/checkpoint"
	"github.com/tws-go/tws/runtime/internal/engine"
	"github.com/tws-go/tws/runtime/stream"
)

// Run opens the pipeline, recovers it to where its checkpoint says, and runs it
// as its trigger says. When ctx is cancelled, every flow finishes the epoch it is
// in, within the grace period, and Run returns nil. When a flow fails, the others
// finish their epochs and Run returns the error.
func (p *Pipeline) Run(ctx context.Context) error {
	r, err := p.Open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(r.Run(ctx), r.Close())
}

// Open opens the checkpoint and every flow, and then recovers them: output of decided
// epochs is published, state is brought up to date. Close the runner when done.
func (p *Pipeline) Open(ctx context.Context) (*Runner, error) {
	flows, config, err := p.build()
	if err != nil {
		return nil, err
	}
	if p.options.Checkpoint == "" {
		return nil, &ConfigError{Key: "checkpoint", Reason: "a folder for the checkpoint is required"}
	}
	if p.options.Stores == nil {
		return nil, &ConfigError{Key: "stores", Reason: "a state store is required"}
	}
	c, err := checkpoint.Open(p.options.Checkpoint, checkpoint.Options{
		Fork: p.options.Fork, Log: p.options.Log, NoSync: p.options.NoSync,
	})
	if err != nil {
		return nil, err
	}
	r := &Runner{pipeline: p, checkpoint: c}
	if err := r.warnRenamed(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if err := r.open(ctx, flows, config); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open opens all flows, step by step. Sources and sinks are asked first, and tables
// come last, since opening one makes it: a mistake in the settings of any flow leaves
// no table behind. Only then is a flow recovered, and its sink made its own.
func (r *Runner) open(ctx context.Context, flows []*builtFlow, config engine.Config) error {
	var sinks, tables []*engine.Unit
	for i, f := range flows {
		u, err := engine.NewUnit(r.checkpoint, f.Flow, config)
		if err != nil {
			return err
		}
		r.units = append(r.units, unit{Unit: u, once: r.pipeline.flows[i].once, after: r.pipeline.writersOf(f)})
		if f.table {
			tables = append(tables, u)
		} else {
			sinks = append(sinks, u)
		}
	}
	for _, u := range r.units {
		if err := u.OpenSources(ctx); err != nil {
			return err
		}
	}
	for _, u := range append(sinks, tables...) {
		if err := u.OpenSink(ctx); err != nil {
			return err
		}
	}
	for _, u := range r.units {
		if err := u.Recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

// warnRenamed warns of a flow that is new while another has gone: a flow's name is
// its identity, so that a renamed one reads everything again.
func (r *Runner) warnRenamed() error {
	known, err := r.checkpoint.Flows()
	if err != nil {
		return err
	}
	var gone, fresh []string
	for _, name := range known {
		if !slices.ContainsFunc(r.pipeline.flows, func(f flowSpec) bool { return f.name == name }) {
			gone = append(gone, name)
		}
	}
	for _, f := range r.pipeline.flows {
		if !slices.Contains(known, f.name) {
			fresh = append(fresh, f.name)
		}
	}
	if len(gone) > 0 && len(fresh) > 0 {
		r.pipeline.options.Log.Warn("flows are new in this checkpoint while others have gone; one that was only renamed reads its input again and writes its rows again",
			"new", fresh, "gone", gone)
	}
	return nil
}

// build calls every flow function and checks all configuration.
func (p *Pipeline) build() ([]*builtFlow, engine.Config, error) {
	config, errs := p.conf.engineConf()
	errs = append(errs, p.errs...)
	var flows []*builtFlow
	for _, spec := range p.flows {
		f, err := spec.build()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		flows = append(flows, f)
	}
	if len(p.flows) == 0 {
		errs = append(errs, errors.New("tws: the pipeline has no flows: give a flow its //tws:flow directive, run go generate and call the generated Register; or call AppendFlow"))
	}
	if len(errs) == 0 {
		errs = p.conf.unread()
	}
	if len(errs) == 0 {
		errs = p.checkCircles(flows)
	}
	o := p.options
	if o.Trigger.byInterval && o.Trigger.interval <= 0 {
		errs = append(errs, &ConfigError{Key: "trigger", Reason: fmt.Sprintf("the interval must be longer than zero, got %s", o.Trigger.interval)})
	}
	if o.InDoubt != "" && o.InDoubt != stream.InDoubtRerun && o.InDoubt != stream.InDoubtCommitted {
		errs = append(errs, &ConfigError{Key: "in-doubt", Reason: fmt.Sprintf("want %s or %s, got %q", stream.InDoubtRerun, stream.InDoubtCommitted, o.InDoubt)})
	}
	config.InDoubt = o.InDoubt
	config.Stores, config.Clock, config.Log = o.Stores, o.Clock, o.Log
	config.MaxEpochs, config.OnEpoch, config.AtPoint = o.MaxEpochs, o.OnEpoch, o.AtPoint
	return flows, config, errors.Join(errs...)
}

// Runner is an open pipeline. It is used by one goroutine.
type Runner struct {
	pipeline   *Pipeline
	checkpoint *checkpoint.Checkpoint
	units      []unit
	// abandoned says that a callback still runs: nothing it uses may be closed.
	abandoned bool
}

// unit is an open flow.
type unit struct {
	*engine.Unit
	once bool
	// after are the numbers of the flows that write what this one reads.
	after []int
}

// Run runs all flows as the pipeline's trigger says; see [Pipeline.Run]. With
// [AvailableNow], a flow that reads a table begins when the flows that write the
// table have ended, so that one run carries rows all the way. It may be
// called again when it has returned nil; after an error the runner can only be
// closed.
func (r *Runner) Run(ctx context.Context) error {
	inOrder := !r.pipeline.options.Trigger.byInterval
	return r.each(ctx, inOrder, func(hard context.Context, stop <-chan struct{}, u unit) error {
		switch {
		case u.once:
			return u.RunOnce(hard, stop)
		case r.pipeline.options.Trigger.byInterval:
			return u.RunInterval(hard, stop, r.pipeline.options.Trigger.interval)
		default:
			return u.RunAvailable(hard, stop)
		}
	})
}

// Drain runs all flows until everything that is there has been read and all due
// timers have fired, whatever the trigger; flows that read tables begin as with
// [AvailableNow].
func (r *Runner) Drain(ctx context.Context) error {
	return r.each(ctx, true, func(hard context.Context, stop <-chan struct{}, u unit) error {
		if u.once {
			return u.RunOnce(hard, stop)
		}
		return u.RunAvailable(hard, stop)
	})
}

// each works on all flows at once. Cancelling ctx, or a flow that fails, asks the
// flows to stop after the epoch they are in; the context they work with ends only
// when the grace period has passed. inOrder says that a flow waits for those that
// write what it reads.
func (r *Runner) each(ctx context.Context, inOrder bool, do func(hard context.Context, stop <-chan struct{}, u unit) error) error {
	hard, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	group, soft := errgroup.WithContext(ctx)
	done := make(chan struct{})
	defer close(done)
	go r.graceful(soft, done, abort)
	ended := make([]chan struct{}, len(r.units))
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	for i, u := range r.units {
		group.Go(func() error {
			if inOrder && !u.await(ended, soft.Done()) {
				return nil
			}
			err := do(hard, soft.Done(), u)
			if err == nil {
				close(ended[i]) // after an error the others stop
			}
			return err
		})
	}
	finished := make(chan error, 1)
	go func() { finished <- group.Wait() }()
	select {
	case err := <-finished:
		if cause := context.Cause(hard); cause != nil && errors.Is(err, context.Canceled) {
			return cause
		}
		return err
	case <-r.stuck(hard, done):
		r.abandoned = true
		return fmt.Errorf("%w (a callback does not return; the process must end)", context.Cause(hard))
	}
}

// await waits until the flows have ended that write what this one reads. It returns
// false if the run is to stop.
func (u unit) await(ended []chan struct{}, stop <-chan struct{}) bool {
	for _, i := range u.after {
		select {
		case <-ended[i]:
		case <-stop:
		}
	}
	select {
	case <-stop:
		return len(u.after) == 0 // others are told by their unit
	default:
		return true
	}
}

// stuck returns a channel that receives when work goes on long after it was told
// to end: in a callback that does not return.
func (r *Runner) stuck(hard context.Context, done <-chan struct{}) <-chan struct{} {
	stuck := make(chan struct{})
	go func() {
		if r.outlasts(hard, done, min(time.Second, r.pipeline.options.Grace)) {
			close(stuck)
		}
	}()
	return stuck
}

// graceful aborts work that has been told to end and not done so in time.
func (r *Runner) graceful(soft context.Context, done <-chan struct{}, abort context.CancelCauseFunc) {
	if r.outlasts(soft, done, r.pipeline.options.Grace) {
		abort(fmt.Errorf("tws: an epoch did not finish within the grace period of %s; the next start settles it: it took effect as a whole, or it runs again", r.pipeline.options.Grace))
	}
}

// outlasts reports whether work is still not done when it has been told to end and
// wait has passed since. It returns when it knows.
func (r *Runner) outlasts(told context.Context, done <-chan struct{}, wait time.Duration) bool {
	select {
	case <-done:
		return false
	case <-told.Done():
	}
	select {
	case <-done:
		return false
	case <-r.pipeline.options.Clock.After(wait):
		return true
	}
}

// NextTimer returns the earliest instant at which a processing-time timer is due;
// ok is false if no such timer is set. Event-time timers wait for rows.
func (r *Runner) NextTimer() (at time.Time, ok bool, err error) {
	for _, u := range r.units {
		t, set, err := u.NextTimer()
		if err != nil {
			return time.Time{}, false, err
		}
		if set && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok, nil
}

// Close closes every flow and the checkpoint, unless a callback did not return in
// time: then only the end of the process does. State stays as the last decided
// epochs left it.
func (r *Runner) Close() error {
	if r.abandoned {
		return nil
	}
	var errs []error
	for _, u := range r.units {
		errs = append(errs, u.Close())
	}
	r.units = nil
	return errors.Join(append(errs, r.checkpoint.Close())...)
}
