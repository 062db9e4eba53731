package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/tws-go/tws/runtime/store"
)

// ErrEpochTooLarge reports that an epoch needs more memory than its budget. The
// epoch did not happen; lower the limits of an epoch or raise the budget.
var ErrEpochTooLarge = errors.New("engine: epoch exceeds its memory budget")

// budget counts the memory that an epoch holds, over all goroutines.
type budget struct {
	limit int64
	used  atomic.Int64
}

func (b *budget) reset() { b.used.Store(0) }

func (b *budget) take(n int) error {
	if b.used.Add(int64(n)) > b.limit {
		return b.check()
	}
	return nil
}

// check fails if more was taken than there is.
func (b *budget) check() error {
	if b.used.Load() <= b.limit {
		return nil
	}
	return fmt.Errorf("%w of %d MiB: limit the rows of an epoch with --conf tws.max-rows=N, or raise tws.epoch-memory-mb",
		ErrEpochTooLarge, b.limit>>20)
}

// Exchange moves encoded rows from the lanes of one stage to the state
// partitions of the next. Rows wait in it, grouped by key, until the stage
// before has ended. Each lane is written by one goroutine; then each partition
// is read by one.
//
// Grouping allocates per key, not per row: rows of a key are a chain through a
// lane's row list, and all bytes lie in arenas that the next epoch reuses.
type Exchange struct {
	groups     int
	partitions int
	budget     *budget
	lanes      []*Lane
}

// Lane is one writer's side of an exchange.
type Lane struct {
	exchange *Exchange
	buckets  []bucket // by state partition

	origins []origin // of the rows, by number
	keys    []byte   // of the origins
	// The session that writes, if it is not a source that does.
	written    bool // by a session
	session    origin
	sessionKey []byte
	noted      bool // session is in origins

	owed int // memory that the budget does not know of yet
}

// bucket holds what one lane sends to one partition.
type bucket struct {
	keys   keyIndex
	chains []chain // by key number
	rows   []rowRef
	arena  []byte
}

// chain is the list of a key's rows: numbers into bucket.rows.
type chain struct {
	group       uint16
	first, last int32
}

type rowRef struct {
	off, n int
	next   int32 // number of the key's next row, -1 at the end
	origin int32 // number in the lane's origins
}

func (x *Exchange) open(lanes, partitions, groups int, b *budget) {
	x.partitions, x.groups, x.budget = partitions, groups, b
	x.lanes = make([]*Lane, lanes)
	for i := range x.lanes {
		x.lanes[i] = &Lane{exchange: x, buckets: make([]bucket, partitions)}
	}
}

func (x *Exchange) reset() {
	for _, l := range x.lanes {
		for i := range l.buckets {
			l.buckets[i].reset()
		}
		l.origins, l.keys = l.origins[:0], l.keys[:0]
		l.written, l.noted, l.owed = false, false, 0
	}
}

// Lane returns lane i, which one goroutine at a time may write.
func (x *Exchange) Lane(i int) *Lane { return x.lanes[i] }

// Put sends a row to the partition that owns key. Both are copied.
func (l *Lane) Put(key, row []byte) error {
	group := store.KeyGroup(key, l.exchange.groups)
	b := &l.buckets[store.PartitionOf(group, l.exchange.partitions, l.exchange.groups)]
	from, size := l.note()
	l.owed += size + b.put(group, key, row, from)
	if l.owed < budgetStep {
		return nil
	}
	return l.settle()
}

// budgetStep is how much memory a lane takes before it tells the budget: the budget
// is shared by all lanes, and its counter would be fought over for each row.
const budgetStep = 64 << 10

// settle tells the budget what the lane has taken.
func (l *Lane) settle() error {
	n := l.owed
	l.owed = 0
	return l.exchange.budget.take(n)
}

const rowOverhead, keyOverhead = 24, 64

