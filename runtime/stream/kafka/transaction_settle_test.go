package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// B-84, B-86: the process ends at each step; the next one finds out how far it
// came, and what it does about it leaves each row in the topic once. The first one
// then goes on as if it had only been slow: it changes nothing and is told why.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, step := range crashSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			newSinkCluster(t).crash(t, step)
		})
	}
}

var crashSteps = []string{"staged", "delivered", "committed"}

// crash lets an instance end after a step, and another go on.
func (c *sinkCluster) crash(t *testing.T, step string) {
	old := c.start(Sink[sinkRow]{}, stream.Standing{})
	old.epoch(1)
	p := old.stage(1, 2, 3)
	left := old.standing
	if step != "staged" {
		if err := old.deliver(); err != nil {
			t.Fatal(err)
		}
	}
	if step == "committed" {
		if err := old.commit(); err != nil {
			t.Fatal(err)
		}
	}
	next := c.run(Sink[sinkRow]{}, left)
	next.settle(step == "committed")
	c.zombie(t, old, p, left, step)
	// It may have shut this one out before it saw by whom it was.
	if _, err := next.d.Settle(t.Context(), next.standing); err != nil {
		t.Fatal(err)
	}
	if step != "committed" {
		next.standing.Doubt = nil
		next.stage(2, 2, 3)
		next.again()
	}
	next.epoch(4)
	c.wantIDs(1, 2, 3, 4)
	if says := c.log.String(); !strings.Contains(says, "the journal says that the epoch in doubt is") {
		t.Errorf("the log does not say what became of the epoch: %s", says)
	}
}

// zombie lets an instance that was shut out go on from a step.
func (c *sinkCluster) zombie(t *testing.T, old *run, p stream.Publication, left stream.Standing, step string) {
	t.Helper()
	old.standing = left
	old.standing.Doubt = &p
	switch step {
	case "staged":
		if err := old.deliver(); err == nil {
			t.Error("an instance that was shut out delivers")
		}
	case "delivered":
		if err := old.d.Commit(t.Context(), p); err == nil {
			t.Error("an instance that was shut out commits")
		}
	}
	_, err := old.d.Settle(t.Context(), old.standing)
	wantError(t, err, "another instance of this flow", "has taken over from this one")
	if errors.Is(err, stream.ErrNotDelivered) {
		t.Errorf("the instance would go on: %v", err)
	}
}

