package kafka

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

// forgetJournal makes the brokers deny the journal for a number of times.
func (c *sinkCluster) forgetJournal(times int) *kfake.FaultHandle {
	return c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: c.journal, Err: kerr.UnknownTopicOrPartition, Count: times})
}

// B-86: a broker that has just started denies the journal, with an epoch in doubt: at
// a start, and in a run whose commit failed as the broker went.
func TestJournalDenied(t *testing.T) {
	t.Parallel()
	for denials := 1; denials < unknownTries; denials++ {
		c := newSinkCluster(t)
		r := c.start(Sink[sinkRow]{}, stream.Standing{})
		r.epoch(1)
		r.stage(1, 2)
		next := c.run(Sink[sinkRow]{}, r.standing)
		h := c.forgetJournal(denials)
		next.settle(false)
		if h.Hits() == 0 {
			t.Error("nothing failed")
		}
		next.stage(2, 2)
		c.fault(kmsg.EndTxn, kerr.InvalidProducerEpoch)
		if err := errors.Join(next.deliver(), next.commit()); err == nil {
			t.Fatal("the commit did not fail")
		}
		c.forgetJournal(denials)
		next.settle(false)
		next.again()
		c.wantIDs(1, 2)
	}
}

// B-86: the journal is taken for lost and somebody chooses what is wrong; but then the
// record is there. It counts.
func TestRecordOutweighsChoice(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{stream.InDoubtRerun, stream.InDoubtCommitted} {
		for _, committed := range []bool{false, true} {
			c := newSinkCluster(t)
			r := c.start(Sink[sinkRow]{}, stream.Standing{})
			r.epoch(1)
			r.stage(1, 2)
			left := r.standing
			if committed {
				r.again()
			}
			next := c.run(Sink[sinkRow]{}, left)
			h := c.forgetJournal(-1)
			_, err := next.d.Settle(t.Context(), left)
			if missing := (*stream.RecordMissingError)(nil); !errors.As(err, &missing) {
				t.Fatalf("got %v, want a RecordMissingError", err)
			}
			h.Remove()
			next.standing.InDoubt = choice
			next.settle(committed)
			next.standing.InDoubt = ""
			if !committed {
				next.stage(2, 2)
				next.again()
			}
			next.epoch(3)
			c.wantIDs(1, 2, 3)
		}
	}
}

// The choice is carried out where the record is lost indeed, as often as it is asked
// for: whoever chose may have ended before the checkpoint knew.
func TestChoiceOfLostRecord(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{stream.InDoubtRerun, stream.InDoubtCommitted} {
		c := newSinkCluster(t)
		r := c.start(Sink[sinkRow]{}, stream.Standing{})
		r.epoch(1)
		r.stage(1, 2)
		left := r.standing
		left.InDoubt = choice
		if _, err := c.admin().DeleteTopic(t.Context(), c.journal); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			again := c.run(Sink[sinkRow]{}, left)
			again.settle(choice == stream.InDoubtCommitted)
		}
		left.InDoubt = ""
		if choice == stream.InDoubtCommitted {
			left = stream.Standing{Last: *left.Doubt}
		}
		c.start(Sink[sinkRow]{}, left).epoch(3)
		want := []int64{1, 3}
		c.wantIDs(want...)
	}
}

// The answer to the commit of the claim is lost, so that Settle starts over and finds
// its own claim, or none: the choice stays what it was.
func TestChoiceClaimedTwice(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{stream.InDoubtRerun, stream.InDoubtCommitted} {
		for _, through := range []bool{false, true} {
			c := newSinkCluster(t)
			r := c.start(Sink[sinkRow]{}, stream.Standing{})
			r.epoch(1)
			r.stage(1, 2)
			if _, err := c.admin().DeleteTopic(t.Context(), c.journal); err != nil {
				t.Fatal(err)
			}
			next := c.run(Sink[sinkRow]{}, r.standing)
			next.standing.InDoubt = choice
			mend := func() {}
			if through {
				mend = c.cutCommit(true, func() {})
			} else {
				c.fault(kmsg.EndTxn, kerr.InvalidProducerEpoch)
			}
			next.settle(choice == stream.InDoubtCommitted)
			mend()
		}
	}
}

// B-86: another journal is named while an epoch is in doubt, whose record is in the
// one before.
func TestJournalRenamedInDoubt(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{Journal: "before"}, stream.Standing{})
	r.epoch(1)
	_, err := c.run(Sink[sinkRow]{Journal: "after"}, r.standing).d.Settle(t.Context(), r.standing)
	wantError(t, err, "topic after", "records went to topic before", "--in-doubt=rerun")
	r.stage(1, 2)
	left := r.standing
	r.again() // and the process ends
	for _, choice := range []string{"", stream.InDoubtRerun, stream.InDoubtCommitted} {
		left.InDoubt = choice
		_, err = c.run(Sink[sinkRow]{Journal: "after"}, left).d.Settle(t.Context(), left)
		wantError(t, err, "Sink.Journal is after", "epoch 2", "set Sink.Journal to before")
		if !errors.Is(err, stream.ErrMisconfigured) {
			t.Errorf("%v: is not misconfigured", err)
		}
	}
	left.InDoubt = ""
	c.run(Sink[sinkRow]{Journal: "before"}, left).settle(true)
}

