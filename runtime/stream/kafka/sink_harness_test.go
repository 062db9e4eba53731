package kafka

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// sinkRow is what the tests of the sink write.
type sinkRow struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
}

var sinkRowCodec = &stream.Row[sinkRow]{
	Type:   "kafka.sinkRow",
	Append: func(dst []byte, v *sinkRow) []byte { return fmt.Appendf(dst, "packed %d", v.ID) },
	AppendJSON: func(dst []byte, v *sinkRow) ([]byte, error) {
		if v.Text == "refuse" {
			return dst, fmt.Errorf("refused")
		}
		return fmt.Appendf(dst, `{"id":%d,"text":%q}`, v.ID, v.Text), nil
	},
}

var sinkUnit = stream.Unit{Checkpoint: "c0ffee", Flow: "alerts"}

// sinkCluster is where the tests of the sink write to: an imitation, or a broker.
type sinkCluster struct {
	t       *testing.T
	fake    *kfake.Cluster // nil for a broker
	brokers string
	log     *logBuffer
	// timeout is that of transactions, 0 for the default.
	timeout time.Duration
	// topic, journal and unit are what a Sink and a run have unless told otherwise.
	topic, journal string
	unit           stream.Unit
	// options are those of every client of a sink.
	options []kgo.Opt
}

func newSinkCluster(t *testing.T, opts ...kfake.Opt) *sinkCluster {
	t.Helper()
	fake, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(3, "alerts")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return &sinkCluster{t: t, fake: fake, brokers: strings.Join(fake.ListenAddrs(), ","), log: &logBuffer{},
		topic: "alerts", journal: "tws-journal", unit: sinkUnit,
		options: []kgo.Opt{kgo.MetadataMinAge(20 * time.Millisecond)}}
}

// logBuffer keeps what was logged.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (c *sinkCluster) env() stream.SinkEnv[sinkRow] {
	return stream.SinkEnv[sinkRow]{
		Row: sinkRowCodec, Unit: sinkUnit,
		Clusters: stream.Clusters{"main": {"brokers": c.brokers}},
		Log:      slog.New(slog.NewTextHandler(c.log, nil)),
	}
}

// open opens a sink for the usual unit.
func (c *sinkCluster) open(s Sink[sinkRow]) stream.Writer[sinkRow] {
	c.t.Helper()
	return c.openAs(s, c.unit)
}

func (c *sinkCluster) openAs(s Sink[sinkRow], unit stream.Unit) stream.Writer[sinkRow] {
	c.t.Helper()
	if s.Topic == "" {
		s.Topic = c.topic
	}
	if s.Journal == "" {
		s.Journal = c.journal
	}
	if s.ClientOptions == nil {
		s.ClientOptions = func() ([]kgo.Opt, error) { return c.options, nil }
	}
	if s.TransactionTimeout == 0 {
		s.TransactionTimeout = c.timeout
	}
	env := c.env()
	env.Unit = unit
	w, err := s.OpenSink(c.t.Context(), env)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := w.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return w
}

// client returns a plain client.
func (c *sinkCluster) client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(c.brokers, ",")...)}, opts...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// endTransaction ends a client's transaction, which wrote to topics. Before the
// client lists them it might abort instead of committing; see waitListed.
func endTransaction(ctx context.Context, cl *kgo.Client, how kgo.TransactionEndTry, topics ...string) error {
	if err := (&sending{client: cl, topics: topics}).waitListed(ctx); err != nil {
		return err
	}
	return cl.EndTransaction(ctx, how)
}

func (c *sinkCluster) admin() *kadm.Client { return kadm.NewClient(c.client()) }

// committed reads what a consumer of committed records sees, in the order of
// (partition, offset).
func (c *sinkCluster) committed(topic string) []*kgo.Record {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	ends, err := c.admin().ListCommittedOffsets(ctx, topic)
	if err != nil || ends.Error() != nil {
		c.t.Fatal(err, ends.Error())
	}
	cl := c.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(100*time.Millisecond))
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	var records []*kgo.Record
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			c.t.Fatalf("read topic %s: %v, still to read %v", topic, err, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset >= left[r.Partition]-1 {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				records = append(records, r)
			}
		})
	}
	slices.SortFunc(records, func(a, b *kgo.Record) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return int(a.Offset - b.Offset)
	})
	return records
}

