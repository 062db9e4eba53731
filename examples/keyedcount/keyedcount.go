// Package keyedcount counts rows by key, from one Kafka topic to another: the
// smallest stateful pipeline there is, and the one that tws is measured with
// beside other stream processors.
//
// A comparison builds it once with build.sh and runs it with start.sh, which says
// what it takes from the environment; symbolic links to them, or to this folder, do
// too. "make bench" measures it without them.
package keyedcount

import (
	"iter"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/stream/kafka"
)

//go:generate go tool tws-gen

// Event is one message of the input topic.
type Event struct {
	Key  string `json:"k"`
	Sent int64  `json:"ts,omitempty"`
}

// Count says how many events of a key there were up to one of them.
type Count struct {
	Key  string `json:"k"`
	N    int64  `json:"n"`
	Sent int64  `json:"ts"` // of the event
}

// Counter emits a Count for every Event.
type Counter struct {
	tws.Processor[string, Event, Count] `tws:"counter,time=none,output=append"`

	N tws.ValueState[int64] `tws:"n"`
}

// HandleInputRows implements [tws.StatefulProcessor].
func (c *Counter) HandleInputRows(_ *tws.InputContext, key string, rows iter.Seq[Event], out tws.Emitter[Count]) error {
	n, _, err := c.N.Get()
	if err != nil {
		return err
	}
	for e := range rows {
		n++
		if err := out.Emit(Count{Key: key, N: n, Sent: e.Sent}); err != nil {
			return err
		}
	}
	return c.N.Update(n)
}

// CountEvents counts the events of a topic by key.
func CountEvents(f *tws.Flow) tws.Stream[Count] {
	events := tws.ReadStream(f, kafka.Source[Event]{Name: "events", Topic: f.String("in", "events")})
	return tws.TransformWithState(
		tws.GroupBy(events, func(e Event) string { return e.Key }),
		func() *Counter { return &Counter{} },
	)
}

// Register adds the flow of the pipeline. The topics and the guarantee are
// configuration, so it is written by hand: --conf in=TOPIC, --conf out=TOPIC,
// --conf guarantee=exactly-once or at-least-once, --conf linger=DURATION (how long
// the producer waits to fill a batch).
func Register(p *tws.Pipeline) {
	linger := p.Conf("linger", "0s")
	counts := tws.NewSink(kafka.Sink[Count]{
		Topic:       p.Conf("out", "counts"),
		Guarantee:   kafka.Guarantee(p.Conf("guarantee", "exactly-once")),
		Key:         func(c Count) []byte { return []byte(c.Key) },
		Compression: kafka.Uncompressed, // as the others that it is compared with
		ClientOptions: func() ([]kgo.Opt, error) {
			d, err := time.ParseDuration(linger)
			return []kgo.Opt{kgo.ProducerLinger(d)}, err
		},
	})
	tws.AppendFlow(p, counts, "counts", CountEvents)
}
