package kafka

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

var (
	_ stream.SinkImpl[sinkRow]   = Sink[sinkRow]{}
	_ stream.NullWriter[sinkRow] = (*delivery[sinkRow])(nil)
	_ stream.NullWriter[sinkRow] = (*transactional[sinkRow])(nil)
)

func TestOpenSinkRefuses(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	for says, s := range map[string]Sink[sinkRow]{
		"Sink.Topic is missing":                     {},
		"Sink.Journal and Sink.Topic are the same":  {Topic: "a", Journal: "a"},
		"Sink.TransactionTimeout is 1ms":            {Topic: "a", TransactionTimeout: time.Millisecond},
		`there is no guarantee "twice"`:             {Topic: "a", Guarantee: "twice"},
		`there is no partitioner "best"`:            {Topic: "a", Partitioner: "best"},
		"both Sink.Partition and Sink.Partitioner":  {Topic: "a", Partitioner: Sticky, Partition: func(sinkRow) int32 { return 0 }},
		`there is no compression "rar"`:             {Topic: "a", Compression: "rar"},
		"format raw needs rows of type []byte":      {Topic: "a", Format: Raw},
		"format string needs rows of type string":   {Topic: "a", Format: String},
		"field Format is 9":                         {Topic: "a", Format: 9},
		"topic a does not exist":                    {Topic: "a"},
		"create it (kafka-topics.sh --bootstrap-se": {Topic: "a"},
		"cluster other: it is not configured":       {Topic: "a", Cluster: "other"},
		"client options: no luck":                   {Topic: "a", ClientOptions: func() ([]kgo.Opt, error) { return nil, errors.New("no luck") }},
	} {
		_, err := s.OpenSink(t.Context(), c.env())
		wantError(t, err, says)
	}
	env := c.env()
	env.Row = nil
	for _, f := range []Format{JSON, Msgpack} {
		_, err := Sink[sinkRow]{Topic: "alerts", Format: f}.OpenSink(t.Context(), env)
		wantError(t, err, "type kafka.sinkRow has no", "run go generate")
	}
	if name := (Sink[sinkRow]{Topic: "alerts"}).SinkName(); name != "topic alerts" {
		t.Error(name)
	}
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "alerts", Err: kerr.TopicAuthorizationFailed, Count: -1})
	_, err := Sink[sinkRow]{Topic: "alerts"}.OpenSink(t.Context(), c.env())
	wantError(t, err, "topic alerts", "grant this user")
}

// A sink that may not look at the topic's configuration works all the same.
func TestConfigurationHidden(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	c.createJournal(1)
	c.start(Sink[sinkRow]{}, stream.Standing{}).epoch(1)
	c.wantIDs(1)
	if says := c.log.String(); says == "" {
		t.Error("it is not said that the journal's policy could not be checked")
	}
}

func TestSinkFormats(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	d := c.decide(Sink[sinkRow]{Guarantee: AtLeastOnce, Format: Msgpack})
	d.begin(1)
	d.write(0, 7)
	d.finish()
	textual(c, String, "text")
	textual(c, Raw, []byte{0, 1})
	got := map[string]bool{}
	for _, r := range c.committed("alerts") {
		got[string(r.Value)] = true
	}
	if len(got) != 3 || !got["packed 7"] || !got["text"] || !got["\x00\x01"] {
		t.Errorf("the topic has %v", got)
	}
}

// textual writes a row that is nothing but bytes.
func textual[T any](c *sinkCluster, f Format, row T) {
	c.t.Helper()
	env := stream.SinkEnv[T]{Unit: stream.Unit{Checkpoint: f.String()}, Clusters: c.env().Clusters, Log: c.env().Log}
	w, err := Sink[T]{Topic: "alerts", Format: f, Guarantee: AtLeastOnce}.OpenSink(c.t.Context(), env)
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.Close()
	_, prepared := error(nil), error(nil)
	err = errors.Join(w.Begin(c.t.Context(), stream.Attempt{Epoch: 1, Number: 1, Lanes: 1}), w.Write(0, nil, &row))
	if _, prepared = w.Prepare(c.t.Context()); err != nil || prepared != nil {
		c.t.Fatal(err, prepared)
	}
}

