// Package broker gives tests a real Kafka broker. It is for tests only: nothing
// that a user's binary links imports it.
//
// broker.sh, beside this file, fetches and runs a broker of one node on loopback;
// `broker.sh --help` says with which listeners, users and settings. It tells tests
// where the broker is through the environment, which [FromEnv] reads:
//
//	eval "$(runtime/stream/kafka/broker/broker.sh env)"
//
// Tests that need it are in files with the build tag kafka_broker, so that the
// everyday suite starts no service; make test-kafka runs them. A test may stop,
// kill and pause the broker ([Broker.Script]), since packages are tested one after
// another there; it must leave it running, and shares it with the tests of its own
// package that run in parallel. Topics, groups and transactional ids are named by
// the test and not cleaned up: each make test-kafka begins with an empty broker.
package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Broker is a running broker: its listeners, host:port, and its files. It is
// immutable and may be used concurrently.
type Broker struct {
	Plain   string // no TLS, no login; every request is allowed
	SSL     string // TLS that asks for no client certificate
	MTLS    string // TLS that requires a client certificate
	SASL    string // login without TLS
	SASLSSL string // login and TLS
	Certs   string // folder with ca.pem, client.pem and client.key
	script  string
}

// FromEnv returns the broker that the variables of broker.sh describe, looked up
// by get, which is os.Getenv outside of tests of this package. The error names the
// variables that are missing. It does not connect.
func FromEnv(get func(string) string) (*Broker, error) {
	b := new(Broker)
	var missing []string
	for _, v := range []struct {
		name string
		to   *string
	}{
		{"TWS_KAFKA", &b.Plain}, {"TWS_KAFKA_SSL", &b.SSL}, {"TWS_KAFKA_MTLS", &b.MTLS},
		{"TWS_KAFKA_SASL", &b.SASL}, {"TWS_KAFKA_SASL_SSL", &b.SASLSSL},
		{"TWS_KAFKA_CERTS", &b.Certs}, {"TWS_KAFKA_SCRIPT", &b.script},
	} {
		if *v.to = get(v.name); *v.to == "" {
			missing = append(missing, v.name)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("broker: %s not set: run make test-kafka, or set what broker.sh env prints", strings.Join(missing, ", "))
	}
	return b, nil
}

// Script runs broker.sh with a command such as "restart", "kill", "start", "pause"
// or "resume" and waits for it: after "start" and "restart" the broker answers. The
// error has what the script printed.
func (b *Broker) Script(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, b.script, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("broker: broker.sh %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// ServerTLS returns the configuration of a client that trusts the broker's
// authority and shows no certificate.
func (b *Broker) ServerTLS() (*tls.Config, error) {
	pem, err := os.ReadFile(filepath.Join(b.Certs, "ca.pem"))
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("broker: there is no certificate in " + filepath.Join(b.Certs, "ca.pem"))
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// ClientTLS is ServerTLS with the client certificate, whose name is CN=client.
func (b *Broker) ClientTLS() (*tls.Config, error) {
	config, err := b.ServerTLS()
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(b.Certs, "client.pem"), filepath.Join(b.Certs, "client.key"))
	if err != nil {
		return nil, fmt.Errorf("broker: client certificate: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
