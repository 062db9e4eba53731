package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"
)

// Partitioner chooses the partition of a record from its key.
type Partitioner string

const (
	// ByKey sends equal keys to one partition, the same that the Java client
	// chooses (murmur2), as long as the topic keeps its number of partitions.
	// Records without a key go as with Sticky. It is the default.
	ByKey Partitioner = ""
	// RoundRobin deals records out to the partitions in turn.
	RoundRobin Partitioner = "round-robin"
	// Sticky fills a batch for one partition before it turns to another, which
	// makes the fewest requests.
	Sticky Partitioner = "sticky"
)

// topicPartitioner partitions the sink's topic as chosen, and leaves other topics,
// that is the journal, to what the records say.
type topicPartitioner struct {
	topic  string
	choice kgo.Partitioner
}

func newTopicPartitioner(topic string, p Partitioner, explicit bool) *topicPartitioner {
	choice := kgo.StickyKeyPartitioner(nil)
	switch {
	case explicit:
		choice = kgo.ManualPartitioner()
	case p == RoundRobin:
		choice = kgo.RoundRobinPartitioner()
	case p == Sticky:
		choice = kgo.StickyPartitioner()
	}
	return &topicPartitioner{topic, choice}
}

// ForTopic is called by the client once for each topic.
func (p *topicPartitioner) ForTopic(topic string) kgo.TopicPartitioner {
	if topic == p.topic {
		return p.choice.ForTopic(topic)
	}
	return kgo.ManualPartitioner().ForTopic(topic)
}