// Keys go where the Java client sends them; the partitions are those that its
// murmur2 gives for 3 partitions.
func TestPartitioners(t *testing.T) {
	t.Parallel()
	key := func(r sinkRow) []byte { return fmt.Append(nil, "key-", r.ID) }
	spread := func(s Sink[sinkRow]) map[int64]int32 {
		c := newSinkCluster(t)
		d := c.decide(s)
		d.begin(1)
		for id := range int64(9) {
			d.write(0, id)
		}
		d.finish()
		at := map[int64]int32{}
		for _, r := range c.committed("alerts") {
			var id int64
			if _, err := fmt.Sscanf(string(r.Value), `{"id":%d`, &id); err != nil {
				t.Fatal(err)
			}
			at[id] = r.Partition
		}
		return at
	}
	byKey := spread(Sink[sinkRow]{Key: key})
	for id, p := range byKey {
		if want := int32(murmur2(key(sinkRow{ID: id}))&0x7fffffff) % 3; p != want {
			t.Errorf("key-%d is in partition %d, want %d", id, p, want)
		}
	}
	count := map[int32]int{}
	for _, p := range spread(Sink[sinkRow]{Key: key, Partitioner: RoundRobin}) {
		count[p]++
	}
	if count[0] != 3 || count[1] != 3 || count[2] != 3 {
		t.Errorf("in turn, the partitions have %v rows", count)
	}
	clear(count)
	oneBatch := func() ([]kgo.Opt, error) { return []kgo.Opt{kgo.ProducerLinger(patience)}, nil } // a flush does not wait for it
	for _, p := range spread(Sink[sinkRow]{Key: key, Partitioner: Sticky, ClientOptions: oneBatch}) {
		count[p]++
	}
	if len(count) != 1 {
		t.Errorf("a batch is spread over partitions: %v", count)
	}
}

// murmur2 is written after the published algorithm, with the seed of the Java
// client.
func murmur2(b []byte) uint32 {
	const m, seed = 0x5bd1e995, 0x9747b28c
	h := uint32(seed) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> 24
		k *= m
		h = h*m ^ k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(b[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

// Partitions that were added while the sink is open can be chosen.
func TestPartitionsAdded(t *testing.T) {
	t.Parallel()
	c := newSinkCluster(t)
	d := c.decide(Sink[sinkRow]{Partition: func(r sinkRow) int32 { return int32(r.ID) }})
	d.begin(1)
	wantError(t, d.w.Write(0, nil, &sinkRow{ID: 3}), "has 3 partitions")
	if _, err := c.admin().UpdatePartitions(t.Context(), 4, "alerts"); err != nil {
		t.Fatal(err)
	}
	d.write(0, 3)
	d.finish()
	if got := c.committed("alerts"); len(got) != 1 || got[0].Partition != 3 {
		t.Errorf("the topic has %v", got)
	}
}

// BenchmarkWrite spools rows; it must not allocate for each of them.
func BenchmarkWrite(b *testing.B) {
	w := &transactional[sinkRow]{
		target: &target{topic: "alerts"}, spool: newSpool(spoolMemory),
		encoder: &recordEncoder[sinkRow]{
			topic: "alerts", limit: defaultMessageBytes,
			value: func(dst []byte, v *sinkRow) ([]byte, error) { return append(dst, v.Text...), nil },
		},
	}
	row := &sinkRow{Text: string(make([]byte, 100))}
	const epoch = 100_000
	for i := 0; b.Loop(); i++ {
		if i%epoch == 0 {
			if err := w.Begin(b.Context(), stream.Attempt{Epoch: 1, Number: 1, Lanes: 1}); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Write(0, nil, row); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
}
