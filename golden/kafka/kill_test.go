//go:build kafka_broker

package kafka_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/golden/kafka/internal/pipeline"
	"github.com/tws-go/tws/runtime/table"
)

const (
	kills        = 30
	killReadings = 200_000
	killSensors  = 500
	// interval is how often epochs run.
	interval = 50 * time.Millisecond
	// Of what is produced while a process lives, a piece comes at each tick.
	piece = 100
	tick  = 20 * time.Millisecond
	// longestLife is how long a process may work before it is killed, or, one of
	// three, how long it lives at all.
	longestLife = 1500 * time.Millisecond
	// transactionTimeout is longer than the broker is down on a slow machine. One that
	// finds, while it starts, that a transaction is over its timeout may forget to
	// end it (docs/internals/kafka.md).
	transactionTimeout = 2 * time.Minute
	// longestStart is how long to wait for its first epoch; the broker may be down.
	longestStart = 45 * time.Second
)

// brokerCommands are what happens to the broker, each while one of the processes
// lives, and the next, if it takes long.
var brokerCommands = map[int][]string{4: {"restart"}, 10: {"kill", "start"}, 16: {"restart"}, 22: {"kill", "start"}, 27: {"restart"}}

// A process that is killed again and again, while the input comes and the broker
// is restarted and killed itself, comes to the rows that one comes to that runs
// undisturbed: in topics and in a table, each exactly once. B-37, B-71, B-84, B-86
func TestBrokerKilledWithRestarts(t *testing.T) {
	s := newSiege(t)
	readings := pipeline.Input(killSensors, 0, killReadings)
	produced, restarted := make(chan struct{}), make(chan struct{})
	close(produced)
	close(restarted)
	for n := range kills {
		produced = after(produced, func() { s.trickle(t, readings[n*killReadings/kills:(n+1)*killReadings/kills]) })
		if commands := brokerCommands[n]; commands != nil {
			restarted = after(restarted, func() { s.command(t, commands) })
		}
		s.kill(t, n%3 > 0, time.Duration(s.random.Int64N(int64(longestLife))))
	}
	<-produced
	<-restarted
	t.Logf("%d kills, of which %d came after an epoch; %d epochs; %d were in doubt, of which %d were committed",
		kills, s.worked, s.epochs, s.doubts, s.committed)
	if s.worked < kills/3 || s.doubts == 0 {
		t.Error("the kills hit too little: let the processes live longer")
	}
	for range 2 { // the first reads the rest of the readings, the second what that put into the table
		s.finish(t)
	}
	s.check(t, readings)
}

// after calls do when a channel is closed, and closes the one it returns.
func after(earlier <-chan struct{}, do func()) chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-earlier
		do()
	}()
	return done
}

// siege is a pipeline that is killed.
type siege struct {
	*cluster
	binary, folder string
	topics         pipeline.Topics
	random         *rand.Rand

	worked            int // processes that came to the end of an epoch
	epochs            int
	doubts, committed int
}

func newSiege(t *testing.T) *siege {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &siege{cluster: broker(t), folder: t.TempDir(), binary: filepath.Join(t.TempDir(), "pipeline"), random: rand.New(rand.NewPCG(seed, 0))}
	if out, err := exec.Command("go", "build", "-o", s.binary, "./cmd/pipeline").CombinedOutput(); err != nil {
		t.Fatalf("build the pipeline: %v\n%s", err, out)
	}
	s.topics = pipeline.Topics{
		Brokers: s.brokers, Timeout: transactionTimeout,
		Sensors: s.create(t, "sensors", 3, nil), Counts: s.create(t, "counts", 3, nil),
		Alerts: s.create(t, "alerts", 3, nil), Journal: s.create(t, "journal", 4, compact()),
	}
	return s
}

// trickle produces readings piece by piece.
func (s *siege) trickle(t *testing.T, readings []pipeline.Reading) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for p := range slices.Chunk(readings, piece) {
		s.produce(t, s.topics.Sensors, p)
		<-ticker.C
	}
}

func (s *siege) start(ctx context.Context, interval time.Duration) (*exec.Cmd, *watched) {
	cmd := exec.CommandContext(ctx, s.binary, "-folder", s.folder, "-interval", interval.String(), "-timeout", s.topics.Timeout.String(),
		"-brokers", s.topics.Brokers, "-sensors", s.topics.Sensors, "-counts", s.topics.Counts, "-alerts", s.topics.Alerts, "-journal", s.topics.Journal)
	log := &watched{worked: make(chan struct{})}
	cmd.Stderr = log
	return cmd, log
}

