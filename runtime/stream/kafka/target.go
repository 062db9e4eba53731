package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// target is the topic of a sink and what is needed to connect to it.
type target struct {
	cluster  string
	clusters stream.Clusters
	topic    string
	unit     stream.Unit
	log      *slog.Logger
	extra    func() ([]kgo.Opt, error)
	produce  []kgo.Opt // how to produce to the topic

	admin        *kgo.Client // for requests about topics
	messageBytes int         // what the topic takes in one record
	partitions   atomic.Int32
	replicas     atomic.Int32 // of each partition
}

// openTarget connects and looks at the topic.
func openTarget[T any](ctx context.Context, s Sink[T], clusters stream.Clusters, log *slog.Logger) (*target, error) {
	t := &target{
		cluster: s.Cluster, clusters: clusters, topic: s.Topic, extra: s.ClientOptions, messageBytes: defaultMessageBytes,
		log: log.With("topic", s.Topic),
	}
	admin, err := t.connect()
	if err != nil {
		return nil, err
	}
	t.admin = admin
	if err := t.look(ctx); err != nil {
		t.close()
		return nil, err
	}
	t.produce = []kgo.Opt{
		kgo.RecordPartitioner(newTopicPartitioner(s.Topic, s.Partitioner, s.Partition != nil)),
		kgo.ProducerBatchCompression(codecs()[s.Compression]...),
		kgo.ProducerBatchMaxBytes(int32(t.messageBytes)),
		kgo.MaxBufferedBytes(bufferedBytes),
		kgo.MaxBufferedRecords(bufferedRecords),
	}
	return t, nil
}

// metadataAge is how soon the client asks again who leads a partition: an epoch
// waits for it when a leader moves.
const metadataAge = time.Second

// What a client holds that the brokers do not have yet; then producing waits.
const (
	bufferedBytes   = 32 << 20
	bufferedRecords = 100_000
)

func (t *target) connect(opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append(opts[:len(opts):len(opts)], kgo.MetadataMinAge(metadataAge))
	return connect(t.clusters, t.cluster, t.extra, t.log, opts...)
}

// look waits for the cluster, and learns what must be known of the topic.
func (t *target) look(ctx context.Context) error {
	if err := ping(ctx, t.admin); err != nil {
		return err
	}
	if err := t.find(ctx); err != nil {
		return err
	}
	configs, err := topicConfigs(ctx, t.admin, t.topic)
	if err != nil {
		t.log.Debug("the topic's configuration cannot be read; a record that is too large shows when it is sent", "error", explain(t.cluster, t.topic, err))
		return nil
	}
	var n int
	if _, err := fmt.Sscan(configs["max.message.bytes"], &n); err == nil && n > 0 {
		t.messageBytes = max(min(n, maxMessageBytes), minMessageBytes)
	}
	return nil
}

const (
	// maxMessageBytes is below what one request may hold.
	maxMessageBytes = 90 << 20
	// minMessageBytes is what the client wants to put into a request at least.
	minMessageBytes = 1 << 10
	// recordOverhead is more than what a batch of one record adds to key, value
	// and headers. Topics limit what batches take.
	recordOverhead = 128
)

// findTries is how often a topic is looked for that has no leader, or whose broker
// goes: about ten seconds, the time of a restart.
const findTries = 8

// unknownTries is how often a topic must be unknown to be missing: brokers that lag
// behind do not know of one that was made a moment ago.
const unknownTries = 4

// find makes sure that the topic exists.
func (t *target) find(ctx context.Context) error {
	for try, pause := 1, firstPause; ; try, pause = try+1, min(2*pause, maxPause) {
		err := t.refresh(ctx)
		unknown := errors.Is(err, kerr.UnknownTopicOrPartition) && try < unknownTries
		if err == nil || !unknown && !passes(err) || try == findTries {
			return err
		}
		if !unknown {
			t.log.Warn("the topic cannot be looked up, trying again", "try", try, "error", err)
		}
		if !wait(ctx, pause) {
			return err
		}
	}
}

// refresh reads the topic's number of partitions.
func (t *target) refresh(ctx context.Context) error {
	n, replicas, err := t.countPartitions(ctx, t.topic)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return &ClusterError{t.cluster, fail(refused, err, "topic %s does not exist, or may not be described by us: "+
			"create it (kafka-topics.sh --bootstrap-server %s --create --topic %s --partitions N), or correct Sink.Topic",
			t.topic, t.brokers(), t.topic)}
	}
	if err != nil {
		return explain(t.cluster, t.topic, err)
	}
	t.partitions.Store(n)
	t.replicas.Store(replicas)
	return nil
}

