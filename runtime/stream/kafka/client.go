package kafka

import (
	"fmt"
	"log/slog"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

const (
	dialTimeout = 10 * time.Second
	// idleTimeout is below the four minutes after which load balancers in front
	// of hosted clusters drop a silent connection without telling.
	idleTimeout = 3 * time.Minute
)

// connect returns a client of a configured cluster. extra are the user's own
// client options, nil for none; opts are those of whoever connects, which the
// user's come after and may change but for [reservedOptions]. It checks the
// settings, and does not wait for a broker: see [ping]. log, which may be nil, is
// told of brokers that cannot be reached.
func connect(clusters stream.Clusters, name string, extra func() ([]kgo.Opt, error), log *slog.Logger, opts ...kgo.Opt) (*kgo.Client, error) {
	c, err := parseCluster(clusters, name)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log = log.With("cluster", name)
	w := &watch{cluster: c, log: log, failed: map[string]int{}}
	all := append(c.options(), kgo.WithLogger(&logger{log: log, redact: c.redact, seen: map[string]int{}}), kgo.WithHooks(w))
	if c.sasl != nil {
		all = append(all, kgo.SASL(c.sasl))
	}
	all = append(all, opts...)
	var own []kgo.Opt
	if extra != nil {
		if own, err = extra(); err != nil {
			return nil, fmt.Errorf("kafka: cluster %s: client options: %w", name, err)
		}
	}
	client, err := kgo.NewClient(append(all, own...)...)
	if err != nil {
		return nil, &ClusterError{name, fail(refused, err, "client options: %s", err)}
	}
	if len(own) > 0 {
		if f := checkReserved(client, opts); f != nil {
			client.Close()
			return nil, &ClusterError{name, f}
		}
	}
	return client, nil
}

// clusterOf returns the cluster of a client that [connect] made, which knows the
// secrets that the client has used. It is in the first hook: the user's come after.
func clusterOf(client *kgo.Client) *cluster {
	return client.OptValue(kgo.WithHooks).([]kgo.Hook)[0].(*watch).cluster
}

// options returns what every connection to the cluster needs but authentication.
func (c *cluster) options() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.brokers...),
		kgo.ClientID(c.clientID),
		kgo.SoftwareNameAndVersion("tws", moduleVersion()),
		kgo.ConnIdleTimeout(idleTimeout),
		kgo.DialTimeout(dialTimeout),
	}
	if c.tls != nil {
		opts = append(opts, kgo.DialTLSConfig(c.tls))
	}
	return opts
}

// versionText is what Kafka accepts as a client's version.
var versionText = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?$`)

// moduleVersion is the version of this module, as brokers list it.
func moduleVersion() string {
	const path = "github.com/tws-go/tws"
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Path == path {
			version = info.Main.Version
		}
		for _, d := range info.Deps {
			if d.Path == path {
				version = d.Version
			}
		}
	}
	if !versionText.MatchString(version) {
		return "unknown"
	}
	return version
}
