package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

const (
	// DefaultCluster is the cluster that a source reads from unless it says
	// otherwise.
	DefaultCluster = "main"
	// DefaultBufferBytes is what a source holds of records that are fetched and
	// not yet read, unless it says otherwise: 64 MiB.
	DefaultBufferBytes = 64 << 20
	// DefaultMetadataInterval is how often a source looks for new topics and
	// partitions unless it says otherwise.
	DefaultMetadataInterval = 30 * time.Second
	// DefaultStallTimeout is how long a source waits for records that must be
	// there, without any sign of a broker, unless it says otherwise.
	DefaultStallTimeout = 2 * time.Minute
)

// Policy says what happens to a record that is not a row.
type Policy uint8

const (
	// Fail stops with a [stream.MalformedError] that names topic, partition and
	// offset.
	Fail Policy = iota
	// Drop passes over the record, counts it and logs the first few of a run.
	Drop
)

// TombstonePolicy says what happens to a record without a value, which compacted
// topics use to delete a key. An empty value is not a missing one.
type TombstonePolicy uint8

const (
	// TombstoneDefault passes over them, except in [Source.Records], whose rows
	// can tell them apart.
	TombstoneDefault TombstonePolicy = iota
	// TombstoneSkip passes over them.
	TombstoneSkip
	// TombstoneRow makes a row of each, with the zero value of T.
	TombstoneRow
	// TombstoneFail stops with a [stream.MalformedError].
	TombstoneFail
)

// LostPolicy says what happens when records are gone that were still to be read:
// they expired or were deleted, the log was cut short, the topic was deleted or
// made anew.
type LostPolicy uint8

const (
	// LostFail stops with a [LostError] that has the numbers.
	LostFail LostPolicy = iota
	// EarliestAvailable goes on with the first record that is there, after a
	// warning that has the numbers.
	EarliestAvailable
)

// Source reads topics as rows of type T. Exactly one of Topic, Topics and Pattern
// says which; the zero value of every other field is a good choice.
type Source[T any] struct {
	// Cluster is the cluster's name in the configuration. Defaults to
	// DefaultCluster.
	Cluster string
	// Name is the source's name within its flow, under which the checkpoint
	// remembers what was read: letters, digits, '-', '_' and '.'. Defaults to
	// Topic, or to Topics or Pattern with '_' for every other character.
	Name string
	// Topic is the one topic to read.
	Topic string
	// Partitions are the only partitions of Topic to read; nil for all, also
	// those that are added later.
	Partitions []int32
	// Topics are the topics to read.
	Topics []string
	// Pattern is a regular expression for the whole name of topics. Topics that
	// come later are found as well; the cluster's internal ones never match.
	Pattern string
	// StartingOffsets say where the source begins when it runs for the first
	// time. Partitions and topics that are found later are read from their
	// beginning. Nil means Earliest.
	StartingOffsets Offsets
	// Format says how a record's value is decoded.
	Format Format
	// OnMalformed says what happens to records that are not rows.
	OnMalformed Policy
	// OnTombstone says what happens to records without a value.
	OnTombstone TombstonePolicy
	// OnLostData says what happens when records are gone before they were read.
	OnLostData LostPolicy
	// ReadUncommitted delivers records of transactions that are still open or
	// were aborted.
	ReadUncommitted bool
	// Group is a consumer group to which offsets are committed after epochs took
	// effect, so that tools show the lag. The source never reads them, and the
	// group must have no members.
	Group string
	// BufferBytes bounds the memory of records that are fetched and not yet
	// read, and so also an epoch's rows. The client holds one answer of up to 16
	// MiB of each broker beside it. Defaults to DefaultBufferBytes.
	BufferBytes int64
	// MetadataInterval is how often to look for new topics and partitions.
	// Defaults to DefaultMetadataInterval.
	MetadataInterval time.Duration
	// StallTimeout is how long to wait for records that must be there, without
	// any sign of a broker. Defaults to DefaultStallTimeout.
	StallTimeout time.Duration
	// ClientOptions returns further options of the client, nil for none. Options
	// that say what is read (isolation, resetting, topics, groups) are refused.
	ClientOptions func() ([]kgo.Opt, error)
}

// SourceName returns Name, or the name made of the topics.
func (s Source[T]) SourceName() string {
	return cmp.Or(s.Name, stream.LegalName(s.Topic), stream.LegalName(strings.Join(s.Topics, "_")), stream.LegalName(s.Pattern))
}

// Records returns the same source with rows that have the key, the headers and
// the origin beside the value.
func (s Source[T]) Records() RecordSource[T] { return RecordSource[T]{source: s} }

// Open checks the settings, connects, and looks whether the topics are there.
func (s Source[T]) Open(ctx context.Context, env stream.SourceEnv[T]) (stream.Reader[T], error) {
	row := env.Row
	if row == nil {
		row = stream.RowOf[T]()
	}
	decode, err := decoder(s.Format, row)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	fill := func(rec *kgo.Record, row *T) error { return decode(rec.Value, row) }
	return open(ctx, s, settingsEnv(env), reader[T]{
		fill: fill, tombstones: cmp.Or(s.OnTombstone, TombstoneSkip), malformed: s.OnMalformed,
	})
}

// environment is what of a source's environment does not depend on its rows.
type environment = stream.SourceEnv[struct{}]

func settingsEnv[R any](env stream.SourceEnv[R]) environment {
	return environment{Log: env.Log, Now: env.Now, Unit: env.Unit, Clusters: env.Clusters, Journal: env.Journal}
}

