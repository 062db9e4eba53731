package tws_test

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/memory"
	"github.com/tws-go/tws/schemas"
)

// bare is a processor that tws-gen has not seen.
type bare struct {
	tws.Processor[string, line, line]
}

func (*bare) HandleInputRows(*tws.InputContext, string, iter.Seq[line], tws.Emitter[line]) error {
	return nil
}

func keyOf(l line) string { return l.Key }

// Mistakes in a flow function fail the start with the flow's name and what to do;
// all of them at once.
func TestFlowMistakes(t *testing.T) {
	t.Parallel()
	rows := func(f *tws.Flow, name string) tws.Stream[line] {
		return tws.ReadStream(f, &memory.Rows[line]{Name: name})
	}
	named := func(name string) *probe { p := newProbe(echo); p.name = name; return p }
	for name, test := range map[string]struct {
		flow  func(f *tws.Flow) tws.Stream[line]
		words []string
	}{
		"no source": {
			func(*tws.Flow) tws.Stream[line] { return tws.Stream[line]{} },
			[]string{"returns a stream that no call made"},
		},
		"a stream is used twice": {
			func(f *tws.Flow) tws.Stream[line] {
				s := rows(f, "in")
				through(s, named("first"))
				return through(s, named("second"))
			},
			[]string{"a stream of tws_test.line is used twice", "read the source a second time"},
		},
		"a stream is used and returned": {
			func(f *tws.Flow) tws.Stream[line] { s := rows(f, "in"); through(s, named("first")); return s },
			[]string{"used twice"},
		},
		"a stream is never used": {
			func(f *tws.Flow) tws.Stream[line] { rows(f, "in"); return rows(f, "other") },
			[]string{"a stream of tws_test.line is made but never used"},
		},
		"a mapped stream is never used": {
			func(f *tws.Flow) tws.Stream[line] {
				tws.Map(rows(f, "in"), func(l line) int { return len(l.Text) })
				return rows(f, "other")
			},
			[]string{"a stream of int is made but never used"},
		},
		"two sources of one name": {
			func(f *tws.Flow) tws.Stream[line] { rows(f, "in"); return rows(f, "in") },
			[]string{"two sources are called in", "another name"},
		},
		"a bad source name": {
			func(f *tws.Flow) tws.Stream[line] { return rows(f, "a/b") },
			[]string{`source name "a/b"`, "letters, digits"},
		},
		"a source without a name": {
			func(f *tws.Flow) tws.Stream[line] { return tws.ReadStream(f, nameless{}) },
			[]string{"a source has no name", "Topic, Topics or Pattern", "Path"},
		},
		"one processor twice": {
			func(f *tws.Flow) tws.Stream[line] { return through(through(rows(f, "in"), named("p")), named("p")) },
			[]string{"processor p is used twice"},
		},
		"a processor without generated code": {
			func(f *tws.Flow) tws.Stream[line] {
				return tws.TransformWithState(tws.GroupBy(rows(f, "in"), keyOf), func() *bare { return new(bare) })
			},
			[]string{"*tws_test.bare has no generated code", "go generate"},
		},
		"event time": {
			func(f *tws.Flow) tws.Stream[line] {
				p := named("p")
				p.mode = schemas.TimeEvent
				return through(rows(f, "in"), p)
			},
			[]string{"processor p", "time=event", "time=processing"},
		},
		"bad configuration": {
			func(f *tws.Flow) tws.Stream[line] {
				f.Duration("wait", time.Second)
				f.Int("n", 1)
				f.Float("x", 1)
				f.Bool("b", false)
				return through(rows(f, "in"), named("p"))
			},
			[]string{
				`configuration wait: want a duration such as 90s or 5m, got "90"`, `configuration n: want an integer, got "1.5"`,
				`configuration x: want a number, got "much"`, `configuration b: want true or false, got "maybe"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.options.Conf = map[string]string{}
			if name == "bad configuration" {
				b.options.Conf = map[string]string{"wait": "90", "n": "1.5", "x": "much", "b": "maybe"}
			}
			b.declare = func(p *tws.Pipeline) { tws.AppendFlow(p, b.target, "theFlow", test.flow) }
			b.fails(append(test.words, "flow theFlow")...)
			if n := b.epochs.Load(); n != 0 {
				t.Errorf("%d epochs ran", n)
			}
		})
	}
}

// The zero stream leads nowhere, and says so where it is used.
func TestZeroStream(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(){
		"Map":                func() { tws.Map(tws.Stream[line]{}, func(l line) line { return l }) },
		"TransformWithState": func() { through(tws.Stream[line]{}, newProbe(echo)) },
	} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, name) || !strings.Contains(r, "ReadStream") {
					t.Errorf("%s: %s", name, r)
				}
			}()
			use()
		}()
	}
}

// Mistakes around flows.
func TestPipelineMistakes(t *testing.T) {
	t.Parallel()
	var undeclared, declared tws.StreamingTable[line]
	for name, test := range map[string]struct {
		change func(b *bench)
		words  []string
	}{
		"no flows":      {func(b *bench) { b.declare = func(*tws.Pipeline) {} }, []string{"no flows", "//tws:flow", "go generate", "Register"}},
		"no checkpoint": {func(b *bench) { b.options.Checkpoint = "" }, []string{"checkpoint"}},
		"no stores":     {func(b *bench) { b.options.Stores = nil }, []string{"store"}},
		"two flows of one name": {func(b *bench) {
			b.declare = func(p *tws.Pipeline) {
				tws.AppendFlow(p, b.target, "flow", b.flow)
				tws.AppendFlow(p, b.target, "flow", b.flow)
			}
		}, []string{"two flows are called flow"}},
		"a bad flow name": {func(b *bench) {
			b.declare = func(p *tws.Pipeline) { tws.AppendFlow(p, b.target, "../x", b.flow) }
		}, []string{`flow name "../x"`, "letters, digits"}},
		"a table that nobody declared": {func(b *bench) {
			b.declare = func(p *tws.Pipeline) { tws.AppendFlow(p, &undeclared, "flow", b.flow) }
		}, []string{"StreamingTable[tws_test.line]", "//tws:table", "go generate"}},
		"no table folder": {func(b *bench) {
			b.declare = func(p *tws.Pipeline) {
				tws.AddTable(p, &declared, tws.TableOptions{Name: "lines"})
				tws.AppendFlow(p, &declared, "flow", b.flow)
			}
		}, []string{"no table folder"}},
		"two tables of one name": {func(b *bench) {
			b.declare = func(p *tws.Pipeline) {
				tws.AddTable(p, &declared, tws.TableOptions{Name: "lines"})
				tws.AddTable(p, &undeclared, tws.TableOptions{Name: "lines"})
			}
		}, []string{"two tables are called lines"}},
		"no interval":       {func(b *bench) { b.options.Trigger = tws.ProcessingTime(0) }, []string{"trigger", "longer than zero", "0s"}},
		"negative interval": {func(b *bench) { b.options.Trigger = tws.ProcessingTime(-time.Second) }, []string{"trigger", "-1s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newProbe(echo))
			test.change(b)
			b.fails(test.words...)
		})
	}
}

// A key that nobody reads is most likely a typing error: it fails the start, with
// the keys there are.
func TestUnreadKey(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
			f.Duration("patience", time.Minute)
			return through(tws.ReadStream(f, &b.rows), newProbe(echo))
		})
	}
	b.options.Conf["pateince"] = "1m"
	b.options.Conf["tws.max-row"] = "5"
	b.options.Conf["other.patience"] = "5m"
	const known = "?; known keys are patience, tws.epoch-memory-mb, tws.max-bytes, tws.max-rows, tws.max-timers, tws.partitions, " +
		"tws.retain-epochs, tws.snapshot-epochs, tws.snapshot-mb"
	err := b.fails("configuration pateince: no flow reads this key, did you mean patience"+known, "configuration tws.max-row: no flow reads this key, did you mean tws.max-rows"+known,
		"configuration other.patience: no flow reads this key, did you mean flow.patience"+known)
	var ce *tws.ConfigError
	if !errors.As(err, &ce) || ce.Key != "other.patience" {
		t.Errorf("got %+v", ce)
	}
}

// A key that several flows read has a name for each of them too.
func TestUnreadKeyOfSeveralFlows(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.declare = func(p *tws.Pipeline) {
		for _, name := range []string{"one", "two"} {
			tws.AppendFlow(p, b.target, name, func(f *tws.Flow) tws.Stream[line] {
				f.Duration("patience", time.Minute)
				if name == "one" {
					f.Int("alone", 1)
					f.Int("alone", 1)
				}
				return through(tws.ReadStream(f, &b.rows), newProbe(echo))
			})
		}
	}
	b.options.Conf["quiteUnlikeTheOthers"] = "1m"
	b.fails("no flow reads this key; known keys are alone, one.patience, patience, two.patience, tws.epoch-memory-mb, ")
}

// nameless is a source whose name nobody has set.
type nameless struct{ tws.Source[line] }

func (nameless) SourceName() string { return "" }

// A value of the engine out of its range fails the start, with the range.
func TestEngineKeys(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"0", "257", "-1", "three", "1.0", "", "9999999999999999999999"} {
		b := newBench(t, newProbe(echo))
		b.options.Conf["tws.partitions"] = value
		b.fails("configuration tws.partitions: want an integer from 1 to 256, got", fmt.Sprintf("%q", value))
	}
}

// A value for one flow goes before the one for all, which then is read all the
// same: it is no typing error.
func TestConfPrecedence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		conf map[string]string
		want string
	}{
		"default":   {nil, "1 1m0s false 7 0.5"},
		"for all":   {map[string]string{"text": "x", "wait": "2m", "flag": "true", "n": "8", "x": "2"}, "x 2m0s true 8 2"},
		"for flow":  {map[string]string{"flow.text": "y", "flow.n": "9"}, "y 1m0s false 9 0.5"},
		"for both":  {map[string]string{"text": "x", "flow.text": "y", "n": "8", "flow.n": "9"}, "y 1m0s false 9 0.5"},
		"choice":    {map[string]string{"from": "kafka"}, "1 1m0s false 7 0.5"},
		"empty":     {map[string]string{"text": "x", "flow.text": ""}, " 1m0s false 7 0.5"},
		"unlimited": {map[string]string{"n": "-9223372036854775808", "wait": "-1h"}, "1 -1h0m0s false -9223372036854775808 0.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			b := newBench(t, nil)
			b.options.Conf = test.conf
			b.declare = func(p *tws.Pipeline) {
				tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
					got = fmt.Sprint(f.String("text", "1"), " ", f.Duration("wait", time.Minute), f.Bool("flag", false), f.Int("n", 7), f.Float("x", 0.5))
					if from := f.Choice("from", "files", "kafka"); from != cmp.Or(test.conf["from"], "files") {
						t.Errorf("the choice is %q", from)
					}
					return through(tws.ReadStream(f, &b.rows), newProbe(echo))
				})
			}
			b.mustRun()
			if got = strings.Join(strings.Fields(got), " "); got != strings.TrimSpace(test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A wrong value of the flow's own key is told by its own name.
func TestConfErrorNamesKey(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.options.Conf["flow.wait"] = "soon"
	b.options.Conf["wait"] = "1m"
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
			f.Duration("wait", time.Minute)
			return through(tws.ReadStream(f, &b.rows), newProbe(echo))
		})
	}
	b.fails(`configuration flow.wait: want a duration such as 90s or 5m, got "soon"`)
	b.options.Conf = map[string]string{"from": "kafak"}
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
			f.Choice("from", "files", "kafka")
			return through(tws.ReadStream(f, &b.rows), newProbe(echo))
		})
	}
	b.fails(`configuration from: want files or kafka, got "kafak"`)
}

// A panic of a function on the way of the rows is an error that names the row.
func TestPanicOnTheWay(t *testing.T) {
	t.Parallel()
	for name, flow := range map[string]func(s tws.Stream[line]) tws.Stream[line]{
		"map": func(s tws.Stream[line]) tws.Stream[line] {
			return through(tws.Map(s, func(l line) line { panicAt(l); return l }), newProbe(echo))
		},
		"key": func(s tws.Stream[line]) tws.Stream[line] {
			return tws.TransformWithState(
				tws.GroupBy(s, func(l line) string { panicAt(l); return l.Key }),
				func() *probe { return newProbe(echo) })
		},
		"map after a processor": func(s tws.Stream[line]) tws.Stream[line] {
			return tws.Map(through(s, newProbe(echo)), func(l line) line { panicAt(line{Text: strings.TrimRight(l.Text, "0123456789")}); return l })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.declare = func(p *tws.Pipeline) {
				tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] { return flow(tws.ReadStream(f, &b.rows)) })
			}
			words := []string{"panic: bad row", "panicAt", "flow flow, epoch 1"}
			if strings.Contains(name, "after") {
				words = append(words, "probe.HandleInputRows, key b")
			} else {
				words = append(words, "source memory", "offset 1")
			}
			b.row("a", "fine").row("b", "bad").fails(words...)
			b.wantOut()
		})
	}
}

func panicAt(l line) {
	if l.Text == "bad" {
		panic("bad row")
	}
}

// C-177 C-178 B-46: a checkpoint goes on only with what it was made with.
func TestChangedFlow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(b *bench)
		words  []string
	}{
		"time mode":  {func(b *bench) { b.probe.mode = schemas.TimeNone }, []string{"time mode", "processing", "none"}},
		"name":       {func(b *bench) { b.probe.name = "other" }, []string{"name", "probe", "other"}},
		"sink":       {func(b *bench) { b.sink.Name = "other" }, []string{"target memory", "other"}},
		"two stages": {func(b *bench) { b.declare = b.twoStages }, []string{"1 stateful operators", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newProbe(echo))
			b.row("a", "x").mustRun()
			test.change(b)
			b.row("a", "y").fails(append(test.words, "flow flow")...)
			b.wantOut("1 a x0")
		})
	}
}

func (b *bench) twoStages(p *tws.Pipeline) {
	second := *b.probe
	second.name = "second"
	tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] { return through(b.flow(f), &second) })
}

// The number of state partitions is the checkpoint's; another one in the
// configuration changes nothing.
func TestChangedPartitions(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(echo))
	b.row("a", "x").row("b", "x").mustRun()
	b.options.Conf["tws.partitions"] = "7"
	b.row("a", "y").row("b", "y").mustRun()
	b.wantOut("1 a x0", "1 b x0", "2 a y1", "2 b y1")
}

// A source that a test puts in place of another keeps the other's name: it is its
// place in the checkpoint, and what messages call it.
func TestReplacedSourceKeepsName(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(echo))
	var given memory.Rows[line]
	b.rows.Name = "sensors"
	b.options.ReplaceSource = func(string, reflect.Type) any { return &given }
	given.Append(line{"a", "bad"})
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
			return through(tws.Map(tws.ReadStream(f, &b.rows), func(l line) line { panicAt(l); return l }), b.probe)
		})
	}
	b.fails("source sensors: row at partition 0, offset 0")
}

// Filter keeps rows by what they are, before a processor and after one.
func TestFilter(t *testing.T) {
	t.Parallel()
	b := newBench(t, newProbe(echo))
	b.declare = func(p *tws.Pipeline) {
		tws.AppendFlow(p, b.target, "flow", func(f *tws.Flow) tws.Stream[line] {
			odd := tws.Filter(tws.ReadStream(f, &b.rows), func(l line) bool { return l.Text != "even" })
			return tws.Filter(through(odd, b.probe), func(l line) bool { return l.Text != "last1" })
		})
	}
	b.row("a", "odd", "even", "last").row("b", "odd").mustRun()
	b.wantOut("1 a odd0", "1 b odd0")
}
