package storetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tws-go/tws/runtime/store"
)

// change is one record of a batch.
type change struct {
	family     store.Family
	key, value string
	del        bool
}

func put(f store.Family, key, value string) change { return change{family: f, key: key, value: value} }
func del(f store.Family, key string) change        { return change{family: f, key: key, del: true} }

// model is what a store must hold.
type model struct {
	mark     store.Mark
	applied  bool
	families [2]map[string]string
	// seen are all keys that there ever were, so that point keys that should be
	// gone are looked for too.
	seen map[string]bool
	// clock is the latest expiry clock; what it expires may be there or not.
	clock int64
	batch store.Batch
}

func newModel() *model {
	return &model{
		families: [2]map[string]string{{}, {}},
		seen:     map[string]bool{},
		clock:    math.MinInt64,
	}
}

func (m *model) clone() *model {
	return &model{
		mark: m.mark, applied: m.applied, clock: m.clock,
		families: [2]map[string]string{maps.Clone(m.families[0]), maps.Clone(m.families[1])},
		seen:     maps.Clone(m.seen),
	}
}

// apply applies changes as the next epoch and returns the batch, whose bytes
// stay valid until the next call.
func (m *model) apply(changes []change) []byte {
	m.mark = store.Mark{Epoch: m.mark.Epoch + 1, Attempt: int(m.mark.Epoch) % 3}
	m.applied = true
	m.batch.Reset(m.mark)
	for _, c := range changes {
		if c.family == store.Point {
			m.seen[c.key] = true
		}
		if c.del {
			m.batch.Delete(c.family, []byte(c.key))
			delete(m.families[c.family], c.key)
		} else {
			m.batch.Put(c.family, []byte(c.key), []byte(c.value))
			m.families[c.family][c.key] = c.value
		}
	}
	return m.batch.Bytes()
}

// mayVanish tells whether a store may lack the entry.
func (m *model) mayVanish(key, value string) bool {
	if len(key) < 2 || len(value) < 9 || value[0]&1 == 0 {
		return false
	}
	if k := key[1]; k != 'v' && k != 'l' && k != 'e' {
		return false
	}
	return int64(binary.BigEndian.Uint64([]byte(value[1:9]))) <= m.clock
}

// compare says how the whole content of a store differs from the model.
func (m *model) compare(s store.Store) error {
	if err := m.compareMark(s); err != nil {
		return err
	}
	if err := m.compareGets(s); err != nil {
		return err
	}
	if err := m.compareMultiGet(s); err != nil {
		return err
	}
	return m.compareScan(s, "", "\xff\xff\xff\xff\xff\xff")
}

func (m *model) compareMark(s store.Store) error {
	mark, ok, err := s.Applied()
	if err != nil {
		return fmt.Errorf("applied: %w", err)
	}
	if ok != m.applied || mark != m.mark {
		return fmt.Errorf("the store is at %+v (%v), want %+v (%v)", mark, ok, m.mark, m.applied)
	}
	return nil
}

func (m *model) compareGets(s store.Store) error {
	for f := range m.families {
		for key := range m.universe(f) {
			value, ok, err := s.Get(store.Family(f), []byte(key))
			if err != nil {
				return fmt.Errorf("get: %w", err)
			}
			if err := m.compareOne(f, key, string(value), ok); err != nil {
				return fmt.Errorf("get: %w", err)
			}
		}
	}
	return nil
}

func (m *model) compareMultiGet(s store.Store) error {
	keys := slices.Sorted(maps.Keys(m.universe(0)))
	raw := make([][]byte, len(keys))
	for i, key := range keys {
		raw[i] = []byte(key)
	}
	found := map[int]string{}
	last := -1
	err := s.MultiGet(raw, func(i int, value []byte) error {
		if i <= last {
			return fmt.Errorf("index %d comes after %d", i, last)
		}
		last = i
		found[i] = string(value)
		return nil
	})
	if err != nil {
		return fmt.Errorf("multiget: %w", err)
	}
	for i, key := range keys {
		value, ok := found[i]
		if err := m.compareOne(0, key, value, ok); err != nil {
			return fmt.Errorf("multiget: %w", err)
		}
	}
	return nil
}

// universe returns the keys of a family to look for.
func (m *model) universe(f int) map[string]bool {
	keys := map[string]bool{}
	if f == int(store.Point) {
		keys = maps.Clone(m.seen)
	}
	for key := range m.families[f] {
		keys[key] = true
	}
	return keys
}

func (m *model) compareOne(f int, key, value string, ok bool) error {
	want, wantOK := m.families[f][key]
	switch {
	case ok && !wantOK:
		return fmt.Errorf("family %d key %q is there with %q, and should not be", f, key, value)
	case ok && value != want:
		return fmt.Errorf("family %d key %q is %q, want %q", f, key, value, want)
	case !ok && wantOK && !m.mayVanish(key, want):
		return fmt.Errorf("family %d key %q is missing, want %q", f, key, want)
	}
	return nil
}

// compareScan compares the entries of the ordered family in [lower, upper).
func (m *model) compareScan(s store.Store, lower, upper string) error {
	it, err := s.Scan([]byte(lower), []byte(upper))
	if err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	err = m.compareIterator(it, lower, upper)
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

func (m *model) compareIterator(it store.Iterator, lower, upper string) error {
	var want []string
	for _, key := range slices.Sorted(maps.Keys(m.families[1])) {
		if lower <= key && key < upper {
			want = append(want, key)
		}
	}
	for it.Next() {
		key := string(it.Key())
		for len(want) > 0 && want[0] < key && m.mayVanish(want[0], m.families[1][want[0]]) {
			want = want[1:]
		}
		if len(want) == 0 || want[0] != key {
			return fmt.Errorf("scan [%q, %q): key %q comes, want the first of %q", lower, upper, key, want[:min(3, len(want))])
		}
		if !bytes.Equal(it.Value(), []byte(m.families[1][key])) {
			return fmt.Errorf("scan: key %q is %q, want %q", key, it.Value(), m.families[1][key])
		}
		want = want[1:]
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	for _, key := range want {
		if !m.mayVanish(key, m.families[1][key]) {
			return fmt.Errorf("scan [%q, %q) ended before key %q", lower, upper, key)
		}
	}
	return nil
}

// expiring makes a value with a header that says when it expires.
func expiring(micros int64, body string) string {
	return string(binary.BigEndian.AppendUint64([]byte{1}, uint64(micros))) + body
}

// lasting makes a value with a header that says that it does not expire.
func lasting(body string) string { return "\x00" + body }
