package tws

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/internal/engine"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/stream"
)

// Options say how a pipeline runs. The zero value of a field means its default.
type Options struct {
	// Checkpoint is the folder of the checkpoint; it is created if it does not
	// exist. Required.
	Checkpoint string
	// Clock defaults to the machine's.
	Clock epoch.Clock
	// Clusters are the settings of the clusters that sources and sinks name; see
	// docs/reference/configuration.md. Package config reads them from a file.
	Clusters stream.Clusters
	// Conf is the configuration that flows read, by key. Keys that begin with
	// "tws." configure the engine; see docs/reference/configuration.md.
	Conf map[string]string
	// Fork gives an existing checkpoint an identity of its own: for a copy that
	// goes on as a pipeline of its own.
	Fork bool
	// Grace is how long a cancelled Run may take to finish the epochs it is in.
	// Defaults to 30 s.
	Grace time.Duration
	// InDoubt says how to go on when a sink that decides epochs itself, such as a
	// Kafka topic written exactly once, has lost its record of a flow: "rerun" runs
	// an epoch in doubt again, so that its rows may be there twice; "committed"
	// takes it as written, so that its rows may be missing. Without it such a flow
	// is refused, unless an earlier start that had it ended too soon. Use it for one
	// start only.
	InDoubt string
	// Log defaults to discarding. The library logs lifecycle, never rows.
	Log *slog.Logger
	// MaxEpochs ends a run after that many epochs of each flow. 0 means never.
	MaxEpochs int64
	// OnEpoch is called synchronously after every epoch, by several goroutines
	// if there are several flows; it must not block.
	OnEpoch func(epoch.Stats)
	// Stores opens the state stores. Required. Who made it closes it, after the
	// pipeline.
	Stores store.Engine
	// Tables opens the streaming tables; needed if a flow writes one.
	Tables TableStore
	// Trigger says when epochs run. Defaults to AvailableNow.
	Trigger Trigger

	// AtPoint is called at every point of the commit order; an error ends the run
	// as a crash would. For tests.
	AtPoint func(epoch.Point) error
	// NoSync skips waiting for the disk. For tests: a power failure may lose or
	// damage what a process crash does not.
	NoSync bool
	// ReplaceSource, if set, returns a Source of the row type to read instead of
	// the source of that name, or nil for a source without rows. A table that is
	// not declared to the pipeline has the name "". For tests.
	ReplaceSource func(name string, row reflect.Type) any
}

// writeNull hands a row of EmitNull to a writer that takes it.
func writeNull[T any](w stream.Writer[T], target string, lane int, key []byte, row *T) error {
	nulls, ok := w.(stream.NullWriter[T])
	if !ok {
		return fmt.Errorf("tws: EmitNull: %s has no keys that could lose their value: emit a row that says so instead", target)
	}
	return nulls.WriteNull(lane, key, row)
}

// Trigger says when the epochs of a flow run.
type Trigger struct {
	byInterval bool
	interval   time.Duration
}

// AvailableNow runs until everything that is there at the start has been read
// and all due timers have fired, then ends.
func AvailableNow() Trigger { return Trigger{} }

// ProcessingTime runs an epoch every interval, if there are new rows or due
// timers, until it is stopped. The interval must be longer than zero.
func ProcessingTime(interval time.Duration) Trigger {
	return Trigger{byInterval: true, interval: interval}
}

// Pipeline is a set of flows with their tables and sinks. Build it by one
// goroutine, then open or run it.
type Pipeline struct {
	options Options
	conf    *conf
	tables  map[any]TableOptions
	rows    map[reflect.Type]any
	flows   []flowSpec
	errs    []error
}

// flowSpec is a declared flow.
type flowSpec struct {
	name string
	once bool
	// target says what the flow writes, once all tables are declared.
	target func() string
	build  func() (*builtFlow, error)
	// writes is the target itself, by which a flow that reads it is found.
	writes any
}

// builtFlow is a flow as the engine runs it, with the tables it reads, and whether it
// writes one.
type builtFlow struct {
	*engine.Flow
	reads []any
	table bool
}