// What Settle makes of records and standings.
func TestStandings(t *testing.T) {
	t.Parallel()
	pub := func(epoch int64, attempt int) stream.Publication {
		return stream.Publication{Epoch: epoch, Attempt: attempt, Manifest: fmt.Sprint("m", epoch, attempt)}
	}
	ptr := func(p stream.Publication) *stream.Publication { return &p }
	at := func(epoch int64, attempt int, assumed bool) *journalRecord {
		p := pub(epoch, attempt)
		if epoch == 0 {
			p = stream.Publication{}
		}
		return &journalRecord{Epoch: p.Epoch, Attempt: p.Attempt, Manifest: p.Manifest, Sink: "topic alerts", Writer: "host/1/a", Assumed: assumed}
	}
	tests := map[string]struct {
		record    *journalRecord // nil for none
		standing  stream.Standing
		committed bool
		says      string // the error, "" for none
	}{
		"nothing yet":                     {nil, stream.Standing{}, false, ""},
		"claimed, then crashed":           {at(0, 0, true), stream.Standing{}, false, ""},
		"first epoch lost":                {at(0, 0, true), stream.Standing{Doubt: ptr(pub(1, 1))}, false, ""},
		"first epoch committed":           {at(1, 1, false), stream.Standing{Doubt: ptr(pub(1, 1))}, true, ""},
		"record gone, first epoch":        {nil, stream.Standing{Doubt: ptr(pub(1, 1))}, false, "whether epoch 1 was written"},
		"nothing in doubt":                {at(5, 1, false), stream.Standing{Last: pub(5, 1)}, false, ""},
		"epoch lost":                      {at(5, 1, false), stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1))}, false, ""},
		"epoch committed":                 {at(6, 1, false), stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1))}, true, ""},
		"another attempt committed":       {at(6, 2, false), stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1))}, false, "is epoch 6 (attempt 2"},
		"sink further":                    {at(7, 1, false), stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1))}, false, "is epoch 7"},
		"sink further, nothing in doubt":  {at(6, 1, false), stream.Standing{Last: pub(5, 1)}, false, "continues from epoch 5"},
		"sink rolled back":                {at(4, 1, false), stream.Standing{Last: pub(5, 1)}, false, "is epoch 4"},
		"checkpoint begins anew":          {at(4, 1, false), stream.Standing{}, false, "continues from the beginning"},
		"record gone":                     {nil, stream.Standing{Last: pub(5, 1)}, false, "no epoch is in doubt"},
		"record gone, in doubt":           {nil, stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1))}, false, "--in-doubt=rerun"},
		"record gone before the first":    {at(0, 0, true), stream.Standing{Last: pub(5, 1)}, false, "--in-doubt=rerun"},
		"fork":                            {nil, stream.Standing{Last: pub(5, 1), Unknown: true}, false, ""},
		"fork again":                      {at(5, 1, true), stream.Standing{Last: pub(5, 1), Unknown: true}, false, ""},
		"fork, epoch lost":                {at(5, 1, true), stream.Standing{Last: pub(5, 1), Unknown: true, Doubt: ptr(pub(6, 1))}, false, ""},
		"fork, epoch committed":           {at(6, 1, false), stream.Standing{Last: pub(5, 1), Unknown: true, Doubt: ptr(pub(6, 1))}, true, ""},
		"decided before, then not":        {at(3, 1, false), stream.Standing{Last: pub(5, 1), Unknown: true}, false, ""},
		"the same, in doubt":              {at(3, 1, false), stream.Standing{Last: pub(5, 1), Unknown: true, Doubt: ptr(pub(6, 1))}, false, "is epoch 3"},
		"the same, but sink further":      {at(7, 1, false), stream.Standing{Last: pub(5, 1), Unknown: true}, false, "is epoch 7"},
		"the same, run once more":         {at(5, 1, false), stream.Standing{Last: pub(5, 2), Unknown: true}, false, ""},
		"the same, but a later attempt":   {at(5, 2, false), stream.Standing{Last: pub(5, 1), Unknown: true}, false, "is epoch 5 (attempt 2"},
		"lost, chosen as not committed":   {nil, stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1)), InDoubt: stream.InDoubtRerun}, false, ""},
		"not lost, chosen as committed":   {at(5, 1, false), stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1)), InDoubt: stream.InDoubtCommitted}, false, ""},
		"not lost, chosen as not":         {at(6, 1, false), stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1)), InDoubt: stream.InDoubtRerun}, true, ""},
		"rolled back, chosen":             {at(4, 1, false), stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1)), InDoubt: stream.InDoubtCommitted}, false, "is epoch 4"},
		"overruled, then crashed":         {at(4, 1, true), stream.Standing{Last: pub(5, 1)}, false, "--in-doubt=rerun"},
		"overruled again":                 {at(4, 1, true), stream.Standing{Last: pub(5, 1), Unknown: true}, false, ""},
		"overruled, then an epoch":        {at(5, 1, false), stream.Standing{Last: pub(4, 1), Doubt: ptr(pub(5, 1))}, true, ""},
		"doubt is only assumed by others": {at(6, 1, true), stream.Standing{Last: pub(5, 1), Doubt: ptr(pub(6, 1))}, false, "no record of"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			c.createJournal(4)
			if test.record != nil {
				c.writeJournal(t, *test.record, -1)
			}
			d := c.open(Sink[sinkRow]{}).(stream.Decider)
			committed, err := d.Settle(t.Context(), test.standing)
			if test.says != "" {
				wantError(t, err, test.says)
				return
			}
			if err != nil || committed != test.committed {
				t.Fatalf("settle says %v, %v; want %v", committed, err, test.committed)
			}
			again := test.standing // the same instance, and the next one, find the same
			again.Unknown = false  // by now the sink knows the unit
			for _, d := range []stream.Decider{d, c.open(Sink[sinkRow]{}).(stream.Decider)} {
				if committed, err := d.Settle(t.Context(), again); err != nil || committed != test.committed {
					t.Errorf("once more, settle says %v, %v; want %v", committed, err, test.committed)
				}
			}
		})
	}
}

// A flow decides, then delivers at least once for a while, then decides again: the
// record that it left is older than the checkpoint, and that is no disagreement.
func TestGuaranteeChanges(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	d := c.decide(Sink[sinkRow]{Guarantee: AtLeastOnce})
	for _, id := range []int64{2, 3, 4} {
		d.begin(1)
		d.write(0, id)
		d.finish()
	}
	r = c.start(Sink[sinkRow]{}, stream.Standing{Last: stream.Publication{Epoch: 4, Attempt: 1, Manifest: "m"}, Unknown: true})
	r.stage(1, 5)
	next := c.run(Sink[sinkRow]{}, r.standing) // the process ends before it delivers
	next.settle(false)
	next.standing.Doubt = nil
	next.epoch(5)
	c.start(Sink[sinkRow]{}, next.standing).epoch(6)
	c.wantIDs(1, 2, 3, 4, 5, 6)
}

