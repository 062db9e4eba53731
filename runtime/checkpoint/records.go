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
	// Partitions is how many partitions of the source were known, if the flow has
	// a watermark.
	Partitions int `json:"partitions,omitempty"`
	// PolledMicros is the clock at which the source ended at To, if the flow has a
	// watermark; 0 if To lies before the end, or it is not known when that was.
	PolledMicros int64 `json:"polled_micros,omitempty"`
}

// Plan fixes everything an epoch's result depends on, before any work: a retry
// sees the same rows and the same clock.
type Plan struct {
	Epoch int64 `json:"epoch"`
	// ClockMicros is the epoch's processing time in microseconds since 1970.
	// It never decreases from epoch to epoch.
	ClockMicros int64 `json:"clock_micros"`
	// WatermarkMicros is the epoch's watermark, nil if the flow has none or it is
	// unset. It never decreases either; math.MaxInt64 is the end of a flow that
	// reads once.
	WatermarkMicros *int64        `json:"watermark_micros,omitempty"`
	Sources         []SourceRange `json:"sources,omitempty"`
}

// Decision is the commit of an epoch: it exists or the epoch did not happen.
type Decision struct {
	Epoch   int64 `json:"epoch"`
	Attempt int   `json:"attempt"`
	Plan    Plan  `json:"plan"`
	// Changelogs has one entry for each state partition, in order, the zero
	// Artefact where nothing changed. Paths are relative to the flow's directory.
	Changelogs []stream.Artefact `json:"changelogs"`
	// EventTimes is what is known of event time after the epoch, if the flow has a
	// watermark: what the next plan's watermark is made of.
	EventTimes []SourceTimes `json:"event_times,omitempty"`
	// Sink is what the flow's sink staged.
	Sink stream.Staged `json:"sink"`
	// CommittedAs is the name of the commit unit under which a sink committed the
	// epoch itself (see [stream.Decider]); "" if this record is the commit.
	CommittedAs string `json:"committed_as,omitempty"`
}

// SourceTimes is what a flow with a watermark knows of one source.
type SourceTimes struct {
	Name string `json:"name"`
	// PolledMicros is the clock of the newest look at the source whose input has
	// been read to the end: until then it is known which partitions had rows.
	PolledMicros int64            `json:"polled_micros"`
	Partitions   []PartitionTimes `json:"partitions"`
}

// PartitionTimes is what a flow with a watermark knows of one partition of a
// source.
type PartitionTimes struct {
	// MaxMicros is the largest event time of its rows, nil before the first row.
	MaxMicros *int64 `json:"max_micros"`
	// RowsMicros is the clock of the newest epoch that had rows of it, or of the
	// first that knew of it.
	RowsMicros int64 `json:"rows_micros"`
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
	// Partitions is how many partitions of the source were known, if the flow has
	// a watermark.
	Partitions int `json:"partitions,omitempty"`
}
