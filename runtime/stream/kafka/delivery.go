package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

const (
	// deliveryTimeout is how long the brokers may take for a row that is delivered
	// at least once before the epoch fails. The client's own bound is of no use: it
	// counts from a record's timestamp.
	deliveryTimeout = 2 * time.Minute
	// chunkAge is how long a chunk takes rows, which share a time to be sent in.
	chunkAge = time.Minute
)

// delivery writes rows at least once. Each row is on its way to the broker as
// soon as it is written, by an idempotent producer, so that what one lane writes
// for one partition keeps its order. What the brokers are slow to take is bounded:
// then Write waits. Prepare waits for all of it.
type delivery[T any] struct {
	*target
	encoder *recordEncoder[T]
	client  *kgo.Client

	lanes   []*deliveryLane
	attempt *attemptOutcome // nil before Begin
	window  func() *window  // makes one of the attempt's, for the rows of a chunk
	closed  bool
}

// window is how a chunk's rows are sent: within the attempt's context, and for as
// long as they may take.
type window struct {
	send   func(*kgo.Record, func(*kgo.Record, error))
	fresh  func() bool // there is time for another row
	cancel func()
}

// produceFunc is what a client sends a record with.
type produceFunc func(context.Context, *kgo.Record, func(*kgo.Record, error))

// newWindow begins the time of a chunk. It takes rows for the first part of it,
// however slowly they come, so that each has deliveryTimeout at least. That the
// attempt ends does not age a chunk: each row until the end shows would get its own.
func newWindow(ctx context.Context, produce produceFunc) *window {
	ctx, cancel := context.WithTimeout(ctx, chunkAge+deliveryTimeout)
	young, grow := context.WithTimeout(context.WithoutCancel(ctx), chunkAge)
	return &window{
		send:   func(r *kgo.Record, promise func(*kgo.Record, error)) { produce(ctx, r, promise) },
		fresh:  func() bool { return young.Err() == nil },
		cancel: func() { grow(); cancel() },
	}
}

// attemptOutcome gathers what became of an attempt's rows.
type attemptOutcome struct {
	failed atomic.Pointer[error] // the first failure
}

func (o *attemptOutcome) fail(err error) { o.failed.CompareAndSwap(nil, &err) }

func (o *attemptOutcome) err() error {
	if p := o.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// deliveryLane is what one goroutine writes to.
type deliveryLane struct {
	chunk *chunk // open, nil if there is none
	pool  *chunkPool
	size  struct{ rows, bytes int64 }
}

const (
	chunkRecords = 512
	chunkPooled  = 32
)

// chunk holds rows until the broker has them. It is used again once it is full and
// none is on its way any more.
type chunk struct {
	buf     []byte
	records []kgo.Record
	used    int
	holders atomic.Int32 // records on their way, and one for the lane that fills it
	outcome *attemptOutcome
	pool    *chunkPool
	promise func(*kgo.Record, error) // done, made once
	window  *window
}

func (c *chunk) done(_ *kgo.Record, err error) {
	if err != nil {
		c.outcome.fail(err)
	}
	c.release()
}

func (c *chunk) release() {
	if c.holders.Add(-1) == 0 {
		c.window.cancel()
		c.pool.put(c)
	}
}

// chunkPool keeps chunks that nobody uses.
type chunkPool struct {
	mu   sync.Mutex
	free []*chunk
}

func (p *chunkPool) put(c *chunk) {
	clear(c.records[:c.used])
	c.outcome, c.window = nil, nil
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < chunkPooled && cap(c.buf) == blockSize {
		p.free = append(p.free, c)
	}
}

func (p *chunkPool) take(o *attemptOutcome) *chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	var c *chunk
	if n := len(p.free); n > 0 {
		c, p.free = p.free[n-1], p.free[:n-1]
	} else {
		c = &chunk{buf: make([]byte, 0, blockSize), records: make([]kgo.Record, chunkRecords), pool: p}
		c.promise = c.done
	}
	c.buf, c.used, c.outcome = c.buf[:0], 0, o
	c.holders.Store(1)
	return c
}

func newDelivery[T any](t *target, encoder *recordEncoder[T]) (*delivery[T], error) {
	client, err := t.connect(t.produce...)
	if err != nil {
		return nil, err
	}
	return &delivery[T]{target: t, encoder: encoder, client: client}, nil
}

// release lets go of the chunks that are open.
func (d *delivery[T]) release() {
	for _, l := range d.lanes {
		l.close()
	}
}