func (c *sinkCluster) createJournal(partitions int32) {
	c.t.Helper()
	if err := c.fake.CreateTopic("tws-journal", partitions, map[string]string{"cleanup.policy": "compact"}); err != nil {
		c.t.Fatal(err)
	}
}

// writeJournal writes a record of the usual unit, to its home if the partition is
// negative.
func (c *sinkCluster) writeJournal(t *testing.T, r journalRecord, partition int32) {
	t.Helper()
	r.Format, r.Unit = 1, sinkUnit.String()
	value, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c.writeJournalValue(t, value, partition)
}

func (c *sinkCluster) writeJournalValue(t *testing.T, value []byte, partition int32) {
	t.Helper()
	if partition < 0 {
		j := journal{target: &target{unit: sinkUnit}, partitions: int32(len(c.fake.PartitionInfos("tws-journal")))}
		partition = j.home()
	}
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	rec := &kgo.Record{Topic: "tws-journal", Partition: partition, Key: []byte(sinkUnit.String()), Value: value}
	if err := cl.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// The types of the refusals, which the engine and people go by.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	before := r.standing
	r.epoch(1)
	kept := r.standing
	copied := c.run(Sink[sinkRow]{}, before)
	_, err := copied.d.Settle(t.Context(), before)
	var moved *stream.SinkMovedError
	if !errors.As(err, &moved) || moved.Sink != "topic alerts" || moved.Unit != sinkUnit {
		t.Errorf("a checkpoint that was left behind: %v", err)
	}
	r.epoch(2) // the refused one has not disturbed it

	if err := c.fake.DeleteTopic("tws-journal"); err != nil {
		t.Fatal(err)
	}
	_, err = c.run(Sink[sinkRow]{}, kept).d.Settle(t.Context(), kept)
	var missing *stream.RecordMissingError
	if !errors.As(err, &missing) || missing.Where != "topic tws-journal" || missing.Last != 1 || missing.Doubt != 0 {
		t.Errorf("the journal is gone: %v", err)
	}
}

// The journal is deleted, or emptied: Settle refuses, and each of the choices works
// as the engine makes it.
func TestJournalLost(t *testing.T) {
	t.Parallel()
	lose := map[string]func(c *sinkCluster) error{
		"deleted": func(c *sinkCluster) error { return c.fake.DeleteTopic("tws-journal") },
		"truncated": func(c *sinkCluster) error {
			for _, p := range c.fake.PartitionInfos("tws-journal") {
				if err := c.fake.DeleteRecords("tws-journal", p.Partition, -1); err != nil {
					return err
				}
			}
			return nil
		},
		"record deleted": func(c *sinkCluster) error {
			c.writeJournalValue(c.t, nil, -1)
			return nil
		},
	}
	for name, lose := range lose {
		for _, choice := range []string{"rerun", "committed"} {
			t.Run(name+", "+choice, func(t *testing.T) {
				t.Parallel()
				c := newSinkCluster(t)
				r := c.start(Sink[sinkRow]{}, stream.Standing{})
				r.epoch(1)
				doubt := r.stage(1, 2)
				left := r.standing
				if choice == "committed" {
					r.again()
				}
				if err := lose(c); err != nil {
					t.Fatal(err)
				}
				next := c.run(Sink[sinkRow]{}, left)
				_, err := next.d.Settle(t.Context(), left)
				var missing *stream.RecordMissingError
				if !errors.As(err, &missing) || missing.Last != 1 || missing.Doubt != 2 {
					t.Fatalf("settle says %v", err)
				}
				wantError(t, err, "put the topic back", "--in-doubt=rerun", "--in-doubt=committed", "topic tws-journal")
				next.standing.Doubt, next.standing.Unknown = nil, true
				next.settle(false)
				if choice == "committed" {
					next.standing = stream.Standing{Last: doubt}
				} else {
					next.epoch(2)
				}
				next.stage(1, 3)
				c.fault(kmsg.EndTxn, kerr.InvalidProducerEpoch)
				if err := errors.Join(next.deliver(), next.commit()); err == nil {
					t.Fatal("the commit did not fail")
				}
				next.settle(false) // also right after the record was lost
				next.again()
				c.start(Sink[sinkRow]{}, next.standing).epoch(4)
				c.wantIDs(1, 2, 3, 4)
			})
		}
	}
}

