package stream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"

	"github.com/tws-go/tws/schemas"
)

// Committer is the side of an open sink that the engine's commit order talks to.
// For each attempt of an epoch it calls Begin, then lets rows be written, then
// Prepare; once the epoch is decided it calls Publish, as often as it takes.
type Committer interface {
	// Begin starts an attempt and forgets whatever an earlier attempt staged.
	Begin(ctx context.Context, a Attempt) error
	// Prepare makes everything written since Begin durable without making it
	// visible, and checks everything that could make Publish fail. A sink that
	// delivers at least once delivers here.
	Prepare(ctx context.Context) (Staged, error)
	// Publish makes the staged output of a decided epoch visible. It is
	// idempotent and is called again, also by another process after a crash,
	// until it has returned nil. It works from the publication alone. When the
	// sink is not where the publication requires it to be, it returns a
	// [SinkMovedError].
	Publish(ctx context.Context, p Publication) error
	// Close releases the sink and what is staged but not decided. It may be
	// called more than once.
	Close() error
}

// Decider is a Committer whose own commit decides the epoch. It is for systems
// that cannot make an epoch's output visible twice in the same way, but can tell
// afterwards whether they did: a Kafka transaction that carries the epoch's name.
//
// After Prepare the engine writes down what it is about to decide, then calls
// Deliver and Commit; with Commit the epoch has happened. Publish does nothing.
// Whenever the outcome of a Commit is unknown, because it failed or because the
// process ended, the engine calls Settle before anything else.
type Decider interface {
	Committer
	// Deliver hands over everything that Prepare staged, not visible yet,
	// together with the epoch's name. An error that matches [ErrNotDelivered]
	// says that doing it again may help.
	Deliver(ctx context.Context, p Publication) error
	// Commit makes visible what was delivered. After an error it is unknown
	// whether it is visible.
	Commit(ctx context.Context, p Publication) error
	// Settle makes sure that no earlier Deliver or Commit of this unit, by
	// whatever process, can take effect any more, and then reports whether the
	// epoch in doubt is committed. When the sink is at neither of the two epochs,
	// it returns a [SinkMovedError] or a [RecordMissingError]. A record that it has
	// counts, whatever Standing.InDoubt says. Where that is followed, it becomes the
	// sink's record, and Settle answers the same when it is asked again.
	Settle(ctx context.Context, s Standing) (committed bool, err error)
}

// Standing is what a checkpoint knows of the commits of a [Decider].
type Standing struct {
	// Last is the last epoch that is known to be committed; its Epoch is 0 if
	// there is none.
	Last Publication
	// Doubt is the epoch after it, if it may be committed.
	Doubt *Publication
	// Unknown says that the sink may know nothing of this unit although Last has
	// an epoch, or no more than an earlier one: the checkpoint is a fork of another,
	// or its sink did not decide of late.
	Unknown bool
	// InDoubt says how to go on if the sink has lost its record: [InDoubtRerun] or
	// [InDoubtCommitted]; "" if Settle is to return a [RecordMissingError] then.
	InDoubt string
}

// What a user says of an epoch in doubt of which the sink has lost the record.
const (
	InDoubtRerun     = "rerun"     // it is not committed
	InDoubtCommitted = "committed" // it is
)

// ErrNotDelivered marks a failure of Deliver or Commit that may pass: the sink has
// thrown away what was delivered, and takes it again.
var ErrNotDelivered = errors.New("the sink has thrown away what was delivered")

// RecordMissingError reports that a [Decider] has no record of any epoch of a unit
// that has committed some: the record was deleted.
type RecordMissingError struct {
	Sink string // "topic alerts"
	Unit Unit
	// Where is the place of the record: "topic tws-journal, partition 3".
	Where string
	// Last is the last epoch known to be committed, Doubt the one that may be, 0
	// if there is none.
	Last, Doubt int64
}

func (e *RecordMissingError) Error() string {
	lost := e.Where + " has no record of " + e.Unit.String() + ", which has written epoch " + strconv.FormatInt(e.Last, 10) + " to " + e.Sink
	const fresh = "or start over with a fresh checkpoint (all output is written again)"
	if e.Doubt == 0 {
		return lost + "; no epoch is in doubt, so that nothing is lost or doubled. Choices: put the topic back as it was; " +
			"or go on with --in-doubt=rerun or --in-doubt=committed, which are the same then; " + fresh
	}
	return lost + "; whether epoch " + strconv.FormatInt(e.Doubt, 10) + " was written too cannot be known without it. " +
		"Choices: put the topic back as it was; " +
		"or go on with --in-doubt=rerun (epoch " + strconv.FormatInt(e.Doubt, 10) + " runs again: its rows may be there twice); " +
		"or go on with --in-doubt=committed (it counts as written: its rows may be missing); " + fresh
}

