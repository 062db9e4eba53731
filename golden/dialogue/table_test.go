package dialogue_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/golden/dialogue"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store/mem"
	"github.com/tws-go/tws/runtime/stream/memory"
	"github.com/tws-go/tws/runtime/table"
	"github.com/tws-go/tws/runtime/twstest"
)

// relay is two flows: one sends commands to a script and its results to a table, the
// other reads the table and counts the results of each key.
type relay struct {
	t       *testing.T
	rows    memory.Rows[dialogue.Command]
	sink    memory.Sink[dialogue.Result]
	results tws.StreamingTable[dialogue.Result]
	tables  string
	options tws.Options
}

func newRelay(t *testing.T) *relay {
	r := &relay{t: t, tables: t.TempDir()}
	r.options = tws.Options{
		Checkpoint: t.TempDir(), Clock: twstest.NewClock(time.Unix(0, 0).UTC()), Stores: mem.New(), NoSync: true,
		Conf: map[string]string{"tws.partitions": "2", "tws.max-rows": "5"},
	}
	return r
}

func (r *relay) pipeline() *tws.Pipeline {
	r.options.Tables = table.NewStore(r.tables, table.Options{NoSync: true, Now: r.options.Clock.Now})
	p := tws.NewPipeline(r.options)
	tws.AddTable(p, &r.results, tws.TableOptions{Name: "results"})
	count := func(f *tws.Flow) tws.Stream[dialogue.Result] {
		commands := tws.Map(tws.ReadStream(f, &r.results), func(r dialogue.Result) dialogue.Command {
			return dialogue.Command{Key: r.Key, Do: "count add 1"}
		})
		return tws.TransformWithState(tws.GroupBy(commands, func(c dialogue.Command) string { return c.Key }),
			func() *dialogue.Script { return new(dialogue.Script) })
	}
	// The reader comes first: the order of declaration is not that of the flows.
	tws.AppendFlow(p, tws.NewSink(&r.sink), "second", count)
	tws.AppendFlow(p, &r.results, "first", dialogue.Flow(&r.rows))
	return p
}

// send lets n commands for each of a few keys arrive.
func (r *relay) send(n int) {
	for i := range n {
		for _, key := range []string{"a", "b", "c"} {
			r.rows.Append(dialogue.Command{Key: key, Do: fmt.Sprintf("count add %d", i)})
		}
	}
}

func (r *relay) run() error { return r.pipeline().Run(context.Background()) }

// counted returns what the second flow made, by key.
func (r *relay) counted() string {
	byKey := map[string][]string{}
	for _, out := range r.sink.Rows() {
		byKey[out.Row.Key] = append(byKey[out.Row.Key], out.Row.Text)
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		fmt.Fprintf(&b, "%s: %s\n", key, strings.Join(byKey[key], ", "))
	}
	return b.String()
}

// want fails unless every result of n commands for each key was counted once.
func (r *relay) want(n int) {
	r.t.Helper()
	var b strings.Builder
	for _, key := range []string{"a", "b", "c"} {
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprintf("count add 1 = %d", i+1))
		}
		fmt.Fprintf(&b, "%s: %s\n", key, strings.Join(texts, ", "))
	}
	if diff := cmp.Diff(b.String(), r.counted()); diff != "" {
		r.t.Fatalf("the second flow (-want +got):\n%s", diff)
	}
}

// One run that takes what is there carries rows through both flows, in as many
// epochs as limits ask for, and the next goes on behind them.
func TestTableBetweenFlows(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	for n := 1; n <= 3; n++ {
		r.send(4)
		if err := r.run(); err != nil {
			t.Fatal(err)
		}
		r.want(4 * n)
	}
}

// With an interval both flows run at once, until they are stopped.
func TestTableBetweenFlowsByInterval(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	r.options.Clock = epoch.SystemClock{}
	r.options.Trigger = tws.ProcessingTime(time.Millisecond)
	r.send(4)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	r.options.OnEpoch = func(epoch.Stats) {
		if len(r.sink.Rows()) >= 12 {
			stop()
		}
	}
	if err := r.pipeline().Run(ctx); err != nil {
		t.Fatal(err)
	}
	r.want(4)
}