// countPartitions asks the cluster, past what the client remembers, how many
// partitions a topic has, and how many replicas the first one.
func (t *target) countPartitions(ctx context.Context, topic string) (partitions, replicas int32, err error) {
	req := kmsg.NewPtrMetadataRequest()
	ask := kmsg.NewMetadataRequestTopic()
	ask.Topic = &topic
	req.Topics = append(req.Topics, ask)
	resp, err := t.admin.RequestCachedMetadata(ctx, req, time.Nanosecond)
	if err != nil {
		return 0, 0, err
	}
	if len(resp.Topics) != 1 {
		return 0, 0, fmt.Errorf("the brokers tell of %d topics when asked for one", len(resp.Topics))
	}
	all := resp.Topics[0].Partitions
	if len(all) > 0 {
		replicas = int32(len(all[0].Replicas))
	}
	return int32(len(all)), replicas, kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

// brokers are the brokers as a command line takes them.
func (t *target) brokers() string {
	c, err := parseCluster(t.clusters, t.cluster)
	if err != nil || len(c.brokers) == 0 {
		return "HOST:9092"
	}
	return strings.Join(c.brokers, ",")
}

// lookTimeout bounds a question about a topic that a row waits for.
const lookTimeout = 10 * time.Second

// checkPartition fails if the topic has no such partition. It asks again before it
// does, since partitions may have been added.
func (t *target) checkPartition(p int32) error {
	if p >= 0 && p < t.partitions.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	if err := t.refresh(ctx); err != nil {
		return err
	}
	if n := t.partitions.Load(); p < 0 || p >= n {
		return fmt.Errorf("kafka: topic %s has %d partitions, numbered from 0; Sink.Partition chose %d", t.topic, n, p)
	}
	return nil
}

// brokerNumber reads a number of the brokers' configuration.
func (t *target) brokerNumber(ctx context.Context, key string) (int64, bool) {
	admin := kadm.NewClient(t.admin)
	meta, err := admin.BrokerMetadata(ctx)
	if err != nil || len(meta.Brokers) == 0 {
		return 0, false
	}
	configs, err := admin.DescribeBrokerConfigs(ctx, meta.Brokers[0].NodeID)
	if err != nil {
		return 0, false
	}
	for _, r := range configs {
		for _, c := range r.Configs {
			var n int64
			if _, err := fmt.Sscan(c.MaybeValue(), &n); c.Key == key && err == nil {
				return n, true
			}
		}
	}
	return 0, false
}

func (t *target) close() {
	if t.admin != nil {
		t.admin.Close()
	}
}

// topicConfigs returns the configuration of a topic by key.
func topicConfigs(ctx context.Context, client *kgo.Client, topic string) (map[string]string, error) {
	all, err := kadm.NewClient(client).DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	configs := map[string]string{}
	for _, r := range all {
		if r.Err != nil {
			return nil, r.Err
		}
		for _, c := range r.Configs {
			configs[c.Key] = c.MaybeValue()
		}
	}
	return configs, nil
}

// undelivered is a failure of delivering that may pass.
type undelivered struct{ err error }

func (e *undelivered) Error() string { return e.err.Error() }

func (e *undelivered) Unwrap() []error { return []error{e.err, stream.ErrNotDelivered} }

// failed explains a failure to deliver, and marks it if it may pass. topic is the
// one to name where the failure knows none.
func (t *target) failed(topic string, err error) error {
	if e, ok := errors.AsType[*unsent](err); ok {
		topic = e.topic
	}
	told := explain(t.cluster, topic, err)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("kafka: topic %s: %w", topic, err)
	case errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidTxnState),
		errors.Is(err, kerr.InvalidProducerIDMapping), errors.Is(err, kerr.UnknownProducerID), errors.Is(err, kerr.OutOfOrderSequenceNumber),
		errors.Is(err, kerr.TransactionAbortable), errors.Is(err, kerr.OperationNotAttempted):
		return &undelivered{told} // Settle tells whether it was the broker or another instance
	}
	if f, ok := errors.AsType[*failure](told); ok && f.grade >= lasting {
		return told
	}
	return &undelivered{told}
}
