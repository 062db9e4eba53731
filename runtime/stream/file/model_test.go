package file

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tws-go/tws/runtime/stream"
)

// written is what the model knows of a file.
type written struct {
	pending string  // still to be written
	coming  []int64 // ids of the rows in pending
	want    []int64 // ids of the rows that must be read, in order
	sealed  bool    // what is written from now on is ignored, or
	late    []int64 // comes after all, if the file is not read to its end by then
	removed bool
}

// model drives a source at random and says what it must yield.
type model struct {
	*folder
	rng    *rand.Rand
	files  map[string]*written
	names  []string
	nextID int64
	end    stream.Position // of the last Discover
	got    map[int32][]int64
}

// TestRandomInterleavings writes, discovers, cuts, reads, crashes and restarts
// in random order: every row comes once, in the order of its file.
//
// B-78, B-84
func TestRandomInterleavings(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m := &model{
				folder: newFolder(t),
				rng:    rand.New(rand.NewPCG(seed, 77)),
				files:  map[string]*written{},
				got:    map[int32][]int64{},
			}
			m.newRun()
			for range 150 {
				m.step()
			}
			m.finish()
		})
	}
}

func (m *model) step() {
	switch m.rng.IntN(12) {
	case 0, 1, 2, 3:
		m.write()
	case 4:
		m.passTime()
	case 5, 6, 7:
		m.discoverSometime()
	case 8, 9, 10:
		m.epoch()
	case 11:
		if m.rng.IntN(2) == 0 {
			m.newRun()
		} else {
			m.removeFinished()
		}
	}
}

// newRun starts a new reader. An end that was found before stays good.
func (m *model) newRun() {
	m.source.MaxFiles = m.rng.IntN(4)
	m.restart()
}

// write writes a bit to a file, which may end anywhere in a row.
func (m *model) write() {
	name := fmt.Sprintf("d%d/f%d", m.rng.IntN(2), len(m.names))
	if len(m.names) > 0 && m.rng.IntN(4) > 0 {
		name = m.names[m.rng.IntN(len(m.names))]
	} else {
		m.names = append(m.names, name)
		m.files[name] = &written{}
	}
	w := m.files[name]
	if w.removed {
		return
	}
	for range m.rng.IntN(5) {
		ends := []string{"\n", "\r\n", "\n\n", " \n"}
		w.pending += fmt.Sprintf("{\"id\":%d}%s", m.nextID, ends[m.rng.IntN(len(ends))])
		w.coming = append(w.coming, m.nextID)
		m.nextID++
	}
	m.flush(name, m.rng.IntN(len(w.pending)+1))
}

// flush writes the next n bytes of a file and notes the rows that they complete.
func (m *model) flush(name string, n int) {
	w := m.files[name]
	m.append(name, w.pending[:n])
	for range strings.Count(w.pending[:n], "}") {
		if w.sealed {
			w.late = append(w.late, w.coming[0])
		} else {
			w.want = append(w.want, w.coming[0])
		}
		w.coming = w.coming[1:]
	}
	w.pending = w.pending[n:]
}

// completeRows writes the rest of all rows that are half written.
func (m *model) completeRows() {
	for _, name := range m.names {
		w := m.files[name]
		if i := strings.IndexByte(w.pending, '}'); i >= 0 && !w.removed && strings.LastIndexByte(w.pending[:i], '{') < 0 {
			m.flush(name, i+1)
		}
	}
}

// passTime lets files settle, but none in the middle of a row.
func (m *model) passTime() {
	m.completeRows()
	m.pass(time.Duration(m.rng.IntN(15)) * time.Second)
}

// discoverSometime discovers. Sometimes the process dies before the journal
// entry is durable, sometimes the run ends with it.
func (m *model) discoverSometime() {
	before := slices.Clone(m.journal)
	final := m.rng.IntN(5) == 0
	unread := m.unread()
	end := m.discover(final)
	if m.rng.IntN(6) == 0 {
		m.journal = before
		m.newRun()
		return
	}
	m.end = end
	m.learn(unread)
	if again := m.discoverAgain(final); again != nil && !again.Equal(end) {
		m.t.Errorf("nothing happened, and the end went from %s to %s", end, again)
	}
	if final {
		m.newRun()
	}
}

