// Package kafka_test stops and kills pipelines that read and write Kafka, at every
// point of the transactional commit and at random, and demands that a consumer of
// committed records sees every row exactly once. Everything runs against an
// imitation of a broker; with the build tag kafka_broker also against a real one.
package kafka_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/golden/kafka/internal/pipeline"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/store/mem"
)

// cluster is where tests work: an imitation, or a broker.
type cluster struct {
	brokers string
	client  *kgo.Client
	admin   *kadm.Client
	// name is what all of a cluster's topics begin with, and topics counts them.
	name   string
	topics atomic.Int32
}

func newCluster(t *testing.T, brokers, name string) *cluster {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.MetadataMinAge(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &cluster{brokers: brokers, client: client, admin: kadm.NewClient(client), name: name}
}

// fake is an imitation of a cluster of its own.
func fake(t *testing.T) *cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return newCluster(t, strings.Join(c.ListenAddrs(), ","), "t")
}

// create makes a topic and returns its name.
func (c *cluster) create(t *testing.T, name string, partitions int32, config map[string]*string) string {
	t.Helper()
	name = fmt.Sprintf("%s-%s-%d", c.name, name, c.topics.Add(1))
	c.createAs(t, name, partitions, config)
	return name
}

func (c *cluster) createAs(t *testing.T, name string, partitions int32, config map[string]*string) {
	t.Helper()
	until(t, "topic "+name+" is created", func() error {
		_, err := c.admin.CreateTopic(t.Context(), partitions, 1, config, name)
		return err
	})
	until(t, "topic "+name+" is there", func() error {
		ends, err := c.admin.ListEndOffsets(t.Context(), name)
		if err == nil {
			err = ends.Error()
		}
		if err == nil && len(ends[name]) != int(partitions) {
			err = fmt.Errorf("%d partitions", len(ends[name]))
		}
		return err
	})
}

// until polls until a condition holds.
func until(t *testing.T, what string, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) || t.Context().Err() != nil {
			t.Fatalf("waited in vain until %s: %v", what, err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// produce sends readings, each sensor's to one partition, and waits for them.
func (c *cluster) produce(t *testing.T, topic string, readings []pipeline.Reading) {
	t.Helper()
	var failed atomic.Pointer[error]
	for _, r := range readings {
		value, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		c.client.Produce(t.Context(), &kgo.Record{Topic: topic, Key: []byte(r.Sensor), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	if err := c.client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
}

// undecided fails while a transaction is open in one of the topics.
func (c *cluster) undecided(t *testing.T, topics ...string) error {
	stable, err := c.admin.ListCommittedOffsets(t.Context(), topics...)
	if err != nil {
		return err
	}
	ends, err := c.admin.ListEndOffsets(t.Context(), topics...)
	if err != nil {
		return err
	}
	ends.Each(func(end kadm.ListedOffset) {
		s, ok := stable.Lookup(end.Topic, end.Partition)
		if !ok || s.Offset != end.Offset || end.Err != nil || s.Err != nil {
			err = fmt.Errorf("%s, partition %d: stable up to %d of %d", end.Topic, end.Partition, s.Offset, end.Offset)
		}
	})
	return err
}

// read returns the records of a topic by partition, as they are now: those that a
// consumer of committed records sees, or all.
func (c *cluster) read(t *testing.T, topic string, level kgo.IsolationLevel) map[int32][]*kgo.Record {
	t.Helper()
	left := c.ends(t, topic, level)
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.brokers, ",")...), kgo.ConsumeTopics(topic), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(level), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	records := map[int32][]*kgo.Record{}
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read topic %s: %v, still to read: %v", topic, err, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if end, ok := left[r.Partition]; !ok || r.Offset >= end {
				return // came after the ends were asked for
			}
			if r.Offset == left[r.Partition]-1 {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				records[r.Partition] = append(records[r.Partition], r)
			}
		})
	}
	return records
}

// ends returns the ends of partitions that are not empty.
func (c *cluster) ends(t *testing.T, topic string, level kgo.IsolationLevel) map[int32]int64 {
	t.Helper()
	list := c.admin.ListCommittedOffsets
	if level == kgo.ReadUncommitted() {
		list = c.admin.ListEndOffsets
	}
	starts, err := c.admin.ListStartOffsets(t.Context(), topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	listed, err := list(t.Context(), topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	ends := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) {
		if start, _ := starts.Lookup(topic, o.Partition); o.Offset > start.Offset {
			ends[o.Partition] = o.Offset
		}
	})
	return ends
}

// decode returns the rows of records by sensor, in their order.
func decode[T any](t *testing.T, records map[int32][]*kgo.Record) map[string][]T {
	t.Helper()
	rows := map[string][]T{}
	for _, partition := range records {
		for _, r := range partition {
			var row T
			if err := json.Unmarshal(r.Value, &row); err != nil {
				t.Fatalf("%s: %v", r.Value, err)
			}
			rows[string(r.Key)] = append(rows[string(r.Key)], row)
		}
	}
	return rows
}