// A journal that deletes records by age or size is refused, with the fix.
func TestJournalPolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"delete", "compact,delete"} {
		c := newSinkCluster(t)
		if err := c.fake.CreateTopic("tws-journal", 1, map[string]string{"cleanup.policy": policy}); err != nil {
			t.Fatal(err)
		}
		_, err := c.run(Sink[sinkRow]{}, stream.Standing{}).d.Settle(t.Context(), stream.Standing{})
		wantError(t, err, "topic tws-journal", "cleanup.policy="+policy, "kafka-configs.sh", "--add-config cleanup.policy=compact")
		if !errors.Is(err, stream.ErrMisconfigured) {
			t.Errorf("%v: is not misconfigured", err)
		}
	}
}

// The journal is created as it must be, or the command is told.
func TestJournalCreated(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.start(Sink[sinkRow]{}, stream.Standing{})
	configs, err := topicConfigs(t.Context(), c.client(), "tws-journal")
	if err != nil || configs["cleanup.policy"] != "compact" || configs["segment.bytes"] != "16777216" {
		t.Errorf("the journal is configured as %v (%v)", configs, err)
	}
	c = newSinkCluster(t)
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Topic: "tws-journal", Err: kerr.TopicAuthorizationFailed})
	_, err = c.run(Sink[sinkRow]{}, stream.Standing{}).d.Settle(t.Context(), stream.Standing{})
	wantError(t, err, "topic tws-journal", "kafka-topics.sh", "--create", "--config cleanup.policy=compact")
}

// Partitions were added to the journal, so that a new unit of that name would write to
// another one: this one stays where it is.
func TestJournalGrows(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.createJournal(1)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	r.stage(1, 2)
	left := r.standing
	r.again()
	partitions := 2
	for ; ; partitions++ {
		j := journal{target: &target{unit: sinkUnit}, partitions: int32(partitions)}
		if j.home() != 0 {
			break
		}
	}
	if _, err := c.admin().UpdatePartitions(t.Context(), partitions, "tws-journal"); err != nil {
		t.Fatal(err)
	}
	next := c.run(Sink[sinkRow]{}, left)
	next.settle(true)
	next.epoch(3)
	c.start(Sink[sinkRow]{}, next.standing).epoch(4)
	c.wantIDs(1, 2, 3, 4)
}

// A record that is not ours is not guessed around.
func TestJournalDamaged(t *testing.T) {
	t.Parallel()
	for value, says := range map[string]string{
		"{":            "is not one of ours",
		`{"format":2}`: "has format 2, this program knows up to 1",
		`{"format":1,"unit":"x/y/0","writer":"w"}`: "is not one of ours",
	} {
		c := newSinkCluster(t)
		c.createJournal(1)
		c.writeJournalValue(t, []byte(value), 0)
		_, err := c.run(Sink[sinkRow]{}, stream.Standing{}).d.Settle(t.Context(), stream.Standing{})
		wantError(t, err, "topic tws-journal, partition 0, offset 0", says)
	}
}

// shortTimeout is that of transactions that are left open on purpose: enough for a
// slow machine to end the others.
const shortTimeout = 3 * time.Second

// B-86: the transaction was left open for longer than its timeout.
func TestTransactionTimesOut(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.timeout = shortTimeout
	old := c.start(Sink[sinkRow]{}, stream.Standing{})
	old.epoch(1)
	p := old.stage(1, 2)
	left := old.standing
	if err := old.deliver(); err != nil {
		t.Fatal(err)
	}
	c.waitStable(t, "alerts")
	if err := old.d.Commit(t.Context(), p); err == nil {
		t.Fatal("a transaction that timed out commits")
	}
	old.standing = left
	old.settle(false) // it is still the only instance
	old.again()
	c.wantIDs(1, 2)
}

// waitStable waits until no transaction is open in a topic.
func (c *sinkCluster) waitStable(t *testing.T, topic string) {
	t.Helper()
	admin := c.admin()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		stable, err := admin.ListCommittedOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		open := false
		for p, o := range ends[topic] {
			open = open || stable[topic][p].Offset < o.Offset
		}
		if !open {
			return
		}
		wait(ctx, 20*time.Millisecond)
	}
}

// B-86: more than the brokers allow.
func TestTransactionTimeoutTooLong(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.timeout = time.Hour
	_, err := c.run(Sink[sinkRow]{}, stream.Standing{}).d.Settle(t.Context(), stream.Standing{})
	wantError(t, err, "Sink.TransactionTimeout is 1h0m0s", "at most 15m0s", "transaction.max.timeout.ms=900000")
	if !errors.Is(err, stream.ErrMisconfigured) {
		t.Errorf("%v: is not misconfigured", err)
	}
}

