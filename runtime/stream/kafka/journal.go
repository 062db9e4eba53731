package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tws-go/tws/runtime/stream"
)

// journalFormat is the version of what a journal record holds.
const journalFormat = 1

// journalRecord is the value of a record of the journal topic, in JSON; its key is
// the unit. The newest committed one says how far the unit has come.
type journalRecord struct {
	Format int `json:"format"`
	// Unit is the commit unit, "UID/flow/number".
	Unit string `json:"unit"`
	// Epoch, Attempt and Manifest name the last epoch of which the output is
	// committed: with this record, or with an earlier one. Epoch is 0 if there is
	// none.
	Epoch    int64  `json:"epoch"`
	Attempt  int    `json:"attempt"`
	Manifest string `json:"manifest"`
	// Sink is where the output is, "topic alerts".
	Sink string `json:"sink"`
	// Writer is the instance that wrote the record.
	Writer string `json:"writer"`
	// Assumed says that there was no record when Writer started, so that it took
	// the checkpoint's word for the epoch, or the user's.
	Assumed bool `json:"assumed,omitempty"`
}

// names reports whether the record is that of a publication.
func (r *journalRecord) names(p stream.Publication) bool {
	return r.Epoch == p.Epoch && r.Attempt == p.Attempt && r.Manifest == p.Manifest
}

// before reports whether the record is of an earlier epoch than a publication, or of
// an earlier attempt at it.
func (r *journalRecord) before(p stream.Publication) bool {
	return r.Epoch < p.Epoch || r.Epoch == p.Epoch && r.Attempt < p.Attempt
}

// String is how messages name the epoch.
func (r *journalRecord) String() string { return describeEpoch(r.Epoch, r.Attempt, r.Manifest) }

func describeEpoch(epoch int64, attempt int, manifest string) string {
	if epoch == 0 {
		return "none"
	}
	return fmt.Sprintf("epoch %d (attempt %d, manifest %s)", epoch, attempt, manifest)
}

// parseJournalRecord reads a record of a unit.
func parseJournalRecord(value []byte, unit string) (*journalRecord, error) {
	var r journalRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, fmt.Errorf("the record of %s is not one of ours: %w", unit, err)
	}
	if r.Format > journalFormat {
		return nil, fmt.Errorf("the record of %s has format %d, this program knows up to %d: use the newer program that wrote it", unit, r.Format, journalFormat)
	}
	if r.Format < 1 || r.Unit != unit || r.Epoch < 0 || r.Writer == "" {
		return nil, fmt.Errorf("the record of %s is not one of ours: %.200s", unit, value)
	}
	return &r, nil
}

// journalPlace is where a record of the journal is.
type journalPlace struct {
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
}

// journal is the topic that the unit's epochs are written down in.
type journal struct {
	*target
	name string
	log  *slog.Logger
	// partitions is how many it has, and hint where the unit's newest known record
	// is, nil if none is known; both since ensure.
	partitions int32
	hint       *journalPlace
	warned     int32 // the number of replicas that was warned of
}

func newJournal(t *target, name string) *journal {
	return &journal{target: t, name: name, log: t.log.With("journal", name)}
}

// home is the partition that the unit writes to: where it wrote before, or FNV-1a of
// its name, modulo the number of partitions. So it stays there when the topic gets
// more of them.
func (j *journal) home() int32 {
	if j.hint != nil && j.hint.Partition < j.partitions {
		return j.hint.Partition
	}
	h := fnv.New32a()
	h.Write([]byte(j.unit.String()))
	return int32(h.Sum32() % uint32(j.partitions))
}

func (j *journal) where(partition int32) string {
	return fmt.Sprintf("topic %s, partition %d", j.name, partition)
}

const (
	journalPartitions = 16
	// readyTimeout bounds the wait for a topic that was just created.
	readyTimeout = 30 * time.Second
)

// journalConfig is how the journal is made. Small segments, and an eager cleaner,
// keep short what has to be read at the start: only closed segments are compacted.
func journalConfig() map[string]*string {
	config := map[string]*string{}
	for k, v := range map[string]string{
		"cleanup.policy":            "compact",
		"segment.bytes":             "16777216",
		"segment.ms":                "3600000",
		"min.cleanable.dirty.ratio": "0.1",
	} {
		config[k] = &v
	}
	return config
}

