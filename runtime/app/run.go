package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/config"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/table"
)

// runOptions are the flags of run.
type runOptions struct {
	checkpoint string
	tables     string
	trigger    time.Duration // 0 for available-now
	store      string        // "" for the build's default
	config     string        // "" for the default, if there is one
	conf       map[string]string
	maxEpochs  int64
	fork       bool
	inDoubt    string
	grace      time.Duration
	log        logForm
	quiet      bool
}

// The folders that commands use unless told otherwise.
const (
	defaultCheckpoint = "./checkpoint"
	defaultTables     = "./tables"
)

// defaultConfig is the configuration file that is read if it exists.
const defaultConfig = "./tws.yaml"

func runCommand(register func(*tws.Pipeline)) *command {
	o := &runOptions{checkpoint: defaultCheckpoint, tables: defaultTables, conf: map[string]string{}, grace: 30 * time.Second}
	return &command{
		name:    "run",
		short:   "run the pipeline",
		about:   "Runs every flow of the pipeline from where its checkpoint says, and from the beginning of its input if there is no checkpoint yet.",
		options: o.options(),
		notes: []note{
			{title: "Stopping", lines: []noteLine{
				{"first signal", "SIGINT (Ctrl-C) or SIGTERM: every flow finishes the epoch it is in, then the process exits with code 0"},
				{"second signal", "exits at once. This is safe, as kill -9 is, at any time: an epoch that was cut off runs again at the next start, and no row is lost or doubled in a table, or in a topic that is written exactly once"},
			}},
			{title: "Clusters", lines: []noteLine{
				{"file", "clusters: {main: {brokers: [a:9092, b:9092], tls: {ca: ca.pem}, sasl: {mechanism: SCRAM-SHA-512, username: me, password: \"${PASSWORD}\"}}}. ${NAME} is a variable of the environment; file names are relative to the file's folder"},
				{"environment", "TWS_CLUSTERS_MAIN_BROKERS and TWS_CLUSTERS_MAIN_SASL_PASSWORD set brokers and sasl.password of main, without a file or before it"},
			}},
			exitCodeNote,
		},
		examples: []example{
			{"run", "read what is there, fire the timers that are due, end"},
			{"run --trigger 10s", "go on until stopped, with an epoch every 10 seconds"},
			{"run --conf patience=1m --conf tws.max-rows=10000", "configure the flows and the engine"},
			{"run --checkpoint /var/lib/NAME/checkpoint --tables /data/tables", "keep checkpoint and tables elsewhere"},
			{"run --config /etc/NAME/tws.yaml", "reach the clusters that this file describes"},
		},
		run: func(ctx context.Context, e *env, _ []string) error { return o.run(ctx, e, register) },
	}
}

func (o *runOptions) options() []option {
	return []option{
		{"checkpoint", "DIR", "the folder of the checkpoint: what has been read, the state and the timers. Created if absent (default " + defaultCheckpoint + ")", text(&o.checkpoint)},
		{"tables", "DIR", "the folder of the streaming tables, a folder each (default " + defaultTables + ")", text(&o.tables)},
		{"trigger", "WHEN", "available-now: read what is there and end; or a duration such as 10s: an epoch that often, until stopped (default available-now)", o.setTrigger},
		{"store", "rocks|mem", "where state is kept while running: on disk, or all of it in memory. Both are rebuilt from the checkpoint: either can go on until there is a snapshot, then the one that took it is needed (default rocks, or mem in a build without RocksDB)", text(&o.store)},
		{"config", "FILE", "the configuration file, with the clusters that sources and sinks name (default " + defaultConfig + " if there is one)", text(&o.config)},
		{"conf", "KEY=VALUE", "configuration for the flows, or for the engine if the key begins with tws. May be given many times; of two values for one key the last one counts", o.setConf},
		{"max-epochs", "N", "end after N epochs of each flow (default 0: no limit)", o.setMaxEpochs},
		{"fork", "", "give the checkpoint an identity of its own, so that a copy of a checkpoint goes on as a pipeline of its own. Give it once, on the first run of the copy", func(string) error { o.fork = true; return nil }},
		{"in-doubt", "rerun|committed", "how to go on when a Kafka topic written exactly once has lost its record of a flow: rerun runs an epoch in doubt again, so that its rows may be there twice; committed takes it as written, so that its rows may be missing. Give it once, when a start was refused", o.setInDoubt},
		{"grace", "DURATION", "how long epochs may take to finish after the first signal (default 30s)", o.setGrace},
		{"log", "FORM", "live: one line for each flow, rewritten in place; text or json: a log line for each epoch (default live on a terminal, else text)", o.setLog},
		{"quiet", "", "print warnings and errors only", func(string) error { o.quiet = true; return nil }},
	}
}

