package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// feed is what a source does whatever its rows are: it finds partitions, fetches
// their records, and cuts epochs.
type feed struct {
	*settings
	log    *slog.Logger
	now    func() time.Time
	client *kgo.Client
	admin  *kadm.Client

	ledger  ledger
	fetch   *fetcher
	commits *committer // nil without a group

	seen     listing // what the cluster has, if that is news
	lookedAt time.Time
	compared bool   // with the journal, what was seen when the source was opened
	from     *place // where the epoch begins that is cut or read
	looking  inquiry[look]
	suspect  bool                 // a topic seems to be another than it was
	doubts   int                  // how often that was found not to be so since rows were read
	baffled  int                  // how often it could not be found out why a partition cannot be fetched
	stuck    map[int32]standstill // by ordinal
	deleted  map[string]bool
	cutShort map[int32]int64 // logs that end before what was read of them, with their end
	polls    polls

	turn   int // of the partition that Cut serves first
	closed bool
}

// look is the result of looking in the background.
type look struct {
	seen listing
	err  error
}

func (f *feed) errorf(format string, args ...any) error {
	return fmt.Errorf("kafka: "+format, args...)
}

// Discover returns the end of what is fetched; see [stream.Reader]. It asks the
// cluster only when it is called for the first or the last time, or when something
// seems wrong.
func (f *feed) Discover(ctx context.Context, from stream.Position, final bool) (stream.Position, []byte, error) {
	began := f.now()
	at, err := f.ledger.resolve(from)
	if err != nil {
		return nil, nil, f.errorf("%w: restore the checkpoint from a copy", err)
	}
	if err := f.inspect(ctx, at); err != nil {
		return nil, nil, err
	}
	if err := f.look(ctx, final || f.suspect || len(f.cutShort) > 0); err != nil {
		return nil, nil, err
	}
	var ends map[logID]int64
	if final {
		if ends, err = f.finalEnds(ctx, at); err != nil {
			return nil, nil, err
		}
	}
	journal, again, err := f.learn(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	if journal != nil {
		f.polls.entries++
		if at, err = f.ledger.resolve(from); err != nil {
			return nil, nil, f.errorf("%w", err)
		}
	}
	f.assign(at, again)
	f.fetch.release(at.at)
	f.passGaps()
	end := f.fetch.ends(at.at)
	for n, l := range f.ledger.logs {
		if offset, ok := ends[l.logID]; ok && f.readable(int32(n)) {
			end[n] = max(at.at[n], offset)
		}
	}
	if final {
		f.polls.pending = &logEnds{asked: began, entries: f.polls.entries, ends: ends}
	}
	f.notePolled(end)
	return f.ledger.encode(at.with(end)), journal, nil
}

// Partitions returns how many partitions were found so far; see
// [stream.Partitioned].
func (f *feed) Partitions() int { return len(f.ledger.logs) }

// Settled commits offsets for whoever watches the lag; see [stream.Settler].
func (f *feed) Settled(_ context.Context, upTo stream.Position) {
	if f.commits == nil {
		return
	}
	at, err := f.ledger.resolve(upTo)
	if err != nil {
		return // it comes from the engine, which gets the error when it reads from there
	}
	offsets := map[logID]int64{}
	for n, l := range f.ledger.logs {
		if f.readable(int32(n)) {
			offsets[l.logID] = at.at[n]
		}
	}
	f.commits.put(offsets)
}

// Close ends fetching.
func (f *feed) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.looking.end()
	f.polls.asking.end()
	f.polls.empty.probing.end()
	f.fetch.close()
	if f.commits != nil {
		f.commits.close()
	}
	f.client.Close()
	return nil
}

// readable reports whether a partition is there and wanted.
func (f *feed) readable(n int32) bool {
	l := &f.ledger.logs[n]
	return !l.gone && !f.deleted[l.topic] && f.wants(l.logID)
}

// look makes f.seen what the cluster has: at once if it must be now, otherwise
// whenever a look in the background is done.
func (f *feed) look(ctx context.Context, now bool) error {
	if l, ok := f.looking.take(); ok {
		if err := f.looked(l); err != nil {
			return err
		}
	}
	if now && (f.seen == nil || f.looking.open()) || f.suspect {
		return f.lookNow(ctx)
	}
	if f.seen == nil && !f.looking.open() && f.now().Sub(f.lookedAt) >= f.interval {
		f.lookedAt = f.now()
		known := f.knownTopics()
		f.looking.ask(func(ctx context.Context) look {
			seen, err := f.listKnown(ctx, known)
			return look{seen, err}
		})
	}
	return nil
}

// lookNow looks at once. What is asked in the background is dropped: it is older.
func (f *feed) lookNow(ctx context.Context) error {
	f.looking.end()
	seen, err := f.list(ctx)
	if err == nil {
		f.seen, f.lookedAt = seen, f.now()
	}
	return err
}

