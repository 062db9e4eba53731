package kafka

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

const (
	blockSize = 256 << 10
	// blockFull is where a block is closed, so that most rows fit without the
	// block growing.
	blockFull = blockSize - 16<<10
	// spoolMemory is what a spool holds before it writes to a file.
	spoolMemory = 64 << 20
)

// spool keeps the entries of one attempt until they are delivered: in memory up
// to a bound, beyond it in a temporary file that has no name and so vanishes with
// the process. Entries never cross the end of a block, and blocks are written to
// the file whole, with a checksum.
//
// Lanes are filled concurrently, each by one goroutine. Everything else is for one
// goroutine at a time, and leaves the entries in place: they can be read as often
// as needed, until reset.
type spool struct {
	limit int64
	dir   string       // of the file, "" for the system's
	used  atomic.Int64 // capacity of the closed blocks in memory
	lanes []*spoolLane
	// lent says that somebody may still read the blocks: they are not used again.
	lent bool

	mu   sync.Mutex // guards what follows
	file spoolFile  // nil until it is needed
	size int64
}

// spoolFile is what a spool needs of its file.
type spoolFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
}

// spoolLane is what one goroutine wrote.
type spoolLane struct {
	spool   *spool
	block   []byte   // open
	full    [][]byte // closed, after what is in the file
	spilled []extent
	free    [][]byte
	rows    int64
	bytes   int64
}

// extent is a block in the file.
type extent struct {
	at   int64
	size int
	sum  uint32
}

func newSpool(limit int64) *spool { return &spool{limit: limit} }

// reset forgets all entries and makes room for a number of lanes.
func (s *spool) reset(lanes int) error {
	if s.lent {
		s.lanes, s.lent = nil, false
	}
	for len(s.lanes) < lanes {
		s.lanes = append(s.lanes, &spoolLane{spool: s})
	}
	for _, l := range s.lanes[lanes:] {
		l.free = nil
		l.reset()
	}
	s.lanes = s.lanes[:lanes]
	for _, l := range s.lanes {
		l.reset()
	}
	s.used.Store(0)
	if s.file == nil || s.size == 0 {
		return nil
	}
	s.size = 0
	if err := s.file.Truncate(0); err != nil {
		return fmt.Errorf("empty the spooled output's temporary file: %w", err)
	}
	return nil
}

// keptBlocks is how many blocks a lane keeps from one attempt to the next.
const keptBlocks = 16

func (l *spoolLane) reset() {
	for _, b := range l.full {
		l.recycle(b)
	}
	l.block, l.full, l.spilled = l.block[:0], l.full[:0], l.spilled[:0]
	l.rows, l.bytes = 0, 0
}

func (l *spoolLane) recycle(b []byte) {
	if len(l.free) < keptBlocks && cap(b) == blockSize {
		l.free = append(l.free, b[:0])
	}
}

// room returns the block to append an entry to.
func (l *spoolLane) room() []byte {
	if cap(l.block) > 0 {
		return l.block
	}
	if n := len(l.free); n > 0 {
		l.block, l.free = l.free[n-1], l.free[:n-1]
		return l.block
	}
	l.block = make([]byte, 0, blockSize)
	return l.block
}

// keep takes the block back, with an entry more of so many bytes of key and value.
func (l *spoolLane) keep(block []byte, bytes int) error {
	l.rows++
	l.bytes += int64(bytes)
	if l.block = block; len(block) < blockFull {
		return nil
	}
	l.full = append(l.full, block)
	l.block = nil
	if l.spool.used.Add(int64(cap(block))) <= l.spool.limit {
		return nil
	}
	return l.spill()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// spill moves the lane's closed blocks to the file.
func (l *spoolLane) spill() error {
	s := l.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	for i, b := range l.full {
		if _, err := s.file.WriteAt(b, s.size); err != nil {
			l.full = l.full[i:]
			return fmt.Errorf("write the output beyond %d MiB to a temporary file: %w; free space there, or set TMPDIR to another folder", s.limit>>20, err)
		}
		l.spilled = append(l.spilled, extent{s.size, len(b), crc32.Checksum(b, castagnoli)})
		s.size += int64(len(b))
		s.used.Add(-int64(cap(b)))
		l.recycle(b)
	}
	l.full = l.full[:0]
	return nil
}

func (s *spool) open() error {
	if s.file != nil {
		return nil
	}
	f, err := os.CreateTemp(s.dir, "tws-kafka-*")
	if err != nil {
		return fmt.Errorf("create a temporary file for the output beyond %d MiB: %w; set TMPDIR to a folder that can be written", s.limit>>20, err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return errors.Join(fmt.Errorf("unlink the temporary file of the output: %w", err), f.Close())
	}
	s.file = f
	return nil
}

// blocks yields the entries of a lane in order, a block of them at a time. A block
// stays as it is until reset, after the call too.
func (l *spoolLane) blocks(yield func(block []byte) error) error {
	for _, e := range l.spilled {
		b := make([]byte, e.size)
		if _, err := l.spool.file.ReadAt(b, e.at); err != nil {
			return fmt.Errorf("read the output's temporary file: %w", err)
		}
		if crc32.Checksum(b, castagnoli) != e.sum {
			return errors.New("the output's temporary file is damaged: a checksum is wrong")
		}
		if err := yield(b); err != nil {
			return err
		}
	}
	for _, b := range l.full {
		if err := yield(b); err != nil {
			return err
		}
	}
	if len(l.block) > 0 {
		return yield(l.block)
	}
	return nil
}

// close frees the memory and the file.
func (s *spool) close() error {
	s.lanes = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file, s.size = nil, 0
	return err
}
