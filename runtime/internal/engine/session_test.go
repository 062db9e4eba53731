package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/store"
)

// plainStore answers look-ups one by one and counts what it is asked.
type plainStore struct {
	store.Store
	gets, batches, asked int
}

func (s *plainStore) Get(f store.Family, key []byte) ([]byte, bool, error) {
	s.gets++
	return s.Store.Get(f, key)
}

func (s *plainStore) MultiGet(keys [][]byte, found func(i int, value []byte) error) error {
	s.batches++
	s.asked += len(keys)
	for i := 1; i < len(keys); i++ {
		if bytes.Compare(keys[i-1], keys[i]) >= 0 {
			return fmt.Errorf("key %x comes after %x", keys[i], keys[i-1])
		}
	}
	return s.Store.MultiGet(keys, found)
}

// pointOp is what a session of TestReadAhead does with a point entry.
type pointOp struct {
	kind, id, op int // op: 0, 1 get; 2 put; 3 delete
}

// slots of testSchema, by kind and id.
var testSlots = []pointOp{{valueSlot, 1, 0}, {valueSlot, 5, 0}, {headSlot, 2, 0}, {namedSlot, 1, 0}, {namedSlot, 3, 0}}

func (op pointOp) do(s *Session, value string) (string, error) {
	switch op.op {
	case 2:
		return "", s.set(op.kind, op.id, []byte(value))
	case 3:
		_, err := s.remove(op.kind, op.id)
		return "", err
	}
	got, ok, err := s.get(op.kind, op.id)
	if err != nil || !ok {
		return "", err
	}
	return string(got), nil
}

