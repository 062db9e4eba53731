package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	a.issue("client", "me", farFuture)
	other.issue("client", "me", farFuture)
	good := a.issue("server", "127.0.0.1", farFuture)
	ca := stream.Settings{"tls.ca": a.file("ca.pem")}
	client := func(a *authority) stream.Settings {
		return stream.Settings{"tls.cert": a.file("client.pem"), "tls.key": a.file("client.key")}
	}
	mutual := &tls.Config{Certificates: []tls.Certificate{good}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool()}
	server := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	tests := map[string]struct {
		server        *tls.Config // nil for none
		settings      stream.Settings
		misconfigured bool
		want          string // in the error, "" for none
	}{
		"good":               {server(good), ca, false, ""},
		"unknown authority":  {server(good), stream.Settings{"tls.enabled": "true"}, true, "is not signed by the authorities that this machine trusts: set tls.ca"},
		"other authority":    {server(good), stream.Settings{"tls.ca": other.file("ca.pem")}, true, "is not signed by tls.ca " + other.file("ca.pem")},
		"not verified":       {server(good), stream.Settings{"tls.insecure_skip_verify": "true"}, false, ""},
		"another name":       {server(a.issue("named", "kafka.example.com", farFuture)), ca, true, "is for kafka.example.com and not for 127.0.0.1: use such a name in brokers, or set tls.server_name"},
		"server_name":        {server(a.issue("named2", "kafka.example.com", farFuture)), with(ca, stream.Settings{"tls.server_name": "kafka.example.com"}), false, ""},
		"expired":            {server(a.issue("old", "127.0.0.1", time.Unix(86400, 0))), ca, true, "it is for 1970-01-01 to 1970-01-02; renew it"},
		"client certificate": {mutual, with(ca, client(a)), false, ""},
		"no certificate":     {mutual, ca, true, "it most likely wants a client certificate, set tls.cert and tls.key"},
		"other certificate":  {mutual, with(ca, client(other)), true, "does not accept the client certificate in tls.cert"},
		// The imitation waits for more, where a broker closes the connection.
		"TLS to plain": {nil, with(ca, stream.Settings{"connect_timeout": "500ms"}), false, "does not answer in the TLS handshake: it is overloaded, or does not speak TLS on this port"},
		"plain to TLS": {server(good), nil, false, "as one does that speaks TLS on this port: set tls.enabled to true"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opts []kfake.Opt
			if tt.server != nil {
				opts = append(opts, kfake.TLS(tt.server))
			}
			_, s := fakeCluster(t, opts...)
			log := &logBuffer{}
			err := reach(t, with(s, tt.settings), log)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantTold(t, err, tt.misconfigured, "kafka: cluster main: ", tt.want)
			if text := log.String(); text != "" && !strings.Contains(err.Error(), "connect_timeout") {
				t.Errorf("logged beside the error:\n%s", text)
			}
		})
	}
}

// freeAddress is one that nothing listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A broker that is down is waited for, as long as connect_timeout says, and the
// log tells.
func TestRefused(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	log := &logBuffer{}
	err := reach(t, stream.Settings{"brokers": address, "connect_timeout": "600ms"}, log)
	wantTold(t, err, false, "no broker let us in within 600ms (connect_timeout): broker "+address+" refuses connections")
	text := log.String()
	for n, want := range map[string]bool{"attempts=1 ": true, "attempts=2 ": true, "attempts=3 ": false} {
		if strings.Contains(text, n) != want {
			t.Errorf("%s in the log is %v:\n%s", n, !want, text)
		}
	}
	if !strings.Contains(text, "level=WARN") || !strings.Contains(text, "broker="+address) {
		t.Errorf("the log has no warning that names the broker:\n%s", text)
	}
}

// One broker of several that answers is enough, and a mistake counts for more
// than a broker that is down.
func TestSeveralBrokers(t *testing.T) {
	t.Parallel()
	_, s := fakeCluster(t)
	dead := freeAddress(t)
	if err := reach(t, with(s, stream.Settings{"brokers": dead + "," + s["brokers"]}), &logBuffer{}); err != nil {
		t.Error(err)
	}
	a := newAuthority(t)
	_, s = fakeCluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{a.issue("server", "127.0.0.1", farFuture)}}))
	for _, brokers := range []string{dead + "," + s["brokers"], s["brokers"] + "," + dead} {
		err := reach(t, with(s, stream.Settings{"brokers": brokers, "tls.enabled": "true"}), &logBuffer{})
		wantTold(t, err, true, "the certificate of broker "+s["brokers"]+" is not signed")
	}
}

