// Package pipeline is the heartbeat pipeline as the crash tests run it, in their
// own process or as a program that they kill: over input they write, one file an
// epoch, on a clock that the input drives.
package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/tws-go/tws/examples/heartbeat"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/file"
	"github.com/tws-go/tws/runtime/table"
)

const (
	// Files is how many input files there are, each an epoch of its own.
	Files = 24
	// Flow is the name of the flow.
	Flow = "silentSensors"

	sensors  = 40
	patience = 2 * time.Minute
	step     = 30 * time.Second // how far each file moves the clock
)

var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Layout is where one run keeps its things.
type Layout struct{ Dir string }

// Input is the folder of the input files.
func (l Layout) Input() string { return filepath.Join(l.Dir, "sensors") }

// Checkpoint is the folder of the checkpoint.
func (l Layout) Checkpoint() string { return filepath.Join(l.Dir, "checkpoint") }

// Tables is the folder of the tables.
func (l Layout) Tables() string { return filepath.Join(l.Dir, "tables") }

// WriteInput writes the files from one number to another. Sensor s reports in file
// f unless it is in one of its silences, so that alarms are set, put off and raised
// all along.
func (l Layout) WriteInput(from, to int) error {
	if err := os.MkdirAll(l.Input(), 0o755); err != nil {
		return err
	}
	for f := from; f < to; f++ {
		name := filepath.Join(l.Input(), fmt.Sprintf("%03d.jsonl", f))
		if err := os.WriteFile(name+".tmp", lines(f), 0o644); err != nil {
			return err
		}
		at := start.Add(time.Duration(f) * time.Second) // settled long ago
		if err := os.Chtimes(name+".tmp", at, at); err != nil {
			return err
		}
		if err := os.Rename(name+".tmp", name); err != nil {
			return err
		}
	}
	return nil
}

func lines(f int) []byte {
	var b []byte
	for s := range sensors {
		if (f+s)%11 < 6 && s%5 != 0 {
			continue
		}
		for v := range 1 + (f+s)%3 {
			b = fmt.Appendf(b, `{"sensor_id":%d,"sensor_type":"type-%d","sensor_value":%d}`+"\n", s, s%4, f*10+v)
		}
	}
	return b
}

// inputClock is a clock that the input drives: it shows the time of the file that
// the next epoch reads to. The engine journals it with the plan.
type inputClock struct{ file atomic.Int64 }

func (c *inputClock) Now() time.Time {
	return start.Add(time.Hour + time.Duration(c.file.Load())*step)
}

func (c *inputClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// clockedSource reads one file an epoch and moves the clock with it.
type clockedSource struct {
	file.JSON[heartbeat.Reading]
	clock *inputClock
}

func (s clockedSource) Open(ctx context.Context, env stream.SourceEnv[heartbeat.Reading]) (stream.Reader[heartbeat.Reading], error) {
	r, err := s.JSON.Open(ctx, env)
	return &clockedReader{Reader: r, clock: s.clock}, err
}

type clockedReader struct {
	stream.Reader[heartbeat.Reading]
	clock *inputClock
}

func (r *clockedReader) Cut(ctx context.Context, from, end stream.Position, limits stream.Limits) (stream.Position, error) {
	to, err := r.Reader.Cut(ctx, from, end, limits)
	if err != nil {
		return nil, err
	}
	n, err := filesReached(to)
	r.clock.file.Store(n)
	return to, err
}

// filesReached is the number of files that a position has touched.
func filesReached(p stream.Position) (int64, error) {
	var at struct {
		Next int64            `json:"next"`
		Open map[string]int64 `json:"open"`
	}
	if len(p) == 0 {
		return 0, nil
	}
	err := json.Unmarshal(p, &at)
	return at.Next, err
}

// Options say how a run goes.
type Options struct {
	Stores  store.Engine
	AtPoint func(epoch.Point) error
	Conf    map[string]string
	NoSync  bool
}

// Run runs the pipeline over everything that is there.
func Run(l Layout, o Options) error {
	clock := new(inputClock)
	p := tws.NewPipeline(tws.Options{
		Checkpoint: l.Checkpoint(),
		Stores:     o.Stores,
		Tables:     table.NewStore(l.Tables(), table.Options{Now: clock.Now, NoSync: o.NoSync}),
		Clock:      clock,
		Conf:       o.Conf,
		NoSync:     o.NoSync,
		AtPoint:    o.AtPoint,
	})
	tws.AddTable(p, &heartbeat.SensorAlerts, tws.TableOptions{Name: "sensorAlerts"})
	tws.AppendFlow(p, &heartbeat.SensorAlerts, Flow, func(f *tws.Flow) tws.Stream[heartbeat.Alert] {
		readings := tws.ReadStream(f, clockedSource{
			JSON: file.JSON[heartbeat.Reading]{Name: "sensors", Path: l.Input(), MaxFiles: 1}, clock: clock,
		})
		return tws.TransformWithState(
			tws.GroupBy(readings, func(r heartbeat.Reading) int64 { return r.SensorID }),
			func() *heartbeat.Heartbeat { return &heartbeat.Heartbeat{Patience: patience} },
		)
	})
	return p.Run(context.Background())
}

// Small makes snapshots and retention happen in every run.
func Small() map[string]string {
	return map[string]string{"tws.retain-epochs": "4", "tws.snapshot-epochs": "6", "tws.partitions": "2"}
}

// newMem makes a memory store engine.
func newMem() (store.Engine, error) { return mem.New(), nil }