// NullWriter is a Writer that can say that a key has no value any more.
type NullWriter[T any] interface {
	// WriteNull stages that the key of row has no value any more; of the row, only
	// what makes up its key counts. It is otherwise as Write.
	WriteNull(lane int, key []byte, row *T) error
}

// Writer is an open sink for rows of type T.
type Writer[T any] interface {
	Committer
	// Write stages one row. Lanes are written concurrently, each by one
	// goroutine; the order within a lane is kept, and lanes follow each other in
	// number order. row and key belong to the caller.
	Write(lane int, key []byte, row *T) error
}

// SinkImpl describes an output for rows of type T, of ours or of the user's own.
type SinkImpl[T any] interface {
	// SinkName says what the sink is, for messages: "console", "topic alerts".
	SinkName() string
	// OpenSink opens the sink for one flow and one run.
	OpenSink(ctx context.Context, env SinkEnv[T]) (Writer[T], error)
}

// SinkEnv is what the engine lends a sink.
type SinkEnv[T any] struct {
	// Row holds the codecs of T; nil if T has none.
	Row *Row[T]
	// Unit is the commit unit that writes.
	Unit Unit
	// Clusters are the clusters that the pipeline is configured with.
	Clusters Clusters
	// Log receives warnings and lifecycle messages; never nil.
	Log *slog.Logger
}

// Unit names a commit unit: one flow of one checkpoint, in one process.
type Unit struct {
	Checkpoint string // the checkpoint's UID
	Flow       string
	// Number tells the processes of one flow apart; 0 as long as there is one.
	Number int
}

// String returns "UID/flow/number", the name under which a sink remembers how far
// this unit has come. It is written to sinks and must not change.
func (u Unit) String() string {
	return u.Checkpoint + "/" + u.Flow + "/" + strconv.Itoa(u.Number)
}

// Attempt is one try at an epoch.
type Attempt struct {
	Epoch  int64 // from 1
	Number int   // from 1
	Lanes  int   // lanes that may be written
	// Prior is the State that the last decided epoch staged; nil before the
	// first.
	Prior json.RawMessage
}

// Staged is what a sink made durable in Prepare.
type Staged struct {
	// Artefacts lists the files that Publish needs.
	Artefacts []Artefact `json:"artefacts,omitempty"`
	// State is the sink's own note, in JSON: handed to Publish with the epoch
	// and to the next epoch's Begin.
	State json.RawMessage `json:"state,omitempty"`
	Rows  int64           `json:"rows"`
	Bytes int64           `json:"bytes"`
}

// Artefact is a durable file that a decision depends on.
type Artefact struct {
	// Path is relative to whatever owns the file: the checkpoint, or the table.
	Path string `json:"path"`
	Size int64  `json:"size"`
	// Sum is the checksum of the whole file, "xxh3:" and 16 hex digits.
	Sum string `json:"sum"`
}

// Publication tells a sink to make a decided epoch visible.
type Publication struct {
	Epoch   int64
	Attempt int
	// Manifest identifies the decision: a checksum over everything it lists.
	Manifest string
	Staged   Staged
}

// SinkMovedError reports that a sink is not at the place that a decision
// requires: it is another sink than the one that was written, the checkpoint is a
// copy of one that went on, or somebody rolled the sink back. Nothing was
// written.
type SinkMovedError struct {
	Sink string // "table sensorAlerts"; the text leaves it to whoever wraps the error
	Unit Unit
	// Want and Have are the sink's own words for the two places.
	Want, Have string
	// Location is where the sink is, such as "folder tables/sensorAlerts", if it
	// knows nothing of the unit and may not be the sink that is meant; else "".
	Location string
}

func (e *SinkMovedError) Error() string {
	if e.Location != "" {
		return "this checkpoint continues from " + e.Want + ", but " + e.Location + " has nothing of " + e.Unit.String() +
			" yet: is it the right one? If it is, it was emptied or replaced: put back what was there, or start over with a fresh checkpoint"
	}
	return "the last epoch written by " + e.Unit.String() + " is " + e.Have +
		", but this checkpoint continues from " + e.Want +
		": the checkpoint is a copy or a backup of one that has moved on, or the sink was rolled back; " +
		"go on from the newest checkpoint, or start the copy as a pipeline of its own with --fork"
}

// TableSink is an open streaming table. Lane i may be written by one goroutine
// while others write other lanes.
type TableSink interface {
	Committer
	Lane(i int) RowWriter
}

// RowWriter takes rows column by column.
type RowWriter interface {
	ColumnWriter
	BeginRow()
	// EndRow ends the row and returns the first error its columns met.
	EndRow() error
}

// TableSpec describes a streaming table.
type TableSpec struct {
	Name    string
	Comment string
	Columns []schemas.Field
}
