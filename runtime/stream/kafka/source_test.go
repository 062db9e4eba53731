package kafka

import (
	"testing"
	"time"
)

func TestSourceReads(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors"})
	x.put(0, 1, 2, 3)
	x.put(1, 11, 12)
	wantIDs(t, x.drain(), 1, 2, 3, 11, 12)
	x.wantAt(`{"sensors":{"0":3,"1":2}}`)
	x.put(1, 13)
	wantIDs(t, x.follow(1), 13)
	x.restart()
	x.put(0, 4)
	wantIDs(t, x.follow(1), 4)
	x.wantAt(`{"sensors":{"0":4,"1":3}}`)
	if len(x.journal) != 1 {
		t.Errorf("journal is %q, want one entry", x.journal)
	}
}

func TestStartingOffsets(t *testing.T) {
	t.Parallel()
	base := time.UnixMilli(1_700_000_000_000)
	for name, c := range map[string]struct {
		starts Offsets
		want   []int64
	}{
		"default":  {nil, []int64{0, 1, 2, 3, 10, 11}},
		"earliest": {Earliest, []int64{0, 1, 2, 3, 10, 11}},
		"latest":   {Latest, nil},
		"offsets":  {At{0: 2}, []int64{2, 3, 10, 11}},
		"at end":   {At{0: 4, 1: 2}, nil},
		"time":     {AtTime(base.Add(2 * time.Second)), []int64{2, 3}},
		"topic":    {PerTopic{"sensors": Latest}, nil},
		"no topic": {PerTopic{}, []int64{0, 1, 2, 3, 10, 11}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTopicTest(t, Source[sensor]{Topic: "sensors", StartingOffsets: c.starts})
			for i := range int64(4) {
				r := jsonRecord(0, i)
				r.Timestamp = base.Add(time.Duration(i) * time.Second)
				x.putRecords(r)
			}
			for i := range int64(2) {
				r := jsonRecord(1, 10+i)
				r.Timestamp = base
				x.putRecords(r)
			}
			wantIDs(t, x.drain(), c.want...)
			x.restart() // where it began is durable
			x.put(0, 4)
			x.put(1, 12)
			wantIDs(t, x.drain(), 4, 12)
		})
	}
}

// TestLatestIsDurable: the place is decided at the first start, though nothing was
// read.
func TestLatestIsDurable(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", StartingOffsets: Latest})
	x.put(0, 1)
	x.discover(false)
	x.stop()
	x.put(0, 2)
	wantIDs(t, x.drain(), 2)
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source Source[sensor]
		want   string
	}{
		"no topic":     {Source[sensor]{}, "exactly one of the fields"},
		"two ways":     {Source[sensor]{Topic: "a", Pattern: "b"}, "exactly one of the fields"},
		"name":         {Source[sensor]{Topic: "a", Name: "a b"}, "letters, digits"},
		"partitions":   {Source[sensor]{Topics: []string{"a"}, Partitions: []int32{0}}, "needs the field Topic"},
		"no partition": {Source[sensor]{Topic: "a", Partitions: []int32{}}, "none for all"},
		"pattern":      {Source[sensor]{Pattern: "("}, "field Pattern"},
		"malformed":    {Source[sensor]{Topic: "a", OnMalformed: 7}, "OnMalformed is 7"},
		"tombstone":    {Source[sensor]{Topic: "a", OnTombstone: 7}, "OnTombstone is 7"},
		"lost":         {Source[sensor]{Topic: "a", OnLostData: 7}, "OnLostData is 7"},
		"buffer":       {Source[sensor]{Topic: "a", BufferBytes: -1}, "BufferBytes is -1"},
		"interval":     {Source[sensor]{Topic: "a", StallTimeout: -1}, "must not be negative"},
		"format":       {Source[sensor]{Topic: "a", Format: 9}, "Format is 9"},
		"raw":          {Source[sensor]{Topic: "a", Format: Raw}, "needs rows of type []byte, not kafka.sensor"},
		"string":       {Source[sensor]{Topic: "a", Format: String}, "needs rows of type string"},
		"twice":        {Source[sensor]{Topics: []string{"a", "a"}}, "has \"a\" twice"},
		"at":           {Source[sensor]{Topics: []string{"a", "b"}, StartingOffsets: At{0: 1}}, "use kafka.PerTopic"},
		"other topic":  {Source[sensor]{Topic: "a", StartingOffsets: PerTopic{"b": Latest}}, "topic b, which is not read"},
		"cluster":      {Source[sensor]{Topic: "a", Cluster: "other"}, "other"},
		"missing":      {Source[sensor]{Topic: "none"}, "topic none does not exist"},
		"few":          {Source[sensor]{Topic: "sensors", Partitions: []int32{5}}, "has no partition 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTopicTest(t, c.source)
			_, err := x.open()
			wantError(t, err, "kafka: ", c.want)
		})
	}
}

func TestStartOutside(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", StartingOffsets: At{0: 7}})
	x.put(0, 1, 2)
	_, err := x.tryDiscover(false)
	wantError(t, err, "offset 7", "topic sensors, partition 0", "0 to 2")
}

func TestSourceName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source Source[sensor]
		want   string
	}{
		{Source[sensor]{Topic: "a.b"}, "a.b"},
		{Source[sensor]{Topics: []string{"a", "b"}}, "a_b"},
		{Source[sensor]{Pattern: "a.*|b"}, "a.__b"},
		{Source[sensor]{Topic: "a", Name: "n"}, "n"},
	} {
		if got := c.source.SourceName(); got != c.want {
			t.Errorf("name is %q, want %q", got, c.want)
		}
		if got := c.source.Records().SourceName(); got != c.want {
			t.Errorf("name of records is %q, want %q", got, c.want)
		}
	}
}

func TestChosenPartitions(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", Partitions: []int32{1}})
	x.put(0, 1)
	x.put(1, 2)
	wantIDs(t, x.drain(), 2)
	x.wantAt(`{"sensors":{"1":1}}`)
}

func TestPattern(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Pattern: "sens.*", StartingOffsets: Latest})
	x.put(0, 1)
	x.discover(false)
	if err := x.fake.CreateTopic("sensible", 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := x.fake.CreateTopic("nonsense", 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"sensible", "nonsense"} {
		r := jsonRecord(0, 2)
		r.Topic = topic
		x.putRecords(r)
	}
	x.clock.Add(31)
	wantIDs(t, x.follow(1), 2)
	x.wantAt(`{"sensible":{"0":1}}`)
}

// TestNewPartitions: partitions that are found later are read from their
// beginning, whatever the start was, also when they were made while the source did
// not run.
//
// B-72
func TestNewPartitions(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", StartingOffsets: Latest})
	x.put(0, -1)
	x.discover(false)
	x.grow(3)
	x.put(2, numbers(1, 10)...)
	x.clock.Add(31)
	wantIDs(t, x.follow(10), numbers(1, 10)...)
	x.stop()
	x.grow(4)
	x.put(3, numbers(11, 20)...)
	x.put(0, 21)
	wantIDs(t, x.drain(), numbers(11, 21)...)
	x.wantAt(`{"sensors":{"0":2,"2":10,"3":10}}`)
	if n := x.reader.(interface{ Partitions() int }).Partitions(); n != 4 {
		t.Errorf("Partitions is %d, want 4", n)
	}
}

// grow gives the topic more partitions.
func (x *topicTest[R]) grow(n int) {
	x.Helper()
	resp, err := x.admin.UpdatePartitions(x.Context(), n, x.topic)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		x.Fatal(err)
	}
	x.client = x.producer() // the old one learns of it too late
}
