package tws

import (
	"context"
	"iter"
	"time"
)

// Processor is embedded in every processor type. Its type arguments say what the
// processor works on: the grouping key, the input row, the output row; its tag
// says how:
//
//	tws.Processor[int64, Reading, Alert] `tws:"heartbeat,time=processing,output=update"`
//
// It carries the defaults of the optional callbacks, and a BindTWS that fails
// until tws-gen has generated the processor's own.
type Processor[K, In, Out any] struct{}

// BindTWS stands in for the generated method; see [Binding].
func (*Processor[K, In, Out]) BindTWS(*Binder) Binding[K, In, Out] {
	return Binding[K, In, Out]{}
}

// HandleExpiredTimer does nothing.
func (*Processor[K, In, Out]) HandleExpiredTimer(*TimerContext, K, ExpiredTimer, Emitter[Out]) error {
	return nil
}

// Close does nothing.
func (*Processor[K, In, Out]) Close() error { return nil }

// StatefulProcessor is what a processor type implements: HandleInputRows and,
// when it uses timers, HandleExpiredTimer. The rest comes with the embedded
// [Processor] and from tws-gen.
//
// There is one instance of the processor for each state partition; an instance
// is used by one goroutine at a time. A callback's error fails the epoch as a
// whole: none of its output and none of its changes take effect.
type StatefulProcessor[K, In, Out any] interface {
	// HandleInputRows is called once in an epoch for each key that has rows,
	// with all of them, in the order of the source. rows can be ranged over once
	// and need not be drained.
	HandleInputRows(ctx *InputContext, key K, rows iter.Seq[In], out Emitter[Out]) error
	// HandleExpiredTimer is called once for each timer that has come due, in the
	// order of time, after all input of the epoch. The timer has been removed
	// before, so setting it again inside survives.
	HandleExpiredTimer(ctx *TimerContext, key K, t ExpiredTimer, out Emitter[Out]) error
	// Close is called once when a run ends.
	Close() error
	// BindTWS is generated.
	BindTWS(b *Binder) Binding[K, In, Out]
}

// Emitter takes the output rows of a callback.
type Emitter[Out any] interface {
	// Emit adds a row to the output of the epoch. The row must not share slices
	// or pointers with what the processor changes later in the same callback.
	// An error fails the epoch, whatever the callback returns.
	Emit(row Out) error
	// EmitNull says that the key of row has no value any more: a sink that has
	// keys, such as a Kafka topic, writes a tombstone. Of the row only what makes
	// up the sink's key counts. A processor with output=append, a table, and a
	// sink without keys refuse it.
	EmitNull(row Out) error
}

// ExpiredTimer is a timer that has come due.
type ExpiredTimer struct {
	at   time.Time
	name string
}

// Time returns the instant that the timer was set to, not the one it fires at.
func (t ExpiredTimer) Time() time.Time { return t.at }

// Name returns the name of a named timer, "" for a raw one.
func (t ExpiredTimer) Name() string { return t.name }

// InputContext is what HandleInputRows knows of its call, and where it reaches
// raw timers.
type InputContext struct{ callContext }

// TimerContext is what HandleExpiredTimer knows of its call, and where it
// reaches raw timers.
type TimerContext struct{ callContext }

// callContext is the part that all callbacks have in common. It lives as long as
// a callback.
type callContext struct {
	session session
	timers  bool // the time mode has timers
	run     func() context.Context
}

// Context returns the run's context, for calls that can be cancelled.
func (c *callContext) Context() context.Context { return c.run() }

// ProcessingTime returns the epoch's processing time: the same for every call in
// an epoch, and the same again when the epoch is retried. It never goes back.
func (c *callContext) ProcessingTime() time.Time {
	return time.UnixMicro(c.session.NowMicros()).UTC()
}

// RegisterTimer registers a raw timer of the key for an instant, rounded up to a
// microsecond, of processing time or, with time=event, of event time. A key may
// have any number of raw timers; registering one again changes nothing. A timer
// that is due already fires after the input of this epoch, or, when registered from
// a timer callback, in the next epoch.
func (c *callContext) RegisterTimer(at time.Time) error {
	micros, err := c.instant("register_timer", at)
	if err != nil {
		return err
	}
	return c.session.RegisterTimer(micros)
}

// DeleteTimer removes a raw timer of the key, if it exists.
func (c *callContext) DeleteTimer(at time.Time) error {
	micros, err := c.instant("delete_timer", at)
	if err != nil {
		return err
	}
	return c.session.DeleteTimer(micros)
}

// ListTimers returns the instants of the key's raw timers in ascending order.
func (c *callContext) ListTimers() ([]time.Time, error) {
	if !c.timers {
		return nil, &TimeModeError{Operation: "list_timers"}
	}
	micros, err := c.session.RawTimers()
	if err != nil {
		return nil, err
	}
	all := make([]time.Time, len(micros))
	for i, m := range micros {
		all[i] = time.UnixMicro(m).UTC()
	}
	return all, nil
}

func (c *callContext) instant(operation string, at time.Time) (int64, error) {
	if !c.timers {
		return 0, &TimeModeError{Operation: operation}
	}
	return instantMicros(at)
}