func (b *bucket) put(group uint16, key, row []byte, from int32) (size int) {
	n := int32(len(b.rows))
	b.rows = append(b.rows, rowRef{off: len(b.arena), n: len(row), next: -1, origin: from})
	b.arena = append(b.arena, row...)
	k, added := b.keys.add(key)
	if added {
		b.chains = append(b.chains, chain{group: group, first: n, last: n})
		return len(row) + rowOverhead + len(key) + keyOverhead
	}
	c := &b.chains[k]
	b.rows[c.last].next = n
	c.last = n
	return len(row) + rowOverhead
}

func (b *bucket) reset() {
	b.keys.reset()
	b.chains = b.chains[:0]
	b.rows = b.rows[:0]
	b.arena = b.arena[:0]
}

// sessionKey is one key of a partition's input, with a prefix of it that
// decides most comparisons without touching the key.
type sessionKey struct {
	group  uint16
	lane   int32
	entry  int32
	prefix uint64
}

// keyRun is one session's input: a key and its chain of rows in each lane.
type keyRun struct {
	group uint16
	key   []byte
	parts []sessionKey
}

// sessions returns the input of a partition in session order: key group, then
// encoded key.
func (x *Exchange) sessions(partition int, buf []sessionKey) []sessionKey {
	buf = buf[:0]
	for lane, l := range x.lanes {
		b := &l.buckets[partition]
		for i := range b.keys.len() {
			buf = append(buf, sessionKey{
				group: b.chains[i].group, lane: int32(lane), entry: int32(i), prefix: keyPrefix(b.keys.key(i)),
			})
		}
	}
	slices.SortFunc(buf, func(a, b sessionKey) int {
		if c := x.compareKeys(partition, a, b); c != 0 {
			return c
		}
		return cmp.Compare(a.lane, b.lane)
	})
	return buf
}

func (x *Exchange) compareKeys(partition int, a, b sessionKey) int {
	if c := cmp.Compare(a.group, b.group); c != 0 {
		return c
	}
	if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
		return c
	}
	return bytes.Compare(x.key(partition, a), x.key(partition, b))
}

func (x *Exchange) key(partition int, s sessionKey) []byte {
	return x.lanes[s.lane].buckets[partition].keys.key(int(s.entry))
}

func keyPrefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var p [8]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:])
}

// nextRun takes the first session off a sorted list.
func (x *Exchange) nextRun(partition int, list []sessionKey) (run keyRun, rest []sessionKey) {
	first := list[0]
	n := 1
	for n < len(list) && x.compareKeys(partition, first, list[n]) == 0 {
		n++
	}
	return keyRun{group: first.group, key: x.key(partition, first), parts: list[:n]}, list[n:]
}

// Rows iterates over the encoded rows of one input session: in the order of their
// origins, those of sources lane by lane, and in the order they were put.
type Rows struct {
	exchange  *Exchange
	partition int
	parts     []sessionKey
	next      []int32 // by part: number of the row that is next in the lane, -1 at the end
}

func (r *Rows) begin(x *Exchange, partition int, parts []sessionKey) {
	r.exchange, r.partition, r.parts = x, partition, parts
	r.next = r.next[:0]
	for i := range parts {
		b, _ := r.lane(i)
		r.next = append(r.next, b.chains[parts[i].entry].first)
	}
}

// Next returns the next row. It aliases the exchange's memory.
func (r *Rows) Next() (row []byte, ok bool) {
	best := -1
	for i := range r.parts {
		if r.next[i] >= 0 && (best < 0 || r.before(i, best)) {
			best = i
		}
	}
	if best < 0 {
		return nil, false
	}
	b, _ := r.lane(best)
	ref := &b.rows[r.next[best]]
	r.next[best] = ref.next
	return b.arena[ref.off : ref.off+ref.n : ref.off+ref.n], true
}

// before reports whether part i's next row comes before part j's, a lower one's.
func (r *Rows) before(i, j int) bool {
	bi, li := r.lane(i)
	bj, lj := r.lane(j)
	return compareOrigins(li, bi.rows[r.next[i]].origin, lj, bj.rows[r.next[j]].origin) < 0
}

func (r *Rows) lane(part int) (*bucket, *Lane) {
	l := r.exchange.lanes[r.parts[part].lane]
	return &l.buckets[r.partition], l
}