// watched is what a process logs. Its channel is closed after the first epoch.
type watched struct {
	logged
	once   sync.Once
	worked chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(pipeline.EpochLine)) {
		w.once.Do(func() { close(w.worked) })
	}
	return w.logged.Write(p)
}

// kill starts the pipeline and kills it after a while: since its first epoch, or
// since its start. It must not end by itself.
func (s *siege) kill(t *testing.T, working bool, after time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd, log := s.start(ctx, interval)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer cancel()
		if working {
			select {
			case <-log.worked:
			case <-time.After(longestStart):
			}
		}
		<-time.After(after)
	}()
	err := cmd.Wait()
	if cmd.ProcessState.Exited() {
		t.Fatalf("the pipeline ended by itself: %v\n%s", err, log)
	}
	s.note(t, log.String())
}

// note counts what a process came to, and looks for what no process may say.
func (s *siege) note(t *testing.T, log string) {
	t.Helper()
	epochs := strings.Count(log, pipeline.EpochLine)
	s.epochs += epochs
	if epochs > 0 {
		s.worked++
	}
	s.doubts += strings.Count(log, "that the epoch in doubt is")
	s.committed += strings.Count(log, "that the epoch in doubt is committed")
	for _, word := range []string{"level=ERROR", "corrupt", "damaged", "panic"} {
		if strings.Contains(log, word) {
			t.Errorf("a process said %q:\n%s", word, log)
		}
	}
}

// finish lets the pipeline read what is there.
func (s *siege) finish(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*transactionTimeout)
	defer cancel()
	cmd, log := s.start(ctx, 0)
	if err := cmd.Run(); err != nil {
		t.Fatalf("the last run: %v\n%s", err, log)
	}
	s.note(t, log.String())
}

// command does something to the broker.
func (s *siege) command(t *testing.T, commands []string) {
	script := os.Getenv("TWS_KAFKA_SCRIPT")
	for _, c := range commands {
		if out, err := exec.Command(script, c).CombinedOutput(); err != nil {
			t.Errorf("%s %s: %v\n%s", script, c, err, out)
		}
	}
}

// check compares topics and table with what must be there.
func (s *siege) check(t *testing.T, readings []pipeline.Reading) {
	t.Helper()
	until(t, "every transaction has ended", func() error { return s.undecided(t, s.topics.Counts, s.topics.Alerts) })
	counts := decode[pipeline.Count](t, s.read(t, s.topics.Counts, kgo.ReadCommitted()))
	equal(t, "the topic of counts", countsBySensor(readings), counts)
	want := bySensor(pipeline.Alerts(readings), func(a pipeline.Alert) string { return a.Sensor })
	equal(t, "the table of alerts", want, sorted(s.table(t)))
	alerts := decode[pipeline.Alert](t, s.read(t, s.topics.Alerts, kgo.ReadCommitted()))
	equal(t, "the topic of alerts", want, sorted(alerts))
}

// equal reports the first sensors whose rows differ.
func equal[T any](t *testing.T, where string, want, got map[string][]T) {
	t.Helper()
	if d := diff.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); d != "" {
		t.Errorf("%s: the sensors differ (-want +got):\n%s", where, d)
	}
	rows, shown := 0, 0
	for sensor, w := range want {
		rows += len(w)
		if d := diff.Diff(w, got[sensor]); d != "" && shown < 5 {
			t.Errorf("%s: %s differs (-want +got):\n%s", where, sensor, d)
			shown++
		}
	}
	t.Logf("%s: %d rows", where, rows)
}

// table returns the alerts of the table.
func (s *siege) table(t *testing.T) map[string][]pipeline.Alert {
	t.Helper()
	rows := map[string][]pipeline.Alert{}
	err := table.ReadRows(t.Context(), filepath.Join(s.folder, "tables", pipeline.Table), func(row []byte) error {
		var a pipeline.Alert
		if err := json.Unmarshal(row, &a); err != nil {
			return err
		}
		rows[a.Sensor] = append(rows[a.Sensor], a)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// sorted puts alerts in the order of their numbers: rows of a table have none.
func sorted(alerts map[string][]pipeline.Alert) map[string][]pipeline.Alert {
	for _, rows := range alerts {
		slices.SortFunc(rows, func(a, b pipeline.Alert) int { return cmp.Compare(a.Number, b.Number) })
	}
	return alerts
}
