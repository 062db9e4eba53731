package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sending is what goes into one transaction. It gathers the failures.
type sending struct {
	client *kgo.Client
	stop   func()   // called at the first failure
	topics []string // that were sent to
	mu     sync.Mutex
	first  error
}

func (s *sending) done(r *kgo.Record, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = &unsent{r.Topic, err}
		s.stop()
	}
}

// unsent is why a record did not get into its topic, which is the sink's or the
// journal.
type unsent struct {
	topic string
	err   error
}

func (e *unsent) Error() string { return e.err.Error() }

func (e *unsent) Unwrap() error { return e.err }

func (s *sending) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// listPause is how long waitListed waits between two looks.
const listPause = time.Millisecond

// waitListed waits, after a flush, until the client's list of topics holds all that
// were sent to. The first record of a topic is sent before the topic is listed, and
// may be acknowledged before: a client that ends a transaction looks through the
// list for partitions that were written to, and aborts, without an error, when it
// finds none (kgo 1.22, storePartitionsUpdate and EndTransaction).
func (s *sending) waitListed(ctx context.Context) error {
	for _, topic := range s.topics {
		for !inTopics(s.client, topic) {
			if !wait(ctx, listPause) {
				return fmt.Errorf("the client does not list topic %s, which it has written to: %w", topic, ctx.Err())
			}
		}
	}
	return nil
}

// inTopics reports whether the client lists the topic's partitions, which it does all
// at once. A listed one that has no leader has another negative number for it.
func inTopics(c *kgo.Client, topic string) bool {
	leader, _, _ := c.PartitionLeader(topic, 0)
	return leader != -1
}
