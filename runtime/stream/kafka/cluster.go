package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/tws-go/tws/runtime/stream"
)

const (
	defaultClientID       = "tws"
	defaultConnectTimeout = 30 * time.Second
	defaultPort           = "9092"
)

// cluster is the settings of one cluster, checked.
type cluster struct {
	name     string
	settings stream.Settings

	brokers        []string // host:port
	clientID       string
	connectTimeout time.Duration
	tls            *tls.Config    // nil for none
	sasl           sasl.Mechanism // nil for none
	secrets        secrets
}

// Format prints no more than the name, since settings may be secret.
func (c *cluster) Format(f fmt.State, _ rune) { io.WriteString(f, "cluster "+c.name) }

// parseCluster checks the settings of a cluster. Its errors are
// [stream.SettingError]s.
func parseCluster(clusters stream.Clusters, name string) (*cluster, error) {
	settings, ok := clusters[name]
	if !ok {
		return nil, &stream.SettingError{Cluster: name, Err: unconfigured(clusters)}
	}
	c := &cluster{name: name, settings: settings, clientID: defaultClientID, connectTimeout: defaultConnectTimeout}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !stream.HasKey(key) {
			return nil, c.wrong("", "%s", stream.UnknownKey(key))
		}
		if strings.TrimSpace(settings[key]) == "" {
			return nil, c.wrong(key, "has no value")
		}
	}
	for _, parse := range []func() error{c.parseBrokers, c.parseClient, c.parseTLS, c.parseSASL} {
		if err := parse(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func unconfigured(clusters stream.Clusters) error {
	known := "none is"
	if len(clusters) > 0 {
		known = "configured are " + strings.Join(slices.Sorted(maps.Keys(clusters)), ", ")
	}
	return fmt.Errorf("it is not configured (%s): write its brokers into the configuration file, below clusters, or into the environment", known)
}

// wrong returns an error about a setting. Its text must not contain a secret.
func (c *cluster) wrong(key, format string, args ...any) error {
	return &stream.SettingError{Cluster: c.name, Key: key, Err: fmt.Errorf(format, args...)}
}

// has reports whether a key of a group, "sasl", is set.
func (c *cluster) has(group string) bool {
	for key := range c.settings {
		if strings.HasPrefix(key, group+".") {
			return true
		}
	}
	return false
}

func (c *cluster) parseBrokers() error {
	const key = "brokers"
	if c.settings[key] == "" {
		return c.wrong(key, "is missing: want host:port, several with commas between them")
	}
	for broker := range strings.SplitSeq(c.settings[key], ",") {
		address, err := parseAddress(strings.TrimSpace(broker))
		if err != nil {
			return c.wrong(key, "%w", err)
		}
		c.brokers = append(c.brokers, address)
	}
	return nil
}

// parseAddress checks an address and completes it with the usual port.
func parseAddress(text string) (string, error) {
	const want = "want host:port, such as kafka.example.com:9092"
	if strings.ContainsAny(text, "@/ \t") { // it may hold a password, so it is not shown
		return "", errors.New("an address is written without user, password or protocol: " + want)
	}
	if text == "" {
		return "", errors.New("an address is empty: " + want)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		if strings.Contains(text, ":") && !strings.HasPrefix(text, "[") || strings.Contains(text, "]:") {
			return "", fmt.Errorf("%s is no address: %s, and [::1]:9092 for IPv6", strconv.Quote(text), want)
		}
		host, port = strings.Trim(text, "[]"), defaultPort
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("the port of %s is not a number from 1 to 65535: %s", strconv.Quote(text), want)
	}
	if host == "" {
		return "", fmt.Errorf("%s has no host: %s", strconv.Quote(text), want)
	}
	return net.JoinHostPort(host, port), nil
}

func (c *cluster) parseClient() error {
	if id := c.settings["client_id"]; id != "" {
		c.clientID = id
	}
	const key = "connect_timeout"
	text := c.settings[key]
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return c.wrong(key, "want a duration such as 30s or 2m, got %s", strconv.Quote(text))
	}
	c.connectTimeout = d
	return nil
}

// parseBool reads a setting that is true or false; unset is def.
func (c *cluster) parseBool(key string, def bool) (bool, error) {
	text := c.settings[key]
	if text == "" {
		return def, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, c.wrong(key, "want true or false, got %s", strconv.Quote(text))
	}
	return v, nil
}
