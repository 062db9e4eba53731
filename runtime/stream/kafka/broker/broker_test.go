//go:build kafka_broker

package broker

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func fromEnv(t *testing.T) *Broker {
	t.Helper()
	b, err := FromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func client(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// topic makes a topic of one partition, with settings such as "a=b".
func topic(t *testing.T, b *Broker, settings ...string) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + "-" + rand.Text()
	configs := map[string]*string{}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		configs[key] = &value
	}
	admin := kadm.NewClient(client(t, kgo.SeedBrokers(b.Plain)))
	if _, err := admin.CreateTopic(testContext(t), 1, 1, configs, name); err != nil {
		t.Fatal(err)
	}
	return name
}

func produce(t *testing.T, cl *kgo.Client, topic, value string) {
	t.Helper()
	if err := cl.ProduceSync(testContext(t), &kgo.Record{Topic: topic, Key: []byte("key"), Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

// consume returns the next record; the client must have been made to consume.
func consume(t *testing.T, cl *kgo.Client) *kgo.Record {
	t.Helper()
	fetches := cl.PollRecords(testContext(t), 1)
	if err := fetches.Err(); err != nil {
		t.Fatalf("consume: %v", err)
	}
	return fetches.Records()[0]
}

// from makes a client read a topic from its beginning.
func from(topic string) kgo.Opt {
	return kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}})
}

// until waits for a condition that the broker brings about in its own time.
func until(t *testing.T, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	ctx := testContext(t)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !condition(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not after a minute", what)
		}
	}
}

// logins are the ways that alice logs in, with her password or a wrong one.
var logins = map[string]func(password string) sasl.Mechanism{
	"PLAIN":         func(p string) sasl.Mechanism { return plain.Auth{User: "alice", Pass: p}.AsMechanism() },
	"SCRAM-SHA-256": func(p string) sasl.Mechanism { return scram.Auth{User: "alice", Pass: p}.AsSha256Mechanism() },
	"SCRAM-SHA-512": func(p string) sasl.Mechanism { return scram.Auth{User: "alice", Pass: p}.AsSha512Mechanism() },
}

// token is an unsigned token of alice that is good until the time.
func token(until time.Time) sasl.Mechanism {
	part := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":"alice","iat":%d,"exp":%d}`, until.Add(-time.Hour).Unix(), until.Unix())
	return oauth.Auth{Token: part([]byte(`{"alg":"none"}`)) + "." + part([]byte(claims)) + "."}.AsMechanism()
}

// connection is a listener and how to connect to it.
type connection struct {
	address string
	tls     *tls.Config // nil for none
	login   sasl.Mechanism
}

func (c connection) options() []kgo.Opt {
	options := []kgo.Opt{kgo.SeedBrokers(c.address)}
	if c.tls != nil {
		options = append(options, kgo.DialTLSConfig(c.tls))
	}
	if c.login != nil {
		options = append(options, kgo.SASL(c.login))
	}
	return options
}

func tlsConfigs(t *testing.T, b *Broker) (server, client *tls.Config) {
	t.Helper()
	server, err := b.ServerTLS()
	if err != nil {
		t.Fatal(err)
	}
	if client, err = b.ClientTLS(); err != nil {
		t.Fatal(err)
	}
	return server, client
}

// TestListeners: every listener takes a record and gives it back to those whom it
// is for.
func TestListeners(t *testing.T) {
	t.Parallel()
	b := fromEnv(t)
	server, withCert := tlsConfigs(t, b)
	good := map[string]connection{
		"plaintext":              {address: b.Plain},
		"TLS":                    {address: b.SSL, tls: server},
		"TLS client certificate": {address: b.MTLS, tls: withCert},
		"OAUTHBEARER":            {address: b.SASL, login: token(time.Now().Add(time.Hour))},
		"TLS OAUTHBEARER":        {address: b.SASLSSL, tls: server, login: token(time.Now().Add(time.Hour))},
	}
	for name, login := range logins {
		good[name] = connection{address: b.SASL, login: login("alice-secret")}
		good["TLS "+name] = connection{address: b.SASLSSL, tls: server, login: login("alice-secret")}
	}
	for name, c := range good {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := topic(t, b)
			cl := client(t, append(c.options(), from(topic))...)
			produce(t, cl, topic, name)
			if got := consume(t, cl); string(got.Value) != name {
				t.Errorf("got %q, want %q", got.Value, name)
			}
		})
	}
}