// looked takes the result of looking in the background. Only what waiting does
// not cure is an error.
func (f *feed) looked(l look) error {
	switch {
	case l.err == nil:
		f.seen = l.seen
	case errors.Is(l.err, stream.ErrMisconfigured):
		return l.err
	default:
		f.log.Warn("kafka: cannot look for new partitions, will try again", "error", l.err)
	}
	return nil
}

// learn compares what the cluster has with the ledger, and makes the ledger know
// what is new. again says that partitions are to be fetched from other places.
func (f *feed) learn(ctx context.Context, at *place) (journal []byte, again bool, err error) {
	if f.seen == nil {
		return nil, false, nil
	}
	e, err := f.compare(ctx, at)
	if err != nil {
		return nil, false, err
	}
	if e != nil {
		for _, t := range e.Topics {
			known := f.ledger.topics[t.Topic]
			again = again || known != nil && t.Generation > known.generation
		}
		if journal, err = f.ledger.learn(e); err != nil {
			return nil, false, f.errorf("%w", err)
		}
	}
	if f.suspect && !again {
		f.doubt()
	}
	again = again || f.suspect
	f.seen, f.suspect, f.cutShort, f.compared = nil, false, nil, true
	return journal, again, nil
}

// doubt notes that a topic which seemed to be gone is there.
func (f *feed) doubt() {
	if f.doubts++; worthTelling(f.doubts) {
		f.log.Warn("kafka: a broker did not know a topic that is there, fetching it again", "times", f.doubts)
	}
}

// compare returns what the journal must know of what the cluster has, nil if that
// is nothing.
func (f *feed) compare(ctx context.Context, at *place) (*entry, error) {
	e := &entry{}
	for _, name := range slices.Sorted(maps.Keys(f.seen)) {
		t, err := f.compareTopic(ctx, name, at)
		if err != nil {
			return nil, err
		}
		if t != nil {
			e.Topics = append(e.Topics, *t)
		}
	}
	if err := f.checkMissing(at); err != nil {
		return nil, err
	}
	for _, t := range e.Topics {
		f.log.Info("kafka: reading partitions", "topic", t.Topic, "generation", t.Generation, "partitions", t.Partitions)
	}
	if f.ledger.started && len(e.Topics) == 0 {
		return nil, nil
	}
	return e, nil
}

func (f *feed) compareTopic(ctx context.Context, name string, at *place) (*topicEntry, error) {
	seen, known := f.seen[name], f.ledger.topics[name]
	t := &topicEntry{Topic: name, ID: seen.id, Generation: 1}
	from, fresh := f.starts, seen.partitions
	if f.ledger.started {
		from = Earliest
	}
	var starts map[int32]int64
	var err error
	switch {
	case known != nil && known.id.differs(seen.id):
		t.Generation = known.generation + 1
		if err := f.lostTopic(name, at, true); err != nil {
			return nil, err
		}
	case known != nil && f.isCutShort(known):
		t.Generation = known.generation + 1
		starts, err = f.afterCut(ctx, known, seen, name, at)
	case known != nil:
		t.ID, t.Generation = known.id, known.generation
		fresh = slices.DeleteFunc(slices.Clone(fresh), func(p int32) bool { return f.ledger.has(logID{name, p}) })
	}
	if len(fresh) == 0 {
		delete(f.deleted, name)
		return nil, nil
	}
	if starts == nil && err == nil {
		starts, err = from.starts(ctx, f, name, fresh)
	}
	if err != nil {
		return nil, f.topicError(name, err)
	}
	if known != nil && !known.id.differs(seen.id) {
		if err := f.checkGrown(ctx, name, known, starts); err != nil {
			return nil, err
		}
	}
	for _, p := range fresh {
		t.Partitions = append(t.Partitions, partitionEntry{Partition: p, Start: starts[p]})
	}
	delete(f.deleted, name)
	return t, nil
}

// topicError explains what a request about a topic failed of.
func (f *feed) topicError(topic string, err error) error {
	if kind := explain(f.cluster, topic, err); isClusterError(kind) {
		return kind
	}
	return f.errorf("%w", err)
}

func isClusterError(err error) bool {
	_, ok := errors.AsType[*ClusterError](err)
	return ok
}

// assign makes the fetcher fetch from a place, if it does not already.
func (f *feed) assign(at *place, again bool) {
	f.fetch.assign(f.wanted(at.at, func(int32) bool { return true }), again)
}

// ensure is assign for a place that may be any.
func (f *feed) ensure(at *place) { f.assign(at, false) }

// wanted lists the partitions to fetch.
func (f *feed) wanted(at []int64, and func(n int32) bool) []fetchTarget {
	var all []fetchTarget
	for i, l := range f.ledger.logs {
		if n := int32(i); f.readable(n) && and(n) {
			bound, cut := f.cutShort[n]
			all = append(all, fetchTarget{n: n, log: l.logID, id: f.ledger.topics[l.topic].id, offset: at[n], cut: cut, bound: bound})
		}
	}
	return all
}
