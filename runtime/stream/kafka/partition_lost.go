package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// LostError reports records that are gone before they were read. It is a
// [stream.ErrLostData].
type LostError struct {
	Topic     string
	Partition int32
	// Wanted is the offset that was to be read next.
	Wanted int64
	// Start and End are what the log holds: offsets from Start to before End.
	// Both are -1 if the topic is gone.
	Start, End int64
	// Remade says that the topic was deleted and made anew, so that offsets mean
	// other records.
	Remade bool
	// Regrown says that the log was cut at End and has grown since: from there on
	// it has other records than those that were fetched.
	Regrown bool
}

func (e *LostError) Error() string {
	what := ""
	switch {
	case e.Remade:
		what = fmt.Sprintf("the topic was deleted and made anew after it had been read to offset %d", e.Wanted)
	case e.Start < 0:
		what = fmt.Sprintf("the topic was deleted after it had been read to offset %d", e.Wanted)
	case e.Regrown:
		what = fmt.Sprintf("offset %d was to be read next, but the log was cut short at %d and has grown again since: up to %d records are gone, others are in their place", e.Wanted, e.End, e.Wanted-e.End)
	case e.Wanted < e.Start:
		what = fmt.Sprintf("offset %d was to be read next, but the log holds %d to %d: records were deleted or expired, up to %d of them", e.Wanted, e.Start, e.End, e.Start-e.Wanted)
	default:
		what = fmt.Sprintf("offset %d was to be read next, but the log holds %d to %d: it was cut short", e.Wanted, e.Start, e.End)
	}
	return fmt.Sprintf("topic %s, partition %d: %s; set OnLostData to kafka.EarliestAvailable to go on with what is there, or give the source another Name to start over", e.Topic, e.Partition, what)
}

// Is reports whether target is [stream.ErrLostData].
func (e *LostError) Is(target error) bool { return target == stream.ErrLostData }

// lost is a loss under the source's policy: an error, or a warning.
func (f *feed) lost(e *LostError) error {
	if f.settings.lost == LostFail {
		return f.errorf("%w", e)
	}
	f.log.Warn("kafka: records are lost, reading goes on with what is there", "topic", e.Topic, "partition", e.Partition,
		"wanted", e.Wanted, "start", e.Start, "end", e.End, "remade", e.Remade, "regrown", e.Regrown)
	return nil
}

// lostTopic is the loss of all that a topic had before it was deleted, and maybe made
// anew. A topic of which nothing was read loses what it may have had as well.
func (f *feed) lostTopic(name string, at *place, remade bool) error {
	for _, n := range f.ledger.present(f.ledger.topics[name]) {
		e := &LostError{Topic: name, Partition: f.ledger.logs[n].partition, Wanted: at.at[n], Start: -1, End: -1, Remade: remade}
		if err := f.lost(e); err != nil {
			return err
		}
	}
	return nil
}