var errNoJournal = errors.New("the journal does not exist")

// ensure checks that the journal keeps its records. If it does not exist, it is
// created, or the error is errNoJournal if that may not be. A broker that has just
// started, or lags behind, may deny the topic, or know of fewer partitions than there
// are: it must do so several times to be believed.
func (j *journal) ensure(ctx context.Context, hint *journalPlace, create bool) error {
	j.hint = hint
	found, err := j.find(ctx)
	for try, pause := 1, firstPause; err == nil && j.lagging(found, create) && try < unknownTries; try, pause = try+1, min(2*pause, maxPause) {
		if !wait(ctx, pause) {
			return ctx.Err()
		}
		found, err = j.find(ctx)
	}
	switch {
	case err != nil:
		return err
	case found:
		return j.checkPolicy(ctx)
	case !create:
		return errNoJournal
	}
	return j.create(ctx)
}

// lagging reports whether an answer contradicts what is known of the journal.
func (j *journal) lagging(found, create bool) bool {
	if !found {
		return !create || j.hint != nil
	}
	return j.hint != nil && j.hint.Partition >= j.partitions
}

func (j *journal) find(ctx context.Context) (bool, error) {
	n, replicas, err := j.countPartitions(ctx, j.name)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return false, nil
	}
	if err != nil {
		return false, explain(j.cluster, j.name, err)
	}
	if n > 0 && replicas < j.replicas.Load() && replicas != j.warned {
		j.warned = replicas
		j.log.Warn("the journal has fewer replicas than the topic: if its record is lost with a broker, the last epoch's output may be written twice; give it as many",
			"replicas", replicas, "topic_replicas", j.replicas.Load())
	}
	j.partitions = n
	return n > 0, nil
}

// create makes the topic, as durable as the one that it tells of, and waits until it
// can be used.
func (j *journal) create(ctx context.Context) error {
	replicas := j.newReplicas(ctx)
	_, err := kadm.NewClient(j.admin).CreateTopic(ctx, journalPartitions, replicas, journalConfig(), j.name)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		told := explain(j.cluster, j.name, err)
		return fmt.Errorf("%w; the journal of exactly-once sinks can also be created by hand: kafka-topics.sh --bootstrap-server %s --create --topic %s "+
			"--partitions %d --config cleanup.policy=compact --config segment.bytes=16777216 --config segment.ms=3600000 --config min.cleanable.dirty.ratio=0.1",
			told, j.brokers(), j.name, journalPartitions)
	}
	if err == nil {
		j.log.Info("created the journal of exactly-once sinks", "partitions", journalPartitions)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		found, err := j.find(ctx)
		if err != nil || found {
			return err
		}
		if !wait(ctx, pause) {
			return fmt.Errorf("kafka: cluster %s: topic %s was created, but is not there after %s: %w", j.cluster, j.name, readyTimeout, ctx.Err())
		}
	}
}

// newReplicas is how many replicas a journal gets: as many as the brokers give a topic,
// which is -1, but no fewer than the topic has whose output it tells of.
func (j *journal) newReplicas(ctx context.Context) int16 {
	topic := int64(j.replicas.Load())
	if n, ok := j.brokerNumber(ctx, "default.replication.factor"); ok && n < topic {
		return int16(topic)
	}
	return -1
}

// checkPolicy fails if the brokers may delete records for their age or for the
// size of the topic: the record of a flow that rests must stay.
func (j *journal) checkPolicy(ctx context.Context) error {
	configs, err := topicConfigs(ctx, j.admin, j.name)
	if err != nil {
		j.log.Warn("the journal's configuration cannot be read: make sure that its cleanup.policy is compact, or the record of a flow that rests will be deleted",
			"error", explain(j.cluster, j.name, err))
		return nil
	}
	if policy := configs["cleanup.policy"]; policy != "compact" {
		return &ClusterError{j.cluster, fail(refused, nil, "topic %s has cleanup.policy=%s, so that the brokers delete records which must stay: "+
			"use another topic as Sink.Journal; or, if it is there for nothing else, kafka-configs.sh --bootstrap-server %s --alter --topic %s --add-config cleanup.policy=compact",
			j.name, policy, j.brokers(), j.name)}
	}
	return nil
}
