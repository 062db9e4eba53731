package kafka

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// hang leaves a transaction of another producer open where the usual unit has its
// records, with a record under a key.
func (c *sinkCluster) hang(id, key string) *kgo.Client {
	c.t.Helper()
	details, err := c.admin().ListTopics(c.t.Context(), c.journal)
	if err != nil {
		c.t.Fatal(err)
	}
	j := journal{target: &target{unit: c.unit}, partitions: int32(len(details[c.journal].Partitions))}
	other := c.client(kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := other.BeginTransaction(); err != nil {
		c.t.Fatal(err)
	}
	if err := other.ProduceSync(c.t.Context(), &kgo.Record{Topic: c.journal, Partition: j.home(), Key: []byte(key)}).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
	return other
}

// Another pipeline's transaction hangs in the partition of our records, which come to
// lie behind it: they are known all the same, whether committed or aborted, and
// nobody waits.
func TestJournalBesideOpenTransaction(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{true, false} {
		newSinkCluster(t).besideOpenTransaction(committed)
	}
}

func (c *sinkCluster) besideOpenTransaction(committed bool) {
	c.t.Helper()
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	other := c.hang("other-"+c.unit.Checkpoint, "other")
	r.epoch(2)
	r.stage(1, 3)
	left := r.standing
	if err := r.deliver(); err != nil {
		c.t.Fatal(err)
	}
	if committed {
		if err := r.commit(); err != nil {
			c.t.Fatal(err)
		}
	}
	next := c.run(Sink[sinkRow]{}, left)
	next.settle(committed)
	if !committed {
		next.stage(2, 3)
		next.again()
	}
	next.epoch(4)
	c.start(Sink[sinkRow]{}, next.standing).epoch(5)
	if err := other.EndTransaction(c.t.Context(), kgo.TryCommit); err != nil {
		c.t.Errorf("the other transaction was not open all the time: %v", err)
	}
	c.wantIDs(1, 2, 3, 4, 5)
	if strings.Contains(c.log.String(), "waiting for") {
		c.t.Errorf("somebody waited:\n%s", c.log)
	}
}

// An instance whose claim lies behind another pipeline's open transaction settles
// again: the record before, of the instance before, is not taken for one that has
// taken over.
func TestClaimBehindOpenTransaction(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.createJournal(1)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	c.hang("other", "other")
	next := c.start(Sink[sinkRow]{}, r.standing)
	next.stage(1, 2)
	c.fault(kmsg.EndTxn, kerr.InvalidProducerEpoch)
	if err := errors.Join(next.deliver(), next.commit()); err == nil {
		t.Fatal("the commit did not fail")
	}
	next.settle(false)
	next.again()
	c.wantIDs(1, 2)
}

// A record of the unit's own that has no end, which a broker in trouble can leave, is
// waited for, and told with what to do about it.
func TestJournalUndecided(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.createJournal(1)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	other := c.hang("other", sinkUnit.String())
	done := c.settleTold(t.Context(), r.standing)
	id, _, err := other.ProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	says := []string{"level=WARN", fmt.Sprintf("producer=%d", id), "partition=0", "offset=4",
		"kafka-transactions.sh --bootstrap-server " + c.brokers + " abort --topic tws-journal --partition 0 --start-offset 4"}
	for _, part := range says {
		if !strings.Contains(c.log.String(), part) {
			t.Errorf("nothing says %q:\n%s", part, c.log)
		}
	}
	if err := other.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	// One that never ends does not hold us up for ever.
	c.hang("other", sinkUnit.String())
	ctx, cancel := context.WithCancel(t.Context())
	done = c.settleTold(ctx, r.standing)
	cancel()
	err = <-done
	wantError(t, err, "topic tws-journal, partition 0", "still open", "kafka-transactions.sh", "--start-offset 8")
}

// settleTold begins to settle, and returns when it has said what it waits for.
func (c *sinkCluster) settleTold(ctx context.Context, standing stream.Standing) (done chan error) {
	c.t.Helper()
	told := strings.Count(c.log.String(), "waiting for")
	d := c.run(Sink[sinkRow]{}, standing).d
	done = make(chan error, 1)
	go func() {
		_, err := d.Settle(ctx, standing)
		done <- err
	}()
	for strings.Count(c.log.String(), "waiting for") == told {
		select {
		case err := <-done:
			c.t.Fatalf("settle did not wait: %v", err)
		default:
			wait(c.t.Context(), 10*time.Millisecond)
		}
	}
	return done
}

// Whatever other producers have open, and wherever the newest record is said to be,
// what is read is what a consumer of committed records sees once all is decided.
func TestJournalReadsAsCommitted(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for n := range uint64(10) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			c, random := newSinkCluster(t), rand.New(rand.NewPCG(seed, n))
			c.createJournal(1)
			writers := []*journalWriter{{unit: sinkUnit.String()}, {unit: "other/a/0"}, {unit: "other/b/0"}}
			for _, w := range writers {
				w.client = c.client(kgo.TransactionalID("tws-" + w.unit))
			}
			const steps = 30 // an offset each
			for range steps {
				w := writers[random.IntN(len(writers))]
				if err := w.step(t.Context(), random); err != nil {
					t.Fatal(err)
				}
			}
			ours := c.run(Sink[sinkRow]{}, stream.Standing{}).w.(*transactional[sinkRow])
			ours.journal.partitions = 1
			hints := []*journalPlace{nil, {Partition: 1, Offset: 3}} // 1 is there no more
			for range 4 {
				hints = append(hints, &journalPlace{Offset: random.Int64N(steps + 2)})
			}
			var early []found
			for _, hint := range hints {
				f, err := ours.journal.glance(t.Context(), hint)
				if err != nil {
					t.Fatal(err)
				}
				early = append(early, f)
			}
			undecided := writers[0].open
			for _, w := range writers {
				if err := w.end(t.Context(), false); err != nil {
					t.Fatal(err)
				}
			}
			want := int64(0)
			for _, r := range c.committed("tws-journal") {
				if string(r.Key) == sinkUnit.String() {
					want = r.Offset + 1
				}
			}
			for i, f := range early {
				got := int64(0)
				if f.record != nil {
					got = f.place.Offset + 1
				}
				if got != want || (f.open != nil) != undecided {
					t.Errorf("with transactions open and hint %v the newest record is at offset %d and one is undecided: %t; want offset %d once all have ended, and %t",
						hints[i], got-1, f.open != nil, want-1, undecided)
				}
			}
		})
	}
}

// journalWriter writes records of a unit in transactions, one or more each.
type journalWriter struct {
	unit   string
	client *kgo.Client
	open   bool
}

// step writes a record into a transaction, a new one if none is open, or ends the
// one that is.
func (w *journalWriter) step(ctx context.Context, random *rand.Rand) error {
	if w.open && random.IntN(5) < 3 {
		return w.end(ctx, random.IntN(3) > 0)
	}
	if !w.open {
		w.open = true
		if err := w.client.BeginTransaction(); err != nil {
			return err
		}
	}
	value := fmt.Sprintf(`{"format":1,"unit":%q,"writer":"w"}`, w.unit)
	return w.client.ProduceSync(ctx, &kgo.Record{Topic: "tws-journal", Key: []byte(w.unit), Value: []byte(value)}).FirstErr()
}

func (w *journalWriter) end(ctx context.Context, commit bool) error {
	if !w.open {
		return nil
	}
	w.open = false
	return w.client.EndTransaction(ctx, kgo.TransactionEndTry(commit))
}
