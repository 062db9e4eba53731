package kafka

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// transactional writes each epoch in one transaction, in which the journal record
// names the epoch. It implements [stream.Decider].
//
// Rows are spooled until Deliver, so that a transaction is open no longer than the
// output takes to send, however long the epoch ran. The spool stays until the next
// Begin: what was thrown away can be delivered again.
//
// A client whose transaction failed is not used again. Settle makes a new one,
// under the same transactional id, which shuts out all that came before.
type transactional[T any] struct {
	*target
	encoder *recordEncoder[T]
	journal *journal
	spool   *spool
	timeout time.Duration
	// id is the transactional id: distinct for each unit, the same in each run.
	id string
	// instance tells this writer from others of the same unit.
	instance string

	client *kgo.Client // nil until Settle
	usable bool        // the client may begin a transaction
	open   bool        // a transaction is under way
	// settled says that this instance has made the unit its own.
	settled bool
	// last is where the newest committed record is; delivered, where the one of
	// the open transaction is.
	last, delivered *journalPlace

	attempt  stream.Attempt // its epoch is 0 if there is none
	prepared bool
	pool     recordPool
	closed   bool
}

func newTransactional[T any](t *target, encoder *recordEncoder[T], journal string, timeout time.Duration) (*transactional[T], error) {
	instance, err := newInstance()
	if err != nil {
		return nil, fmt.Errorf("kafka: topic %s: name this instance: %w", t.topic, err)
	}
	return &transactional[T]{
		target: t, encoder: encoder, journal: newJournal(t, journal), spool: newSpool(spoolMemory),
		timeout: timeout, id: "tws-" + t.unit.String(), instance: instance,
	}, nil
}

// newInstance returns a name that no other instance has, and that helps a person
// to find the process.
func newInstance() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return host + "/" + strconv.Itoa(os.Getpid()) + "/" + hex.EncodeToString(random[:]), nil
}

// stagedState is the JSON of [stream.Staged]'s State.
type stagedState struct {
	// Unit and Journal say what Last is for.
	Unit    string `json:"unit"`
	Journal string `json:"journal"`
	// Last is where the record of the epoch before is, or of an earlier one: the
	// journal need not be read before it.
	Last *journalPlace `json:"last,omitempty"`
}

// Begin starts an attempt and forgets what an earlier one staged.
func (w *transactional[T]) Begin(ctx context.Context, a stream.Attempt) error {
	if w.closed {
		return errSinkClosed
	}
	if a.Epoch < 1 || a.Lanes < 1 {
		return fmt.Errorf("kafka: topic %s: begin epoch %d with %d lanes: both start at 1", w.topic, a.Epoch, a.Lanes)
	}
	if err := w.spool.reset(a.Lanes); err != nil {
		return fmt.Errorf("kafka: topic %s: %w", w.topic, err)
	}
	w.attempt, w.prepared = a, false
	return ctx.Err()
}

// Write spools a row.
func (w *transactional[T]) Write(lane int, _ []byte, row *T) error { return w.write(lane, row, false) }

// WriteNull spools a tombstone with the key of a row.
func (w *transactional[T]) WriteNull(lane int, _ []byte, row *T) error {
	return w.write(lane, row, true)
}

func (w *transactional[T]) write(lane int, row *T, null bool) error {
	if lane < 0 || lane >= len(w.spool.lanes) {
		return laneError(w.topic, lane, len(w.spool.lanes))
	}
	l := w.spool.lanes[lane]
	block, size, err := w.encoder.append(l.room(), row, null)
	if err != nil {
		return err
	}
	if err := l.keep(block, size); err != nil {
		return fmt.Errorf("kafka: topic %s: %w", w.topic, err)
	}
	return nil
}

