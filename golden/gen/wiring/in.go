// Package wiring declares tables, sinks and flows in every form.
package wiring

import (
	"context"
	"errors"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/file"
)

// Event is a row.
type Event struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
}

// Count is a row.
type Count struct {
	N int64 `json:"n"`
}

// Events has "quotes", a back`tick, a \ and two paragraphs.
//
// This is the second.
//
//tws:table
var Events tws.StreamingTable[Event]

// Counts is called otherwise.
//
//tws:table name=daily_counts
var Counts tws.StreamingTable[Count]

//tws:table name=bare
var noComment tws.StreamingTable[Count]

// Live declares a table and its default flow.
//
//tws:table
func Live(f *tws.Flow) tws.Stream[Event] {
	return tws.ReadStream(f, file.JSON[Event]{Path: "live"})
}

// nowhere is a sink of the user's own.
type nowhere struct{}

func (nowhere) SinkName() string { return "nowhere" }

func (nowhere) OpenSink(context.Context, stream.SinkEnv[Count]) (stream.Writer[Count], error) {
	return nil, errors.New("wiring: nothing to open")
}

// Nowhere is a sink.
//
//tws:sink
var Nowhere = tws.NewSink[Count](nowhere{})

// ReadEvents feeds the table Events.
//
//tws:flow target=Events
func ReadEvents(f *tws.Flow) tws.Stream[Event] {
	return tws.ReadStream(f, file.JSON[Event]{Path: "events"})
}

// Backfill feeds it too, once.
//
//tws:flow target=Events name=old-events once
func Backfill(f *tws.Flow) tws.Bounded[Event] {
	return tws.ReadBounded(f, file.JSON[Event]{Path: "old"}.Once())
}

// CountAway feeds the sink.
//
//tws:flow target=Nowhere
func CountAway(f *tws.Flow) tws.Stream[Count] {
	return tws.ReadStream(f, file.JSON[Count]{Path: "counts"})
}

// CountMore feeds a table without a comment.
//
//tws:flow target=noComment
func CountMore(f *tws.Flow) tws.Stream[Count] {
	return tws.ReadStream(f, file.JSON[Count]{Path: "counts"})
}
