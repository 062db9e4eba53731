package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tws-go/tws/runtime/store"
)

func checkTooLarge(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrEpochTooLarge) {
		t.Fatalf("got %v, want ErrEpochTooLarge", err)
	}
	for _, word := range []string{"tws.max-rows", "tws.epoch-memory-mb", "1 MiB"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %s", err, word)
		}
	}
}

func newTestExchange(lanes, partitions int, b *budget) *Exchange {
	x := new(Exchange)
	x.open(lanes, partitions, 256, b)
	return x
}

// sessionRows is one key's input as an exchange hands it out.
type sessionRows struct {
	group uint16
	key   string
	rows  []string
}

// drain takes all sessions of a partition.
func drain(x *Exchange, partition int) []sessionRows {
	var all []sessionRows
	for list := x.sessions(partition, nil); len(list) > 0; {
		var run keyRun
		run, list = x.nextRun(partition, list)
		s := sessionRows{group: run.group, key: string(run.key)}
		var rows Rows
		rows.begin(x, partition, run.parts)
		for row, ok := rows.Next(); ok; row, ok = rows.Next() {
			s.rows = append(s.rows, string(row))
		}
		all = append(all, s)
	}
	return all
}

// B-6: every key's rows come together and in order, whatever the lanes and
// partitions; keys come in the order of key group and bytes, each in the one
// partition that owns it.
func TestExchangeModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 2))
			lanes, partitions := 1+r.IntN(4), 1+r.IntN(5)
			x := newTestExchange(lanes, partitions, newTestBudget())
			for range 3 { // memory is used again, nothing else is
				x.reset()
				want := fillExchange(t, r, x, lanes)
				checkExchange(t, x, partitions, want)
			}
		})
	}
}

// fillExchange puts random rows and returns them by key, lane by lane.
func fillExchange(t *testing.T, r *rand.Rand, x *Exchange, lanes int) map[string][]string {
	t.Helper()
	want := map[string][]string{}
	for lane := range lanes {
		for n := range 400 {
			key := randomKey(r)
			row := fmt.Sprintf("%d/%d/%s", lane, n, strings.Repeat("x", r.IntN(30)))
			if err := x.Lane(lane).Put(key, []byte(row)); err != nil {
				t.Fatal(err)
			}
			want[string(key)] = append(want[string(key)], row)
		}
	}
	return want
}

// randomKey returns keys that often agree in their first bytes, end early, and
// hold zeros.
func randomKey(r *rand.Rand) []byte {
	key := make([]byte, r.IntN(12))
	for i := range key {
		key[i] = byte(r.IntN(2))
	}
	return append(key, byte(r.IntN(3)))
}

func checkExchange(t *testing.T, x *Exchange, partitions int, want map[string][]string) {
	t.Helper()
	seen := 0
	for p := range partitions {
		all := drain(x, p)
		for _, s := range all {
			seen++
			if !slices.Equal(s.rows, want[s.key]) {
				t.Fatalf("key %x: got %q, want %q", s.key, s.rows, want[s.key])
			}
			if g := store.KeyGroup([]byte(s.key), 256); g != s.group || store.PartitionOf(g, partitions, 256) != p {
				t.Fatalf("key %x of group %d is in partition %d as group %d", s.key, g, p, s.group)
			}
		}
		if !slices.IsSortedFunc(all, func(a, b sessionRows) int {
			if a.group != b.group {
				return int(a.group) - int(b.group)
			}
			return strings.Compare(a.key, b.key)
		}) {
			t.Fatalf("partition %d is not in the order of group and key", p)
		}
	}
	if seen != len(want) {
		t.Fatalf("%d sessions, want %d", seen, len(want))
	}
}

// B-6: keys that share a slot of the hash table, or all of their hash, are still
// different keys.
func TestKeyIndexCollisions(t *testing.T) {
	t.Parallel()
	var x keyIndex
	for round := range 3 {
		x.reset()
		if x.find([]byte("key 0")) != -1 {
			t.Fatal("an empty index has a key")
		}
		const n = 5000
		for i := range n {
			for again := range 2 {
				got, added := x.add(fmt.Appendf(nil, "key %d", i))
				if got != i || added != (again == 0) {
					t.Fatalf("round %d: key %d is number %d, added %v", round, i, got, added)
				}
			}
		}
		for i := range n {
			key := fmt.Appendf(nil, "key %d", i)
			if got := x.find(key); got != i || !bytes.Equal(x.key(i), key) {
				t.Fatalf("key %d is number %d, %q", i, got, x.key(i))
			}
		}
		if x.find([]byte("another")) != -1 || x.len() != n {
			t.Fatalf("%d keys", x.len())
		}
	}
}

// B-6: with every hash the same, probing compares keys.
func TestKeyIndexEqualHashes(t *testing.T) {
	t.Parallel()
	var x keyIndex
	x.grow()
	for i, key := range []string{"a", "b", "", "ab"} {
		n, free := x.probe(7, []byte(key))
		if n != -1 {
			t.Fatalf("key %q is there", key)
		}
		x.entries = append(x.entries, keyEntry{hash: 7, off: len(x.arena), n: len(key)})
		x.arena = append(x.arena, key...)
		x.table[free] = int32(i + 1)
	}
	x.grow()
	for i, key := range []string{"a", "b", "", "ab"} {
		if n, _ := x.probe(7, []byte(key)); n != i {
			t.Errorf("key %q is number %d, want %d", key, n, i)
		}
	}
}

func TestExchangeBudget(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(n int) []byte{
		"one key":   func(int) []byte { return []byte("key") },
		"many keys": func(n int) []byte { return fmt.Appendf(nil, "key %d", n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &budget{limit: 1 << 20}
			x := newTestExchange(2, 2, b)
			var err error
			n := 0
			for ; err == nil && n < 1_000_000; n++ {
				err = x.Lane(n%2).Put(key(n), []byte("row"))
			}
			if err == nil {
				t.Fatalf("%d rows within 1 MiB", n)
			}
			checkTooLarge(t, err)
			b.reset()
			x.reset()
			if err := x.Lane(0).Put([]byte("key"), []byte("row")); err != nil {
				t.Errorf("after a reset: %v", err)
			}
		})
	}
}

// A row costs no allocation once an epoch of the same size has passed.
func TestExchangeAllocations(t *testing.T) {
	x := newTestExchange(1, 4, newTestBudget())
	keys := make([][]byte, 1000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key %d", i)
	}
	row := []byte("a row of some bytes")
	var order []sessionKey
	var rows Rows
	allocs := testing.AllocsPerRun(20, func() {
		x.reset()
		for _, key := range keys {
			for range 5 {
				if err := x.Lane(0).Put(key, row); err != nil {
					t.Fatal(err)
				}
			}
		}
		for p := range 4 {
			order = x.sessions(p, order)
			for list := order; len(list) > 0; {
				var run keyRun
				run, list = x.nextRun(p, list)
				rows.begin(x, p, run.parts)
				for _, ok := rows.Next(); ok; _, ok = rows.Next() {
				}
			}
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations for 5,000 rows of 1,000 keys, want none", allocs)
	}
}

func BenchmarkExchange(b *testing.B) {
	x := newTestExchange(1, 4, newTestBudget())
	keys := make([][]byte, 10_000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key %d", i)
	}
	row := make([]byte, 50)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1_000_000 == 0 {
			x.reset()
		}
		if err := x.Lane(0).Put(keys[i%len(keys)], row); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