// Begin starts an attempt. Rows of an earlier one that are still on their way, as
// it failed, are given up: they may be in the topic.
func (d *delivery[T]) Begin(ctx context.Context, a stream.Attempt) error {
	if d.closed {
		return errSinkClosed
	}
	if a.Epoch < 1 || a.Lanes < 1 {
		return fmt.Errorf("kafka: topic %s: begin epoch %d with %d lanes: both start at 1", d.topic, a.Epoch, a.Lanes)
	}
	d.release()
	if err := d.giveUp(ctx); err != nil {
		return err
	}
	d.start(ctx, a.Lanes, d.client.Produce)
	return ctx.Err()
}

// start makes an attempt's lanes, whose rows produce sends.
func (d *delivery[T]) start(ctx context.Context, lanes int, produce produceFunc) {
	d.attempt = &attemptOutcome{}
	pool := &chunkPool{}
	if len(d.lanes) > 0 {
		pool = d.lanes[0].pool
	}
	d.lanes = make([]*deliveryLane, lanes)
	for i := range d.lanes {
		d.lanes[i] = &deliveryLane{pool: pool}
	}
	d.window = func() *window { return newWindow(ctx, produce) }
}

// giveUp drops what an earlier attempt has left on its way. If brokers do not say
// in time what became of it, that takes a new client.
func (d *delivery[T]) giveUp(ctx context.Context) error {
	if d.client.BufferedProduceRecords() == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, abortTimeout)
	defer cancel()
	if d.client.AbortBufferedRecords(bounded) == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	d.client.Close()
	client, err := d.connect(d.produce...)
	if err != nil {
		return err
	}
	d.client = client
	return nil
}

// Write sends a row.
func (d *delivery[T]) Write(lane int, _ []byte, row *T) error { return d.write(lane, row, false) }

// WriteNull sends a tombstone with the key of a row.
func (d *delivery[T]) WriteNull(lane int, _ []byte, row *T) error { return d.write(lane, row, true) }

func (d *delivery[T]) write(lane int, row *T, null bool) error {
	if lane < 0 || lane >= len(d.lanes) {
		return laneError(d.topic, lane, len(d.lanes))
	}
	if err := d.attempt.err(); err != nil {
		return explain(d.cluster, d.topic, err)
	}
	l := d.lanes[lane]
	if l.chunk != nil && !l.chunk.window.fresh() {
		l.close()
	}
	if l.chunk == nil {
		l.chunk = l.pool.take(d.attempt)
		l.chunk.window = d.window()
	}
	c := l.chunk
	start := len(c.buf)
	buf, size, err := d.encoder.append(c.buf, row, null)
	if err != nil {
		return err
	}
	r := &c.records[c.used]
	r.Topic = d.topic
	if _, err := readEntry(buf[start:], r); err != nil {
		return fmt.Errorf("kafka: topic %s: %w", d.topic, err)
	}
	c.buf = buf
	c.used++
	l.size.rows++
	l.size.bytes += int64(size)
	c.holders.Add(1)
	c.window.send(r, c.promise)
	if c.used == chunkRecords || len(c.buf) >= blockFull {
		l.close()
	}
	return nil
}

// close lets go of the open chunk.
func (l *deliveryLane) close() {
	if l.chunk != nil {
		l.chunk.release()
		l.chunk = nil
	}
}

// Prepare waits until the brokers have every row, and returns the first failure.
func (d *delivery[T]) Prepare(ctx context.Context) (stream.Staged, error) {
	if d.closed {
		return stream.Staged{}, errSinkClosed
	}
	if d.attempt == nil {
		return stream.Staged{}, fmt.Errorf("kafka: topic %s: prepare without begin", d.topic)
	}
	d.release()
	var staged stream.Staged
	for _, l := range d.lanes {
		staged.Rows += l.size.rows
		staged.Bytes += l.size.bytes
	}
	bounded, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	if err := d.client.Flush(bounded); err != nil {
		return stream.Staged{}, explain(d.cluster, d.topic, errors.Join(d.attempt.err(), err))
	}
	if err := d.attempt.err(); err != nil {
		return stream.Staged{}, explain(d.cluster, d.topic, err)
	}
	return staged, nil
}

// Publish has nothing left to do.
func (d *delivery[T]) Publish(context.Context, stream.Publication) error { return nil }

// Close gives up what is still on its way, and disconnects.
func (d *delivery[T]) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	d.release()
	d.client.Close()
	d.target.close()
	return nil
}

var errSinkClosed = errors.New("kafka: the sink is closed")

func laneError(topic string, lane, lanes int) error {
	return fmt.Errorf("kafka: topic %s: lane %d does not exist, the attempt has %d", topic, lane, lanes)
}
