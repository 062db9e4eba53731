//go:build kafka_broker

package kafka

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/kafka/broker"
)

// newBrokerCluster returns topics of its own on the real broker.
func newBrokerCluster(t *testing.T) (*sinkCluster, *broker.Broker) {
	t.Helper()
	b, err := broker.FromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	id := rand.Text()
	c := &sinkCluster{
		t: t, brokers: b.Plain, log: &logBuffer{},
		topic: "alerts-" + id, journal: "journal-" + id, unit: stream.Unit{Checkpoint: id, Flow: "alerts"},
	}
	if _, err := c.admin().CreateTopic(t.Context(), 3, 1, nil, c.topic); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log:\n%s", c.log)
		}
	})
	return c, b
}

// B-86: epochs with and without rows, by one process and the next.
func TestBrokerEpochs(t *testing.T) {
	c, _ := newBrokerCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	for _, ids := range [][]int64{{}, {1}, {}, {2, 3}} {
		r.epoch(ids...)
	}
	r = c.start(Sink[sinkRow]{}, r.standing)
	r.epoch()
	r.epoch(4)
	c.wantIDs(1, 2, 3, 4)
	configs, err := topicConfigs(t.Context(), c.client(), c.journal)
	if err != nil || configs["cleanup.policy"] != "compact" {
		t.Errorf("the journal has cleanup.policy=%s (%v)", configs["cleanup.policy"], err)
	}
}

// B-84: the process ends at each step, and goes on as a zombie.
func TestBrokerCrash(t *testing.T) {
	for _, step := range crashSteps {
		t.Run(step, func(t *testing.T) {
			c, _ := newBrokerCluster(t)
			c.crash(t, step)
		})
	}
}

// Another pipeline's transaction hangs before our records in the journal.
func TestBrokerJournalBesideOpenTransaction(t *testing.T) {
	for _, committed := range []bool{true, false} {
		c, _ := newBrokerCluster(t)
		c.besideOpenTransaction(committed)
	}
}

// B-86: the transaction times out, while the process lives, and while it is down.
func TestBrokerTimesOut(t *testing.T) {
	for _, down := range []bool{false, true} {
		c, _ := newBrokerCluster(t)
		c.timeout = shortTimeout
		r := c.start(Sink[sinkRow]{}, stream.Standing{})
		r.epoch(1)
		r.stage(1, 2)
		left := r.standing
		if err := r.deliver(); err != nil {
			t.Fatal(err)
		}
		c.waitStable(t, c.topic)
		if err := r.commit(); err == nil {
			t.Fatal("a transaction that timed out commits")
		}
		if down {
			r = c.run(Sink[sinkRow]{}, left)
			r.settle(false)
			r.stage(2, 2)
		} else {
			r.settle(false)
		}
		r.again()
		r.epoch(3)
		c.wantIDs(1, 2, 3)
	}
}

// B-86: more than the broker allows.
func TestBrokerTimeoutTooLong(t *testing.T) {
	c, _ := newBrokerCluster(t)
	c.timeout = time.Hour
	_, err := c.run(Sink[sinkRow]{}, stream.Standing{}).d.Settle(t.Context(), stream.Standing{})
	wantError(t, err, "Sink.TransactionTimeout is 1h0m0s", "at most 15m0s")
}

