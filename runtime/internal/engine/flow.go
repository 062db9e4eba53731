// Package engine runs flows: epoch after epoch of reading, sessions and commit,
// on bytes. What rows and states mean is known to the operators that the typed
// layer above hands in; the engine knows keys, key groups, encoded rows, state
// entries, timers, and the order in which things become durable.
//
// The life of an epoch is [Unit.runEpoch]; recovery is [Unit.recover]. The
// invariants they keep are written in ARCHITECTURE.md.
package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// Flow is a flow as the engine runs it: sources, stateful stages, a sink.
type Flow struct {
	Name    string
	Target  string // what the sink is, for messages and the checkpoint
	Sources []Source
	// Watermark is how the flow knows event time; nil if it does not.
	Watermark *Watermark
	// Stages are the stateful operators in order; a flow without any sends its
	// source rows to the sink.
	Stages []*Stage
	// OpenSink opens the flow's sink for one run.
	OpenSink func(ctx context.Context, unit stream.Unit, log *slog.Logger) (stream.Committer, error)
}

// Source is a source of a flow. It pushes the rows it reads, decoded, mapped and
// encoded again, into the exchange of the first stage, or into the sink.
type Source interface {
	Name() string
	Open(ctx context.Context, env SourceEnv) (Reader, error)
}

// SourceEnv is what a source is opened with.
type SourceEnv struct {
	// Lane is the lane of the exchange, or of the sink, that the source writes.
	Lane    int
	Unit    stream.Unit
	Log     *slog.Logger
	Now     func() time.Time
	Journal [][]byte
}

// Reader is an open source; see [stream.Reader] for the contract. Read returns
// after all rows between the positions have been pushed.
type Reader interface {
	Discover(ctx context.Context, from stream.Position, final bool) (end stream.Position, journal []byte, err error)
	Cut(ctx context.Context, from, end stream.Position, limits stream.Limits) (stream.Position, error)
	Read(ctx context.Context, from, to stream.Position) (stream.ReadStats, error)
	// Settled says that everything before the position has taken effect.
	Settled(ctx context.Context, upTo stream.Position)
	Close() error
}

// Stage is one stateful operator of a flow.
type Stage struct {
	Schema   schemas.Processor
	Exchange *Exchange // its input
	// Open makes the operator's instance for one state partition. Its output
	// goes to the lane of the partition's number, of the next stage's exchange or
	// of the sink.
	Open func(partition int, s *Session) (Instance, error)
}

// Instance is an operator in one state partition. It reads and changes the state
// of the session's key only.
type Instance interface {
	// Input handles the rows of one key.
	Input(ctx context.Context, key []byte, rows *Rows) error
	// Timer handles a due timer of one key.
	Timer(ctx context.Context, key []byte, t FiredTimer) error
	// Close is called once, when the run ends.
	Close() error
}
