package kafka

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// B-86: a commit that says nothing is one. The client's first transaction, of a
// single record, is the one that it might abort instead; the next one then finds
// sequence numbers out of order.
func TestFirstTransactionIsCommitted(t *testing.T) {
	t.Parallel()
	for i := range 48 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			r := c.start(Sink[sinkRow]{}, stream.Standing{})
			r.epoch(1)
			r.epoch(2)
			c.wantIDs(1, 2)
			again := c.run(Sink[sinkRow]{}, r.standing)
			again.settle(false)
		})
	}
}

// A transaction is not ended while the client lacks a topic that it wrote to.
func TestWaitListed(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	client := c.client()
	s := &sending{client: client, topics: []string{"alerts"}}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	wantError(t, s.waitListed(short), "topic alerts")
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "alerts", Value: []byte("1")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := s.waitListed(t.Context()); err != nil {
		t.Fatal(err)
	}
}
