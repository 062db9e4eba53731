package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// # The inside of a sink
//
// A row becomes an entry (spool_entry.go) in one step, without an allocation of its
// own. At least once (delivery.go), the entry's record is handed to the client at
// once; exactly once (transaction.go), entries are spooled (spool.go) until the
// epoch is prepared, and sent in one transaction with a record of the journal
// (journal.go, journal_read.go). transaction_settle.go finds out what became of a
// transaction. docs/internals/kafka.md has the protocol and the formats.
//
// Invariants:
//
//   - S1: rows of an epoch and the journal record that names it are in one
//     transaction, in one epoch of the producer.
//   - S2: nothing is delivered before this instance has settled and claimed the
//     unit: older instances are shut out, and the journal has a record of the unit.
//   - S3: a client that failed in a transaction never begins another one.
//   - S4: what Prepare staged can be delivered again until the next Begin.
//   - S5: memory that a client may still read is not used again.

// Guarantee says how often each row of a committed epoch is in the topic.
type Guarantee string

const (
	// ExactlyOnce writes each epoch in a transaction of its own: consumers that
	// read committed records see each row once. It is the default.
	ExactlyOnce Guarantee = "exactly-once"
	// AtLeastOnce writes rows as they come: consumers see them at once, and those
	// of an epoch that is tried again, after a failure or a crash, once more.
	AtLeastOnce Guarantee = "at-least-once"
)

// Compression is how batches of records are compressed.
type Compression string

// The ways of compressing. The default is Snappy.
const (
	Snappy       Compression = "snappy"
	Uncompressed Compression = "none"
	Gzip         Compression = "gzip"
	LZ4          Compression = "lz4"
	Zstd         Compression = "zstd"
)

const (
	defaultJournal            = "tws-journal"
	defaultTransactionTimeout = time.Minute
	// defaultMessageBytes is what a topic takes unless it was told otherwise.
	defaultMessageBytes = 1048588
)

// Sink writes rows to a topic, which must exist. Only Topic is required.
//
// The functions of a Sink are called by several goroutines at once and must
// depend on nothing but their row.
type Sink[T any] struct {
	// Cluster is the cluster's name in the configuration; "" is "main".
	Cluster string
	// Topic is the topic to write to.
	Topic string
	// Format is how a row becomes a record's value; the default is JSON. A source
	// with the same format and row type reads what the sink writes.
	Format Format
	// Guarantee is ExactlyOnce, the default, or AtLeastOnce.
	Guarantee Guarantee

	// Key returns a record's key. Without it, or where it returns nil, records
	// have no key. A row without a value (EmitNull) needs a key: it becomes a
	// tombstone, a record with that key and no value. Of the row that Key is then
	// called with, only what makes up its key is set.
	Key func(T) []byte
	// Headers returns a record's headers.
	Headers func(T) []Header
	// Timestamp returns a record's timestamp, of which milliseconds are kept.
	// Without it, or where it returns the zero time, a record has the time at
	// which it is sent.
	Timestamp func(T) time.Time
	// Partitioner chooses partitions; the default is ByKey.
	Partitioner Partitioner
	// Partition, if set, chooses partitions in place of Partitioner. It is an
	// error if it returns one that the topic has not.
	Partition func(T) int32

	// Journal is the topic in which the epochs are written down that were
	// committed exactly once; "" is "tws-journal". Any number of pipelines may
	// share one. It is created if need be.
	Journal string
	// TransactionTimeout is the time in which an epoch's output must have been
	// sent and committed; 0 is a minute. Brokers allow 15 minutes at most unless
	// told otherwise.
	TransactionTimeout time.Duration
	// Compression compresses batches; the default is Snappy.
	Compression Compression
	// ClientOptions returns further options for the Kafka client, which come
	// after those made of the configuration.
	ClientOptions func() ([]kgo.Opt, error)
}

// SinkName returns "topic NAME".
func (s Sink[T]) SinkName() string { return "topic " + s.Topic }

// OpenSink connects to the cluster and checks that the topic exists and that T can
// be written to it. The writer it returns decides epochs itself
// ([stream.Decider]) unless rows are written at least once.
func (s Sink[T]) OpenSink(ctx context.Context, env stream.SinkEnv[T]) (stream.Writer[T], error) {
	s, err := s.complete()
	if err != nil {
		return nil, fmt.Errorf("kafka: %s: %w", s.SinkName(), err)
	}
	value, err := newValueEncoder(s.Format, env.Row)
	if err != nil {
		return nil, fmt.Errorf("kafka: %s: %w", s.SinkName(), err)
	}
	target, err := openTarget(ctx, s, env.Clusters, env.Log)
	if err != nil {
		return nil, err
	}
	target.unit = env.Unit
	encoder := &recordEncoder[T]{
		value: value, key: s.Key, headers: s.Headers, timestamp: s.Timestamp, partition: s.Partition,
		typeName: reflect.TypeFor[T]().String(), limit: target.messageBytes - recordOverhead, topic: s.Topic,
		checkPartition: target.checkPartition,
	}
	if s.Guarantee == AtLeastOnce {
		w, err := newDelivery(target, encoder)
		if err != nil {
			target.close()
			return nil, err
		}
		return w, nil
	}
	w, err := newTransactional(target, encoder, s.Journal, s.TransactionTimeout)
	if err != nil {
		target.close()
		return nil, err
	}
	return w, nil
}

