// Package crash stops the heartbeat pipeline at every point of the commit order,
// and kills it at random moments, and demands that nothing is lost or doubled.
package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tws-go/tws/examples/heartbeat"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/file"
	"github.com/tws-go/tws/runtime/table"
)

const (
	epochs   = 24 // input files, each an epoch of its own
	sensors  = 40
	patience = 2 * time.Minute
	step     = 30 * time.Second // how far each file moves the clock
	flowName = "silentSensors"
)

var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// layout is where one run keeps its things.
type layout struct{ dir string }

func (l layout) input() string      { return filepath.Join(l.dir, "sensors") }
func (l layout) checkpoint() string { return filepath.Join(l.dir, "checkpoint") }
func (l layout) tables() string     { return filepath.Join(l.dir, "tables") }

// writeInput writes the files. Sensor s reports in file f unless it is in one of
// its silences, so that alarms are set, put off and raised all along.
func (l layout) writeInput(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(l.input(), 0o755); err != nil {
		t.Fatal(err)
	}
	for f := range epochs {
		var lines []byte
		for s := range sensors {
			if (f+s)%11 < 6 && s%5 != 0 {
				continue
			}
			for v := range 1 + (f+s)%3 {
				lines = fmt.Appendf(lines, `{"sensor_id":%d,"sensor_type":"type-%d","sensor_value":%d}`+"\n", s, s%4, f*10+v)
			}
		}
		name := filepath.Join(l.input(), fmt.Sprintf("%03d.jsonl", f))
		if err := os.WriteFile(name, lines, 0o644); err != nil {
			t.Fatal(err)
		}
		at := start.Add(time.Duration(f) * time.Second) // settled long ago
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
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

// run runs the pipeline over everything that is there.
func run(l layout, stores store.Engine, atPoint func(tws.Point) error, conf map[string]string) error {
	clock := new(inputClock)
	p := tws.NewPipeline(tws.Options{
		Checkpoint: l.checkpoint(),
		Stores:     stores,
		Tables:     table.NewStore(l.tables(), table.Options{Now: clock.Now, NoSync: true}),
		Clock:      clock,
		Conf:       conf,
		NoSync:     true,
		AtPoint:    atPoint,
	})
	tws.AddTable(p, &heartbeat.SensorAlerts, tws.TableOptions{Name: "sensorAlerts"})
	tws.AppendFlow(p, &heartbeat.SensorAlerts, flowName, func(f *tws.Flow) tws.Stream[heartbeat.Alert] {
		readings := tws.ReadStream(f, clockedSource{
			JSON: file.JSON[heartbeat.Reading]{Name: "sensors", Path: l.input(), MaxFiles: 1}, clock: clock,
		})
		return tws.TransformWithState(
			tws.GroupBy(readings, func(r heartbeat.Reading) int64 { return r.SensorID }),
			func() *heartbeat.Heartbeat { return &heartbeat.Heartbeat{Patience: patience} },
		)
	})
	return p.Run(context.Background())
}
