package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/tws-go/tws/runtime/stream"
)

// B-86: epochs with and without rows.
func TestEpochs(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]kfake.Opt{
		"transactions of today":      nil,
		"transactions before 4.0":    {kfake.MaxVersions(kversion.V3_7_0())},
		"transactions with brokers":  {kfake.NumBrokers(3)},
		"a journal of one partition": {kfake.SeedTopics(1, "j1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t, opts...)
			s := Sink[sinkRow]{}
			if name == "a journal of one partition" {
				s.Journal = "compacted"
				if err := c.fake.CreateTopic("compacted", 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
					t.Fatal(err)
				}
			}
			r := c.start(s, stream.Standing{})
			r.epoch()
			r.epoch(1, 2, 3)
			c.wantIDs(1, 2, 3)
			r.epoch()
			r = c.start(s, r.standing) // another process goes on
			r.epoch(4)
			c.wantIDs(1, 2, 3, 4)
		})
	}
}

// The journal's format is read by later programs.
func TestJournalRecord(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	claim := c.newestRecord(t)
	if claim.Epoch != 0 || !claim.Assumed {
		t.Errorf("before the first epoch the journal says %+v", claim)
	}
	r.epoch()
	got := c.newestRecord(t)
	want := journalRecord{Format: 1, Unit: "c0ffee/alerts/0", Epoch: 1, Attempt: 1, Manifest: "xxh3:0000000000000065", Sink: "topic alerts", Writer: claim.Writer}
	if got != want {
		t.Errorf("the journal says %+v, want %+v", got, want)
	}
}

// newestRecord returns the newest record of the journal.
func (c *sinkCluster) newestRecord(t *testing.T) journalRecord {
	t.Helper()
	records := c.committed("tws-journal")
	if len(records) == 0 {
		t.Fatal("the journal is empty")
	}
	var r journalRecord
	if err := json.Unmarshal(records[len(records)-1].Value, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecords(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123)
	for _, g := range []Guarantee{ExactlyOnce, AtLeastOnce} {
		t.Run("guarantee "+string(g), func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			r := c.decide(Sink[sinkRow]{
				Guarantee:   g,
				Key:         func(r sinkRow) []byte { return fmt.Append(nil, "key-", r.ID) },
				Headers:     func(r sinkRow) []Header { return []Header{{"a", []byte("1")}, {"a", nil}, {"", []byte{}}} },
				Timestamp:   func(sinkRow) time.Time { return at },
				Partition:   func(r sinkRow) int32 { return int32(r.ID % 3) },
				Compression: Zstd,
			})
			r.begin(2)
			r.write(0, 1)
			if err := r.w.(stream.NullWriter[sinkRow]).WriteNull(1, nil, &sinkRow{ID: 2}); err != nil {
				t.Fatal(err)
			}
			r.finish()
			records := c.committed("alerts")
			if len(records) != 2 {
				t.Fatalf("%d records, want 2", len(records))
			}
			row, tombstone := records[0], records[1]
			if string(row.Key) != "key-1" || string(row.Value) != `{"id":1,"text":""}` || row.Partition != 1 || !row.Timestamp.Equal(at) {
				t.Errorf("the row is %q: %q in partition %d at %s", row.Key, row.Value, row.Partition, row.Timestamp)
			}
			if tombstone.Value != nil || string(tombstone.Key) != "key-2" || tombstone.Partition != 2 {
				t.Errorf("the tombstone is %q: %q in partition %d", tombstone.Key, tombstone.Value, tombstone.Partition)
			}
			h := row.Headers
			if len(h) != 3 || h[0].Key != "a" || string(h[0].Value) != "1" || h[1].Value != nil || h[2].Value == nil || len(tombstone.Headers) != 3 {
				t.Errorf("headers are %v and %v", h, tombstone.Headers)
			}
		})
	}
}

// decided drives a writer of either guarantee through its first epoch.
type decided struct {
	*sinkCluster
	w stream.Writer[sinkRow]
}

func (c *sinkCluster) decide(s Sink[sinkRow]) *decided {
	c.t.Helper()
	w := c.open(s)
	if d, ok := w.(stream.Decider); ok {
		if _, err := d.Settle(c.t.Context(), stream.Standing{}); err != nil {
			c.t.Fatal(err)
		}
	}
	return &decided{c, w}
}

