package dialogue_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/epoch"
)

// writer makes random commands.
type writer struct{ *rand.Rand }

func (w writer) pick(words ...string) string { return words[w.IntN(len(words))] }

func (w writer) word() string { return w.pick("a", "b", "c", "d", "e") }

func (w writer) number() string { return fmt.Sprint(w.IntN(9) - 4) }

// several returns up to n words.
func (w writer) several(n int, word func() string) string {
	var words []string
	for range w.IntN(n + 1) {
		words = append(words, word())
	}
	return strings.Join(words, " ")
}

func (w writer) instant() string {
	return w.pick("+", "-", "+", "+") + fmt.Sprintf("%ds", 5*w.IntN(8))
}

// later is an instant after now.
func (w writer) later() string { return fmt.Sprintf("+%ds", 5*(1+w.IntN(8))) }

// state is a command that sets no timer.
func (w writer) state() string {
	switch w.IntN(6) {
	case 0:
		return "count " + w.pick("get", "exists", "clear", "put "+w.number(), "add "+w.number())
	case 1:
		return "lease " + w.pick("get", "exists", "clear", "put "+w.number())
	case 2:
		return "list " + w.pick("all", "len", "exists", "clear", "drain", "put "+w.several(4, w.word), "append "+w.several(3, w.word), "append "+w.word(), "double")
	case 3:
		return "log " + w.pick("all", "len", "exists", "clear", "put "+w.several(3, w.word), "append "+w.several(40, w.word), "append "+w.word())
	case 4:
		return "map " + w.table(w.word, w.number)
	default:
		return "cache " + w.table(w.number, w.word)
	}
}

func (w writer) table(key, value func() string) string {
	return w.pick("all", "keys", "values", "exists", "clear", "range "+key()+" "+key(), "get "+key(), "has "+key(),
		"remove "+key(), "put "+key()+" "+value(), "put "+key()+" "+value())
}

// command is any command. Plans never set a timer for now that could set another
// one for now, so that every run ends by itself, however often it is cut short.
func (w writer) command() string {
	switch w.IntN(12) {
	case 0:
		return "alarm " + w.pick("get", "stop", "set "+w.instant(), "set "+w.instant())
	case 1:
		return "snooze " + w.pick("get", "stop", "set "+w.instant())
	case 2:
		return "timer " + w.pick("list", "set "+w.instant()+" "+w.instant(), "delete "+w.instant())
	case 3:
		return "plan alarm " + w.plan("snooze set "+w.instant(), "timer set "+w.instant(), "alarm set "+w.later())
	case 4:
		return "plan " + w.pick("snooze", "timer") + " " +
			w.plan("snooze stop", "alarm get", "timer list", "timer delete "+w.instant(), "alarm set "+w.later(), "alarm stop")
	default:
		return w.state()
	}
}

func (w writer) plan(timers ...string) string {
	commands := []string{w.pick(timers...)}
	for range w.IntN(3) {
		commands = append(commands, w.state())
	}
	w.Shuffle(len(commands), func(i, j int) { commands[i], commands[j] = commands[j], commands[i] })
	return strings.Join(commands, " ; ")
}

// step is one step of a random dialogue.
type step struct {
	advance time.Duration
	rows    []modelRow
}

// steps writes a random dialogue. The last step shows all there is of every key.
func (w writer) steps(n int) []step {
	keys := []string{"", "k", "kk", "m", "n"}
	var all []step
	for range n {
		s := step{advance: time.Duration(w.IntN(7)) * 5 * time.Second}
		for range w.IntN(14) {
			s.rows = append(s.rows, modelRow{w.pick(keys...), w.command()})
		}
		all = append(all, s)
	}
	var last step
	for _, k := range keys {
		for _, do := range []string{"count get", "lease get", "list all", "log all", "map all", "cache all", "timer list", "alarm get", "snooze get"} {
			last.rows = append(last.rows, modelRow{k, do})
		}
	}
	return append(all, last)
}

var errCrash = errors.New("crash")

// trouble is what befalls a run between and within epochs.
type trouble struct {
	*rand.Rand
	armed epoch.Point
}

// atPoint ends a run at the armed point.
func (tr *trouble) atPoint(p epoch.Point) error {
	if p != tr.armed {
		return nil
	}
	tr.armed = ""
	return errCrash
}

// arm chooses a point at which the next run ends, or none.
func (tr *trouble) arm() {
	tr.armed = ""
	if points := epoch.Points(); tr.IntN(3) == 0 {
		tr.armed = points[tr.IntN(len(points))]
	}
}

// strike closes the pipeline now and then, and sometimes takes its working stores
// away, so that they come back from snapshot and changelogs.
func (tr *trouble) strike(t *testing.T, st *stage) {
	t.Helper()
	if tr.IntN(3) > 0 {
		return
	}
	if err := st.close(); err != nil {
		t.Fatal(err)
	}
	if tr.IntN(2) == 0 {
		if err := os.RemoveAll(filepath.Join(st.options.Checkpoint, "flows", "dialogue", "store")); err != nil {
			t.Fatal(err)
		}
	}
}

// Random commands have the answers that the model gives, on every store, with any
// number of state partitions, whatever the size of epochs and wherever the
// pipeline is restarted, crashes, or loses its working stores; and so has
// everything that is there in the end. C-9 C-20 B-13 B-19 B-22 B-24
func TestRandomDialogues(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		for _, limit := range []int{0, 3} {
			steps := writer{rand.New(rand.NewPCG(seed, 5))}.steps(40)
			want := modelAnswers(steps, limit)
			for _, s := range settings() {
				if s.store != "mem" && seed > 1 {
					continue // fewer on slower stores
				}
				t.Run(fmt.Sprintf("%d-limit-%d-%s", seed, limit, s), func(t *testing.T) {
					t.Parallel()
					got := playSteps(t, s, steps, limit, seed)
					if !slices.Equal(got, want) {
						t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
					}
				})
			}
		}
	}
}

func modelAnswers(steps []step, limit int) []string {
	m := &model{keys: map[string]*modelKey{}}
	for _, s := range steps {
		m.now += s.advance
		m.run(s.rows, limit)
	}
	return m.out
}

// playSteps plays the steps, with trouble if the setting has restarts.
func playSteps(t *testing.T, s setting, steps []step, limit int, seed uint64) []string {
	troubled := s.restarts
	s.restarts = false
	st := newStage(t, s)
	tr := &trouble{Rand: rand.New(rand.NewPCG(seed, 6))}
	st.options.AtPoint = tr.atPoint
	st.options.Conf["tws.snapshot-epochs"], st.options.Conf["tws.retain-epochs"] = "4", "2"
	if limit > 0 {
		st.options.Conf["tws.max-rows"] = fmt.Sprint(limit)
	}
	var out []string
	for i, step := range steps {
		st.clock.Advance(step.advance)
		var lines []string
		for _, r := range step.rows {
			lines = append(lines, r.key+": "+r.do)
		}
		if err := st.give(lines); err != nil {
			t.Fatal(err)
		}
		if troubled {
			tr.strike(t, st)
			tr.arm()
		}
		err := st.run()
		for ; errors.Is(err, errCrash); err = st.run() {
			if troubled {
				tr.strike(t, st)
			}
		}
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		out = append(out, lastAnswers(st)...)
	}
	return out
}

// lastAnswers returns the rows since the last call as the model writes them.
func lastAnswers(st *stage) []string {
	var out []string
	for _, r := range st.newRows() {
		out = append(out, fmt.Sprintf("%d %s: %s", r.Epoch, r.Row.Key, r.Row.Text))
	}
	return out
}
