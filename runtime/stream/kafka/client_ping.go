package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
	// doubts is how often something must fail that may be a mistake in the
	// configuration or a broker in trouble, before it is taken for the former.
	doubts = 3
)

// ping waits until a broker answers a client that [connect] made, and lets it in. It
// tries again for as long as connect_timeout says, except where that is in vain. Its
// errors are [ClusterError]s, and those of ctx.
func ping(ctx context.Context, client *kgo.Client) error {
	c := clusterOf(client)
	bounded, cancel := context.WithTimeout(ctx, c.connectTimeout)
	defer cancel()
	last := fail(passing, context.DeadlineExceeded, "none was tried")
	for pause, doubted := firstPause, 0; ; pause = min(2*pause, maxPause) {
		f := c.askAny(bounded, client)
		if f == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("kafka: cluster %s: connect: %w", c.name, ctx.Err())
		}
		if bounded.Err() == nil || last.text == "none was tried" {
			last = f
		}
		if doubted = f.count(doubted); f.grade >= lasting || doubted >= doubts {
			return c.failed(bounded, f)
		}
		if !wait(bounded, pause) {
			break
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("kafka: cluster %s: connect: %w", c.name, ctx.Err())
	}
	return &ClusterError{c.name, fail(passing, last, "no broker let us in within %s (connect_timeout): %s", c.connectTimeout, last.text)}
}

// count returns how many doubtful failures there are in a row.
func (f *failure) count(before int) int {
	if f.grade == doubted {
		return before + 1
	}
	return 0
}

// wait reports whether a pause passed before ctx ended.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// askAny asks the brokers of the configuration in turn, until one answers. If
// none does, it returns the failure that is the least likely to pass.
func (c *cluster) askAny(ctx context.Context, client *kgo.Client) *failure {
	seeds := client.SeedBrokers()
	var worst *failure
	for i, seed := range seeds {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		_, err := seed.Request(ctx, req)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil && worst != nil {
			break
		}
		broker := fmt.Sprintf("number %d", i+1) // of brokers that the user's options gave
		if len(seeds) == len(c.brokers) {
			broker = c.brokers[i]
		}
		if f := c.diagnose(broker, err); worst == nil || f.grade > worst.grade {
			worst = f
		}
	}
	return worst
}

// failed returns the error for a failure, completed by what the brokers offer.
func (c *cluster) failed(ctx context.Context, f *failure) error {
	if errors.Is(f, kerr.UnsupportedSaslMechanism) {
		if offered := c.offered(ctx); len(offered) > 0 {
			f = fail(f.grade, f.cause, "%s: set it to one of %s", f.text, strings.Join(offered, ", "))
		}
	}
	return &ClusterError{c.name, f}
}

// offered asks the brokers which mechanisms they offer: a client without one is
// told when it asks for one that does not exist.
func (c *cluster) offered(ctx context.Context) []string {
	client, err := kgo.NewClient(c.options()...)
	if err != nil {
		return nil
	}
	defer client.Close()
	for _, seed := range client.SeedBrokers() {
		req := kmsg.NewPtrSASLHandshakeRequest()
		req.Mechanism = "NONE"
		resp, err := seed.Request(ctx, req)
		if err != nil {
			continue
		}
		if r, ok := resp.(*kmsg.SASLHandshakeResponse); ok {
			return slices.Sorted(slices.Values(r.SupportedMechanisms))
		}
	}
	return nil
}
