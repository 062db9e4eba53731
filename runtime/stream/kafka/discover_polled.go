package kafka

import (
	"context"
	"time"
)

const (
	// pollInterval is how often the cluster is asked at most for the logs' ends.
	pollInterval = time.Second
	// pollAgain is how often it is asked while the ends it told before were not
	// reached yet.
	pollAgain = 10 * time.Second
)

// polls knows when everything that was there had been handed out. What is fetched
// shows that of no partition: a broker may be slow, or the buffer be full of
// another's records. So the cluster is asked for the logs' ends, in the background
// and only if somebody wants to know. Once Discover has returned an end beyond all
// of them, everything that was there at the time of the question was handed out.
type polls struct {
	asked   time.Time // the newest question
	asking  inquiry[logEnds]
	pending *logEnds  // an answer that is not reached yet
	at      time.Time // zero if it is not known
	failed  int       // questions in a row
	entries int       // journal entries of this run
	empty   emptyEnds
}

// logEnds is the answer to a question for the logs' ends.
type logEnds struct {
	asked   time.Time
	entries int // see polls; with more of them, offsets may have another meaning
	ends    map[logID]int64
	err     error
}

// PolledAt implements [stream.Polled].
func (f *feed) PolledAt() (at time.Time, ok bool) {
	p := &f.polls
	interval := pollInterval
	if p.pending != nil {
		interval = pollAgain
	}
	if topics := f.topicsSeen(); !p.asking.open() && len(topics) > 0 && f.now().Sub(p.asked) >= interval {
		p.asked = f.now()
		f.probeStuck(p.ends())
		a := logEnds{asked: p.asked, entries: p.entries}
		p.asking.ask(func(ctx context.Context) logEnds {
			a.ends, a.err = f.allEnds(ctx, topics)
			return a
		})
	}
	return p.at, !p.at.IsZero()
}

// ends are the ends that are not reached yet; nil for none.
func (p *polls) ends() map[logID]int64 {
	if p.pending == nil || p.pending.entries != p.entries {
		return nil
	}
	return p.pending.ends
}

// notePolled compares what Discover is about to return with the ends that the
// cluster told.
func (f *feed) notePolled(end []int64) {
	p := &f.polls
	if a, ok := p.asking.take(); ok {
		f.putEnds(&a)
	}
	if p.pending == nil {
		return
	}
	for n, l := range f.ledger.logs {
		if !f.readable(int32(n)) {
			continue
		}
		told, ok := p.pending.ends[l.logID]
		if !ok || p.pending.entries != p.entries { // what is read is not what it was
			p.pending = nil
			return
		}
		if end[n] < told {
			return
		}
	}
	p.at, p.pending = p.pending.asked, nil
}

// putEnds takes an answer. One that is not reached yet stays, so that a topic that
// grows all the time is waited for only once; a log that has become shorter than it
// says has no more to wait for.
func (f *feed) putEnds(a *logEnds) {
	p := &f.polls
	if a.err != nil {
		if p.failed++; worthTelling(p.failed) {
			f.log.Warn("kafka: cannot ask for the ends of partitions, will try again; until then watermarks wait for those without rows", "times", p.failed, "error", a.err)
		}
		return
	}
	p.failed = 0
	if p.pending == nil || p.pending.entries != a.entries {
		p.pending = a
		return
	}
	for l, end := range a.ends {
		if told, ok := p.pending.ends[l]; ok {
			p.pending.ends[l] = min(told, end)
		}
	}
}