// unread returns the files that are sealed but not read to their end.
func (m *model) unread() []string {
	l := m.ledger()
	at, err := l.resolve(m.at)
	if err != nil {
		m.t.Fatal(err)
	}
	var names []string
	for name, n := range l.number {
		if l.files[n].sealed && l.offset(&at, n) < l.files[n].end {
			names = append(names, name)
		}
	}
	return names
}

// learn notes which files a Discover has sealed, and that it has opened those
// again that changed before they were read to their end.
func (m *model) learn(unread []string) {
	for _, name := range unread {
		w := m.files[name]
		w.want, w.late = append(w.want, w.late...), nil
	}
	l := m.ledger()
	for name, n := range l.number {
		m.files[name].sealed = l.files[n].sealed
	}
}

// discoverAgain asks twice, or in a new process, when nothing has changed.
func (m *model) discoverAgain(final bool) stream.Position {
	if !final && m.rng.IntN(3) == 0 {
		m.newRun()
	}
	if final || m.rng.IntN(2) == 0 {
		return nil
	}
	n := len(m.journal)
	again := m.discover(false)
	if len(m.journal) > n {
		m.t.Errorf("nothing happened, and the journal got %s", m.journal[n])
	}
	return again
}

// epoch cuts and reads, twice with the same result, and maybe commits.
func (m *model) epoch() {
	if m.at.Equal(m.end) {
		return
	}
	limits := stream.Limits{Rows: int64(m.rng.IntN(6)), Bytes: int64(m.rng.IntN(3) * m.rng.IntN(60))}
	to := m.cut(m.at, m.end, limits)
	if to.Equal(m.at) {
		m.t.Fatalf("no progress from %s to %s with limits %+v", m.at, m.end, limits)
	}
	rows, stats, err := m.tryRead(m.at, to)
	if err != nil {
		m.t.Fatal(err)
	}
	if limits.Rows > 0 && stats.Rows > limits.Rows || limits.Bytes > 0 && stats.Bytes > limits.Bytes && stats.Rows > 1 {
		m.t.Errorf("epoch of %+v is over the limits %+v", stats, limits)
	}
	m.write()
	if m.rng.IntN(2) == 0 {
		m.newRun()
	}
	if again := m.read(m.at, to); !reflect.DeepEqual(rows, again) {
		m.t.Errorf("rows from %s to %s were %v, then %v", m.at, to, rows, again)
	}
	if m.rng.IntN(4) == 0 {
		return // the epoch failed
	}
	m.at = to
	for _, r := range rows {
		m.got[r.Partition] = append(m.got[r.Partition], r.ID)
	}
}

// removeFinished removes a file that is sealed and read to its end.
func (m *model) removeFinished() {
	l := m.ledger()
	at, err := l.resolve(m.at)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(l.number)) {
		n := l.number[name]
		if l.files[n].sealed && l.offset(&at, n) == l.files[n].end && !m.files[name].removed {
			m.remove(name)
			m.files[name].removed = true
			return
		}
	}
}

// ledger returns what the durable journal says.
func (m *model) ledger() *ledger {
	l := new(ledger)
	if err := l.load(m.journal); err != nil {
		m.t.Fatal(err)
	}
	return l
}

// finish reads the rest and compares.
func (m *model) finish() {
	m.completeRows()
	m.pass(time.Minute)
	m.restart()
	unread := m.unread()
	m.end = m.discover(false)
	m.learn(unread)
	for !m.at.Equal(m.end) {
		to := m.cut(m.at, m.end, stream.Limits{Rows: 3})
		for _, r := range m.read(m.at, to) {
			m.got[r.Partition] = append(m.got[r.Partition], r.ID)
		}
		m.at = to
	}
	number := m.ledger().number
	rows := 0
	for name, w := range m.files {
		var got []int64
		if n, ok := number[name]; ok {
			got = m.got[n]
		}
		if !slices.Equal(got, w.want) {
			m.t.Errorf("file %s: got %v, want %v", name, got, w.want)
		}
		rows += len(got)
	}
	if rows == 0 {
		m.t.Error("no rows at all")
	}
}