// ids returns the ids of the rows that are committed, sorted.
func (c *sinkCluster) ids() []int64 {
	c.t.Helper()
	ids := []int64{}
	for _, r := range c.committed(c.topic) {
		var row sinkRow
		if err := json.Unmarshal(r.Value, &row); err != nil {
			c.t.Fatalf("%s: %v", r.Value, err)
		}
		ids = append(ids, row.ID)
	}
	slices.Sort(ids)
	return ids
}

func (c *sinkCluster) wantIDs(want ...int64) {
	c.t.Helper()
	if got := c.ids(); !slices.Equal(got, want) {
		c.t.Errorf("a consumer of committed records sees %v, want %v", got, want)
	}
}

// run is a writer, driven as the engine does.
type run struct {
	t        *testing.T
	w        stream.Writer[sinkRow]
	d        stream.Decider
	standing stream.Standing
}

// start opens a sink and settles what the last run left.
func (c *sinkCluster) start(s Sink[sinkRow], standing stream.Standing) *run {
	c.t.Helper()
	r := c.run(s, standing)
	r.settle(false)
	return r
}

func (c *sinkCluster) run(s Sink[sinkRow], standing stream.Standing) *run {
	c.t.Helper()
	w := c.open(s)
	d, ok := w.(stream.Decider)
	if !ok {
		c.t.Fatalf("%T decides nothing", w)
	}
	return &run{t: c.t, w: w, d: d, standing: standing}
}

// settle expects an outcome of the epoch in doubt.
func (r *run) settle(committed bool) {
	r.t.Helper()
	got, err := r.d.Settle(r.t.Context(), r.standing)
	if err != nil {
		r.t.Fatalf("settle: %v", err)
	}
	if got != committed {
		r.t.Fatalf("settle says committed=%v, want %v", got, committed)
	}
	if committed {
		r.standing = stream.Standing{Last: *r.standing.Doubt}
	}
}

// stage begins, writes and prepares the epoch after the last one; attempt counts
// from 1. It is in doubt then.
func (r *run) stage(attempt int, ids ...int64) stream.Publication {
	r.t.Helper()
	epoch := r.standing.Last.Epoch + 1
	if err := r.w.Begin(r.t.Context(), stream.Attempt{Epoch: epoch, Number: attempt, Lanes: 2, Prior: r.standing.Last.Staged.State}); err != nil {
		r.t.Fatal(err)
	}
	for i, id := range ids {
		if err := r.w.Write(i%2, nil, &sinkRow{ID: id}); err != nil {
			r.t.Fatal(err)
		}
	}
	staged, err := r.w.Prepare(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if staged.Rows != int64(len(ids)) {
		r.t.Fatalf("prepare says %d rows, %d were written", staged.Rows, len(ids))
	}
	p := stream.Publication{Epoch: epoch, Attempt: attempt, Manifest: fmt.Sprintf("xxh3:%016x", epoch*100+int64(attempt)), Staged: staged}
	r.standing.Doubt = &p
	return p
}

func (r *run) deliver() error { return r.d.Deliver(r.t.Context(), *r.standing.Doubt) }

func (r *run) commit() error {
	err := r.d.Commit(r.t.Context(), *r.standing.Doubt)
	if err == nil {
		r.standing = stream.Standing{Last: *r.standing.Doubt}
	}
	return err
}

// epoch runs a whole one.
func (r *run) epoch(ids ...int64) {
	r.t.Helper()
	r.stage(1, ids...)
	r.again()
}

// again delivers and commits what is staged.
func (r *run) again() {
	r.t.Helper()
	if err := r.deliver(); err != nil {
		r.t.Fatalf("deliver: %v", err)
	}
	if err := r.commit(); err != nil {
		r.t.Fatalf("commit: %v", err)
	}
}

// wantError checks that an error says all of the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}
