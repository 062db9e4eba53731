package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// Source describes an input of rows of type T. It is a plain description:
// opening it does the work.
type Source[T any] interface {
	// SourceName is the source's identity within its flow. It names the
	// source's positions in the checkpoint, so changing it starts over. It
	// consists of letters, digits, '-', '_' and '.'.
	SourceName() string
	// Open opens the source for one run. It checks what can be checked without
	// reading: that a folder exists, that a row type has the codec it needs.
	Open(ctx context.Context, env SourceEnv[T]) (Reader[T], error)
}

// LegalName makes a source name of a text: it puts '_' for every character
// that a source name must not have.
func LegalName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9',
			r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
}

// SourceEnv is what the engine lends a source.
type SourceEnv[T any] struct {
	// Row holds the codecs of T; nil if T has none, which a source that does
	// not decode (one of the user's own) may not mind.
	Row *Row[T]
	// Log receives warnings and lifecycle messages; never nil.
	Log *slog.Logger
	// Now reads the pipeline's clock.
	Now func() time.Time
	// Unit is the commit unit that reads.
	Unit Unit
	// Clusters are the clusters that the pipeline is configured with.
	Clusters Clusters
	// Journal holds, oldest first, every entry that Discover returned in
	// earlier runs and that became durable.
	Journal [][]byte
}

// Position names a place in a source, in the source's own encoding. Equal
// places have equal bytes. The nil Position is the start. Positions are written
// to the checkpoint and must be readable JSON, since people look at them.
type Position []byte

// Equal reports whether two positions name the same place.
func (p Position) Equal(q Position) bool { return bytes.Equal(p, q) }

// MarshalJSON writes the position as the JSON it is.
func (p Position) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("null"), nil
	}
	return p, nil
}

// UnmarshalJSON keeps a copy of the position's JSON, without white space, so that
// it equals the position it was written from however the file around it looks.
func (p *Position) UnmarshalJSON(b []byte) error {
	*p = nil
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		return err
	}
	*p = compact.Bytes()
	return nil
}

// Limits bound what one epoch reads from a source. Zero means no bound.
type Limits struct {
	Rows  int64
	Bytes int64
}

// Reader reads one source during one run. Its methods are called by one
// goroutine at a time.
type Reader[T any] interface {
	// Discover looks for new input and returns the position of the end as of
	// now. from is where the next epoch will begin: what lies before it has been
	// read for good. If the source must remember something to make sense of that
	// position, it also returns a journal entry, which the engine makes durable
	// before it uses the position and hands back through [SourceEnv.Journal]
	// when the source is next opened. final says that nobody will ask again
	// during this run: what looks unfinished is taken as it is.
	Discover(ctx context.Context, from Position, final bool) (end Position, journal []byte, err error)
	// Cut returns the furthest position after from and not beyond end that
	// keeps within limits, or end itself. It makes progress whenever from is
	// not end, even if the first row alone is over a limit.
	Cut(ctx context.Context, from, end Position, limits Limits) (Position, error)
	// Read yields every row between from and to in the source's order: the same
	// rows in the same order on every call with the same positions, however
	// much has arrived since. It stops at the first error, its own or the one
	// that yield returns. Malformed input is a [MalformedError] unless the
	// source's policy says otherwise.
	Read(ctx context.Context, from, to Position, yield func(*Record[T]) error) (ReadStats, error)
	// Close releases what Open acquired. It may be called more than once.
	Close() error
}

// Record is one row as a reader yields it. It is valid only until yield
// returns; a callee copies what it keeps.
type Record[T any] struct {
	Row T
	// Partition and Offset say where the row came from, for messages and for
	// the order of rows: (partition, offset) rises within a Read.
	Partition int32
	Offset    int64
	// Time is the source's own timestamp of the row, zero if it has none.
	Time time.Time
}

// Settler is a Reader that wants to know how far the flow has come for good, such
// as to tell a monitoring system.
type Settler interface {
	// Settled says that everything before the position has taken effect. It is
	// called between epochs, must not block, and has no way to fail: nothing
	// depends on it.
	Settled(ctx context.Context, upTo Position)
}

// ReadStats counts what a Read passed over or took.
type ReadStats struct {
	Rows      int64 // rows yielded
	Bytes     int64 // input bytes consumed
	Malformed int64 // records dropped by policy
}

// Partitioned is a Reader that knows the partitions of its source, also those
// that have no rows yet: the partitions of its records are 0 to Partitions()-1,
// the same in every run. A watermark waits for all of them. A reader that is not
// Partitioned has one partition for that purpose, whatever its records say.
type Partitioned interface {
	// Partitions returns the number of partitions known since the last Discover.
	Partitions() int
}

// Polled is a Reader whose Discover may return an end with more behind it that has
// been there for a while, such as what is not fetched yet. A watermark waits for a
// partition that has no rows, unless it is known to have none. Of a reader that is
// not Polled, each Discover is taken to return all that is there.
type Polled interface {
	// PolledAt returns an instant of [SourceEnv.Now] such that nothing that was
	// there at it lies behind the end that the last Discover returned; ok is false
	// if none is known. It is called after Discover, and must not block.
	PolledAt() (at time.Time, ok bool)
}

// BoundedSource is a Source that has an end, such as a folder listed once.
type BoundedSource[T any] interface {
	Source[T]
	IsBounded()
}

// ErrLostData marks an error about input that is gone before it was read, or that is
// another one than the checkpoint knows: a person has to choose how to go on.
var ErrLostData = errors.New("input is gone before it was read")

// MalformedError reports input that is not a row.
type MalformedError struct {
	// Where is the place as a person would look it up, "readings/a.jsonl:17".
	Where string
	// Err says what is wrong with it.
	Err error
}

func (e *MalformedError) Error() string { return e.Where + ": malformed row: " + e.Err.Error() }

func (e *MalformedError) Unwrap() error { return e.Err }
