package dialogue_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/golden/dialogue"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/stream/memory"
	"github.com/tws-go/tws/runtime/twstest"
)

// newStore makes the engine of a state store.
type newStore func(t testing.TB) store.Engine

// setting is how a dialogue is run. No setting may change an answer.
type setting struct {
	store      string
	partitions int
	restarts   bool // the pipeline is restarted all the time
}

func (s setting) String() string {
	return fmt.Sprintf("%s-%d-restarts=%v", s.store, s.partitions, s.restarts)
}

// settings are all of them, the simplest first.
func settings() []setting {
	var all []setting
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		for _, partitions := range []int{1, 3} {
			for _, restarts := range []bool{false, true} {
				all = append(all, setting{store: name, partitions: partitions, restarts: restarts})
			}
		}
	}
	return all
}

// stage is where a dialogue takes place: the flow over one checkpoint.
type stage struct {
	t        testing.TB
	setting  setting
	flow     func(tws.Source[dialogue.Command]) func(*tws.Flow) tws.Stream[dialogue.Result]
	rows     memory.Rows[dialogue.Command]
	sink     memory.Sink[dialogue.Result]
	target   *tws.Sink[dialogue.Result]
	clock    *twstest.Clock
	options  tws.Options
	runner   *tws.Runner   // nil while closed
	epochs   []epoch.Stats // since the last answer
	last     epoch.Stats   // of the last answer
	answered int           // rows of the sink that were shown
	runs     int
}

// restartEvery says after how many epochs a setting with restarts has one: a
// store on disk takes its time to open.
var restartEvery = map[string]int{"mem": 1, "rocks": 4}

func newStage(t testing.TB, s setting) *stage {
	engine := stores[s.store](t)
	st := &stage{t: t, setting: s, flow: dialogue.Flow, clock: twstest.NewClock(time.Unix(0, 0).UTC())}
	st.target = tws.NewSink(&st.sink)
	st.options = tws.Options{
		Checkpoint: t.TempDir(), Clock: st.clock, Stores: engine, NoSync: true,
		Conf:    map[string]string{"tws.partitions": fmt.Sprint(s.partitions)},
		OnEpoch: func(e epoch.Stats) { st.epochs = append(st.epochs, e) },
	}
	if s.restarts {
		st.options.MaxEpochs = 1
	}
	t.Cleanup(func() {
		if err := errors.Join(st.close(), engine.Close()); err != nil {
			t.Error(err)
		}
	})
	return st
}

func (s *stage) open() error {
	if s.runner != nil {
		return nil
	}
	p := tws.NewPipeline(s.options)
	tws.AppendFlow(p, s.target, "dialogue", s.flow(&s.rows))
	var err error
	s.runner, err = p.Open(context.Background())
	return err
}

func (s *stage) close() error {
	if s.runner == nil {
		return nil
	}
	err := s.runner.Close()
	s.runner = nil
	return err
}

// run runs epochs until nothing is left to do.
func (s *stage) run() error {
	for {
		before := len(s.epochs)
		if err := s.open(); err != nil {
			return err
		}
		if err := s.runner.Drain(context.Background()); err != nil {
			return errors.Join(err, s.close())
		}
		if !s.setting.restarts {
			return nil
		}
		if s.runs++; s.runs%restartEvery[s.setting.store] == 0 {
			if err := s.close(); err != nil {
				return err
			}
		}
		if len(s.epochs) == before {
			return nil
		}
	}
}

// do carries out a directive and returns its answer.
func (s *stage) do(commands []string) (string, error) {
	words := strings.Fields(commands[0])
	args := words[1:]
	if len(commands) > 1 && words[0] != "batch" {
		return "", fmt.Errorf("%s takes no lines", words[0])
	}
	switch words[0] {
	case "batch":
		if err := s.give(commands[1:]); err != nil {
			return "", err
		}
		return s.answers(s.run())
	case "run":
		return s.answers(s.run())
	case "advance":
		if err := s.advance(args[0]); err != nil {
			return "", err
		}
		return s.answers(s.run())
	case "clock": // moves without a run
		return "", s.advance(args[0])
	case "restart":
		if err := s.close(); err != nil {
			return "", err
		}
		return s.answers(s.run())
	case "conf": // restarts with other values; "key=" removes one
		return "", s.configure(args)
	case "stats":
		return s.stats(), nil
	case "next":
		return s.next()
	}
	return "", fmt.Errorf("unknown directive %s", words[0])
}

// give appends rows: lines "key: command". "N times " before a key repeats the
// row, with # replaced by 1 to N.
func (s *stage) give(lines []string) error {
	for _, line := range lines {
		n := 1
		if _, err := fmt.Sscanf(line, "%d times ", &n); err == nil {
			line = line[strings.Index(line, " times ")+len(" times "):]
		}
		key, do, ok := strings.Cut(line, ": ")
		if !ok {
			return fmt.Errorf("%q: want key: command", line)
		}
		for i := range n {
			nth := func(text string) string { return strings.ReplaceAll(text, "#", fmt.Sprint(i+1)) }
			s.rows.Append(dialogue.Command{Key: nth(key), Do: nth(do)})
		}
	}
	return nil
}

func (s *stage) advance(text string) error {
	d, err := time.ParseDuration(text)
	s.clock.Advance(d)
	return err
}

func (s *stage) configure(args []string) error {
	conf := maps.Clone(s.options.Conf)
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		if conf[key] = value; value == "" {
			delete(conf, key)
		}
	}
	s.options.Conf = conf
	return s.close()
}

// answers returns what was emitted since the last call, epoch by epoch.
func (s *stage) answers(err error) (string, error) {
	if err != nil {
		return "", err
	}
	rows := s.newRows()
	var b strings.Builder
	for _, e := range s.epochs {
		fmt.Fprintf(&b, "epoch %d at %s\n", e.Epoch, e.Clock.Sub(time.Unix(0, 0)))
		for _, r := range rows {
			if r.Epoch == e.Epoch {
				fmt.Fprintf(&b, "%s: %s\n", r.Row.Key, r.Row.Text)
			}
		}
	}
	if n := len(s.epochs); n > 0 {
		s.last = s.epochs[n-1]
	}
	s.epochs = nil
	return b.String(), nil
}

// newRows returns what was emitted since the last call, in the order of epoch and
// key.
func (s *stage) newRows() []memory.Out[dialogue.Result] {
	rows := s.sink.Rows()[s.answered:]
	s.answered += len(rows)
	slices.SortStableFunc(rows, func(a, b memory.Out[dialogue.Result]) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), strings.Compare(a.Row.Key, b.Row.Key))
	})
	return rows
}

// stats shows the progress record of the last epoch.
func (s *stage) stats() string {
	e := s.last
	late := ""
	if e.Late > 0 {
		late = fmt.Sprintf(" (%d late)", e.Late)
	}
	return fmt.Sprintf("epoch %d: %d rows in%s, %d keys, %d timers fired, %d set, %d cancelled, %d rows out, %d puts, %d deletes\n",
		e.Epoch, e.RowsIn, late, e.Keys, e.Timers, e.TimersSet, e.TimersCancelled, e.RowsOut, e.StatePuts, e.StateDeletes)
}

// next tells when the next timer is due.
func (s *stage) next() (string, error) {
	if err := s.open(); err != nil {
		return "", err
	}
	at, ok, err := s.runner.NextTimer()
	if err != nil || !ok {
		return "none\n", err
	}
	return at.Sub(time.Unix(0, 0)).String() + "\n", nil
}
