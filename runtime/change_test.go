package tws_test

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/codec"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/store"
	"github.com/tws-go/tws/runtime/store/mem"
)

// keeper writes the texts of its rows to all states; the row "show" emits what
// they hold.
func keeper(p *probe, _ *tws.InputContext, key string, rows iter.Seq[line], out tws.Emitter[line]) error {
	for row := range rows {
		if row.Text != "show" {
			if err := errors.Join(p.Value.Update(row.Text), p.List.Append(row.Text), p.Map.Update(row.Text, row.Text)); err != nil {
				return err
			}
			continue
		}
		value, _, err := p.Value.Get()
		if err != nil {
			return err
		}
		list := strings.Join(slices.Collect(p.List.All()), " ")
		keys := strings.Join(slices.Collect(p.Map.Keys()), " ")
		if err := out.Emit(line{key, fmt.Sprintf("[%s] [%s] [%s]", value, list, keys)}); err != nil {
			return err
		}
	}
	return nil
}

// keeperStep writes or shows at an instant, with a time to live.
type keeperStep struct {
	at   time.Duration
	ttl  time.Duration
	row  string
	want string // of show
}

// C-99 B-15: a time to live may become longer or shorter at any start: what is
// stored keeps the expiry that it has, and what is written gets the new one.
func TestChangedTTL(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]keeperStep{
		"shorter, then longer": {
			{0, 3 * time.Minute, "1", ""},
			{5 * time.Second, 15 * time.Second, "2", ""},
			{10 * time.Second, 3 * time.Minute, "3", ""},
			{19 * time.Second, 3 * time.Minute, "show", "[3] [1 2 3] [1 2 3]"},
			{20 * time.Second, 3 * time.Minute, "show", "[3] [1 3] [1 3]"}, // from the middle
			{180 * time.Second, time.Second, "show", "[3] [3] [3]"},
			{190 * time.Second, time.Hour, "show", "[] [] []"},
		},
		"shorter, of one value": {
			{0, time.Hour, "1", ""},
			{0, time.Minute, "show", "[1] [1] [1]"},
			{59 * time.Minute, time.Minute, "show", "[1] [1] [1]"},
			{60 * time.Minute, time.Minute, "show", "[] [] []"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newProbe(keeper))
			now, shown := time.Duration(0), 0
			for i, s := range steps {
				b.clock.Advance(s.at - now)
				now, b.probe.ttl = s.at, s.ttl
				b.row("a", s.row).mustRun()
				if s.row != "show" {
					continue
				}
				if got := b.sink.Rows()[shown].Row.Text; got != s.want {
					t.Errorf("step %d, at %s: got %s, want %s", i, s.at, got, s.want)
				}
				shown++
			}
		})
	}
}

// C-131 B-46: states and timers may be added at any start; they start empty.
func TestAddedStates(t *testing.T) {
	t.Parallel()
	p := newProbe(func(p *probe, _ *tws.InputContext, _ string, rows iter.Seq[line], _ tws.Emitter[line]) error {
		for row := range rows {
			if err := p.Value.Update(row.Text); err != nil {
				return err
			}
		}
		return nil
	})
	p.plain = true
	b := newBench(t, p)
	b.row("a", "old").mustRun()
	b.probe = newProbe(keeper)
	b.row("a", "show", "new", "show").mustRun()
	b.wantOut("2 a [old] [] []", "2 a [new] [new] [new]")
	b.probe = p
	b.row("a", "x").fails("theList", "absent", "theTimer")
}

// A list with a time to live that is always appended to does not grow for ever,
// however many elements come at once.
func TestListTrims(t *testing.T) {
	t.Parallel()
	for _, several := range []int{1, 2, 3, 64, 100} {
		texts := make([]string, several)
		b := newBench(t, newProbe(func(p *probe, _ *tws.InputContext, _ string, rows iter.Seq[line], _ tws.Emitter[line]) error {
			for range rows {
				if err := p.List.AppendAll(texts); err != nil {
					return err
				}
			}
			return nil
		}))
		b.probe.ttl = time.Minute
		b.options.Conf["tws.partitions"] = "1"
		p := tws.NewPipeline(b.options)
		b.declare(p)
		r, err := p.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			b.clock.Advance(10 * time.Second) // six times in a life
			b.row("a", "more")
			if err := r.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		first, next := b.listHead("a")
		if next != uint64(300*several) || next-first > uint64(7*several+2*64) {
			t.Errorf("%d at a time: the list goes from %d to %d", several, first, next)
		}
	}
}

// listHead returns the numbers of the first and next elements of a key's list.
func (b *bench) listHead(grouping string) (first, next uint64) {
	b.t.Helper()
	head := entry{store.Point, store.KindListHead, 2, nil}
	engine := mem.New()
	s, err := engine.Open(filepath.Join(b.options.Checkpoint, "flows", "flow", "store", "0"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer s.Close()
	stored, ok, err := s.Get(store.Point, head.key(grouping))
	if err != nil || !ok {
		b.t.Fatalf("no list: %v", err)
	}
	_, body, err := codec.ReadHeader(stored)
	if err != nil {
		b.t.Fatal(err)
	}
	var r codec.Reader
	r.Reset(body)
	r.Struct(3)
	return r.Uint64(), r.Uint64()
}

// C-91 B-15: a time to live cannot be switched on or off, and the refusal leaves
// everything as it was.
func TestSwitchedTTL(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, time.Hour} {
		b := newBench(t, newProbe(keeper))
		b.probe.ttl = ttl
		b.row("a", "1").mustRun()
		b.probe.ttl = time.Hour - ttl
		b.row("a", "2")
		if err := b.run(); !errors.Is(err, tws.ErrFlowChanged) || !strings.Contains(err.Error(), "ttl: was ") {
			t.Errorf("from %s to %s: %v", ttl, b.probe.ttl, err)
		}
		b.probe.ttl = ttl
		b.row("a", "show").mustRun()
		if got := b.sink.Rows()[0].Row.Text; got != "[2] [1 2] [1 2]" {
			t.Errorf("afterwards: %s", got)
		}
	}
}
