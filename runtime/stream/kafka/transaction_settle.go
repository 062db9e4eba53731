package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

const (
	// settleTries is how often Settle starts over when the broker shuts it out. When
	// brokers are down, it tries until its time is over.
	settleTries = 3
	settlePause = 200 * time.Millisecond
	// settleGrace and the transaction timeout are Settle's time: by then every
	// transaction with a timeout such as ours has ended.
	settleGrace = 30 * time.Second
)

// Settle makes the unit this instance's own and finds out how far it has come.
//
//  1. It reads the unit's newest committed record. If that is beyond what the
//     checkpoint knows, or another instance took over after this one had settled,
//     it stops here, and disturbs nobody.
//  2. It initialises the producer under the unit's transactional id: the broker
//     ends an open transaction and refuses older producers from then on.
//  3. It reads the newest record again, which is final now. If this instance had
//     settled before and another one wrote that record, it stops here too: step 1
//     may have come too early to see it. Otherwise it compares.
//  4. Unless the record is this instance's, it writes it down again under its own
//     name, or what the checkpoint says in place of one that is absent or left
//     behind. So an instance that was shut out finds out by whom in step 1, and an
//     absent record means that it was deleted.
func (w *transactional[T]) Settle(ctx context.Context, s stream.Standing) (bool, error) {
	if w.closed {
		return false, errSinkClosed
	}
	w.abandon(ctx, nil)
	bounded, cancel := context.WithTimeout(ctx, w.timeout+settleGrace)
	defer cancel()
	for try := 1; ; try++ {
		committed, err := w.settle(bounded, s)
		w.usable = err == nil
		if err == nil {
			w.settled = true
			return committed, nil
		}
		w.disconnect()
		if ctx.Err() != nil || !settleAgain(err, try) {
			return false, err
		}
		w.log.Warn("the last commit could not be settled, trying again", "try", try, "error", err)
		if !wait(bounded, min(settlePause<<min(try-1, 10), maxPause)) {
			return false, err
		}
	}
}

// settleAgain reports whether a failure may be gone next time: a broker that is
// starting or down comes back, and it takes as long as it takes; another instance
// that takes over at the same time wins in the end.
func settleAgain(err error, try int) bool {
	return passes(err) || try < settleTries && errors.Is(err, stream.ErrNotDelivered)
}

func (w *transactional[T]) settle(ctx context.Context, s stream.Standing) (bool, error) {
	if err := w.checkJournal(s); err != nil {
		return false, err
	}
	hint := w.hint(s)
	switch err := w.journal.ensure(ctx, hint, s.InDoubt != "" || s.Doubt == nil && (s.Last.Epoch == 0 || s.Unknown)); {
	case errors.Is(err, errNoJournal):
		return false, w.missing(s, "topic "+w.journal.name)
	case err != nil:
		return false, err
	}
	before, err := w.journal.glance(ctx, hint)
	if err != nil {
		return false, err
	}
	if err := w.checkBefore(before.record, s); err != nil {
		return false, err
	}
	if err := w.fence(ctx); err != nil {
		return false, err
	}
	if err := w.waitEnded(ctx); err != nil {
		return false, err
	}
	after, err := w.journal.settled(ctx, hint)
	if err != nil {
		return false, err
	}
	// The first look may have come too early to see that another one had taken over.
	// That one is shut out now, finds its own record in step 1, and goes on.
	if err := w.checkTaken(after.record); err != nil {
		return false, err
	}
	committed, err := w.compare(after.record, s)
	if err != nil {
		return false, err
	}
	w.tell(after.record, s, committed)
	if after.record != nil {
		w.last, w.journal.hint = &after.place, &after.place // the claim goes to where it was found
	}
	return committed, w.claim(ctx, after.record, s, committed)
}

// hint is where the journal need not be read before.
func (w *transactional[T]) hint(s stream.Standing) *journalPlace {
	if w.last != nil {
		return w.last
	}
	if s.Doubt != nil {
		if state := w.staged(*s.Doubt); state.Journal == w.journal.name && state.Last != nil {
			return state.Last
		}
	}
	if state := w.staged(s.Last); state.Journal == w.journal.name {
		return state.Last
	}
	return nil
}

// staged is what an epoch noted down of the unit's records; nothing if it was staged
// by another unit, or by another kind of sink, which the flow had before.
func (w *transactional[T]) staged(p stream.Publication) stagedState {
	var state stagedState
	if err := json.Unmarshal(p.Staged.State, &state); err != nil || state.Unit != w.unit.String() {
		return stagedState{}
	}
	return state
}

// checkJournal fails if the epoch in doubt would be in another journal than ours.
func (w *transactional[T]) checkJournal(s stream.Standing) error {
	if s.Doubt == nil {
		return nil
	}
	if used := w.staged(*s.Doubt).Journal; used != "" && used != w.journal.name {
		return fmt.Errorf("kafka: topic %s: Sink.Journal is %s, but whether epoch %d is committed is written in the journal %s: "+
			"set Sink.Journal to %s, start the flow once, and then change it: %w",
			w.topic, w.journal.name, s.Doubt.Epoch, used, used, stream.ErrMisconfigured)
	}
	return nil
}

// checkBefore looks at the newest record before anybody is shut out.
func (w *transactional[T]) checkBefore(r *journalRecord, s stream.Standing) error {
	if r == nil {
		return nil
	}
	if err := w.checkTaken(r); err != nil {
		return err
	}
	known := s.Last.Epoch
	if s.Doubt != nil {
		known = s.Doubt.Epoch
	}
	if r.Epoch > known {
		return w.moved(r, s)
	}
	return nil
}

