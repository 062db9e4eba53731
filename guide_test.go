package tws_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestKafkaGuide follows docs/guides/kafka.md against a broker in this process. The
// step "committed" lists messages that a consumer of the topic totals must see, and
// no others, in any order.
func TestKafkaGuide(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "orders", "totals"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	broker := strings.Join(cluster.ListenAddrs(), ",")
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics("totals"), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, order := range []string{`{"customer":"ann","cents":1200}`, `{"customer":"bob","cents":300}`, `{"customer":"ann","cents":50}`} {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte(order)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	committed := func(name, text string) {
		if name != "committed" {
			t.Fatalf("unknown step %s", name)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		want := map[string]bool{}
		for line := range strings.Lines(text) {
			want[strings.TrimSpace(line)] = true
		}
		for len(want) > 0 {
			fetches := client.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatalf("%v; still missing: %v", err, want)
			}
			fetches.EachRecord(func(r *kgo.Record) {
				if !want[string(r.Value)] {
					t.Fatalf("the topic totals has %s, key %s, which the page does not list", r.Value, r.Key)
				}
				delete(want, string(r.Value))
			})
		}
	}
	(&page{t: t, file: "docs/guides/kafka.md", env: []string{"TWS_KAFKA=" + broker}, other: committed}).follow(8)
}