func (d *decided) begin(lanes int) {
	d.t.Helper()
	if err := d.w.Begin(d.t.Context(), stream.Attempt{Epoch: 1, Number: 1, Lanes: lanes}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *decided) write(lane int, id int64) {
	d.t.Helper()
	if err := d.w.Write(lane, nil, &sinkRow{ID: id}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *decided) finish() stream.Staged {
	d.t.Helper()
	staged, err := d.w.Prepare(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	p := stream.Publication{Epoch: 1, Attempt: 1, Manifest: "m", Staged: staged}
	if x, ok := d.w.(stream.Decider); ok {
		if err := errors.Join(x.Deliver(d.t.Context(), p), x.Commit(d.t.Context(), p)); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := d.w.Publish(d.t.Context(), p); err != nil {
		d.t.Fatal(err)
	}
	return staged
}

func TestRefusedRows(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	if err := c.fake.CreateTopic("small", 1, map[string]string{"max.message.bytes": "2000"}); err != nil {
		t.Fatal(err)
	}
	for _, g := range []Guarantee{ExactlyOnce, AtLeastOnce} {
		d := c.decide(Sink[sinkRow]{Guarantee: g, Topic: "small", Key: func(r sinkRow) []byte {
			if r.ID == 0 {
				return nil
			}
			return []byte{'k'}
		}, Partition: func(r sinkRow) int32 { return int32(r.ID) - 1 }})
		d.begin(1)
		wantError(t, d.w.Write(0, nil, &sinkRow{ID: 1, Text: string(make([]byte, 500)) + "refuse"[:0] + fmt.Sprintf("%02000d", 1)}), "topic small", `key "k"`, "max.message.bytes", "1872")
		wantError(t, d.w.Write(0, nil, &sinkRow{ID: 2}), "topic small has 1 partitions", "chose 1")
		wantError(t, d.w.Write(0, nil, &sinkRow{ID: 0}), "chose -1")
		wantError(t, d.w.Write(0, nil, &sinkRow{ID: 1, Text: "refuse"}), "encode a row of type kafka.sinkRow", "refused")
		wantError(t, d.w.Write(1, nil, &sinkRow{ID: 1}), "lane 1 does not exist")
		wantError(t, d.w.(stream.NullWriter[sinkRow]).WriteNull(0, nil, &sinkRow{}), "Key returned nil")
		d.write(0, 1)
		if staged := d.finish(); staged.Rows != 1 || staged.Bytes != int64(len(`k{"id":1,"text":""}`)) {
			t.Errorf("staged %d rows, %d bytes", staged.Rows, staged.Bytes)
		}
		keyless := &decided{c, c.openAs(Sink[sinkRow]{Guarantee: g}, stream.Unit{Checkpoint: "other"})}
		keyless.begin(1)
		wantError(t, keyless.w.(stream.NullWriter[sinkRow]).WriteNull(0, nil, &sinkRow{}), "set Sink.Key")
	}
	if got := c.committed("small"); len(got) != 2 {
		t.Errorf("%d records, want one for each guarantee", len(got))
	}
}

// Output larger than the spool's memory goes to a file and comes back.
func TestSpooledOutput(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.w.(*transactional[sinkRow]).spool.limit = 1 << 20
	const rows = 40_000
	want := make([]int64, rows)
	for i := range want {
		want[i] = int64(i)
	}
	text := fmt.Sprintf("%0100d", 0)
	if err := r.w.Begin(t.Context(), stream.Attempt{Epoch: 1, Number: 1, Lanes: 2}); err != nil {
		t.Fatal(err)
	}
	for _, id := range want {
		if err := r.w.Write(int(id%2), nil, &sinkRow{ID: id, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if r.w.(*transactional[sinkRow]).spool.size == 0 {
		t.Fatal("nothing was written to the file")
	}
	staged, err := r.w.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.standing.Doubt = &stream.Publication{Epoch: 1, Attempt: 1, Manifest: "m", Staged: staged}
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.InvalidProducerEpoch})
	if err := errors.Join(r.deliver(), r.commit()); err == nil {
		t.Fatal("the commit did not fail")
	}
	r.settle(false)
	r.again() // from the file once more
	if got := c.ids(); !slices.Equal(got, want) {
		t.Errorf("%d rows arrived, want %d", len(got), rows)
	}
}

// Failures of a broker to take the output: what may pass is delivered again, and
// nothing is seen twice.
func TestDeliverFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault  kfake.Fault
		passes bool
		says   string
	}{
		"transaction timed out": {kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "alerts", Err: kerr.InvalidProducerEpoch}, true, "took over our transactional id, or our transaction timed out"},
		"producer forgotten":    {kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "alerts", Err: kerr.UnknownProducerID}, true, "UNKNOWN_PRODUCER_ID"},
		"must abort":            {kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "alerts", Err: kerr.TransactionAbortable}, true, "TRANSACTION_ABORTABLE"},
		"journal fails":         {kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "tws-journal", Err: kerr.InvalidProducerEpoch}, true, ""},
		"too large":             {kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "alerts", Err: kerr.MessageTooLarge}, false, "max.message.bytes"},
		"not allowed":           {kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "alerts", Err: kerr.TopicAuthorizationFailed}, false, "grant this user"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			r := c.start(Sink[sinkRow]{}, stream.Standing{})
			r.epoch(1)
			r.stage(1, 2, 3)
			c.fake.Fault(test.fault)
			err := r.deliver()
			wantError(t, err, test.says)
			if errors.Is(err, stream.ErrNotDelivered) != test.passes {
				t.Errorf("passes=%v, want %v: %v", !test.passes, test.passes, err)
			}
			r.settle(false)
			r.again()
			c.wantIDs(1, 2, 3)
		})
	}
}

