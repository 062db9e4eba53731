package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// ClusterError reports what a cluster refuses or cannot do, in one sentence that
// says what to do about it. It is [stream.ErrMisconfigured] if starting again
// without a change is in vain: a wrong password, a missing permission. The cause,
// as the Kafka client reports it, is below it for errors.Is and errors.As. The
// text never contains a secret; that of the cause may, since a broker wrote it.
type ClusterError struct {
	// Cluster is the cluster's name in the configuration.
	Cluster string
	// Err says what happened.
	Err error
}

func (e *ClusterError) Error() string { return "kafka: cluster " + e.Cluster + ": " + e.Err.Error() }

func (e *ClusterError) Unwrap() error { return e.Err }

// failure is a cause told in words of ours.
type failure struct {
	text  string
	cause error
	grade grade
}

// grade says what can be expected of trying again.
type grade int

const (
	passing grade = iota // the broker may come back
	doubted              // looks like a mistake, but a broker in trouble does the same
	lasting              // will be the same next time
	refused              // lasting, and the configuration or the cluster has to be changed
)

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.cause }

func (f *failure) Is(target error) bool {
	return f.grade == refused && target == stream.ErrMisconfigured
}

func fail(g grade, cause error, format string, args ...any) *failure {
	return &failure{text: fmt.Sprintf(format, args...), cause: cause, grade: g}
}

// passes reports whether an error is a failure that may be gone next time.
func passes(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.grade == passing
}

// diagnose says why a broker could not be used.
func (c *cluster) diagnose(broker string, err error) *failure {
	for _, look := range []func(string, error) *failure{c.diagnoseAuth, c.diagnoseTLS, c.diagnoseClosed, diagnoseNet} {
		if f := look(broker, err); f != nil {
			return f
		}
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		return fail(lasting, err, "broker %s answers %s: %s", broker, ke.Message, ke.Description)
	}
	if kgo.IsRetryableBrokerErr(err) {
		return fail(passing, err, "broker %s cannot be used: %s", broker, c.redact(err.Error()))
	}
	return fail(doubted, err, "broker %s cannot be used: %s", broker, c.redact(err.Error()))
}

// redact replaces what a broker may have repeated of our secrets.
func (c *cluster) redact(text string) string {
	for _, k := range stream.Keys() {
		if v := c.settings[k.Name]; k.Kind == stream.KeySecret && v != "" {
			text = strings.ReplaceAll(text, v, "***")
		}
	}
	return c.secrets.redact(text)
}

// who names what a cluster refuses.
func (c *cluster) who() string {
	mechanism := strings.ToUpper(c.settings["sasl.mechanism"])
	if mechanism == mechanismOAuth {
		return "the token (" + mechanism + ")"
	}
	return fmt.Sprintf("user %s (%s)", c.settings["sasl.username"], mechanism)
}

func (c *cluster) diagnoseAuth(broker string, err error) *failure {
	if wrong, ok := errors.AsType[*stream.SettingError](err); ok { // of a secret's file
		return fail(refused, err, "%s: %s", wrong.Key, wrong.Err)
	}
	if t, ok := errors.AsType[*tokenError](err); ok {
		return fail(passing, err, "%s", c.redact(t.Error()))
	}
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		reason := "wrong password or unknown user"
		if c.settings["sasl.username"] == "" {
			reason = "expired, not meant for this cluster, or not signed by whom it trusts"
		}
		return fail(refused, err, "broker %s refuses %s: %s", broker, c.who(), reason)
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fail(refused, err, "broker %s does not offer sasl.mechanism %s", broker, strings.ToUpper(c.settings["sasl.mechanism"]))
	case errors.Is(err, kerr.IllegalSaslState):
		return fail(refused, err, "broker %s does not authenticate with SASL on this port: use its SASL port in brokers, or remove sasl", broker)
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fail(refused, err, "broker %s does not let %s use the cluster: it lacks a permission on the resource Cluster", broker, c.who())
	}
	return nil
}