// complete fills in the defaults and checks what can be checked without a cluster.
func (s Sink[T]) complete() (Sink[T], error) {
	if s.Topic == "" {
		return s, errors.New("Sink.Topic is missing")
	}
	if s.Cluster == "" {
		s.Cluster = DefaultCluster
	}
	if s.Guarantee == "" {
		s.Guarantee = ExactlyOnce
	}
	if s.Journal == "" {
		s.Journal = defaultJournal
	}
	if s.TransactionTimeout == 0 {
		s.TransactionTimeout = defaultTransactionTimeout
	}
	if s.Compression == "" {
		s.Compression = Snappy
	}
	switch {
	case s.Journal == s.Topic:
		return s, errors.New("Sink.Journal and Sink.Topic are the same: the journal needs a topic of its own")
	case s.TransactionTimeout < time.Second:
		return s, fmt.Errorf("Sink.TransactionTimeout is %s: want at least 1s", s.TransactionTimeout)
	case s.Guarantee != ExactlyOnce && s.Guarantee != AtLeastOnce:
		return s, fmt.Errorf("there is no guarantee %q: want ExactlyOnce (the default) or AtLeastOnce", s.Guarantee)
	case s.Partitioner != ByKey && s.Partitioner != RoundRobin && s.Partitioner != Sticky:
		return s, fmt.Errorf("there is no partitioner %q: want ByKey (the default), RoundRobin or Sticky", s.Partitioner)
	case s.Partition != nil && s.Partitioner != ByKey:
		return s, fmt.Errorf("both Sink.Partition and Sink.Partitioner (%s) choose partitions: want one of them", s.Partitioner)
	case codecs()[s.Compression] == nil:
		return s, fmt.Errorf("there is no compression %q: want Snappy (the default), LZ4, Zstd, Gzip or Uncompressed", s.Compression)
	}
	return s, nil
}

// codecs are what the client calls the ways of compressing; whatever a broker does
// not know is replaced by none.
func codecs() map[Compression][]kgo.CompressionCodec {
	none := kgo.NoCompression()
	return map[Compression][]kgo.CompressionCodec{
		Snappy:       {kgo.SnappyCompression(), none},
		Uncompressed: {none},
		Gzip:         {kgo.GzipCompression(), none},
		LZ4:          {kgo.Lz4Compression(), none},
		Zstd:         {kgo.ZstdCompression(), none},
	}
}

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
	if err := ping(ctx, t.admin, t.clusters, t.cluster); err != nil {
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

// find makes sure that the topic exists.
func (t *target) find(ctx context.Context) error {
	for try, pause := 1, firstPause; ; try, pause = try+1, min(2*pause, maxPause) {
		err := t.refresh(ctx)
		if err == nil || !passes(err) || try == findTries {
			return err
		}
		t.log.Warn("the topic cannot be looked up, trying again", "try", try, "error", err)
		if !wait(ctx, pause) {
			return err
		}
	}
}

// refresh reads the topic's number of partitions.
func (t *target) refresh(ctx context.Context) error {
	n, err := t.countPartitions(ctx, t.topic)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return &ClusterError{t.cluster, fail(refused, err, "topic %s does not exist, or may not be described by us: "+
			"create it (kafka-topics.sh --bootstrap-server %s --create --topic %s --partitions N), or correct Sink.Topic",
			t.topic, t.brokers(), t.topic)}
	}
	if err != nil {
		return explain(t.cluster, t.topic, err)
	}
	t.partitions.Store(n)
	return nil
}

// countPartitions asks the cluster, past what the client remembers.
func (t *target) countPartitions(ctx context.Context, topic string) (int32, error) {
	req := kmsg.NewPtrMetadataRequest()
	ask := kmsg.NewMetadataRequestTopic()
	ask.Topic = &topic
	req.Topics = append(req.Topics, ask)
	resp, err := t.admin.RequestCachedMetadata(ctx, req, time.Nanosecond)
	if err != nil {
		return 0, err
	}
	if len(resp.Topics) != 1 {
		return 0, fmt.Errorf("the brokers tell of %d topics when asked for one", len(resp.Topics))
	}
	return int32(len(resp.Topics[0].Partitions)), kerr.ErrorForCode(resp.Topics[0].ErrorCode)
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