// Failures that the client itself rides out.
func TestDeliverRetries(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]kfake.Fault{
		"leader moves":           {Keys: []kmsg.Key{kmsg.Produce}, Topic: "alerts", Err: kerr.NotLeaderForPartition, Count: 2},
		"replicas out of sync":   {Keys: []kmsg.Key{kmsg.Produce}, Topic: "alerts", Err: kerr.NotEnoughReplicas, Count: 2},
		"before not finished":    {Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.ConcurrentTransactions, Count: 3},
		"coordinator is loading": {Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.CoordinatorLoadInProgress, Count: 2},
		"coordinator moves":      {Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.NotCoordinator, Count: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			r := c.start(Sink[sinkRow]{}, stream.Standing{})
			h := c.fake.Fault(fault)
			r.epoch(1, 2)
			if h.Hits() == 0 {
				t.Error("nothing failed")
			}
			r.epoch(3)
			c.wantIDs(1, 2, 3)
		})
	}
}

// B-71, and what the engine does about each: settle, and deliver again unless
// committed.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage    func(c *sinkCluster, met func()) (mend func()) // met: the commit met it
		committed bool
	}{
		"epoch invalid":            {endFails(kerr.InvalidProducerEpoch), false},
		"fenced as on a broker":    {endFails(kerr.ProducerFenced), false},
		"fenced as by kfake":       {endFails(kerr.InvalidTxnState), false},
		"must abort":               {endFails(kerr.TransactionAbortable), false},
		"server error":             {endFails(kerr.UnknownServerError), false},
		"cut before the broker":    {func(c *sinkCluster, met func()) func() { return c.cutCommit(false, met) }, false},
		"cut after the broker did": {func(c *sinkCluster, met func()) func() { return c.cutCommit(true, met) }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			r := c.start(Sink[sinkRow]{}, stream.Standing{})
			r.epoch(1)
			r.stage(1, 2, 3)
			if err := r.deliver(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			mend := test.damage(c, cancel)
			if err := r.d.Commit(ctx, *r.standing.Doubt); err == nil {
				t.Fatal("the commit did not fail")
			}
			mend()
			r.settle(test.committed)
			if !test.committed {
				r.again()
			}
			r.epoch(4)
			c.wantIDs(1, 2, 3, 4)
		})
	}
}

// endFails lets the next end of a transaction fail.
func endFails(err *kerr.Error) func(*sinkCluster, func()) func() {
	return func(c *sinkCluster, _ func()) func() { return c.fault(kmsg.EndTxn, err).Remove }
}

