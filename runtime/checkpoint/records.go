package checkpoint

import (
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/schemas"
)

// FlowMeta is what a flow's checkpoint was made with. It is written when the
// flow first starts, and again, as a new version, when the flow's schema changes
// in a compatible way.
type FlowMeta struct {
	// Partitions is the number of state partitions.
	Partitions int `json:"partitions"`
	// Operators are the flow's stateful operators in stage order; the index is
	// the operator's number in store keys.
	Operators []schemas.Processor `json:"operators"`
	// Sources are the names of the flow's sources.
	Sources []string `json:"sources"`
	// Target is the name of the flow's table or sink.
	Target string `json:"target"`
	// Store is the name of the engine that makes the flow's snapshots, which no
	// other engine reads.
	Store string `json:"store"`
}

// SourceRange is what one epoch reads of one source.
type SourceRange struct {
	Name string          `json:"name"`
	From stream.Position `json:"from"`
	To   stream.Position `json:"to"`
}

// Plan fixes everything an epoch's result depends on, before any work: a retry
// sees the same rows and the same clock.
type Plan struct {
	Epoch int64 `json:"epoch"`
	// ClockMicros is the epoch's processing time in microseconds since 1970.
	// It never decreases from epoch to epoch.
	ClockMicros int64         `json:"clock_micros"`
	Sources     []SourceRange `json:"sources,omitempty"`
}

// Decision is the commit of an epoch: it exists or the epoch did not happen.
type Decision struct {
	Epoch   int64 `json:"epoch"`
	Attempt int   `json:"attempt"`
	Plan    Plan  `json:"plan"`
	// Changelogs has one entry for each state partition, in order, the zero
	// Artefact where nothing changed. Paths are relative to the flow's directory.
	Changelogs []stream.Artefact `json:"changelogs"`
	// Sink is what the flow's sink staged.
	Sink stream.Staged `json:"sink"`
	// CommittedAs is the name of the commit unit under which a sink committed the
	// epoch itself (see [stream.Decider]); "" if this record is the commit.
	CommittedAs string `json:"committed_as,omitempty"`
}

// Ends are the positions an available-now run reads to. They are durable before
// the run's first epoch, so a restart finishes to the same place.
type Ends struct {
	Sources []SourceEnd `json:"sources"`
}

// SourceEnd is the end of one source in an available-now run.
type SourceEnd struct {
	Name string          `json:"name"`
	End  stream.Position `json:"end"`
}
