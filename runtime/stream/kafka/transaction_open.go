package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// openTransaction is one of the unit's that a broker has not ended, although its
// producer was fenced. Brokers before 4.0 can leave one when a request comes late, and
// others when they are killed while they end it.
type openTransaction struct {
	topic     string
	partition int32
	offset    int64 // where it begins
	producer  int64
	epoch     int16
}

// untilEnded waits until look finds no open transaction any more: for as long as ctx
// lasts, and says so.
func (t *target) untilEnded(ctx context.Context, look func() (*openTransaction, error)) error {
	var open *openTransaction
	for n, pause := 1, 5*time.Millisecond; ; n, pause = n+1, min(2*pause, 2*time.Second) {
		found, err := look()
		switch {
		case open != nil && ctx.Err() != nil: // found is what could be seen in time
		case err != nil || found == nil:
			return err
		default:
			open = found
		}
		abort := fmt.Sprintf("kafka-transactions.sh --bootstrap-server %s abort --topic %s --partition %d --start-offset %d",
			t.brokers(), open.topic, open.partition, open.offset)
		if n >= 8 && worthTelling(n) { // after about a second
			t.log.Warn("waiting for the end of a transaction of this flow; if it does not end by its timeout, end it by hand: "+abort,
				"in", open.topic, "partition", open.partition, "offset", open.offset, "producer", open.producer, "epoch", open.epoch)
		}
		if !wait(ctx, pause) {
			return fmt.Errorf("kafka: cluster %s: topic %s, partition %d: the transaction of producer %d with records of this flow from offset %d on is still open: "+
				"try again, or end it by hand: %s: %w", t.cluster, open.topic, open.partition, open.producer, open.offset, abort, ctx.Err())
		}
	}
}

// waitEnded waits until none of the unit's transactions is open in the sink's topic.
// The next commit would make its rows visible too. Where brokers do not tell (before
// 2.8, or without READ on the topic), they are believed to have ended it.
func (w *transactional[T]) waitEnded(ctx context.Context) error {
	id, _, err := w.client.ProducerID(ctx)
	if err != nil {
		return w.failed(w.topic, err)
	}
	return w.untilEnded(ctx, func() (*openTransaction, error) {
		open, err := w.findOpen(ctx, id)
		if err == nil {
			return open, nil
		}
		if told := explain(w.cluster, w.topic, err); passes(told) {
			return nil, told
		}
		w.log.Debug("the brokers do not tell which transactions are open in the topic", "error", err)
		return nil, nil
	})
}

// findOpen looks for an open transaction of a producer in the sink's topic.
func (w *transactional[T]) findOpen(ctx context.Context, producer int64) (*openTransaction, error) {
	described, err := kadm.NewClient(w.admin).DescribeProducers(ctx, kadm.TopicsSet{w.topic: nil})
	if shards, ok := errors.AsType[*kadm.ShardErrors](err); ok && len(shards.Errs) > 0 {
		err = shards.Errs[0].Err
	}
	if err != nil {
		return nil, err
	}
	partitions := described[w.topic].Partitions
	for _, p := range slices.Sorted(maps.Keys(partitions)) {
		if err := partitions[p].Err; err != nil {
			return nil, err
		}
		if a, ok := partitions[p].ActiveProducers[producer]; ok && a.CurrentTxnStartOffset >= 0 {
			return &openTransaction{w.topic, p, a.CurrentTxnStartOffset, producer, a.ProducerEpoch}, nil
		}
	}
	return nil, nil
}