func (c *sinkCluster) fault(key kmsg.Key, err *kerr.Error) *kfake.FaultHandle {
	return c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: err})
}

// cutCommit breaks the connection at each commit until the function it returns is
// called; if acted is true, the first time after the broker has committed. Each time
// it calls met, so that the commit need not be tried for ever.
func (c *sinkCluster) cutCommit(acted bool, met func()) (mend func()) {
	var mended atomic.Bool
	behind := false
	c.fake.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		end := req.(*kmsg.EndTxnRequest)
		if !end.Commit || mended.Load() || behind {
			return nil, nil, false
		}
		c.fake.KeepControl()
		if acted {
			acted, behind = false, true
			c.endBehind(end)
			behind = false
		}
		met()
		return nil, errors.New("cut"), true
	})
	return func() { mended.Store(true) }
}

// endBehind has another connection commit, as if only the answer was lost.
func (c *sinkCluster) endBehind(end *kmsg.EndTxnRequest) {
	again := *end
	cl := c.client()
	c.fake.SleepControl(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := again.RequestWith(ctx, cl); err != nil {
			c.t.Error(err)
		}
	})
}

// The journal or the topic is deleted while the sink is used: the error names the
// one that is gone. The types of the failures of rows are kept.
func TestDeletedTopicIsNamed(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"tws-journal", "alerts"} {
		t.Run(gone, func(t *testing.T) {
			t.Parallel()
			c := newSinkCluster(t)
			r := c.start(Sink[sinkRow]{}, stream.Standing{})
			r.epoch(1)
			if err := c.fake.DeleteTopic(gone); err != nil {
				t.Fatal(err)
			}
			r.stage(1, 2)
			err := r.deliver()
			wantError(t, err, "topic "+gone+" does not exist")
			if errors.Is(err, stream.ErrNotDelivered) || !errors.Is(err, kerr.UnknownTopicOrPartition) {
				t.Errorf("%v: want a lasting failure that keeps its cause", err)
			}
		})
	}
}

// A run that ends while no broker answers is not held up by the abort of its
// transaction, which the next one, or the broker, makes good.
func TestDeliverEndsWithTheRun(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	r := c.start(Sink[sinkRow]{}, stream.Standing{})
	r.epoch(1)
	r.stage(1, 2)
	sent, answer := make(chan struct{}), make(chan struct{})
	defer close(answer)
	var once sync.Once // rows and the journal's record may come in two requests
	c.fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		once.Do(func() { close(sent) })
		c.fake.SleepControl(func() { <-answer })
		return nil, nil, false
	})
	ctx, cancel := context.WithCancel(t.Context())
	delivered := make(chan error, 1)
	go func() { delivered <- r.d.Deliver(ctx, *r.standing.Doubt) }()
	<-sent
	cancel()
	select {
	case err := <-delivered:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("deliver says %v", err)
		}
	case <-time.After(abortTimeout):
		t.Errorf("deliver goes on for %s after its context has ended", abortTimeout)
		<-delivered
	}
}

// A record that fails ends a delivery although there is no answer for another one.
func TestDeliverEndsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t, kfake.NumBrokers(2))
	c.createJournal(1)
	for node, topic := range []string{"alerts", c.journal} {
		if err := c.fake.MoveTopicPartition(topic, 0, int32(node)); err != nil {
			t.Fatal(err)
		}
	}
	r := c.start(Sink[sinkRow]{Partition: func(sinkRow) int32 { return 0 }}, stream.Standing{})
	r.epoch(1)
	r.stage(1, 2)
	answer := make(chan struct{})
	c.fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if c.fake.CurrentNode() == 0 {
			c.fake.SleepControl(func() { <-answer })
		}
		return nil, nil, false
	})
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: c.journal, Err: kerr.InvalidProducerEpoch})
	delivered := make(chan error, 1)
	go func() { delivered <- r.deliver() }()
	select {
	case err := <-delivered:
		close(answer)
		if !errors.Is(err, stream.ErrNotDelivered) {
			t.Errorf("deliver says %v", err)
		}
	case <-time.After(patience):
		close(answer)
		t.Errorf("deliver goes on after a record has failed: %v", <-delivered)
	}
	r.settle(false)
	r.again()
	c.wantIDs(1, 2)
}