// Prepare closes what was written. What makes a broker refuse a row, and can be
// known, was checked when it was written.
func (w *transactional[T]) Prepare(ctx context.Context) (stream.Staged, error) {
	if w.closed {
		return stream.Staged{}, errSinkClosed
	}
	if w.attempt.Epoch == 0 || w.prepared {
		return stream.Staged{}, fmt.Errorf("kafka: topic %s: prepare without begin", w.topic)
	}
	var staged stream.Staged
	for _, l := range w.spool.lanes {
		staged.Rows += l.rows
		staged.Bytes += l.bytes
	}
	state, err := json.Marshal(stagedState{Unit: w.unit.String(), Journal: w.journal.name, Last: w.last})
	if err != nil {
		return stream.Staged{}, fmt.Errorf("kafka: topic %s: %w", w.topic, err)
	}
	staged.State = state
	w.prepared = true
	return staged, ctx.Err()
}

// Publish has nothing to do: Commit did it.
func (w *transactional[T]) Publish(context.Context, stream.Publication) error { return nil }

// Deliver sends what Prepare staged, and the journal record, in a new transaction.
func (w *transactional[T]) Deliver(ctx context.Context, p stream.Publication) error {
	switch {
	case w.closed:
		return errSinkClosed
	case !w.prepared || p.Epoch != w.attempt.Epoch || p.Attempt != w.attempt.Number:
		return fmt.Errorf("kafka: topic %s: deliver epoch %d, attempt %d, which is not prepared", w.topic, p.Epoch, p.Attempt)
	case !w.settled:
		return fmt.Errorf("kafka: topic %s: deliver before settle", w.topic)
	case !w.usable || w.open:
		return &undelivered{fmt.Errorf("kafka: topic %s: an earlier transaction is not settled", w.topic)}
	}
	bounded, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	err := w.deliver(bounded, journalRecord{Epoch: p.Epoch, Attempt: p.Attempt, Manifest: p.Manifest}, w.sendRows)
	if err == nil {
		return nil
	}
	w.abandon(ctx, err)
	w.spool.lent, w.pool = true, recordPool{}
	if ctx.Err() != nil {
		return fmt.Errorf("kafka: topic %s: deliver epoch %d: %w", w.topic, p.Epoch, ctx.Err())
	}
	if bounded.Err() != nil {
		return &undelivered{fmt.Errorf("kafka: topic %s: the output of epoch %d was not sent within %s: brokers are slow or unreachable, "+
			"or the epoch is too large for Sink.TransactionTimeout: %w", w.topic, p.Epoch, w.timeout, err)}
	}
	return w.failed(w.topic, err)
}

// deliver begins a transaction and puts the rows that send sends and a journal
// record into it. After an error the client cannot be used again.
func (w *transactional[T]) deliver(ctx context.Context, r journalRecord, send func(context.Context, *sending) error) error {
	w.usable = false
	id, epoch, err := w.client.ProducerID(ctx)
	if err != nil {
		return err
	}
	if err := w.client.BeginTransaction(); err != nil {
		return err
	}
	w.open = true
	// The first failure ends the wait for the rest: a client that was shut out may
	// never answer for it (kgo 1.22).
	flush, stop := context.WithCancel(ctx)
	defer stop()
	s := &sending{client: w.client, stop: stop}
	if err := send(ctx, s); err != nil {
		return err
	}
	at, err := w.sendRecord(ctx, s, r)
	if err != nil {
		return err
	}
	flushed := w.client.Flush(flush)
	if err := s.err(); err != nil {
		return err
	}
	if flushed != nil {
		return flushed
	}
	if err := s.waitListed(ctx); err != nil {
		return err
	}
	// If the client had to start over with a new epoch, the broker has thrown
	// away what was sent in the old one.
	if nowID, nowEpoch, err := w.client.ProducerID(ctx); err != nil {
		return err
	} else if nowID != id || nowEpoch != epoch {
		return fmt.Errorf("the producer's epoch changed within a transaction: %w", kerr.InvalidProducerEpoch)
	}
	w.delivered = &journalPlace{at.Partition, at.Offset}
	return nil
}

