package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

func appendTestEntry(dst []byte, r kgo.Record) []byte {
	dst, h := beginEntry(dst, r.Key, r.Partition)
	if r.Value != nil {
		dst = append(dst, r.Value...)
		h.value(dst)
	}
	if !r.Timestamp.IsZero() {
		h.time(dst, r.Timestamp)
	}
	var headers []Header
	for _, x := range r.Headers {
		headers = append(headers, Header(x))
	}
	return h.headers(dst, headers)
}

func TestEntries(t *testing.T) {
	t.Parallel()
	want := []kgo.Record{
		{Partition: -1},
		{Key: []byte{}, Value: []byte{}, Partition: 0},
		{Key: []byte("k"), Value: []byte("value"), Partition: 1<<31 - 1, Timestamp: time.UnixMilli(-5)},
		{Value: []byte("value"), Headers: []kgo.RecordHeader{{Key: "", Value: nil}, {Key: "a", Value: []byte{}}, {Key: "b", Value: []byte("x")}}},
	}
	var b []byte
	for _, r := range want {
		b = appendTestEntry(b, r)
	}
	whole := b
	var got []kgo.Record
	for len(b) > 0 {
		var r kgo.Record
		var err error
		if b, err = readEntry(b, &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b kgo.Record) bool {
		return cmp.Equal(a.Key, b.Key) && cmp.Equal(a.Value, b.Value) && cmp.Equal(a.Headers, b.Headers) && a.Timestamp.Equal(b.Timestamp) && a.Partition == b.Partition
	})); diff != "" {
		t.Error(diff)
	}
	var r kgo.Record
	last := whole[len(whole)-entryHead-len("value")-3*8-3:]
	for n := range len(last) {
		if _, err := readEntry(last[:n], &r); err == nil {
			t.Errorf("%d of %d bytes are an entry", n, len(last))
		}
	}
}

func FuzzReadEntry(f *testing.F) {
	f.Add(appendTestEntry(nil, kgo.Record{Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h"}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r kgo.Record
		rest, err := readEntry(b, &r)
		if err == nil && len(rest) > len(b)-entryHead {
			t.Errorf("%d bytes are left of %d", len(rest), len(b))
		}
	})
}

// spoolEntry is a row of the tests of the spool.
func spoolEntry(lane, i int) []byte {
	return appendTestEntry(nil, kgo.Record{Key: fmt.Append(nil, lane), Value: fmt.Appendf(nil, "%d %0*d", i, i%5000, 0)})
}

func fillSpool(t *testing.T, s *spool, rows int) {
	t.Helper()
	var lanes sync.WaitGroup
	for n, l := range s.lanes {
		lanes.Go(func() {
			for i := range rows {
				e := spoolEntry(n, i)
				if err := l.keep(append(l.room(), e...), len(e)-entryHead); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	lanes.Wait()
}

func checkSpool(t *testing.T, s *spool, rows int) {
	t.Helper()
	for n, l := range s.lanes {
		i := 0
		err := l.blocks(func(block []byte) error {
			for len(block) > 0 {
				want := spoolEntry(n, i)
				if !bytes.HasPrefix(block, want) {
					return fmt.Errorf("lane %d, row %d is not what was written", n, i)
				}
				block = block[len(want):]
				i++
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if i != rows || l.rows != int64(rows) {
			t.Errorf("lane %d has %d rows, and says %d, want %d", n, i, l.rows, rows)
		}
	}
}

func TestSpool(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int64{"in memory": 1 << 30, "half in a file": 2 << 20, "in a file": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpool(limit)
			s.dir = t.TempDir()
			for _, lanes := range []int{1, 4, 2} {
				if err := s.reset(lanes); err != nil {
					t.Fatal(err)
				}
				checkSpool(t, s, 0)
				const rows = 2000
				fillSpool(t, s, rows)
				checkSpool(t, s, rows)
				checkSpool(t, s, rows) // again
				if used := s.used.Load(); used > limit+int64(lanes)*blockSize {
					t.Errorf("%d bytes in memory, the bound is %d", used, limit)
				}
			}
			if name != "in memory" && s.size == 0 {
				t.Error("nothing is in the file")
			}
			if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
				t.Errorf("the folder has %v (%v), the file should have no name", left, err)
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Blocks that somebody may still read are not written to.
func TestSpoolLent(t *testing.T) {
	t.Parallel()
	s := newSpool(1 << 30)
	if err := s.reset(1); err != nil {
		t.Fatal(err)
	}
	fillSpool(t, s, 1)
	var lent []byte
	if err := s.lanes[0].blocks(func(b []byte) error { lent = b; return nil }); err != nil {
		t.Fatal(err)
	}
	s.lent = true
	if err := s.reset(1); err != nil {
		t.Fatal(err)
	}
	l := s.lanes[0]
	if err := l.keep(append(l.room(), bytes.Repeat([]byte{0xff}, 100)...), 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(lent, spoolEntry(0, 0)) {
		t.Error("a block that is lent was written to")
	}
}

func TestSpoolDamage(t *testing.T) {
	t.Parallel()
	s := newSpool(0)
	s.dir = t.TempDir()
	if err := s.reset(1); err != nil {
		t.Fatal(err)
	}
	fillSpool(t, s, 2000)
	if _, err := s.file.WriteAt([]byte{0xff}, s.lanes[0].spilled[0].at+100); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.lanes[0].blocks(func([]byte) error { return nil }), "temporary file is damaged")

	s = newSpool(0)
	s.dir = "/nowhere/at/all"
	if err := s.reset(1); err != nil {
		t.Fatal(err)
	}
	l := s.lanes[0]
	wantError(t, l.keep(append(l.room(), make([]byte, blockSize)...), 0), "temporary file for the output", "/nowhere")
}

// fullFile takes some blocks, then none.
type fullFile struct {
	spoolFile
	room int
}

func (f *fullFile) WriteAt(b []byte, at int64) (int, error) {
	if f.room--; f.room < 0 {
		return 0, errors.New("the disk is full")
	}
	return f.spoolFile.WriteAt(b, at)
}

// The disk is full between two blocks: what was written is not kept in memory as
// well, or the next attempt would use a block twice at the same time.
func TestSpoolDiskFull(t *testing.T) {
	t.Parallel()
	s := newSpool(2 * blockSize)
	s.dir = t.TempDir()
	if err := errors.Join(s.reset(1), s.open()); err != nil {
		t.Fatal(err)
	}
	s.file = &fullFile{spoolFile: s.file, room: 1}
	l := s.lanes[0]
	var err error
	rows := 0
	for ; err == nil; rows++ {
		e := spoolEntry(0, rows)
		err = l.keep(append(l.room(), e...), len(e)-entryHead)
	}
	wantError(t, err, "the disk is full", "set TMPDIR")
	checkSpool(t, s, rows)
	if used := s.used.Load(); used != 2*blockSize {
		t.Errorf("%d bytes are said to be in memory, want two blocks", used)
	}
	if err := s.reset(1); err != nil {
		t.Fatal(err)
	}
	seen := map[*byte]bool{}
	for _, b := range l.free {
		first := &b[:1][0]
		if seen[first] {
			t.Error("a block is free twice")
		}
		seen[first] = true
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// A folder for the spool that is not there is told with what to do about it.
func TestSpoolWithoutFolder(t *testing.T) {
	t.Parallel()
	s := newSpool(0)
	s.dir = filepath.Join(t.TempDir(), "absent")
	wantError(t, s.open(), "create a temporary file", "absent", "set TMPDIR")
}