// Whatever slots sessions use, and however that changes from chunk to chunk, a
// session reads what was written last. Nothing is looked up one by one but what
// the chunk before did not use.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 4))
			st := &plainStore{Store: newTestStore(t)}
			over := newOverlay(st, newTestBudget())
			s := newSession(1, testSchema("p"), over, nil, &sessionMetrics{})
			model := map[string]string{}
			for epoch := range int64(6) {
				over.reset()
				for range 4 {
					readChunk(t, rnd, s, model)
				}
				var b store.Batch
				b.Reset(store.Mark{Epoch: epoch + 1, Attempt: 1})
				over.writeTo(&b)
				if err := st.Apply(b.Bytes()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// readChunk runs sessions for random keys, some of them twice, as timers have.
func readChunk(t *testing.T, rnd *rand.Rand, s *Session, model map[string]string) {
	t.Helper()
	s.ahead.start()
	keys := make([][]byte, rnd.IntN(20))
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key%02d", rnd.IntN(15)) // self-delimiting, as encoded keys are
		s.ahead.add(store.KeyGroup(keys[i], 4), keys[i])
	}
	if err := s.ahead.read(); err != nil {
		t.Fatal(err)
	}
	used := testSlots[:1+rnd.IntN(len(testSlots))]
	for n, key := range keys {
		s.begin(inputPhase, store.KeyGroup(key, 4), key, n)
		for range rnd.IntN(6) {
			op := used[rnd.IntN(len(used))]
			op.op = rnd.IntN(4)
			at, value := fmt.Sprint(string(key), op.kind, op.id), fmt.Sprint(rnd.IntN(1000))
			got, err := op.do(s, value)
			if err != nil {
				t.Fatal(err)
			}
			switch op.op {
			case 2:
				model[at] = value
			case 3:
				delete(model, at)
			default:
				if got != model[at] {
					t.Fatalf("key %s: %+v is %q, want %q", key, op, got, model[at])
				}
			}
		}
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// Sessions of one kind are read with one look-up for a chunk; a slot that no
// session uses is not read.
func TestReadAheadLearns(t *testing.T) {
	t.Parallel()
	st := &plainStore{Store: newTestStore(t)}
	s := newSession(1, testSchema("p"), newOverlay(st, newTestBudget()), nil, &sessionMetrics{})
	for chunk, want := range []struct{ asked, gets int }{{10 * 5, 0}, {10 * 1, 0}, {10 * 1, 10}, {10 * 2, 0}} {
		*st = plainStore{Store: st.Store}
		s.ahead.start()
		for i := range 10 {
			s.ahead.add(1, fmt.Appendf(nil, "key%d", i))
		}
		if err := s.ahead.read(); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			s.begin(inputPhase, 1, fmt.Appendf(nil, "key%d", i), i)
			if _, _, err := s.Value(1); err != nil {
				t.Fatal(err)
			}
			if chunk >= 2 { // from the third chunk on
				if _, _, err := s.ListHead(2); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.end(); err != nil {
				t.Fatal(err)
			}
		}
		if st.asked != want.asked || st.gets != want.gets || st.batches != 1 {
			t.Errorf("chunk %d: %d keys asked for ahead, %d alone, want %+v", chunk, st.asked, st.gets, want)
		}
	}
}

// C-21 C-54 C-72: outside a callback there is no key, and no state.
func TestOutsideCallback(t *testing.T) {
	t.Parallel()
	over := newOverlay(newTestStore(t), newTestBudget())
	timers, err := newTimerIndex(1, 0, 4, over)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(1, testSchema("p"), over, timers, &sessionMetrics{})
	uses := map[string]func() error{
		"Value":          func() error { _, _, err := s.Value(1); return err },
		"PutValue":       func() error { return s.PutValue(1, nil) },
		"DeleteValue":    func() error { return s.DeleteValue(1) },
		"ListHead":       func() error { _, _, err := s.ListHead(2); return err },
		"PutListHead":    func() error { return s.PutListHead(2, nil) },
		"DeleteListHead": func() error { return s.DeleteListHead(2) },
		"Element":        func() error { _, _, err := s.Element(3, nil); return err },
		"PutElement":     func() error { return s.PutElement(3, nil, nil) },
		"DeleteElement":  func() error { return s.DeleteElement(3, nil) },
		"ScanElements":   func() error { _, err := s.ScanElements(3, nil, nil); return err },
		"SetTimer":       func() error { return s.SetTimer(1, 5) },
		"StopTimer":      func() error { return s.StopTimer(1) },
		"NamedTimer":     func() error { _, _, err := s.NamedTimer(1); return err },
		"RegisterTimer":  func() error { return s.RegisterTimer(5) },
		"DeleteTimer":    func() error { return s.DeleteTimer(5) },
		"RawTimers":      func() error { _, err := s.RawTimers(); return err },
	}
	for round := range 2 {
		for _, name := range slices.Sorted(maps.Keys(uses)) {
			if err := uses[name](); !errors.Is(err, ErrOutsideCallback) {
				t.Errorf("round %d: %s: got %v, want ErrOutsideCallback", round, name, err)
			}
		}
		s.begin(inputPhase, 1, []byte("key"), 0)
		for _, name := range slices.Sorted(maps.Keys(uses)) {
			if err := uses[name](); err != nil {
				t.Errorf("round %d: %s inside a callback: %v", round, name, err)
			}
		}
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// A scan that a callback leaves open ends with it.
func TestLeakedScan(t *testing.T) {
	t.Parallel()
	over := newOverlay(newTestStore(t), newTestBudget())
	s := newSession(1, testSchema("p"), over, nil, &sessionMetrics{})
	s.begin(inputPhase, 1, []byte("key"), 0)
	for i := range 3 {
		if err := s.PutElement(3, fmt.Append(nil, i), nil); err != nil {
			t.Fatal(err)
		}
	}
	e, err := s.ScanElements(3, nil, nil)
	if err != nil || !e.Next() {
		t.Fatal(err)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	s.begin(inputPhase, 1, []byte("other"), 1)
	if e.Next() || !errors.Is(e.Err(), ErrOutsideCallback) {
		t.Errorf("it goes on in the next callback: %q, %v", e.Suffix(), e.Err())
	}
	if err := errors.Join(e.Close(), s.end()); err != nil {
		t.Error(err)
	}
}

// B-40: a scan that a store ends early with an error fails the session, if the
// callback has not looked.
func TestScanErrorFailsSession(t *testing.T) {
	t.Parallel()
	over := newOverlay(&brokenScans{Store: newTestStore(t), after: 2}, newTestBudget())
	s := newSession(1, testSchema("p"), over, nil, &sessionMetrics{})
	s.begin(inputPhase, 1, []byte("key"), 0)
	e, err := s.ScanElements(3, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for e.Next() {
		n++
	}
	if err := s.end(); n != 2 || !errors.Is(err, errBoom) {
		t.Errorf("%d entries, then %v", n, err)
	}
}

// brokenScans is a store whose scans yield some entries and then fail.
type brokenScans struct {
	store.Store
	after int
}

func (s *brokenScans) Scan(lower, _ []byte) (store.Iterator, error) {
	return &brokenScan{lower: lower, left: s.after}, nil
}

type brokenScan struct {
	lower []byte
	left  int
	err   error
}

func (b *brokenScan) Next() bool {
	if b.left--; b.left < 0 {
		b.err = errBoom
		return false
	}
	return true
}

func (b *brokenScan) Key() []byte   { return append(slices.Clone(b.lower), byte(9-b.left)) }
func (b *brokenScan) Value() []byte { return nil }
func (b *brokenScan) Err() error    { return b.err }
func (b *brokenScan) Close() error  { return nil }

// A damaged timer is found, not guessed around.
func TestDamagedTimer(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(s *Session) error{
		"named": func(s *Session) error { return s.set(namedSlot, 1, []byte("short")) },
		"raw": func(s *Session) error {
			return s.over.putOrdered(append(s.rawTimerPrefix(), "short"...), nil)
		},
	} {
		over := newOverlay(newTestStore(t), newTestBudget())
		s := newSession(1, testSchema("p"), over, nil, &sessionMetrics{})
		s.begin(inputPhase, 1, []byte("key"), 0)
		if err := put(s); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.NamedTimer(1)
		if name == "raw" {
			_, err = s.RawTimers()
		}
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "processor p") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// An input session that changes no state costs no allocation in the engine.
func TestInputSessionAllocations(t *testing.T) {
	h := &handler{input: nil}
	r := newRig(t, h)
	r.config.Partitions = 1
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	u, x := r.unit, r.unit.flow.Stages[0].Exchange
	sp := u.partitions[0].stages[0]
	sp.instance = quiet{sp.session}
	keys := make([][]byte, 2000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key %04d", i)
	}
	row := []byte("row")
	allocs := testing.AllocsPerRun(10, func() {
		x.reset()
		u.partitions[0].beginEpoch(1, instant{})
		for _, key := range keys {
			if err := x.Lane(0).Put(key, row); err != nil {
				t.Fatal(err)
			}
		}
		if err := sp.runInput(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 100 {
		t.Errorf("%v allocations for 2,000 sessions, want at most 100", allocs)
	}
}

// quiet reads a value and the rows.
type quiet struct{ s *Session }

func (q quiet) Input(_ context.Context, _ []byte, rows *Rows) error {
	for _, ok := rows.Next(); ok; _, ok = rows.Next() {
	}
	_, _, err := q.s.Value(1)
	return err
}

func (quiet) Timer(context.Context, []byte, FiredTimer) error { return nil }

func (quiet) Close() error { return nil }