// A crash of the pipeline at any point of either flow loses and doubles nothing on
// the way through the table.
func TestTableBetweenFlowsCrashes(t *testing.T) {
	t.Parallel()
	errCrash := errors.New("crash")
	// crash runs a relay that stops at the nth visit of a point, and says whether
	// it came to it.
	crash := func(t *testing.T, point epoch.Point, n int) bool {
		var mu sync.Mutex
		r, crashed := newRelay(t), false
		r.options.AtPoint = func(p epoch.Point) error {
			mu.Lock()
			defer mu.Unlock()
			if p == point {
				n--
			}
			if crashed = crashed || n == 0; crashed {
				return errCrash
			}
			return nil
		}
		r.send(4)
		if err := r.run(); crashed != errors.Is(err, errCrash) {
			t.Fatalf("crashed %v, error %v", crashed, err)
		}
		r.options.AtPoint = nil
		r.send(4)
		for range 3 { // the first finishes what was cut short
			if err := r.run(); err != nil {
				t.Fatal(err)
			}
		}
		r.want(8)
		return crashed
	}
	visited := 0
	for _, point := range epoch.Points() {
		for _, n := range []int{1, 4} {
			if crash(t, point, n) {
				visited++
			}
		}
	}
	if visited < 20 {
		t.Errorf("only %d crashes happened", visited)
	}
}

// Flows that feed each other are refused with their names, before anything runs.
func TestTablesInACircle(t *testing.T) {
	t.Parallel()
	var a, b tws.StreamingTable[dialogue.Result]
	read := func(from *tws.StreamingTable[dialogue.Result]) func(*tws.Flow) tws.Stream[dialogue.Result] {
		return func(f *tws.Flow) tws.Stream[dialogue.Result] { return tws.ReadStream(f, from) }
	}
	for name, flows := range map[string]func(*tws.Pipeline){
		"itself reads from itself": func(p *tws.Pipeline) { tws.AppendFlow(p, &a, "itself", read(&a)) },
		"ab reads from ba reads from ab": func(p *tws.Pipeline) {
			tws.AppendFlow(p, &b, "ab", read(&a))
			tws.AppendFlow(p, &a, "ba", read(&b))
		},
	} {
		r := newRelay(t)
		p := tws.NewPipeline(r.options)
		tws.AddTable(p, &a, tws.TableOptions{Name: "a"})
		tws.AddTable(p, &b, tws.TableOptions{Name: "b"})
		flows(p)
		err := p.Run(context.Background())
		if err == nil || !strings.Contains(err.Error(), "in a circle: "+name+":") {
			t.Errorf("want %q: %v", name, err)
		}
	}
}

// A table that the pipeline does not know, and a pipeline without a folder for
// tables, say what to do.
func TestTableReadsRefused(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	p := tws.NewPipeline(r.options)
	copyOf := func(f *tws.Flow) tws.Stream[dialogue.Result] { return tws.ReadStream(f, &r.results) }
	tws.AppendFlow(p, tws.NewSink(&r.sink), "copy", copyOf)
	if err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "flow copy: the flow reads a StreamingTable[dialogue.Result] that the pipeline does not know") {
		t.Errorf("an unknown table: %v", err)
	}
	tws.AddTable(p, &r.results, tws.TableOptions{Name: "results"})
	if err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "source results: tws: the pipeline has no table folder") {
		t.Errorf("no folder: %v", err)
	}
}

// A flow under test takes the rows of a table like those of any source, by type and
// by name, and without a folder for tables.
func TestTableUnderTest(t *testing.T) {
	t.Parallel()
	var results, others tws.StreamingTable[dialogue.Result]
	register := func(p *tws.Pipeline) {
		tws.AddTable(p, &results, tws.TableOptions{Name: "results"})
		tws.AddTable(p, &others, tws.TableOptions{Name: "others"})
	}
	one := func(f *tws.Flow) tws.Stream[dialogue.Result] { return tws.ReadStream(f, &results) }
	x, y := dialogue.Result{Key: "k", Text: "x"}, dialogue.Result{Key: "k", Text: "y"}
	twstest.Run(t, one, twstest.Rows(x), twstest.Restart(), twstest.Rows(y)).Want(x, y)
	twstest.Run(t, one, twstest.RowsTo("results", x)).Want(x)
	twstest.Run(t, one, twstest.Tables(register), twstest.RowsTo("results", y)).Want(y)
	two := func(f *tws.Flow) tws.Stream[dialogue.Result] {
		mine := tws.GroupBy(tws.Map(tws.ReadStream(f, &others), func(r dialogue.Result) dialogue.Command {
			return dialogue.Command{Key: r.Key, Do: r.Text}
		}), func(c dialogue.Command) string { return c.Key })
		return tws.TransformWithState(mine, func() *dialogue.Script { return new(dialogue.Script) })
	}
	twstest.Run(t, two, twstest.Tables(register), twstest.RowsTo("others", dialogue.Result{Key: "k", Text: "count add 2"})).
		Want(dialogue.Result{Key: "k", Text: "count add 2 = 2"})
}