func (c *cluster) diagnoseTLS(broker string, err error) *failure {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	var alert *net.OpError
	switch {
	case errors.As(err, &unknown) && c.settings["tls.ca"] == "":
		return fail(refused, err, "the certificate of broker %s is not signed by %s: set tls.ca to the file of its certificate authority", broker, c.describeCA())
	case errors.As(err, &unknown):
		return fail(refused, err, "the certificate of broker %s is not signed by %s: use the file of its certificate authority", broker, c.describeCA())
	case errors.As(err, &name):
		return fail(refused, err, "the certificate of broker %s is for %s and not for %s: use such a name in brokers, or set tls.server_name", broker, certNames(name.Certificate), name.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fail(refused, err, "the certificate of broker %s is not valid today: it is for %s to %s; renew it, or set this machine's clock", broker,
			invalid.Cert.NotBefore.Format("2006-01-02"), invalid.Cert.NotAfter.Format("2006-01-02"))
	case errors.As(err, &invalid):
		return fail(refused, err, "the certificate of broker %s cannot be used: %s", broker, invalid.Error())
	case errors.As(err, &plain):
		return fail(refused, err, "broker %s does not speak TLS on this port: use its TLS port in brokers, or remove tls", broker)
	case errors.As(err, &alert) && alert.Op == "remote error" && c.settings["tls.cert"] == "":
		return fail(refused, err, "broker %s ends the TLS handshake (%s): it most likely wants a client certificate, set tls.cert and tls.key", broker, alert.Err)
	case alert != nil && alert.Op == "remote error":
		return fail(refused, err, "broker %s ends the TLS handshake (%s): it does not accept the client certificate in tls.cert", broker, alert.Err)
	case c.tls != nil && isTimeout(err) && (alert == nil || alert.Op != "dial"):
		return fail(passing, err, "broker %s does not answer in the TLS handshake: it is overloaded, or does not speak TLS on this port", broker)
	case c.tls == nil && strings.Contains(err.Error(), "tls alert record"): // the client knows it by its bytes, without a type
		return fail(refused, err, "broker %s speaks TLS on this port: set tls.enabled to true, or use its port without TLS in brokers", broker)
	}
	return nil
}

func certNames(cert *x509.Certificate) string {
	names := cert.DNSNames
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name at all"
	}
	return strings.Join(names, ", ")
}

// diagnoseClosed guesses why a broker closed the connection without a word.
func (c *cluster) diagnoseClosed(broker string, err error) *failure {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	closed := "broker " + broker + " closes the connection at once"
	_, first := errors.AsType[*kgo.ErrFirstReadEOF](err)
	switch {
	case c.sasl != nil && !first:
		return fail(doubted, err, "%s when asked to accept %s, as some do for a wrong password or an unknown user", closed, c.who())
	case c.tls != nil:
		return fail(doubted, err, "%s, as one does that does not speak TLS on this port: use its TLS port in brokers, or remove tls", closed)
	case first && strings.Contains(err.Error(), "api versions"):
		return fail(doubted, err, "%s, as one does that speaks TLS on this port: set tls.enabled to true, or use its port without TLS in brokers", closed)
	case first:
		return fail(doubted, err, "%s, as one does that wants SASL on this port: set sasl.mechanism and what it needs", closed)
	}
	return nil
}

// diagnoseNet tells apart what keeps a connection from being made.
func diagnoseNet(broker string, err error) *failure {
	dns, noHost := errors.AsType[*net.DNSError](err)
	switch {
	case noHost && dns.IsNotFound:
		return fail(lasting, err, "there is no host %s: correct brokers", dns.Name)
	case noHost:
		return fail(passing, err, "the address of host %s cannot be found: %s", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fail(passing, err, "broker %s refuses connections: it does not run, or the port in brokers is wrong", broker)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fail(passing, err, "broker %s breaks the connection", broker)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fail(passing, err, "there is no way to broker %s: check the network and brokers", broker)
	case isTimeout(err):
		return fail(passing, err, "broker %s does not answer: it is overloaded, or a firewall is between", broker)
	}
	return nil
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || ok && timeout.Timeout()
}
