// Package kafka reads topics into flows and writes flows into topics.
package kafka

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// connect returns a client of a configured cluster. extra are the user's own
// client options, nil for none; opts are those of whoever connects.
func connect(clusters stream.Clusters, name string, extra func() ([]kgo.Opt, error), _ *slog.Logger, opts ...kgo.Opt) (*kgo.Client, error) {
	settings, ok := clusters[name]
	if !ok {
		return nil, fmt.Errorf("kafka: cluster %s is not configured", name)
	}
	opts = append([]kgo.Opt{kgo.SeedBrokers(strings.Split(settings["brokers"], ",")...)}, opts...)
	if extra != nil {
		own, err := extra()
		if err != nil {
			return nil, fmt.Errorf("kafka: cluster %s: client options: %w", name, err)
		}
		opts = append(opts, own...)
	}
	return kgo.NewClient(opts...)
}