// B-86: two flows to one topic, and two checkpoints of one flow, do not shut each
// other out.
func TestUnitsAreApart(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.createJournal(1)
	var runs []*run
	for _, u := range []stream.Unit{{Checkpoint: "a", Flow: "f"}, {Checkpoint: "a", Flow: "g"}, {Checkpoint: "b", Flow: "f"}, {Checkpoint: "a", Flow: "f", Number: 1}} {
		w := c.openAs(Sink[sinkRow]{}, u)
		r := &run{t: t, w: w, d: w.(stream.Decider)}
		r.settle(false)
		runs = append(runs, r)
	}
	for i, r := range runs {
		r.stage(1, int64(i))
		if err := r.deliver(); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range runs { // all open at once
		if err := r.commit(); err != nil {
			t.Fatal(err)
		}
	}
	c.wantIDs(0, 1, 2, 3)
}

// B-86: two instances that both start, and start again: one is left.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	a := c.start(Sink[sinkRow]{}, stream.Standing{})
	b := c.start(Sink[sinkRow]{}, stream.Standing{})
	a.stage(1, 1)
	b.stage(1, 1)
	if err := a.deliver(); !errors.Is(err, stream.ErrNotDelivered) {
		t.Errorf("the older instance delivers: %v", err)
	}
	_, err := a.d.Settle(t.Context(), a.standing)
	wantError(t, err, "another instance of this flow ("+b.w.(*transactional[sinkRow]).instance+") has taken over")
	b.settle(false) // the older one may have shut it out while it gave up
	b.again()
	c.wantIDs(1)
}

// The cluster is slow to settle, or fails for a moment.
func TestSettleRetries(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]kfake.Fault{
		"before not finished":    {Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ConcurrentTransactions, Count: 3},
		"coordinator is loading": {Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.CoordinatorLoadInProgress, Count: 2},
		"topic has no leader":    {Keys: []kmsg.Key{kmsg.Metadata}, Topic: "alerts", Err: kerr.LeaderNotAvailable, Count: 3},
		"topic is not known yet": {Keys: []kmsg.Key{kmsg.Metadata}, Topic: "alerts", Err: kerr.UnknownTopicOrPartition, Count: 2},
		"journal has no leader":  {Keys: []kmsg.Key{kmsg.Metadata}, Topic: "tws-journal", Err: kerr.LeaderNotAvailable, Count: 3},
		"journal is moving":      {Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "tws-journal", Err: kerr.LeaderNotAvailable, Count: 2},
		"claim fenced":           {Keys: []kmsg.Key{kmsg.Produce}, Topic: "tws-journal", Err: kerr.InvalidProducerEpoch},
		"claim not committed":    {Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.ProducerFenced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			h := c.fake.Fault(fault)
			r := c.start(Sink[sinkRow]{}, stream.Standing{})
			if h.Hits() == 0 {
				t.Error("nothing failed")
			}
			r.epoch(1)
			c.wantIDs(1)
		})
	}
	c := newSinkCluster(t)
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.TransactionalIDAuthorizationFailed, Count: -1})
	_, err := c.run(Sink[sinkRow]{}, stream.Standing{}).d.Settle(t.Context(), stream.Standing{})
	wantError(t, err, "transactional id", "grant this user")
}

// Calls out of order are refused.
func TestOrderOfCalls(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.run(Sink[sinkRow]{}, stream.Standing{})
	if _, err := r.w.Prepare(t.Context()); err == nil {
		t.Error("prepare without begin")
	}
	r.stage(1, 1)
	wantError(t, r.deliver(), "before settle")
	r.standing.Doubt = nil
	r.settle(false)
	r.stage(1, 1)
	wantError(t, r.d.Commit(t.Context(), *r.standing.Doubt), "not delivered")
	wantError(t, r.d.Deliver(t.Context(), stream.Publication{Epoch: 1, Attempt: 2}), "not prepared")
	if err := r.deliver(); err != nil {
		t.Fatal(err)
	}
	if err := r.deliver(); !errors.Is(err, stream.ErrNotDelivered) {
		t.Errorf("delivered twice: %v", err)
	}
	if err := errors.Join(r.w.Close(), r.w.Close()); err != nil { // aborts
		t.Fatal(err)
	}
	for _, err := range []error{r.w.Begin(t.Context(), stream.Attempt{Epoch: 1, Number: 1, Lanes: 1}), r.deliver(), r.d.Commit(t.Context(), *r.standing.Doubt)} {
		wantError(t, err, "closed")
	}
	c.waitStable(t, "alerts")
	c.wantIDs()
}