// bySensor groups rows as decode does.
func bySensor[T any](rows []T, sensor func(T) string) map[string][]T {
	grouped := map[string][]T{}
	for _, row := range rows {
		grouped[sensor(row)] = append(grouped[sensor(row)], row)
	}
	return grouped
}

func countsBySensor(readings []pipeline.Reading) map[string][]pipeline.Count {
	return bySensor(pipeline.Counts(readings), func(c pipeline.Count) string { return c.Sensor })
}

// scene is a set of topics with input, and what runs there.
type scene struct {
	*cluster
	topics   pipeline.Topics
	readings []pipeline.Reading
}

const (
	sceneSensors  = 6
	sceneReadings = 60
)

func compact() map[string]*string {
	policy := "compact"
	return map[string]*string{"cleanup.policy": &policy}
}

// scene makes topics, and input of several epochs.
func (c *cluster) scene(t *testing.T, timeout time.Duration) *scene {
	t.Helper()
	s := &scene{cluster: c, readings: pipeline.Input(sceneSensors, 0, sceneReadings)}
	s.topics = pipeline.Topics{
		Brokers: c.brokers, Timeout: timeout,
		Sensors: c.create(t, "sensors", 3, nil), Counts: c.create(t, "counts", 2, nil), Journal: c.create(t, "journal", 1, compact()),
	}
	c.produce(t, s.topics.Sensors, s.readings)
	return s
}

// instance is one process of the pipeline, as far as the cluster can tell.
type instance struct {
	folder string
	log    *logged
	runner *tws.Runner
}

// logged is what an instance logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// close takes leave as a process does that ends well.
func (i *instance) close(t *testing.T) {
	t.Helper()
	if i.runner == nil {
		return
	}
	if err := i.runner.Close(); err != nil {
		t.Error(err)
	}
	i.runner = nil
}

// open opens the pipeline on a folder. Unless it is closed, it stays open to the
// test's end: a process that crashes does not take leave of the broker.
func (s *scene) open(t *testing.T, folder string, o tws.Options) (*instance, error) {
	t.Helper()
	i := &instance{folder: folder, log: &logged{}}
	o.Checkpoint, o.Clusters, o.NoSync, o.Stores = folder, s.topics.Clusters(), true, mem.New()
	o.Log = slog.New(slog.NewTextHandler(i.log, nil))
	o.Conf = map[string]string{"tws.max-rows": "16", "tws.partitions": "2"}
	p := tws.NewPipeline(o)
	s.topics.AddCounts(p)
	r, err := p.Open(t.Context())
	if err != nil {
		return i, err
	}
	i.runner = r
	t.Cleanup(func() { i.close(t) })
	return i, nil
}

// run opens the pipeline and lets it read what is there.
func (s *scene) run(t *testing.T, folder string, o tws.Options) (*instance, error) {
	t.Helper()
	i, err := s.open(t, folder, o)
	if err != nil {
		return i, err
	}
	return i, i.runner.Run(t.Context())
}

// finish runs the pipeline to its end, which must be well.
func (s *scene) finish(t *testing.T, folder string, o tws.Options) *instance {
	t.Helper()
	i, err := s.run(t, folder, o)
	if err != nil {
		t.Fatalf("the run that followed failed: %v\n%s", err, i.log)
	}
	i.close(t)
	return i
}

// counts are the committed rows, once no transaction is open: a broker says that it
// has committed one a little before consumers see it.
func (s *scene) counts(t *testing.T) map[string][]pipeline.Count {
	t.Helper()
	until(t, "every transaction has ended", func() error { return s.undecided(t, s.topics.Counts) })
	return decode[pipeline.Count](t, s.read(t, s.topics.Counts, kgo.ReadCommitted()))
}

// want checks the committed rows and their order.
func (s *scene) want(t *testing.T, want map[string][]pipeline.Count) {
	t.Helper()
	if diff := cmp.Diff(want, s.counts(t)); diff != "" {
		t.Errorf("a consumer of committed records sees other rows (-want +got):\n%s", diff)
	}
}

// exactlyOnce checks that every reading is counted, once and in its order.
func (s *scene) exactlyOnce(t *testing.T) {
	t.Helper()
	s.want(t, countsBySensor(s.readings))
}

// copyOf copies a checkpoint as it is at this moment: what another machine finds,
// while this process may hold the lock of the original and go on.
func copyOf(t *testing.T, folder string) (string, error) {
	to := filepath.Join(t.TempDir(), "checkpoint")
	return to, os.CopyFS(to, os.DirFS(folder))
}

// visits calls do at the nth time that a run passes a point.
func visits(point epoch.Point, nth int, do func() error) func(epoch.Point) error {
	seen := 0
	return func(p epoch.Point) error {
		if p != point {
			return nil
		}
		if seen++; seen != nth {
			return nil
		}
		return do()
	}
}

// mustSay checks that a text has all of the words.
func mustSay(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("nothing says %q:\n%s", w, text)
		}
	}
}
