package kafka

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// model drives a source at random and knows what it must yield.
type model struct {
	*topicTest[sensor]
	rng    *rand.Rand
	parts  int32
	nextID int64
	want   map[int32][]int64 // by partition, in order
	got    map[int32][]int64
	// plan is an epoch that was cut and perhaps read, but has not taken effect.
	from, to stream.Position
	planned  []row // nil if it was not read yet
	open     bool
}

// TestRandomInterleavings produces, aborts, grows the topic, cuts, reads, crashes
// and restarts in random order: every committed row comes once, in the order of
// its partition, and a plan has the same rows however often it is read.
//
// B-72, B-74
func TestRandomInterleavings(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			source := Source[sensor]{Topic: "sensors", BufferBytes: 1 + rng.Int64N(6000), ClientOptions: func() ([]kgo.Opt, error) {
				return []kgo.Opt{kgo.FetchMaxPartitionBytes(200)}, nil
			}}
			m := &model{topicTest: newTopicTest(t, source), rng: rng, parts: 2, want: map[int32][]int64{}, got: map[int32][]int64{}}
			for range 60 {
				m.step()
			}
			m.finish()
		})
	}
}

func (m *model) step() {
	m.Helper()
	switch n := m.rng.IntN(12); {
	case n < 4:
		m.produce()
	case n < 5 && m.parts < 5:
		m.parts++
		m.grow(int(m.parts))
		m.clock.Add(31)
	case n < 6:
		m.stop() // the plan stays, as it is durable
	case n < 7:
		m.move()
	default:
		m.epoch(m.rng.IntN(4) == 0)
	}
}

// produce writes rows, outside of a transaction, or in one that may be aborted.
func (m *model) produce() {
	p := m.rng.Int32N(m.parts)
	var records []*kgo.Record
	var ids []int64
	for range 1 + m.rng.IntN(8) {
		records, ids = append(records, jsonRecord(p, m.nextID)), append(ids, m.nextID)
		m.nextID++
	}
	switch m.rng.IntN(4) {
	case 0:
		m.transact(false, records...)
		return
	case 1:
		m.transact(true, records...)
	default:
		m.putRecords(records...)
	}
	m.want[p] = append(m.want[p], ids...)
}

func (m *model) move() {
	p := m.rng.Int32N(m.parts)
	if err := m.fake.MoveTopicPartition("sensors", p, m.rng.Int32N(2)); err != nil {
		m.Fatal(err)
	}
}

// epoch goes one step on with an epoch: cut it, read it, or let it take effect.
func (m *model) epoch(final bool) {
	m.Helper()
	if m.reader == nil {
		m.restart()
	}
	if !m.open {
		end := m.discover(final)
		limits := stream.Limits{Rows: m.rng.Int64N(12), Bytes: m.rng.Int64N(200)}
		m.from, m.to, m.planned = m.at, m.cut(m.at, end, limits), nil
		m.open = !m.to.Equal(m.from)
		if final && !m.open && !m.at.Equal(end) {
			m.Fatalf("no progress from %s to %s", m.at, end)
		}
		return
	}
	rows := m.read(m.from, m.to)
	if m.planned != nil {
		if diff := cmp.Diff(m.planned, rows); diff != "" {
			m.Fatalf("%s to %s is read otherwise than before: %s", m.from, m.to, diff)
		}
	}
	if m.planned = rows; m.rng.IntN(3) == 0 {
		return // the run fails before the epoch takes effect, or does it again
	}
	for _, r := range rows {
		p := m.reader.(*reader[sensor]).ledger.logs[r.Partition].partition
		m.got[p] = append(m.got[p], r.ID)
	}
	m.at, m.open = m.to, false
}

func (m *model) finish() {
	m.Helper()
	for m.open || m.reader == nil {
		m.epoch(true)
	}
	for end := m.discover(true); !m.at.Equal(end) || m.open; {
		m.epoch(true)
	}
	for p := range m.parts {
		if !slices.Equal(m.got[p], m.want[p]) {
			m.Errorf("partition %d: got %v, want %v", p, m.got[p], m.want[p])
		}
	}
}