// TestListenersRefuse: every listener turns away all others.
func TestListenersRefuse(t *testing.T) {
	t.Parallel()
	b := fromEnv(t)
	server, _ := tlsConfigs(t, b)
	unknown := &tls.Config{MinVersion: tls.VersionTLS12}
	refused := map[string]struct {
		connection
		want string
	}{
		"unknown authority":     {connection{address: b.SSL, tls: unknown}, "certificate signed by unknown authority"},
		"no client certificate": {connection{address: b.MTLS, tls: server}, "tls: bad certificate"},
		"no TLS":                {connection{address: b.SSL}, ""}, // the broker hangs up, which is seen in several ways
		"no login":              {connection{address: b.SASL}, ""},
		"TLS no login":          {connection{address: b.SASLSSL, tls: server}, ""},
		"OAUTHBEARER expired":   {connection{address: b.SASL, login: token(time.Now().Add(-time.Hour))}, "invalid_token"},
	}
	for name, login := range logins {
		const want = "SASL_AUTHENTICATION_FAILED"
		refused["wrong password "+name] = struct {
			connection
			want string
		}{connection{address: b.SASL, login: login("bob-secret")}, want}
		refused["TLS wrong password "+name] = struct {
			connection
			want string
		}{connection{address: b.SASLSSL, tls: server, login: login("bob-secret")}, want}
	}
	for name, c := range refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := client(t, c.options()...).Ping(testContext(t))
			if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestACL: what has no ACL is everybody's; one is obeyed.
func TestACL(t *testing.T) {
	t.Parallel()
	b := fromEnv(t)
	open, closed := topic(t, b), topic(t, b)
	admin := kadm.NewClient(client(t, kgo.SeedBrokers(b.Plain)))
	acl := kadm.NewACLs().Topics(closed).ResourcePatternType(kadm.ACLPatternLiteral).
		Operations(kadm.OpWrite).Deny("User:bob").DenyHosts("*")
	if _, err := admin.CreateACLs(testContext(t), acl); err != nil {
		t.Fatal(err)
	}
	bob := client(t, kgo.SeedBrokers(b.SASL), kgo.SASL(plain.Auth{User: "bob", Pass: "bob-secret"}.AsMechanism()))
	produce(t, bob, open, "to all")
	until(t, "the topic is closed to bob", func(ctx context.Context) bool {
		err := bob.ProduceSync(ctx, &kgo.Record{Topic: closed}).FirstErr()
		if err != nil && !errors.Is(err, kerr.TopicAuthorizationFailed) {
			t.Fatalf("got %v, want that it is not authorised", err)
		}
		return err != nil
	})
	produce(t, client(t, kgo.SeedBrokers(b.Plain)), closed, "to all who log in as nobody")
}

// TestUnknownTopic: no topic is made by asking for it.
func TestUnknownTopic(t *testing.T) {
	t.Parallel()
	cl := client(t, kgo.SeedBrokers(fromEnv(t).Plain), kgo.UnknownTopicRetries(1))
	err := cl.ProduceSync(testContext(t), &kgo.Record{Topic: "unknown-" + rand.Text()}).FirstErr()
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("got %v, want that there is no such topic", err)
	}
}

// TestTransactionTimeout: a transaction that is over its timeout is aborted soon,
// and its producer fenced.
func TestTransactionTimeout(t *testing.T) {
	t.Parallel()
	b := fromEnv(t)
	topic := topic(t, b)
	const timeout = 3 * time.Second // a slow machine produces within it
	producer := client(t, kgo.SeedBrokers(b.Plain), kgo.TransactionalID(topic), kgo.TransactionTimeout(timeout))
	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	produce(t, producer, topic, "never to be seen")
	produce(t, client(t, kgo.SeedBrokers(b.Plain)), topic, "behind it")

	reader := client(t, kgo.SeedBrokers(b.Plain), from(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if got := consume(t, reader); string(got.Value) != "behind it" {
		t.Errorf("got %q, want what is behind the transaction", got.Value)
	}
	if took := time.Since(began); took < timeout-100*time.Millisecond || took > 10*timeout {
		t.Errorf("aborted after %v, want about %v", took, timeout)
	}
	if err := producer.EndTransaction(testContext(t), kgo.TryCommit); err == nil {
		t.Error("a transaction that was aborted could be committed")
	}
}

// TestCompaction: the cleaner runs while a test waits.
func TestCompaction(t *testing.T) {
	t.Parallel()
	b := fromEnv(t)
	topic := topic(t, b, "cleanup.policy=compact", "segment.ms=100", "min.cleanable.dirty.ratio=0.01")
	cl := client(t, kgo.SeedBrokers(b.Plain))
	written := 0
	until(t, "an old value of the key is gone", func(ctx context.Context) bool {
		produce(t, cl, topic, fmt.Sprint(written))
		written++
		reader := client(t, kgo.SeedBrokers(b.Plain), from(topic))
		defer reader.Close()
		return string(consume(t, reader).Value) != "0"
	})
}

// TestScript: what a test does to the broker is done when Script returns, and no
// record that was acknowledged is lost by it. It is not parallel: all others wait.
func TestScript(t *testing.T) {
	b := fromEnv(t)
	topic := topic(t, b)
	cl := client(t, kgo.SeedBrokers(b.Plain), from(topic))
	run := func(t *testing.T, command string) {
		t.Helper()
		if err := b.Script(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // leave it running in any case
		if err := b.Script(context.Background(), "start"); err != nil {
			t.Error(err)
		}
	})
	down := func(t *testing.T) {
		t.Helper()
		if err := b.Script(t.Context(), "status"); err == nil || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("status while it is down: %v, want exit status 3", err)
		}
		if err := client(t, kgo.SeedBrokers(b.Plain)).Ping(testContext(t)); err == nil {
			t.Error("it is down and answers")
		}
	}
	for _, step := range []struct {
		name string
		do   func(t *testing.T)
	}{
		{"start twice", func(t *testing.T) { run(t, "start"); run(t, "start") }},
		{"restart", func(t *testing.T) { run(t, "restart") }},
		{"stop", func(t *testing.T) { run(t, "stop"); down(t); run(t, "stop"); run(t, "start") }},
		{"kill", func(t *testing.T) { run(t, "kill"); down(t); run(t, "start") }},
		{"pause", func(t *testing.T) {
			run(t, "pause")
			if err := b.Script(t.Context(), "start"); err == nil || !strings.Contains(err.Error(), "runs but does not answer") {
				t.Errorf("start while it is paused: %v, want that it does not answer", err)
			}
			run(t, "resume")
		}},
		{"kill paused", func(t *testing.T) { run(t, "pause"); run(t, "kill"); run(t, "start") }},
	} {
		t.Run(step.name, func(t *testing.T) {
			produce(t, cl, topic, step.name)
			step.do(t)
			run(t, "status")
			if got := consume(t, cl); string(got.Value) != step.name {
				t.Errorf("got %q, want %q", got.Value, step.name)
			}
		})
	}
}
