package kafka

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/tws-go/tws/runtime/stream"
)

func userOptions(opts ...kgo.Opt) func() ([]kgo.Opt, error) {
	return func() ([]kgo.Opt, error) { return opts, nil }
}

// TestReservedOptionNames: the client knows every reserved option by its name.
func TestReservedOptionNames(t *testing.T) {
	t.Parallel()
	made, err := kgo.NewClient()
	client := closeOnEnd(t, made, err)
	for _, o := range reservedOptions() {
		if client.OptValues(o.name) == nil {
			t.Errorf("the client has no option %s", o.name)
		}
	}
}

// TestReservedOptions: options on which it rests that each record is read and
// written once are refused by name, whoever connects.
func TestReservedOptions(t *testing.T) {
	t.Parallel()
	clusters := stream.Clusters{"main": {"brokers": "a:1"}}
	set, err := Source[sensor]{Topic: "sensors"}.settings()
	if err != nil {
		t.Fatal(err)
	}
	source := fetchOptions(set)
	producer := []kgo.Opt{kgo.RecordPartitioner(newTopicPartitioner("alerts", ByKey, false)), kgo.TransactionalID("tws-u"), kgo.TransactionTimeout(time.Minute)}
	journal := []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadUncommitted()), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"tws-journal": {0: kgo.NewOffset().At(5)}})}
	for _, c := range []struct {
		name    string
		given   []kgo.Opt
		own     kgo.Opt
		instead string
	}{
		{"FetchIsolationLevel", source, kgo.FetchIsolationLevel(kgo.ReadUncommitted()), "Source.ReadUncommitted"},
		{"FetchIsolationLevel", journal, kgo.FetchIsolationLevel(kgo.ReadCommitted()), "Source.ReadUncommitted"},
		{"ConsumeResetOffset", source, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), "Source.OnLostData"},
		{"ConsumeResetOffset", journal, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), "Source.OnLostData"},
		{"ConsumeTopics", source, kgo.ConsumeTopics("more"), "Source.Topics"},
		{"ConsumeRegex", source, kgo.ConsumeRegex(), "Source.Pattern"},
		{"ConsumePartitions", journal, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"tws-journal": {0: kgo.NewOffset().At(6)}}), "Source.Partitions"},
		{"ConsumerGroup", source, kgo.ConsumerGroup("g"), "Source.Group"},
		{"ShareGroup", source, kgo.ShareGroup("g"), "ClientOptions"},
		{"BlockRebalanceOnPoll", source, kgo.BlockRebalanceOnPoll(), "ClientOptions"},
		{"TransactionalID", producer, kgo.TransactionalID("mine"), "ClientOptions"},
		{"TransactionalID", nil, kgo.TransactionalID("mine"), "ClientOptions"},
		{"TransactionTimeout", producer, kgo.TransactionTimeout(time.Hour), "Sink.TransactionTimeout"},
		{"RecordPartitioner", producer, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), "Sink.Partition"},
		{"RecordPartitioner", producer, kgo.RecordPartitioner(newTopicPartitioner("alerts", ByKey, false)), "Sink.Partition"},
		{"RecordPartitioner", nil, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), "Sink.Partition"},
		{"RackAwarePartitioning", producer, kgo.RackAwarePartitioning(), "ClientOptions"},
		{"AllowAutoTopicCreation", source, kgo.AllowAutoTopicCreation(), "create the topic before"},
		{"AllowAutoTopicCreation", producer, kgo.AllowAutoTopicCreation(), "create the topic before"},
		{"AllowAutoTopicCreation", nil, kgo.AllowAutoTopicCreation(), "create the topic before"},
		{"DisableFetchCRCValidation", source, kgo.DisableFetchCRCValidation(), "ClientOptions"},
		{"DisableFetchCRCValidation", journal, kgo.DisableFetchCRCValidation(), "ClientOptions"},
		{"MaxVersions", source, kgo.MaxVersions(kversion.V2_0_0()), "ClientOptions"},
		{"MaxVersions", producer, kgo.MaxVersions(nil), "ClientOptions"},
	} {
		made, err := connect(clusters, "main", userOptions(kgo.MetadataMinAge(time.Second), c.own), nil, c.given...)
		if err == nil {
			made.Close()
			t.Errorf("kgo.%s is not refused", c.name)
			continue
		}
		wantTold(t, err, true, "kafka: cluster main: client options: kgo."+c.name+" is not yours to set", c.instead)
	}
}

// TestReservedProducerOptions: options that the client takes only together.
func TestReservedProducerOptions(t *testing.T) {
	t.Parallel()
	clusters := stream.Clusters{"main": {"brokers": "a:1"}}
	for name, own := range map[string][]kgo.Opt{
		"DefaultProduceTopicAlways":           {kgo.DefaultProduceTopic("x"), kgo.DefaultProduceTopicAlways()},
		"RequiredAcks":                        {kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck())},
		"MaxProduceRequestsInflightPerBroker": {kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(5)},
	} {
		_, err := connect(clusters, "main", userOptions(own...), nil)
		wantTold(t, err, true, "kgo."+name+" is not yours to set")
	}
}

// TestOptionsLeftToUser: whatever else may be set, and what is reserved as well if
// it is what it would be anyway.
func TestOptionsLeftToUser(t *testing.T) {
	t.Parallel()
	clusters := stream.Clusters{"main": {"brokers": "a:1"}}
	set, err := Source[sensor]{Topic: "sensors"}.settings()
	if err != nil {
		t.Fatal(err)
	}
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }
	own := userOptions(kgo.MetadataMinAge(time.Second), kgo.ProducerLinger(0), kgo.FetchMaxBytes(1<<20), kgo.Rack("r"), kgo.DefaultProduceTopic("x"),
		kgo.DisableFetchSessions(), kgo.RecordRetries(3), kgo.StopProducerOnDataLossDetected(), kgo.DisableIdempotentWrite(), kgo.Dialer(dial),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.MaxVersions(kversion.Stable()))
	made, err := connect(clusters, "main", own, nil, append(fetchOptions(set), kgo.RecordPartitioner(newTopicPartitioner("alerts", Sticky, false)))...)
	if client := closeOnEnd(t, made, err); client.OptValue(kgo.ProducerLinger) != time.Duration(0) {
		t.Error("the user's option has no effect")
	}
}

// TestSourceRefusesOptions: a source does not go elsewhere, nor read what is not
// committed, because the user's options say so.
func TestSourceRefusesOptions(t *testing.T) {
	t.Parallel()
	x := newTopicTest(t, Source[sensor]{Topic: "sensors", ClientOptions: userOptions(kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))})
	_, err := x.open()
	wantTold(t, err, true, "kgo.ConsumeResetOffset", "Source.OnLostData")
}

// TestSinkRefusesOptions: a sink is not opened with options that would place the
// journal's records elsewhere, or read them before they are committed.
func TestSinkRefusesOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]kgo.Opt{
		"RecordPartitioner":   kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		"FetchIsolationLevel": kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		"TransactionalID":     kgo.TransactionalID("mine"),
		"TransactionTimeout":  kgo.TransactionTimeout(time.Hour),
	} {
		c := newSinkCluster(t)
		_, err := Sink[sinkRow]{Topic: "alerts", ClientOptions: userOptions(o)}.OpenSink(t.Context(), c.env())
		wantTold(t, err, true, "kgo."+name+" is not yours to set")
	}
}