// A broker that comes back is told of.
func TestWatch(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	w := &watch{cluster: &cluster{name: "main"}, log: testLog(log), failed: map[string]int{}}
	meta := kgo.BrokerMetadata{Host: "a", Port: 1}
	refusal := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	lines := func() int { return strings.Count(log.String(), "\n") }
	w.OnBrokerConnect(meta, 0, nil, tls.RecordHeaderError{})
	w.OnBrokerConnect(meta, 0, nil, context.Canceled)
	if lines() != 0 {
		t.Errorf("told before anything was reached:\n%s", log.String())
	}
	for range 200 {
		w.OnBrokerConnect(meta, 0, nil, refusal)
	}
	if got, want := lines(), 9; got != want { // the powers of two up to 128, and 192
		t.Errorf("200 failures are %d lines, want %d:\n%s", got, want, log.String())
	}
	before := lines()
	w.OnBrokerConnect(meta, 0, nil, nil)
	w.OnBrokerConnect(meta, 0, nil, nil)
	if lines() != before+1 || !strings.Contains(log.String(), "connected to a broker again") {
		t.Errorf("want one line that it is back:\n%s", log.String())
	}
	w.OnBrokerConnect(meta, 0, nil, tls.RecordHeaderError{}) // now nobody else tells
	if lines() != before+2 {
		t.Errorf("a failure after success is not told:\n%s", log.String())
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	l := &logger{log: testLog(log), redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }, seen: map[string]int{}}
	l.Log(kgo.LogLevelInfo, "chatter")
	l.Log(kgo.LogLevelWarn, "unable to open connection to broker", "addr", "a:1")
	if log.String() != "" {
		t.Errorf("logged:\n%s", log.String())
	}
	for range 5 {
		l.Log(kgo.LogLevelError, "metadata update failed", "err", errors.New("broken hunter2"), "odd")
	}
	text := log.String()
	if strings.Count(text, "level=WARN") != 3 || !strings.Contains(text, `said="metadata update failed" err="broken ***" times=4`) {
		t.Errorf("want the times 1, 2 and 4 as warnings:\n%s", text)
	}
	if l.Level() != kgo.LogLevelWarn {
		t.Errorf("level %v", l.Level())
	}
}