// open completes a reader by what it reads.
func open[T, R any](ctx context.Context, s Source[T], env environment, r reader[R]) (stream.Reader[R], error) {
	set, err := s.settings()
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	if r.feed, err = openFeed(ctx, set, env, s.ClientOptions); err != nil {
		return nil, err
	}
	return &r, nil
}

// settings are a source's fields, checked and completed.
type settings struct {
	cluster     string
	topics      []string // sorted; nil for a pattern
	pattern     *regexp.Regexp
	partitions  []int32
	starts      Offsets
	lost        LostPolicy
	uncommitted bool
	group       string
	capacity    int64
	interval    time.Duration
	stall       time.Duration
}

// selects reports whether the source wants a topic.
func (s *settings) selects(topic string) bool {
	if s.pattern != nil {
		return s.pattern.MatchString(topic)
	}
	return slices.Contains(s.topics, topic)
}

// wants reports whether the source wants a partition.
func (s *settings) wants(p logID) bool {
	return s.selects(p.topic) && (s.partitions == nil || slices.Contains(s.partitions, p.partition))
}

// settings checks the fields.
func (s Source[T]) settings() (*settings, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	set := &settings{
		cluster: cmp.Or(s.Cluster, DefaultCluster), topics: slices.Sorted(slices.Values(s.Topics)),
		partitions: s.Partitions, starts: s.StartingOffsets, lost: s.OnLostData,
		uncommitted: s.ReadUncommitted, group: s.Group,
		capacity: cmp.Or(s.BufferBytes, DefaultBufferBytes),
		interval: cmp.Or(s.MetadataInterval, DefaultMetadataInterval),
		stall:    cmp.Or(s.StallTimeout, DefaultStallTimeout),
	}
	if set.starts == nil {
		set.starts = Earliest
	}
	if s.Topic != "" {
		set.topics = []string{s.Topic}
	}
	if s.Pattern != "" {
		pattern, err := regexp.Compile(`^(?:` + s.Pattern + `)$`)
		if err != nil {
			return nil, fmt.Errorf("field Pattern: %w", err)
		}
		set.pattern = pattern
	}
	return set, nil
}

// check reports settings that cannot work.
func (s Source[T]) check() error {
	ways := 0
	for _, given := range []bool{s.Topic != "", len(s.Topics) > 0, s.Pattern != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("set exactly one of the fields Topic, Topics and Pattern")
	case s.Name != "" && s.Name != stream.LegalName(s.Name):
		return fmt.Errorf("name %q: use letters, digits, '-', '_' and '.' only", s.Name)
	case s.Partitions != nil && s.Topic == "":
		return errors.New("field Partitions needs the field Topic")
	case s.Partitions != nil && (len(s.Partitions) == 0 || slices.Min(s.Partitions) < 0):
		return fmt.Errorf("field Partitions is %v: name partitions from 0 on, or none for all", s.Partitions)
	case s.OnMalformed > Drop:
		return fmt.Errorf("field OnMalformed is %d: use kafka.Fail or kafka.Drop", s.OnMalformed)
	case s.OnTombstone > TombstoneFail:
		return fmt.Errorf("field OnTombstone is %d: use one of kafka.TombstoneSkip, TombstoneRow and TombstoneFail", s.OnTombstone)
	case s.OnLostData > EarliestAvailable:
		return fmt.Errorf("field OnLostData is %d: use kafka.LostFail or kafka.EarliestAvailable", s.OnLostData)
	case s.BufferBytes < 0:
		return fmt.Errorf("field BufferBytes is %d: it must not be negative", s.BufferBytes)
	case s.MetadataInterval < 0 || s.StallTimeout < 0:
		return fmt.Errorf("fields MetadataInterval and StallTimeout are %s and %s: they must not be negative", s.MetadataInterval, s.StallTimeout)
	}
	return s.checkTopics()
}

func (s Source[T]) checkTopics() error {
	for i, topic := range s.Topics {
		if topic == "" || slices.Contains(s.Topics[:i], topic) {
			return fmt.Errorf("field Topics has %q twice, or empty", topic)
		}
	}
	if perTopic, ok := s.StartingOffsets.(PerTopic); ok {
		for topic := range perTopic {
			if s.Pattern == "" && topic != s.Topic && !slices.Contains(s.Topics, topic) {
				return fmt.Errorf("field StartingOffsets speaks of topic %s, which is not read", topic)
			}
		}
	}
	if at, ok := s.StartingOffsets.(At); ok && s.Topic == "" {
		return fmt.Errorf("field StartingOffsets has offsets of %d partitions, but there are several topics: use kafka.PerTopic", len(at))
	}
	return nil
}

// openFeed connects and looks whether the topics are there.
func openFeed(ctx context.Context, set *settings, env environment, extra func() ([]kgo.Opt, error)) (*feed, error) {
	f := &feed{settings: set, log: env.Log, now: env.Now}
	if err := f.ledger.load(env.Journal); err != nil {
		return nil, f.errorf("%w", err)
	}
	client, err := connect(env.Clusters, set.cluster, extra, env.Log, fetchOptions(set)...)
	if err != nil {
		return nil, err
	}
	f.client, f.admin = client, kadm.NewClient(client)
	if err := ping(ctx, client); err != nil {
		client.Close()
		return nil, err
	}
	f.seen, err = f.list(ctx)
	if err == nil {
		f.lookedAt = f.now()
		err = f.checkNamed()
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	f.fetch = startFetcher(client, set.capacity, f.log)
	if set.group != "" {
		f.commits = startCommitter(f.admin, set.group, set.cluster, f.log)
	}
	return f, nil
}
