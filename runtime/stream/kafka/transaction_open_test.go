package kafka

import (
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// answerProducers makes the cluster tell of producers in partition 1 of what it is asked.
func (c *sinkCluster) answerProducers(tell func(*kmsg.DescribeProducersResponseTopicPartition)) {
	c.fake.ControlKey(int16(kmsg.DescribeProducers), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		q := req.(*kmsg.DescribeProducersRequest)
		resp := q.ResponseKind().(*kmsg.DescribeProducersResponse)
		for _, asked := range q.Topics {
			topic := kmsg.NewDescribeProducersResponseTopic()
			topic.Topic = asked.Topic
			for _, n := range asked.Partitions {
				p := kmsg.NewDescribeProducersResponseTopicPartition()
				if p.Partition = n; n == 1 {
					tell(&p)
				}
				topic.Partitions = append(topic.Partitions, p)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return resp, nil, true
	})
}

// B-86: a broker was killed while it ended the unit's transaction, and has forgotten to:
// the next commit would make those rows visible too.
func TestTransactionLeftOpen(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	id, _, err := r.w.(*transactional[sinkRow]).client.ProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left, end := 12, -1_000_000 // questions that are answered so, and the last one that is
	c.answerProducers(func(p *kmsg.DescribeProducersResponseTopicPartition) {
		for _, producer := range []int64{id + 1, id} {
			a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
			if a.ProducerID = producer; producer != id || left > 0 {
				a.CurrentTxnStartOffset = 7 // of another producer's, nobody cares
			}
			p.ActiveProducers = append(p.ActiveProducers, a)
		}
		if left--; left == end {
			cancel()
		}
	})
	next := c.start(Sink[sinkRow]{}, r.standing)
	if left >= 0 {
		t.Errorf("settle did not wait: %d answers are left", left)
	}
	abort := "kafka-transactions.sh --bootstrap-server " + c.brokers + " abort --topic alerts --partition 1 --start-offset 7"
	if !strings.Contains(c.log.String(), abort) {
		t.Errorf("nothing says %q:\n%s", abort, c.log)
	}
	next.epoch(2)
	c.wantIDs(1, 2)

	left, end = 1_000_000, 1_000_000-5
	_, err = c.run(Sink[sinkRow]{}, next.standing).d.Settle(ctx, next.standing)
	wantError(t, err, "topic alerts, partition 1", "offset 7", "still open", abort)
}

// Who may only write to the topic is not told what is open in it, and goes on.
func TestTransactionsAreNotTold(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.answerProducers(func(p *kmsg.DescribeProducersResponseTopicPartition) {
		p.ErrorCode = kerr.TopicAuthorizationFailed.Code
	})
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	c.start(Sink[sinkRow]{}, r.standing).epoch(2)
	c.wantIDs(1, 2)
}