// text sets an option that takes any text but none.
func text(to *string) func(string) error {
	return func(value string) error {
		if value == "" {
			return errors.New("the value is empty")
		}
		*to = value
		return nil
	}
}

func (o *runOptions) setTrigger(value string) error {
	switch value {
	case "available-now":
		o.trigger = 0
		return nil
	case "realtime":
		return errors.New("the real-time trigger is not in this version; a short interval such as 100ms comes closest")
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return fmt.Errorf("want available-now or a duration such as 500ms, 10s or 5m, got %q", value)
	}
	o.trigger = d
	return nil
}

func (o *runOptions) setGrace(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return fmt.Errorf("want a duration such as 30s, got %q", value)
	}
	o.grace = d
	return nil
}

func (o *runOptions) setInDoubt(value string) error {
	if value != "rerun" && value != "committed" {
		return fmt.Errorf("want rerun or committed, got %q", value)
	}
	o.inDoubt = value
	return nil
}

func (o *runOptions) setMaxEpochs(value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("want a number of epochs, or 0 for no limit, got %q", value)
	}
	o.maxEpochs = n
	return nil
}

func (o *runOptions) setConf(value string) error {
	key, v, ok := strings.Cut(value, "=")
	if !ok || key == "" || strings.ContainsAny(key, " \t\n") {
		return fmt.Errorf("want KEY=VALUE, got %q", value)
	}
	o.conf[key] = v
	return nil
}

func (o *runOptions) setLog(value string) error {
	for _, f := range []logForm{logLive, logText, logJSON} {
		if value == string(f) {
			o.log = f
			return nil
		}
	}
	return fmt.Errorf("want live, text or json, got %q", value)
}

// loadConfig reads the configuration file and what the environment adds to it.
func (o *runOptions) loadConfig(e *env) (config.Config, error) {
	file := o.config
	if file == "" {
		if _, err := os.Stat(defaultConfig); err == nil {
			file = defaultConfig
		}
	}
	return config.Load(file, e.environ())
}

// run runs the pipeline from open to close.
func (o *runOptions) run(ctx context.Context, e *env, register func(*tws.Pipeline)) error {
	kind, err := e.storeNamed(o.store)
	if err != nil {
		return err
	}
	clusters, err := o.loadConfig(e)
	if err != nil {
		return err
	}
	r, err := newReport(e, o)
	if err != nil {
		return err
	}
	stores, err := kind.open()
	if err != nil {
		return fmt.Errorf("open the %s store: %w", kind.name, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	release := e.stopBySignal(stop, r)
	err = errors.Join(o.runPipeline(ctx, r, register, stores, clusters.Clusters), stores.Close())
	err = placed(clusters, err)
	release()
	r.end(ctx, err)
	return err
}

func (o *runOptions) runPipeline(ctx context.Context, r *report, register func(*tws.Pipeline), stores store.Engine, clusters stream.Clusters) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	p := tws.NewPipeline(o.pipeline(r, stores, clusters))
	register(p)
	runner, err := p.Open(ctx)
	if err != nil {
		if interrupted(ctx, err) {
			return nil // a pipeline that has not begun is stopped cleanly
		}
		return err
	}
	r.start(stores.Name(), p.Targets())
	err = runner.Run(ctx)
	return errors.Join(err, runner.Close())
}

// pipeline returns the pipeline's options.
func (o *runOptions) pipeline(r *report, stores store.Engine, clusters stream.Clusters) tws.Options {
	clock := r.env.clock
	options := tws.Options{
		Checkpoint: o.checkpoint, Clock: clock, Clusters: clusters, Conf: o.conf, Fork: o.fork, InDoubt: o.inDoubt, Grace: o.grace,
		Log: r.log, MaxEpochs: o.maxEpochs, OnEpoch: r.epoch, Stores: stores,
		Tables: table.NewStore(o.tables, table.Options{Log: r.log, Now: clock.Now}),
	}
	if o.trigger > 0 {
		options.Trigger = tws.ProcessingTime(o.trigger)
	}
	return options
}

// interrupted reports whether err is nothing but the end of ctx.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled) && exitCode(err) == exitFailed && len(messages(err)) == 1
}