// checkTaken finds out whether another instance has settled after this one had.
func (w *transactional[T]) checkTaken(r *journalRecord) error {
	if r == nil || !w.settled || r.Writer == w.instance {
		return nil
	}
	return fmt.Errorf("kafka: topic %s: another instance of this flow (%s) has taken over from this one (%s), which stops: "+
		"two instances must not run on one checkpoint", w.topic, r.Writer, w.instance)
}

// compare says whether the epoch in doubt is committed, by the unit's final record.
func (w *transactional[T]) compare(r *journalRecord, s stream.Standing) (bool, error) {
	switch {
	case r != nil && s.Doubt != nil && r.names(*s.Doubt) && (!r.Assumed || r.Writer == w.instance):
		return true, nil // assumed: this instance wrote the user's choice down before
	case r != nil && r.names(s.Last):
		return false, nil
	case r != nil && r.Assumed && r.Writer == w.instance:
		return false, nil // nothing was committed since this instance began without a record
	case r != nil && !r.Assumed && s.Unknown && s.Doubt == nil && r.before(s.Last):
		return false, nil // left from when the sink last decided; what came later, or once more, was committed without it
	case r != nil && !r.Assumed:
		return false, w.moved(r, s)
	case s.InDoubt != "":
		return s.Doubt != nil && s.InDoubt == stream.InDoubtCommitted, nil
	case s.Doubt != nil, s.Last.Epoch > 0 && !s.Unknown:
		return false, w.missing(s, w.journal.where(w.journal.home()))
	}
	return false, nil
}

func (w *transactional[T]) moved(r *journalRecord, s stream.Standing) error {
	want := describeEpoch(s.Last.Epoch, s.Last.Attempt, s.Last.Manifest)
	if s.Last.Epoch == 0 {
		want = "the beginning"
	}
	if s.Doubt != nil {
		want += " or " + describeEpoch(s.Doubt.Epoch, s.Doubt.Attempt, s.Doubt.Manifest)
	}
	if used := w.staged(s.Last).Journal; used != "" && used != w.journal.name {
		return fmt.Errorf("kafka: topic %s: Sink.Journal is %s, which knows this flow from before (%s); the flow has gone on with the journal %s, to %s: "+
			"set Sink.Journal back to %s: %w", w.topic, w.journal.name, r, used, want, used, stream.ErrMisconfigured)
	}
	return &stream.SinkMovedError{Sink: "topic " + w.topic, Unit: w.unit, Want: want, Have: r.String() + " in " + r.Sink}
}

func (w *transactional[T]) missing(s stream.Standing, where string) error {
	if used := w.staged(s.Last).Journal; used != "" && used != w.journal.name {
		where += " (until now, records went to topic " + used + ")"
	}
	e := &stream.RecordMissingError{Sink: "topic " + w.topic, Unit: w.unit, Where: where, Last: s.Last.Epoch}
	if s.Doubt != nil {
		e.Doubt = s.Doubt.Epoch
	}
	return e
}

// tell logs what became of an epoch in doubt.
func (w *transactional[T]) tell(r *journalRecord, s stream.Standing, committed bool) {
	switch {
	case s.Doubt == nil, r == nil:
	case committed && r.names(*s.Doubt):
		w.log.Info("the journal says that the epoch in doubt is committed", "epoch", s.Doubt.Epoch, "attempt", s.Doubt.Attempt, "writer", r.Writer)
	case !committed:
		w.log.Info("the journal says that the epoch in doubt is not committed: its transaction was aborted, or timed out, or never began; its output is written again",
			"epoch", s.Doubt.Epoch, "attempt", s.Doubt.Attempt)
	}
}

// fence connects a new producer under the unit's transactional id.
func (w *transactional[T]) fence(ctx context.Context) error {
	w.disconnect()
	client, err := w.connect(append(w.produce[:len(w.produce):len(w.produce)],
		kgo.TransactionalID(w.id), kgo.TransactionTimeout(w.timeout))...)
	if err != nil {
		return err
	}
	w.client = client
	_, _, err = client.ProducerID(ctx)
	if errors.Is(err, kerr.InvalidTransactionTimeout) {
		return w.timeoutError(ctx, err)
	}
	if err != nil {
		return w.failed(w.topic, err)
	}
	return nil
}

// timeoutError says what the brokers allow, if they say so.
func (w *transactional[T]) timeoutError(ctx context.Context, cause error) error {
	const key = "transaction.max.timeout.ms"
	allowed := "more than the brokers allow (" + key + ")"
	if ms, ok := w.brokerNumber(ctx, key); ok {
		allowed = fmt.Sprintf("the brokers allow at most %s (%s=%d)", time.Duration(ms)*time.Millisecond, key, ms)
	}
	return &ClusterError{w.cluster, fail(refused, cause, "topic %s: Sink.TransactionTimeout is %s, %s: lower it, or raise the brokers'", w.topic, w.timeout, allowed)}
}

// claim writes the unit's record down under this instance's name; or, if there is
// none, or one that says less, the checkpoint's word or the user's.
func (w *transactional[T]) claim(ctx context.Context, r *journalRecord, s stream.Standing, committed bool) error {
	if r != nil && r.Writer == w.instance {
		return nil
	}
	reached := s.Last
	if committed {
		reached = *s.Doubt
	}
	claim := journalRecord{Epoch: reached.Epoch, Attempt: reached.Attempt, Manifest: reached.Manifest, Assumed: true}
	if r != nil && r.names(reached) {
		claim.Assumed = r.Assumed
	}
	err := w.deliver(ctx, claim, func(context.Context, *sending) error { return nil })
	if err == nil {
		err = w.commit(ctx)
	}
	if err != nil {
		w.abandon(ctx, err)
		return w.failed(w.journal.name, err)
	}
	return nil
}