// NewPipeline returns a pipeline without flows. Generated code adds the flows of
// an annotated package:
//
//	p := tws.NewPipeline(options)
//	heartbeat.Register(p)
//	err := p.Run(ctx)
func NewPipeline(o Options) *Pipeline {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Clock == nil {
		o.Clock = epoch.SystemClock{}
	}
	return &Pipeline{
		options: o, conf: newConf(o.Conf),
		tables: map[any]TableOptions{}, rows: map[reflect.Type]any{},
	}
}

func (p *Pipeline) fail(err error) { p.errs = append(p.errs, err) }

// Conf returns a configuration value of the pipeline as a whole, for code that
// decides which flows there are or where they write; def if it is not set.
func (p *Pipeline) Conf(key, def string) string {
	if v, ok := p.conf.get(key); ok {
		return v
	}
	return def
}

// AppendFlow declares a flow: name is its identity in the checkpoint, fn builds
// it, its rows are appended to target. It may be called in a loop.
func AppendFlow[T any](p *Pipeline, target Target[T], name string, fn func(*Flow) Stream[T]) {
	addFlow(p, target, name, false, fn)
}

// AppendOnce declares a flow that reads what is there when it first runs and
// never again: a backfill. A run that is cut short is finished by the next.
func AppendOnce[T any](p *Pipeline, target Target[T], name string, fn func(*Flow) Bounded[T]) {
	addFlow(p, target, name, true, fn)
}

// AppendTestFlow declares a flow of either kind. For test harnesses.
func AppendTestFlow[T, B any](p *Pipeline, target Target[T], name string, fn func(*Flow) S[T, B]) {
	addFlow(p, target, name, false, fn)
}

func addFlow[T, B any](p *Pipeline, target Target[T], name string, once bool, fn func(*Flow) S[T, B]) {
	if !validName(name) {
		p.fail(fmt.Errorf("tws: flow name %q: use letters, digits, '-', '_' and '.' only", name))
	}
	if name == "tws" {
		p.fail(errors.New("tws: a flow cannot be called tws: configuration keys that begin with tws. are the engine's"))
	}
	for _, f := range p.flows {
		if f.name == name {
			p.fail(fmt.Errorf("tws: two flows are called %s", name))
		}
	}
	p.flows = append(p.flows, flowSpec{
		name: name, once: once,
		target: func() string { return target.targetName(p) },
		build:  func() (*builtFlow, error) { return buildFlow(p, target, name, fn) },
		writes: target,
	})
}

// Targets returns what each declared flow writes, by the flow's name: "table
// alerts", or the SinkName of a sink.
func (p *Pipeline) Targets() map[string]string {
	targets := map[string]string{}
	for _, f := range p.flows {
		targets[f.name] = f.target()
	}
	return targets
}

// callFlow calls a flow function and turns a panic of it into an error.
func callFlow[T, B any](f *Flow, fn func(*Flow) S[T, B]) (s S[T, B], err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("tws: flow %s: the flow function panicked: %v\n%s", f.name, r, debug.Stack())
		}
	}()
	return fn(f), nil
}

// buildFlow calls the flow function and connects its last stream to the target.
func buildFlow[T, B any](p *Pipeline, target Target[T], name string, fn func(*Flow) S[T, B]) (*builtFlow, error) {
	f := &Flow{name: name, pipeline: p}
	var writer stream.Writer[T]
	last, err := callFlow(f, fn)
	if err != nil {
		return nil, err
	}
	if last.node == nil {
		f.fail(errors.New("the flow function returns a stream that no call made"))
	}
	last.consume(func(lane int) push[T] {
		return func(row *T, meta *rowMeta) error {
			if meta.null {
				return writeNull(writer, target.targetName(p), lane, meta.key, row)
			}
			return writer.Write(lane, meta.key, row)
		}
	})
	built, err := f.build()
	if err != nil {
		return nil, err
	}
	built.Target = target.targetName(p)
	built.OpenSink = func(ctx context.Context, unit stream.Unit, log *slog.Logger) (stream.Committer, error) {
		w, err := target.openTarget(ctx, p, unit, log)
		writer = w
		return w, err
	}
	_, table := target.(*StreamingTable[T])
	return &builtFlow{Flow: built, reads: f.reads, table: table}, nil
}
