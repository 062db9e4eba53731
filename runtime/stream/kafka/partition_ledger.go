package kafka

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// logID names the log of a partition.
type logID struct {
	topic     string
	partition int32
}

func (l logID) String() string { return fmt.Sprintf("topic %s, partition %d", l.topic, l.partition) }

// uuid is a topic's id, zero if the cluster has none. A topic that is deleted and
// made anew has another.
type uuid [16]byte

// MarshalText writes hexadecimal digits.
func (u uuid) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, u[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (u *uuid) UnmarshalText(text []byte) error {
	n, err := hex.Decode(u[:], text[:min(len(text), 2*len(u))])
	if err == nil && (n != len(u) || len(text) != 2*len(u)) {
		err = errors.New("a topic id has 32 hexadecimal digits")
	}
	return err
}

// differs reports whether two ids are known not to be of the same topic.
func (u uuid) differs(v uuid) bool { return u != v && u != (uuid{}) && v != (uuid{}) }

const entryVersion = 1

// entry is a journal entry: partitions that are read from now on. The first entry
// of a source may have none, to say that the source has started.
type entry struct {
	Version int          `json:"version"`
	Topics  []topicEntry `json:"topics"`
}

// topicEntry says of a topic which partitions of it are read, and where each
// begins. Generation counts how often the topic began anew, because it was made
// anew or its log was cut short; all its partitions then begin again.
type topicEntry struct {
	Topic      string           `json:"topic"`
	ID         uuid             `json:"id"`
	Generation int              `json:"generation"`
	Partitions []partitionEntry `json:"partitions"`
}

type partitionEntry struct {
	Partition int32 `json:"partition"`
	Start     int64 `json:"start"`
}

// ledger is what the journal says.
type ledger struct {
	started bool
	topics  map[string]*knownTopic
	// logs are the partitions by ordinal: the order in which they were found.
	logs    []knownLog
	ordinal map[logID]int32
}

type knownTopic struct {
	id         uuid
	generation int
	ordinals   []int32
}

type knownLog struct {
	logID
	start int64 // in the topic's present generation
	// gone says that the topic's present generation has no such partition.
	gone bool
}

// load applies the journal.
func (l *ledger) load(journal [][]byte) error {
	l.topics, l.ordinal = map[string]*knownTopic{}, map[logID]int32{}
	for i, b := range journal {
		var e entry
		if err := json.Unmarshal(b, &e); err != nil {
			return fmt.Errorf("journal entry %d is damaged: %w: restore the checkpoint from a copy", i, err)
		}
		if e.Version == 0 {
			return fmt.Errorf("the checkpoint has a source of another kind under this name: give this one a Name of its own to start over, or read the other one again (journal entry %d)", i)
		}
		if e.Version != entryVersion {
			return fmt.Errorf("journal entry %d has version %d, this build reads version %d: run the build that wrote it, or restore the checkpoint from a copy", i, e.Version, entryVersion)
		}
		if err := l.check(&e); err != nil {
			return fmt.Errorf("journal entry %d is damaged: %w: restore the checkpoint from a copy", i, err)
		}
		l.apply(&e)
	}
	return nil
}

// check reports an entry that does not follow from what the ledger knows.
func (l *ledger) check(e *entry) error {
	named := map[logID]bool{}
	for _, t := range e.Topics {
		known := l.topics[t.Topic]
		switch {
		case t.Topic == "" || strings.Contains(t.Topic, "@"):
			return fmt.Errorf("a topic is named %q", t.Topic)
		case known == nil && t.Generation != 1,
			known != nil && t.Generation != known.generation && t.Generation != known.generation+1:
			return fmt.Errorf("topic %s has generation %d", t.Topic, t.Generation)
		}
		for _, p := range t.Partitions {
			id := logID{t.Topic, p.Partition}
			again := known != nil && t.Generation > known.generation
			if p.Partition < 0 || p.Start < 0 || named[id] || l.has(id) && !again {
				return fmt.Errorf("%s is named twice, or at offset %d", id, p.Start)
			}
			named[id] = true
		}
	}
	return nil
}

// has reports whether a partition is one of its topic's present generation.
func (l *ledger) has(id logID) bool {
	n, known := l.ordinal[id]
	return known && !l.logs[n].gone
}

// present returns the ordinals of a topic's partitions in its present generation.
func (l *ledger) present(t *knownTopic) []int32 {
	return slices.DeleteFunc(slices.Clone(t.ordinals), func(n int32) bool { return l.logs[n].gone })
}

// apply makes the ledger know a checked entry.
func (l *ledger) apply(e *entry) {
	l.started = true
	for _, t := range e.Topics {
		known := l.topics[t.Topic]
		if known == nil {
			known = &knownTopic{}
			l.topics[t.Topic] = known
		}
		if t.Generation > known.generation {
			for _, n := range known.ordinals {
				l.logs[n].gone = true
			}
		}
		known.id, known.generation = t.ID, t.Generation
		for _, p := range t.Partitions {
			l.put(known, logID{t.Topic, p.Partition}, p.Start)
		}
	}
}

func (l *ledger) put(t *knownTopic, id logID, start int64) {
	if n, ok := l.ordinal[id]; ok {
		l.logs[n].start, l.logs[n].gone = start, false
		return
	}
	n := int32(len(l.logs))
	l.logs = append(l.logs, knownLog{logID: id, start: start})
	l.ordinal[id] = n
	t.ordinals = append(t.ordinals, n)
}

// learn applies an entry and returns it as the journal gets it.
func (l *ledger) learn(e *entry) ([]byte, error) {
	e.Version = entryVersion
	if e.Topics == nil {
		e.Topics = []topicEntry{}
	}
	if err := l.check(e); err != nil {
		return nil, err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode journal entry: %w", err)
	}
	l.apply(e)
	return b, nil
}