// B-71: the connection breaks at the commit, before the broker has it and after it
// has acted.
func TestBrokerCommitUnknown(t *testing.T) {
	for _, acted := range []bool{false, true} {
		c, _ := newBrokerCluster(t)
		var line cutLine
		c.options = []kgo.Opt{kgo.Dialer(line.dial)}
		r := c.start(Sink[sinkRow]{}, stream.Standing{})
		r.epoch(1)
		r.stage(1, 2)
		if err := r.deliver(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		line.cut(acted, cancel)
		err := r.d.Commit(ctx, *r.standing.Doubt)
		cancel()
		if err == nil {
			t.Fatal("the commit did not fail")
		}
		line.mend()
		r.settle(acted)
		if !acted {
			r.again()
		}
		r.epoch(3)
		c.wantIDs(1, 2, 3)
	}
}

// cutLine makes connections that can be cut.
type cutLine struct {
	writes, reads atomic.Bool
	hit           func()
}

// cut breaks what is sent from now on, or, if the broker shall act, its answers, and
// calls hit whenever it does.
func (l *cutLine) cut(acted bool, hit func()) {
	l.hit = hit
	l.reads.Store(acted)
	l.writes.Store(!acted)
}

func (l *cutLine) mend() {
	l.reads.Store(false)
	l.writes.Store(false)
}

var errCut = errors.New("cut by the test")

func (l *cutLine) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if l.reads.Load() || l.writes.Load() {
		return nil, errCut
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return &cutConn{conn, l}, err
}

type cutConn struct {
	net.Conn
	line *cutLine
}

func (c *cutConn) Write(b []byte) (int, error) {
	if c.line.writes.Load() {
		c.line.hit()
		return 0, errors.Join(errCut, c.Close())
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.line.reads.Load() {
		c.line.hit()
		return 0, errors.Join(errCut, c.Close())
	}
	return n, err
}

// The broker restarts, and crashes, in the middle of a transaction: whatever
// became of it, each row is there once.
func TestBrokerRestarts(t *testing.T) {
	for _, how := range [][]string{{"restart"}, {"kill", "start"}} {
		c, b := newBrokerCluster(t)
		r := c.start(Sink[sinkRow]{}, stream.Standing{})
		r.epoch(1)
		r.stage(1, 2)
		if err := r.deliver(); err != nil {
			t.Fatal(err)
		}
		for _, command := range how {
			if err := b.Script(t.Context(), command); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.commit(); err != nil {
			t.Logf("after %v: %v", how, err)
			committed, err := r.d.Settle(t.Context(), r.standing)
			if err != nil {
				t.Fatal(err)
			}
			if committed {
				r.standing = stream.Standing{Last: *r.standing.Doubt}
			} else {
				r.again()
			}
		}
		r.epoch(3)
		c.wantIDs(1, 2, 3)
	}
}

// A commit by a producer that was shut out is refused with PRODUCER_FENCED, as the
// imitation of a broker does with INVALID_TXN_STATE: both leave the outcome to
// Settle.
func TestBrokerFences(t *testing.T) {
	c, _ := newBrokerCluster(t)
	old := c.start(Sink[sinkRow]{}, stream.Standing{})
	old.stage(1, 1)
	if err := old.deliver(); err != nil {
		t.Fatal(err)
	}
	next := c.run(Sink[sinkRow]{}, old.standing)
	next.settle(false)
	err := old.commit()
	if !errors.Is(err, kerr.ProducerFenced) && !errors.Is(err, kerr.InvalidProducerEpoch) {
		t.Errorf("the commit fails with %v", err)
	}
	if !errors.Is(err, stream.ErrNotDelivered) {
		t.Errorf("%v: is not left to Settle", err)
	}
	next.stage(2, 1)
	next.again()
	c.wantIDs(1)
}

// The journal's record is deleted: refused, and the choice works.
func TestBrokerJournalLost(t *testing.T) {
	c, _ := newBrokerCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	r.stage(1, 2)
	if _, err := c.admin().DeleteTopic(t.Context(), c.journal); err != nil {
		t.Fatal(err)
	}
	left := r.standing
	next := c.run(Sink[sinkRow]{}, left)
	_, err := next.d.Settle(t.Context(), left)
	var missing *stream.RecordMissingError
	if !errors.As(err, &missing) {
		t.Fatalf("settle says %v", err)
	}
	next.standing.Doubt, next.standing.Unknown = nil, true
	next.settle(false)
	next.epoch(2)
	c.wantIDs(1, 2)
}

// Rows that are written at least once ride out a restart.
func TestBrokerDelivery(t *testing.T) {
	c, b := newBrokerCluster(t)
	w := c.open(Sink[sinkRow]{Guarantee: AtLeastOnce})
	d := &decided{c, w}
	d.begin(1)
	d.write(0, 1)
	if err := b.Script(t.Context(), "restart"); err != nil {
		t.Fatal(err)
	}
	d.write(0, 2)
	d.finish()
	c.wantIDs(1, 2)
}