// checkMissing deals with topics that were read and are gone, and with topics that
// were named and are not there.
func (f *feed) checkMissing(at *place) error {
	for _, name := range f.topics {
		if _, there := f.seen[name]; !there && f.ledger.topics[name] == nil {
			return f.missing(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.ledger.topics)) {
		if _, there := f.seen[name]; there || !f.selects(name) || f.deleted[name] {
			continue
		}
		if err := f.lostTopic(name, at, false); err != nil {
			return err
		}
		f.markDeleted(name)
	}
	return nil
}

func (f *feed) markDeleted(name string) {
	if f.deleted == nil {
		f.deleted = map[string]bool{}
	}
	f.deleted[name] = true
}

// checkNamed checks, when the source is opened, that topics that were named are
// there, or were, and tells of those that were read and are not named any more.
func (f *feed) checkNamed() error {
	for _, name := range f.topics {
		if _, there := f.seen[name]; !there && f.ledger.topics[name] == nil {
			return f.missing(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.ledger.topics)) {
		if !f.selects(name) {
			f.log.Warn("kafka: a topic that was read is not selected any more, and left as it is", "topic", name)
		}
	}
	return nil
}

// checkGrown reports what partitions that were added to a topic lost before they were
// found. Partitions with lower numbers than one that is read, and those that are
// named, were there before, and not wanted then.
func (f *feed) checkGrown(ctx context.Context, name string, known *knownTopic, starts map[int32]int64) error {
	last := int32(-1)
	for _, n := range f.ledger.present(known) {
		last = max(last, f.ledger.logs[n].partition)
	}
	lost := slices.DeleteFunc(slices.Sorted(maps.Keys(starts)), func(p int32) bool { return p <= last || starts[p] == 0 })
	if len(lost) == 0 || f.partitions != nil {
		return nil
	}
	ends, err := f.askEach(ctx, f.admin.ListEndOffsets, name, lost)
	if err != nil {
		return f.topicError(name, err)
	}
	for _, p := range lost {
		if err := f.lost(&LostError{Topic: name, Partition: p, Start: starts[p], End: ends[p]}); err != nil {
			return err
		}
	}
	return nil
}

// begin notes where an epoch begins, before anything of it is cut or read. The
// first time it compares what the cluster has with the journal, unless Discover did:
// only a position says how far a topic had been read that is gone.
func (f *feed) begin(from *place) error {
	if f.from = from; f.compared {
		return nil
	}
	err := f.checkKnown()
	f.compared = err == nil
	return err
}

// checkKnown checks that the topics are those of the journal: offsets mean nothing
// in a topic that was made anew.
func (f *feed) checkKnown() error {
	for _, name := range slices.Sorted(maps.Keys(f.ledger.topics)) {
		known := f.ledger.topics[name]
		t, there := f.seen[name]
		if !f.selects(name) || f.deleted[name] || there && !known.id.differs(t.id) {
			continue
		}
		if err := f.lostTopic(name, f.from, there); err != nil {
			return err
		}
		f.markDeleted(name) // until Discover finds it anew
	}
	return nil
}

// repair finds out why a partition cannot be read from an offset; cause is what showed
// that.
func (f *feed) repair(ctx context.Context, n int32, wanted int64, cause error) error {
	l := f.ledger.logs[n].logID
	start, err := f.logStart(ctx, l)
	if err != nil {
		return f.topicError(l.topic, err)
	}
	end, err := f.logEnd(ctx, l)
	if err != nil {
		return f.topicError(l.topic, err)
	}
	e := &LostError{Topic: l.topic, Partition: l.partition, Wanted: wanted, Start: start, End: end}
	switch {
	case wanted < e.Start:
		if err := f.lost(e); err != nil {
			return err
		}
		f.fetch.skip(n, e.Start)
	case wanted > e.End:
		return f.lostTail(n, e)
	default: // it is there: the cluster was in motion
		if err := f.stand(ctx, n, wanted, cause); err != nil {
			return err
		}
		f.fetch.skip(n, 0) // from where it is: what is wanted may be the end of what is waited for
	}
	return nil
}

// regrown is the loss of what was fetched of a log behind an offset: there, a new
// leader's log goes on otherwise.
func (f *feed) regrown(ctx context.Context, bad failed, end int64) error {
	l := f.ledger.logs[bad.n].logID
	start, err := f.logStart(ctx, l)
	if err != nil {
		return f.topicError(l.topic, err)
	}
	return f.lostTail(bad.n, &LostError{Topic: l.topic, Partition: l.partition, Wanted: bad.offset, Start: start, End: end, Regrown: true})
}

// lostTail is the loss of what lay behind the end of a log. Until Discover finds
// the log anew, only what lies before is read of it.
func (f *feed) lostTail(n int32, e *LostError) error {
	if end, known := f.cutShort[n]; !known || e.End < end {
		if err := f.lost(e); err != nil {
			return err
		}
		if f.cutShort == nil {
			f.cutShort = map[int32]int64{}
		}
		f.cutShort[n] = e.End
	}
	f.fetch.bound(n, f.cutShort[n])
	return nil
}

func (f *feed) isCutShort(known *knownTopic) bool {
	return slices.ContainsFunc(known.ordinals, func(n int32) bool { _, ok := f.cutShort[n]; return ok })
}

// afterCut returns where the partitions of a topic go on after the log of one was
// cut short: that one at its end if all before was read, the others where they are.
func (f *feed) afterCut(ctx context.Context, known *knownTopic, seen listed, name string, at *place) (map[int32]int64, error) {
	starts, err := Earliest.starts(ctx, f, name, seen.partitions)
	if err != nil {
		return nil, err
	}
	for _, n := range f.ledger.present(known) {
		p := f.ledger.logs[n].partition
		if _, there := starts[p]; !there {
			continue
		}
		starts[p] = at.at[n]
		if end, ok := f.cutShort[n]; ok {
			starts[p] = min(end, at.at[n])
		}
	}
	return starts, nil
}

// inspect looks at what kept partitions from being fetched.
func (f *feed) inspect(ctx context.Context, at *place) error {
	for _, bad := range f.fetch.failures() {
		err := f.treat(ctx, bad)
		if err != nil && bad.kind == outOfRange && kerr.IsRetriable(err) { // the next time
			if f.baffled++; worthTelling(f.baffled) {
				f.log.Warn("kafka: cannot find out why a partition cannot be fetched, will try again", "partition", f.ledger.logs[bad.n].logID.String(), "times", f.baffled, "error", err)
			}
			f.suspect, err = f.suspect || errors.Is(err, kerr.UnknownTopicOrPartition), nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxDoubts is how often, without a row in between, the cluster may say of a topic that is there
// that it is not.
const maxDoubts = 10

// treat deals with a partition that cannot be fetched.
func (f *feed) treat(ctx context.Context, bad failed) error {
	switch bad.kind {
	case outOfRange:
		if loss, ok := errors.AsType[*kgo.ErrDataLoss](bad.err); ok && loss.ResetTo < bad.offset {
			return f.regrown(ctx, bad, loss.ResetTo)
		}
		return f.repair(ctx, bad.n, bad.offset, bad.err)
	case anotherTopic:
		if f.suspect = true; f.doubts < maxDoubts {
			return nil
		}
	}
	l := f.ledger.logs[bad.n].logID
	return fmt.Errorf("%w (partition %d, offset %d)", explain(f.cluster, l.topic, bad.err), l.partition, bad.offset)
}
