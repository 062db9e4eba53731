package kafka

import (
	"context"
	"slices"
)

// gap is a range of offsets in which a partition has no record.
type gap struct {
	n        int32
	from, to int64
}

// gaps is the answer to the question what follows where nothing comes.
type gaps struct {
	entries int // see polls
	found   []gap
	err     error // of the last partition that could not be asked about
}

// emptyEnds finds logs that end in offsets without a record, not even a marker, as
// compaction leaves them: the client says nothing of them. Otherwise the end that the
// cluster tells would never be reached.
type emptyEnds struct {
	probing inquiry[gaps]
	stood   []int64 // where backlogs ended at the question before, by ordinal
	failed  int     // questions in a row
}

// probeStuck asks the leaders of partitions that have not reached the ends that were
// told and stand where they stood before, what follows.
func (f *feed) probeStuck(ends map[logID]int64) {
	e := &f.polls.empty
	before := e.stood
	e.stood = f.fetch.ends(make([]int64, len(f.ledger.logs)))
	stuck := slices.DeleteFunc(f.unreached(ends), func(l lag) bool {
		return int(l.n) >= len(before) || before[l.n] != l.offset
	})
	if len(stuck) == 0 || e.probing.open() {
		return
	}
	entries := f.polls.entries
	e.probing.ask(func(ctx context.Context) gaps {
		all := gaps{entries: entries}
		for _, l := range stuck {
			to, err := f.nextRecord(ctx, l)
			if err != nil {
				all.err = err
			}
			if to > l.offset {
				all.found = append(all.found, gap{l.n, l.offset, to})
			}
		}
		return all
	})
}

// unreached lists the partitions of which not all is fetched that was told to be
// there. There are none while the buffer is full: it is known then why.
func (f *feed) unreached(ends map[logID]int64) (all []lag) {
	f.fetch.mu.Lock()
	defer f.fetch.mu.Unlock()
	if f.fetch.full() {
		return nil
	}
	for n, l := range f.ledger.logs {
		b := f.backlog(n)
		if end := ends[l.logID]; b != nil && b.failure == nil && b.next < end {
			all = append(all, lag{int32(n), l.logID, f.ledger.topics[l.topic].id, b.next, end})
		}
	}
	return all
}

// nextRecord returns where the next record of a partition is, or how far it is known
// that there is none.
func (f *feed) nextRecord(ctx context.Context, l lag) (int64, error) {
	for l.offset < l.target {
		p, err := f.probe(ctx, l)
		if err != nil || p.next <= l.offset {
			return l.offset, err
		}
		l.offset = p.next
	}
	return l.offset, nil
}

// passGaps makes backlogs reach over offsets without a record.
func (f *feed) passGaps() {
	e := &f.polls.empty
	all, ok := e.probing.take()
	if !ok {
		return
	}
	if all.err == nil {
		e.failed = 0
	} else if e.failed++; worthTelling(e.failed) {
		f.log.Warn("kafka: cannot find out why nothing comes before the end of a partition, will try again; until then watermarks wait for those without rows", "times", e.failed, "error", all.err)
	}
	if all.entries != f.polls.entries { // offsets may mean other records
		return
	}
	for _, g := range all.found {
		f.fetch.pass(g.n, g.from, g.to)
	}
}