// sendRecord sends the journal record, completed.
func (w *transactional[T]) sendRecord(ctx context.Context, s *sending, r journalRecord) (*kgo.Record, error) {
	r.Format, r.Unit, r.Sink, r.Writer = journalFormat, w.unit.String(), "topic "+w.topic, w.instance
	value, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	at := &kgo.Record{Topic: w.journal.name, Partition: w.journal.home(), Key: []byte(r.Unit), Value: value}
	s.topics = append(s.topics, at.Topic)
	w.client.Produce(ctx, at, s.done)
	return at, nil
}

// sendRows sends the spooled rows, lane by lane.
func (w *transactional[T]) sendRows(ctx context.Context, s *sending) error {
	w.pool.rewind()
	promise := s.done
	for _, l := range w.spool.lanes {
		err := l.blocks(func(block []byte) (err error) {
			for len(block) > 0 {
				r := w.pool.take()
				r.Topic = w.topic
				if block, err = readEntry(block, r); err != nil {
					return err
				}
				if len(s.topics) == 0 {
					s.topics = append(s.topics, w.topic)
				}
				w.client.Produce(ctx, r, promise)
			}
			return s.err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// failed explains a failure to deliver. A journal that is gone is not made anew while
// the flow runs: what it said is lost.
func (w *transactional[T]) failed(topic string, err error) error {
	told := w.target.failed(topic, err)
	of, ok := errors.AsType[*unsent](err)
	if ok && of.topic == w.journal.name && (errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)) {
		return fmt.Errorf("kafka: topic %s: the journal %s, which says how far this flow has come, was deleted while the flow ran: "+
			"start again, and it asks how to go on: %w", w.topic, w.journal.name, told)
	}
	return told
}

// Commit ends the transaction.
func (w *transactional[T]) Commit(ctx context.Context, p stream.Publication) error {
	if w.closed {
		return errSinkClosed
	}
	if !w.open || p.Epoch != w.attempt.Epoch || p.Attempt != w.attempt.Number {
		return fmt.Errorf("kafka: topic %s: commit epoch %d, attempt %d, which is not delivered", w.topic, p.Epoch, p.Attempt)
	}
	bounded, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	if err := w.commit(bounded); err != nil {
		return w.failed(w.topic, err)
	}
	return nil
}

// commit ends the open transaction. After an error its outcome is unknown, and
// the client cannot be used again.
func (w *transactional[T]) commit(ctx context.Context) error {
	w.open = false
	if err := w.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return err
	}
	w.usable, w.last = true, w.delivered
	return nil
}

// abortTimeout bounds the attempt to end at once what the broker would end by the
// transaction's timeout anyway. lastAbortTimeout does so in a run that ends, which is
// waited for no longer than a second.
const (
	abortTimeout     = 5 * time.Second
	lastAbortTimeout = 500 * time.Millisecond
)

// abandon aborts the transaction after an error, so that readers need not wait for
// its timeout, unless the broker has ended it already.
func (w *transactional[T]) abandon(ctx context.Context, cause error) {
	if !w.open {
		return
	}
	w.open = false
	if errors.Is(cause, kerr.InvalidProducerEpoch) || errors.Is(cause, kerr.ProducerFenced) {
		return
	}
	bound := abortTimeout
	if ctx.Err() != nil {
		bound = lastAbortTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	err := w.client.AbortBufferedRecords(ctx)
	if err == nil {
		err = w.client.EndTransaction(ctx, kgo.TryAbort)
	}
	if err != nil {
		w.log.Warn("a failed transaction could not be aborted; the broker does it after the transaction's timeout, or when this flow goes on",
			"timeout", w.timeout, "error", explain(w.cluster, w.topic, err))
	}
}

// Close aborts a transaction that is not decided and disconnects.
func (w *transactional[T]) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	w.abandon(context.Background(), nil)
	w.disconnect()
	w.target.close()
	return w.spool.close()
}

// disconnect drops the client.
func (w *transactional[T]) disconnect() {
	if w.client != nil {
		w.client.Close()
	}
	w.client, w.usable, w.open = nil, false, false
}
