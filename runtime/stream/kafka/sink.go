package kafka

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

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
//   - KW1: rows of an epoch and the journal record that names it are in one
//     transaction, in one epoch of the producer.
//   - KW2: nothing is delivered before this instance has settled and claimed the
//     unit: older instances are shut out, and the journal has a record of the unit.
//   - KW3: a client that failed in a transaction never begins another one.
//   - KW4: what Prepare staged can be delivered again until the next Begin.
//   - KW5: memory that a client may still read is not used again.

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
	// after those made of the configuration. Options on which the guarantee rests
	// (isolation, partitioner, transactions, acknowledgements) are refused.
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
		return nil, fmt.Errorf("kafka: %s: %w", s.SinkName(), fail(refused, err, "%s", err))
	}
	value, err := newValueEncoder(s.Format, env.Row)
	if err != nil {
		return nil, fmt.Errorf("kafka: %s: %w", s.SinkName(), fail(refused, err, "%s", err))
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