// An epoch was committed; the checkpoint, which does not know it, runs it once more at
// least once, and then decides again.
func TestDecidesAgainAfterDoubt(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	r.epoch(2)
	last := stream.Publication{Epoch: 2, Attempt: 2, Manifest: "xxh3:0000000000000000"}
	next := c.start(Sink[sinkRow]{}, stream.Standing{Last: last, Unknown: true})
	next.standing.Unknown = false
	next.epoch(3)
	c.wantIDs(1, 2, 3)
}

// What tells whether output is committed is as durable as the output; if not, that is
// said.
func TestJournalReplicas(t *testing.T) {
	t.Parallel()
	for made, want := range map[int16]int{0: 3, 1: 1, 3: 3} { // 0: by the sink
		c := newSinkCluster(t, kfake.NumBrokers(3), kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}))
		if made > 0 {
			compact := "compact"
			if _, err := c.admin().CreateTopic(t.Context(), 1, made, map[string]*string{"cleanup.policy": &compact}, c.journal); err != nil {
				t.Fatal(err)
			}
		}
		c.start(Sink[sinkRow]{}, stream.Standing{}).epoch(1)
		topics, err := c.admin().ListTopics(t.Context(), c.journal)
		if err != nil {
			t.Fatal(err)
		}
		if got := topics[c.journal].Partitions.NumReplicas(); got != want {
			t.Errorf("the journal has %d replicas, want %d", got, want)
		}
		if told := strings.Contains(c.log.String(), "fewer replicas"); told != (want < 3) {
			t.Errorf("with %d replicas, the log says: %s", want, c.log)
		}
	}
}

// B-86: a broker that lags behind tells of fewer partitions than the journal has got, so
// that the unit's is not among them.
func TestJournalCountLags(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	partitions := int32(2)
	for ; ; partitions++ {
		if j := (journal{target: &target{unit: sinkUnit}, partitions: partitions}); j.home() > 0 {
			break
		}
	}
	c.createJournal(partitions)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	r.stage(1, 2)
	left := r.standing
	r.again() // committed, and the process ends
	next := c.run(Sink[sinkRow]{}, left)
	lags := c.tellOnePartition(unknownTries - 1)
	next.settle(true)
	if n := lags.Load(); n > 0 {
		t.Errorf("the number of partitions was told %d times too few", n)
	}
	next.epoch(3)
	c.wantIDs(1, 2, 3)
}

// tellOnePartition makes the cluster tell of one partition only when it is asked for
// the journal, for a number of times, of which it returns those that are left.
func (c *sinkCluster) tellOnePartition(times int32) *atomic.Int32 {
	left, client, asking := &atomic.Int32{}, c.client(), false
	left.Store(times)
	c.fake.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		q := req.(*kmsg.MetadataRequest)
		if asking || left.Load() == 0 || len(q.Topics) != 1 || q.Topics[0].Topic == nil || *q.Topics[0].Topic != c.journal {
			return nil, nil, false
		}
		left.Add(-1)
		asking = true
		defer func() { asking = false }()
		var resp *kmsg.MetadataResponse
		var err error
		again := *q
		c.fake.SleepControl(func() { resp, err = again.RequestWith(c.t.Context(), client) })
		if err != nil || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) == 0 {
			c.t.Errorf("the cluster does not answer: %v", err)
			return nil, nil, false
		}
		resp.Topics[0].Partitions = resp.Topics[0].Partitions[:1]
		resp.Version = q.Version
		return resp, nil, true
	})
	return left
}

// B-86: the journal has grown since the first of two instances began, which has
// committed nothing yet: the claim of the second goes to where the first one's is.
func TestClaimStaysWhenJournalGrows(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.createJournal(1)
	first := c.start(Sink[sinkRow]{}, stream.Standing{})
	if _, err := c.admin().UpdatePartitions(t.Context(), 16, c.journal); err != nil {
		t.Fatal(err)
	}
	second := c.start(Sink[sinkRow]{}, stream.Standing{})
	for _, r := range []*run{first, second} {
		r.stage(1, 1)
	}
	if err := first.deliver(); !errors.Is(err, stream.ErrNotDelivered) {
		t.Errorf("the older instance delivers: %v", err)
	}
	_, err := first.d.Settle(t.Context(), first.standing)
	wantError(t, err, "another instance of this flow ("+second.w.(*transactional[sinkRow]).instance+") has taken over")
	second.again()
	c.wantIDs(1)
}

// The flow goes on with another journal, and is then told to use the first one again.
func TestJournalRenamedAndBack(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{Journal: "before"}, stream.Standing{})
	r.epoch(1)
	r.standing.InDoubt = stream.InDoubtRerun
	r = c.start(Sink[sinkRow]{Journal: "after"}, r.standing)
	r.standing.InDoubt = ""
	r.epoch(2)
	_, err := c.run(Sink[sinkRow]{Journal: "before"}, r.standing).d.Settle(t.Context(), r.standing)
	wantError(t, err, "Sink.Journal is before", "set Sink.Journal back to after")
	c.start(Sink[sinkRow]{Journal: "after"}, r.standing).epoch(3)
	c.wantIDs(1, 2, 3)
}

// The journal is deleted while the flow runs: the error says what it was.
func TestJournalDeletedInRun(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	r.stage(1, 2)
	if _, err := c.admin().DeleteTopic(t.Context(), c.journal); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.deliver(), "the journal tws-journal, which says how far this flow has come, was deleted", "start again")
}