func TestPingCancelled(t *testing.T) {
	t.Parallel()
	clusters := stream.Clusters{"main": {"brokers": freeAddress(t)}}
	made, err := connect(clusters, "main", nil, nil)
	client := closeOnEnd(t, made, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = ping(ctx, client)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	c, err := parseCluster(stream.Clusters{"main": {"brokers": "b:1", "sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "hunter2"}}, "main")
	if err != nil {
		t.Fatal(err)
	}
	dial := func(err error) error { return fmt.Errorf("unable to dial: %w", &net.OpError{Op: "dial", Err: err}) }
	encrypted := &cluster{tls: &tls.Config{}}
	if f := encrypted.diagnose("b:1", io.EOF); f.grade != doubted || !strings.Contains(f.text, "as one does that does not speak TLS on this port") {
		t.Errorf("closed with TLS: %s", f.text)
	}
	for _, tt := range []struct {
		err   error
		grade grade
		want  string
	}{
		{dial(&net.DNSError{Name: "b", IsNotFound: true}), lasting, "there is no host b: correct brokers"},
		{dial(&net.DNSError{Name: "b", Err: "server misbehaving", IsTemporary: true}), passing, "the address of host b cannot be found: server misbehaving"},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), passing, "there is no way to broker b:1"},
		{dial(os.ErrDeadlineExceeded), passing, "broker b:1 does not answer"},
		{context.DeadlineExceeded, passing, "broker b:1 does not answer"},
		{os.NewSyscallError("read", syscall.ECONNRESET), passing, "broker b:1 breaks the connection"},
		{fmt.Errorf("read: %w", io.EOF), doubted, "closes the connection at once when asked to accept user me (PLAIN)"},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, refused, "does not speak TLS on this port"},
		{errors.New("invalid large response size: appear to be a tls alert record for TLS"), refused, "speaks TLS on this port"},
		{kerr.IllegalSaslState, refused, "does not authenticate with SASL on this port"},
		{kerr.ClusterAuthorizationFailed, refused, "lacks a permission"},
		{kerr.UnsupportedVersion, lasting, "UNSUPPORTED_VERSION"},
		{errors.New("odd: hunter2"), doubted, "cannot be used: odd: ***"},
		{fmt.Errorf("odd: %w", net.ErrClosed), passing, "cannot be used: odd"},
	} {
		f := c.diagnose("b:1", tt.err)
		if f.grade != tt.grade || !strings.Contains(f.text, tt.want) {
			t.Errorf("%v: grade %d, %s; want grade %d, %s", tt.err, f.grade, f.text, tt.grade, tt.want)
		}
		if !errors.Is(f, tt.err) {
			t.Errorf("%s hides its cause", f.text)
		}
	}
}

// Secrets that are no settings are not shown either: files are read again when they
// are replaced, and what was read before may still come up.
func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("hunter2")
	c, err := parseCluster(stream.Clusters{"main": {"brokers": "b:1", "sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password_file": file}}, "main")
	if err != nil {
		t.Fatal(err)
	}
	put("swordfish")
	if _, _, err := c.sasl.Authenticate(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	for range 2 * maxSecrets { // the same ones do not crowd out others
		c.secrets.add("swordfish")
	}
	f := c.diagnose("b:1", errors.New("odd: hunter2, swordfish"))
	if !strings.Contains(f.text, "odd: ***, ***") {
		t.Error(f.text)
	}
}

// What a client has used to log in is not shown by ping either: a token that a broker
// repeats, and a password from a file that was replaced since.
func TestPingRedacts(t *testing.T) {
	t.Parallel()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"access_token":"hunter2"}`) }))
	t.Cleanup(tokens.Close)
	fake, s := fakeCluster(t, kfake.EnableSASL())
	repeatLogin(fake)
	clusters := stream.Clusters{"main": with(s, stream.Settings{
		"sasl.mechanism": mechanismOAuth, "sasl.token_endpoint": tokens.URL, "sasl.client_id": "me", "sasl.client_secret": "it",
	})}
	made, err := connect(clusters, "main", nil, nil)
	err = ping(t.Context(), closeOnEnd(t, made, err))
	wantTold(t, err, false, "cannot be used", "auth=Bearer ***")

	file := filepath.Join(t.TempDir(), "password")
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("swordfish")
	clusters = stream.Clusters{"main": {"brokers": "b:1", "sasl.mechanism": mechanismPlain, "sasl.username": "me", "sasl.password_file": file}}
	dial := kgo.Dialer(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("odd: swordfish") })
	made, err = connect(clusters, "main", userOptions(dial, kgo.WithHooks(ownHook{})), nil)
	put("hunter2")
	err = ping(t.Context(), closeOnEnd(t, made, err))
	wantTold(t, err, false, "cannot be used", "odd: ***")
}

type ownHook struct{}

func (ownHook) OnNewClient(*kgo.Client) {}

// repeatLogin lets an imitation refuse each login by saying again what it was sent.
func repeatLogin(fake *kfake.Cluster) {
	fake.ControlKey(int16(kmsg.SASLHandshake), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		return req.ResponseKind(), nil, true
	})
	var sent []byte
	fake.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if login := bytes.Trim(req.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes, "\x01"); len(login) > 0 { // else the answer to a refusal
			sent = login
		}
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.SASLAuthBytes = sent
		return resp, nil, true
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err           error
		misconfigured bool
		want          string
	}{
		{kerr.UnknownTopicOrPartition, false, "topic t does not exist"},
		{kerr.UnknownTopicID, false, "topic t was deleted"},
		{kerr.InvalidTopicException, true, "a name that the cluster does not allow"},
		{kerr.OffsetOutOfRange, false, "no longer has the offset"},
		{kerr.PolicyViolation, true, "topic t cannot be made as asked"},
		{kerr.TopicAuthorizationFailed, true, "we may not use topic t: grant this user READ"},
		{kerr.GroupAuthorizationFailed, true, "grant this user READ on that group"},
		{kerr.TransactionalIDAuthorizationFailed, true, "WRITE and DESCRIBE on that transactional id"},
		{kerr.ClusterAuthorizationFailed, true, "IDEMPOTENT_WRITE"},
		{kerr.SaslAuthenticationFailed, true, "no longer accepts our user"},
		{kerr.MessageTooLarge, false, "raise max.message.bytes"},
		{kerr.RecordListTooLarge, false, "raise segment.bytes"},
		{kerr.InvalidRecord, false, "a compacted topic needs a key"},
		{kerr.InvalidTransactionTimeout, true, "transaction.max.timeout.ms"},
		{kerr.InvalidProducerEpoch, false, "another instance took over"},
		{kerr.ConcurrentTransactions, false, "not finished yet"},
		{kerr.NotEnoughReplicas, false, "too few replicas"},
		{kgo.ErrRecordTimeout, false, "did not take rows in time"},
		{context.DeadlineExceeded, false, "did not answer in time"},
		{kerr.NotLeaderForPartition, false, "has no leader for now"},
		{io.EOF, false, "a broker closed the connection"},
		{kerr.UnknownServerError, false, "topic t: UNKNOWN_SERVER_ERROR"},
		{errors.New("odd"), false, "topic t: wrapped: odd"},
	} {
		err := explain("main", "t", fmt.Errorf("wrapped: %w", tt.err))
		wantTold(t, err, tt.misconfigured, "kafka: cluster main: ", tt.want)
		if !errors.Is(err, tt.err) {
			t.Errorf("%v hides its cause", err)
		}
		if again := explain("other", "u", fmt.Errorf("again: %w", err)); !strings.HasPrefix(again.Error(), "again: kafka: cluster main: ") {
			t.Errorf("told twice: %v", again)
		}
	}
	if got := explain("main", "", kerr.UnknownServerError).Error(); !strings.HasPrefix(got, "kafka: cluster main: UNKNOWN_SERVER_ERROR") {
		t.Errorf("without a topic: %s", got)
	}
	if explain("main", "t", nil) != nil || explain("main", "t", context.Canceled) != context.Canceled {
		t.Error("nil or a cancelled context is explained")
	}
}
