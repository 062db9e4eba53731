package kafka

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tws-go/tws/runtime/stream"
)

// place is a decoded position: an offset in every known partition.
type place struct {
	at []int64 // by ordinal
	// old are the offsets at which earlier generations of topics ended, by key
	// and partition. They only ever come along.
	old map[string]map[int32]int64
}

// same reports whether two places read the same.
func (p *place) same(q *place) bool { return slices.Equal(p.at, q.at) && equalOld(p.old, q.old) }

func equalOld(a, b map[string]map[int32]int64) bool {
	return maps.EqualFunc(a, b, func(x, y map[int32]int64) bool { return maps.Equal(x, y) })
}

// with returns the place with other offsets.
func (p *place) with(at []int64) *place { return &place{at: at, old: p.old} }

// generationKey is the key of a topic in a position. A topic's name has no '@'.
func generationKey(topic string, generation int) string {
	if generation == 1 {
		return topic
	}
	return topic + "@" + strconv.Itoa(generation)
}

// splitKey is the reverse of generationKey.
func splitKey(key string) (topic string, generation int, ok bool) {
	topic, text, later := strings.Cut(key, "@")
	if !later {
		return topic, 1, topic != ""
	}
	n, err := strconv.Atoi(text)
	return topic, n, err == nil && n > 1 && topic != ""
}

// encode returns the position's canonical bytes: topics and partitions rise,
// partitions at their start are left out, nil for the start.
func (l *ledger) encode(p *place) stream.Position {
	all := map[string]map[int32]int64{}
	maps.Copy(all, p.old)
	for name, t := range l.topics {
		offsets := map[int32]int64{}
		for _, n := range t.ordinals {
			if p.at[n] != l.logs[n].start {
				offsets[l.logs[n].partition] = p.at[n]
			}
		}
		if len(offsets) > 0 {
			all[generationKey(name, t.generation)] = offsets
		}
	}
	return encodeOffsets(all)
}

func encodeOffsets(all map[string]map[int32]int64) stream.Position {
	if len(all) == 0 {
		return nil
	}
	b := []byte{'{'}
	for i, key := range slices.Sorted(maps.Keys(all)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, key)
		b = append(b, ':', '{')
		for j, p := range slices.Sorted(maps.Keys(all[key])) {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = strconv.AppendInt(b, int64(p), 10)
			b = append(b, '"', ':')
			b = strconv.AppendInt(b, all[key][p], 10)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// decodeOffsets decodes what encodeOffsets wrote. Whitespace is tolerated,
// anything else is damage.
func decodeOffsets(pos stream.Position) (map[string]map[int32]int64, error) {
	if len(pos) == 0 {
		return nil, nil
	}
	var all map[string]map[int32]int64
	if err := json.Unmarshal(pos, &all); err != nil {
		return nil, fmt.Errorf("position %.200q is damaged: %w", pos, err)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, pos) != nil || !bytes.Equal(compact.Bytes(), encodeOffsets(all)) || !validOffsets(all) {
		return nil, fmt.Errorf("position %.200q is damaged: it is not of the form {\"topic\":{\"0\":100}}", pos)
	}
	return all, nil
}

func validOffsets(all map[string]map[int32]int64) bool {
	for key, offsets := range all {
		if _, _, ok := splitKey(key); !ok || len(offsets) == 0 {
			return false
		}
		for p, offset := range offsets {
			if p < 0 || offset < 0 {
				return false
			}
		}
	}
	return true
}

// start is the place where every partition begins.
func (l *ledger) start() *place {
	p := &place{at: make([]int64, len(l.logs))}
	for n := range l.logs {
		p.at[n] = l.logs[n].start
	}
	return p
}

// resolve decodes a position and checks that it fits the journal.
func (l *ledger) resolve(pos stream.Position) (*place, error) {
	all, err := decodeOffsets(pos)
	if err != nil {
		return nil, err
	}
	p := l.start()
	for key, offsets := range all {
		topic, generation, _ := splitKey(key)
		known := l.topics[topic]
		if known == nil || generation > known.generation {
			return nil, fmt.Errorf("position %.200q speaks of %s, which the journal does not know", pos, key)
		}
		if generation < known.generation {
			if p.old == nil {
				p.old = map[string]map[int32]int64{}
			}
			p.old[key] = offsets
			continue
		}
		for partition, offset := range offsets {
			n, ok := l.ordinal[logID{topic, partition}]
			if !ok {
				return nil, fmt.Errorf("position %.200q speaks of %s, which the journal does not know", pos, logID{topic, partition})
			}
			if offset <= l.logs[n].start {
				return nil, fmt.Errorf("position %.200q has %s at offset %d, which was to begin at %d", pos, logID{topic, partition}, offset, l.logs[n].start)
			}
			p.at[n] = offset
		}
	}
	return p, nil
}

// span resolves two positions and checks that to is not before from.
func (f *feed) span(from, to stream.Position) (a, b *place, err error) {
	if a, err = f.ledger.resolve(from); err == nil {
		b, err = f.ledger.resolve(to)
	}
	if err != nil {
		return nil, nil, f.errorf("%w: restore the checkpoint from a copy", err)
	}
	if !equalOld(a.old, b.old) {
		return nil, nil, f.errorf("positions %s and %s differ in what was read of topics before they were made anew: restore the checkpoint from a copy", from, to)
	}
	for n := range a.at {
		if a.at[n] > b.at[n] {
			return nil, nil, f.errorf("position %s is beyond the end %s in %s: restore the checkpoint from a copy", from, to, f.ledger.logs[n].logID)
		}
	}
	return a, b, nil
}
