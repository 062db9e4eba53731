package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// askTimeout bounds a question to the cluster. The client tries again within.
	askTimeout = 30 * time.Second
	// listTries is how often a topic may be found to have no leader, with pauses
	// that double: 13 seconds, enough for a broker that restarts.
	listTries = 8
	// missTries is how often a topic that is known, or a partition that is named, must
	// be missing to be gone, with the same pauses: a broker that has started or lags
	// behind denies what is there.
	missTries = 5
)

// listing is what the cluster has of what the source wants, by topic.
type listing map[string]listed

type listed struct {
	id         uuid
	partitions []int32 // sorted
}

// list asks the cluster for topics and partitions. Topics that do not exist are
// left out.
func (f *feed) list(ctx context.Context) (listing, error) { return f.listKnown(ctx, f.knownTopics()) }

// listKnown is list for a goroutine of its own, which must not look at the ledger:
// known are the topics that should be there.
func (f *feed) listKnown(ctx context.Context, known []string) (listing, error) {
	for try, pause := 1, firstPause; ; try, pause = try+1, 2*pause {
		seen, err := f.listOnce(ctx)
		tries := listTries
		if err == nil {
			i := slices.IndexFunc(known, func(name string) bool { _, there := seen[name]; return !there })
			if i < 0 || try >= missTries {
				return seen, nil
			}
			err = fmt.Errorf("topic %s: %w", known[i], kerr.UnknownTopicOrPartition)
		}
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			tries = missTries
		}
		if told := explain(f.cluster, "", err); !kerr.IsRetriable(err) && !passes(told) || try >= tries {
			return nil, told
		}
		f.log.Warn("kafka: cannot list topics, will try again", "times", try, "error", err)
		if !wait(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// knownTopics are the topics that the cluster had, as far as is known, and that the
// source wants.
func (f *feed) knownTopics() (known []string) {
	for name := range f.ledger.topics {
		if f.selects(name) && !f.deleted[name] {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	return known
}

// missing is the error of a topic that was named and never seen.
func (f *feed) missing(topic string) error {
	brokers := "HOST:9092"
	if seeds, ok := f.client.OptValue(kgo.SeedBrokers).([]string); ok && len(seeds) > 0 {
		brokers = strings.Join(seeds, ",")
	}
	return &ClusterError{f.cluster, fail(refused, kerr.UnknownTopicOrPartition, "topic %s does not exist, or may not be described by us: "+
		"create it (kafka-topics.sh --bootstrap-server %s --create --topic %s --partitions N), or correct Source.Topic or Source.Topics", topic, brokers, topic)}
}

func (f *feed) listOnce(ctx context.Context) (listing, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest() // not kadm's, which may answer from memory
	for _, name := range f.topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, f.client)
	if err != nil {
		return nil, err
	}
	seen := listing{}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || !f.selects(*t.Topic) || f.pattern != nil && t.IsInternal {
			continue
		}
		if t.ErrorCode == kerr.UnknownTopicOrPartition.Code {
			continue
		}
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return nil, explain(f.cluster, *t.Topic, err)
		}
		if seen[*t.Topic], err = f.listed(t); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// listed returns the partitions of a topic that the source reads.
func (f *feed) listed(t *kmsg.MetadataResponseTopic) (l listed, err error) {
	l.id = t.TopicID
	for _, p := range t.Partitions {
		l.partitions = append(l.partitions, p.Partition)
	}
	slices.Sort(l.partitions)
	if f.partitions != nil {
		l.partitions, err = f.chosen(*t.Topic, l.partitions)
	}
	return l, err
}

// chosen returns the partitions that a source names, which must all exist.
func (f *feed) chosen(topic string, all []int32) ([]int32, error) {
	named := slices.Compact(slices.Sorted(slices.Values(f.partitions)))
	for _, p := range named {
		if !slices.Contains(all, p) {
			return nil, &ClusterError{f.cluster, fail(refused, kerr.UnknownTopicOrPartition, "topic %s has no partition %d, which the field Partitions names: it has %d partitions", topic, p, len(all))}
		}
	}
	return named, nil
}

// topicsSeen are the topics of the present listing, and those known.
func (f *feed) topicsSeen() []string {
	var names []string
	for name := range f.seen {
		names = append(names, name)
	}
	for _, name := range f.knownTopics() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// finalEnds asks for the ends of all logs. A log that ends before what was read
// of it was cut short.
func (f *feed) finalEnds(ctx context.Context, at *place) (map[logID]int64, error) {
	var topics []string
	for _, name := range f.topicsSeen() {
		if _, there := f.seen[name]; there || f.seen == nil {
			topics = append(topics, name)
		}
	}
	if len(topics) == 0 {
		return map[logID]int64{}, nil
	}
	ends, err := f.allEnds(ctx, topics)
	if err != nil {
		return nil, f.topicError(fmt.Sprint(topics), err)
	}
	for n, l := range f.ledger.logs {
		known := f.ledger.topics[l.topic]
		if end, ok := ends[l.logID]; ok && end < at.at[n] && f.readable(int32(n)) && !known.id.differs(f.seen[l.topic].id) {
			if err := f.repair(ctx, int32(n), at.at[n], errEndsBefore); err != nil {
				return nil, err
			}
		}
	}
	return ends, nil
}
