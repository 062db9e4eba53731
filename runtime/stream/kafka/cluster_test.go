package kafka

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

func isMisconfigured(err error) bool { return errors.Is(err, stream.ErrMisconfigured) }

func TestParseCluster(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.issue("client", "me", farFuture)
	c, err := parseCluster(stream.Clusters{"main": {
		"brokers": "a, b:1,[::1]:2,[::2],10.0.0.1:3", "connect_timeout": "2m", "tls.ca": a.file("ca.pem"),
		"tls.cert": a.file("client.pem"), "tls.key": a.file("client.key"), "tls.server_name": "kafka",
		"sasl.mechanism": "scram-sha-512", "sasl.username": "me", "sasl.password": "it",
	}}, "main")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a:9092", "b:1", "[::1]:2", "[::2]:9092", "10.0.0.1:3"}; !slices.Equal(c.brokers, want) {
		t.Errorf("brokers %q, want %q", c.brokers, want)
	}
	if c.clientID != "tws" || c.connectTimeout != 2*time.Minute || c.tls.ServerName != "kafka" || c.tls.RootCAs == nil || c.sasl.Name() != "SCRAM-SHA-512" {
		t.Errorf("client id %s, timeout %s, server %s, mechanism %s", c.clientID, c.connectTimeout, c.tls.ServerName, c.sasl.Name())
	}
	if pair, err := c.tls.GetClientCertificate(nil); err != nil || len(pair.Certificate) != 1 {
		t.Errorf("client certificate: %v, %v", pair, err)
	}
	plain, err := parseCluster(stream.Clusters{"main": {"brokers": "a", "tls.enabled": "false", "tls.server_name": "x"}}, "main")
	if err != nil || plain.tls != nil || plain.sasl != nil {
		t.Errorf("tls.enabled: false: %v, %v", plain, err)
	}
	system, err := parseCluster(stream.Clusters{"main": {"brokers": "a", "tls.enabled": "true"}}, "main")
	if err != nil || system.tls == nil || system.tls.RootCAs != nil || system.tls.InsecureSkipVerify {
		t.Errorf("tls.enabled: true: %v", err)
	}
}

func TestParseClusterErrors(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.issue("client", "me", farFuture)
	a.issue("other", "me", farFuture)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	login := stream.Settings{"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "it"}
	token := stream.Settings{"sasl.mechanism": "OAUTHBEARER", "sasl.token": "it"}
	endpoint := stream.Settings{"sasl.mechanism": "OAUTHBEARER", "sasl.token_endpoint": "https://x/token", "sasl.client_id": "me", "sasl.client_secret": "it"}
	tests := map[string]struct {
		settings stream.Settings
		key      string // that the error is about
		want     string
	}{
		"unknown key":          {stream.Settings{"broker": "a"}, "", "there is no key broker, did you mean brokers?"},
		"empty value":          {stream.Settings{"client_id": " "}, "client_id", "has no value"},
		"empty broker":         {stream.Settings{"brokers": "a:1,,b:1"}, "brokers", "an address is empty"},
		"no port":              {stream.Settings{"brokers": "a:x"}, "brokers", `the port of "a:x" is not a number`},
		"port too large":       {stream.Settings{"brokers": "a:65536"}, "brokers", "is not a number from 1 to 65535"},
		"no host":              {stream.Settings{"brokers": ":9092"}, "brokers", `":9092" has no host`},
		"IPv6 without []":      {stream.Settings{"brokers": "::1:9092"}, "brokers", "[::1]:9092 for IPv6"},
		"a URL":                {stream.Settings{"brokers": "kafka://a:9092"}, "brokers", "without user, password or protocol"},
		"a password":           {stream.Settings{"brokers": "me:hunter2@a:9092"}, "brokers", "without user, password or protocol"},
		"timeout":              {stream.Settings{"connect_timeout": "30"}, "connect_timeout", "want a duration such as 30s"},
		"negative timeout":     {stream.Settings{"connect_timeout": "-1s"}, "connect_timeout", "want a duration such as 30s"},
		"tls.enabled":          {stream.Settings{"tls.enabled": "yes"}, "tls.enabled", "want true or false"},
		"skip verify":          {stream.Settings{"tls.insecure_skip_verify": "maybe"}, "tls.insecure_skip_verify", "want true or false"},
		"no CA":                {stream.Settings{"tls.ca": "/none/ca.pem"}, "tls.ca", "/none/ca.pem: no such file"},
		"CA without any":       {stream.Settings{"tls.ca": a.file("client.key")}, "tls.ca", "has no certificate: want a PEM file"},
		"no key":               {stream.Settings{"tls.cert": a.file("client.pem")}, "tls.key", "is missing"},
		"no cert":              {stream.Settings{"tls.key": a.file("client.key")}, "tls.cert", "is missing"},
		"cert unreadable":      {stream.Settings{"tls.cert": "/none/c", "tls.key": a.file("client.key")}, "tls.cert", "no such file"},
		"key unreadable":       {stream.Settings{"tls.cert": a.file("client.pem"), "tls.key": "/none/k"}, "tls.key", "no such file"},
		"key of another":       {stream.Settings{"tls.cert": a.file("client.pem"), "tls.key": a.file("other.key")}, "tls.cert", "are no certificate with its private key"},
		"no mechanism":         {stream.Settings{"sasl.username": "me"}, "sasl.mechanism", "is missing: want PLAIN, SCRAM-SHA-256"},
		"another mechanism":    {stream.Settings{"sasl.mechanism": "GSSAPI"}, "sasl.mechanism", `got "GSSAPI"`},
		"no user":              {stream.Settings{"sasl.mechanism": "PLAIN", "sasl.password": "x"}, "sasl.username", "is missing"},
		"no password":          {stream.Settings{"sasl.mechanism": "PLAIN", "sasl.username": "x"}, "sasl.password", "or sasl.password_file"},
		"password twice":       {with(login, stream.Settings{"sasl.password_file": empty}), "sasl.password", "is set beside sasl.password_file"},
		"empty file":           {stream.Settings{"sasl.mechanism": "PLAIN", "sasl.username": "x", "sasl.password_file": empty}, "sasl.password_file", "is empty"},
		"no file":              {stream.Settings{"sasl.mechanism": "PLAIN", "sasl.username": "x", "sasl.password_file": "/none/p"}, "sasl.password_file", "no such file"},
		"token with PLAIN":     {with(login, stream.Settings{"sasl.token": "x"}), "sasl.token", "means nothing to sasl.mechanism PLAIN"},
		"password with token":  {with(token, stream.Settings{"sasl.password": "x"}), "sasl.password", "means nothing to sasl.mechanism OAUTHBEARER"},
		"no token":             {stream.Settings{"sasl.mechanism": "OAUTHBEARER"}, "sasl.token_file", "is missing"},
		"extensions":           {with(token, stream.Settings{"sasl.extensions": "a=b,c"}), "sasl.extensions", "want name=value"},
		"scope with token":     {with(token, stream.Settings{"sasl.scope": "x"}), "sasl.scope", "without sasl.token_endpoint"},
		"endpoint and token":   {with(endpoint, stream.Settings{"sasl.token": "x"}), "sasl.token", "with sasl.token_endpoint"},
		"endpoint, no TLS":     {with(endpoint, stream.Settings{"sasl.token_endpoint": "http://x/token"}), "sasl.token_endpoint", "begins with https://"},
		"endpoint, password":   {with(endpoint, stream.Settings{"sasl.token_endpoint": "https://me:hunter2@x/"}), "sasl.token_endpoint", "user and password in it"},
		"endpoint, no URL":     {with(endpoint, stream.Settings{"sasl.token_endpoint": "login"}), "sasl.token_endpoint", "want a URL"},
		"endpoint, no client":  {stream.Settings{"sasl.mechanism": "OAUTHBEARER", "sasl.token_endpoint": "https://x/"}, "sasl.client_id", "is missing"},
		"endpoint, no secret":  {stream.Settings{"sasl.mechanism": "OAUTHBEARER", "sasl.token_endpoint": "https://x/", "sasl.client_id": "x"}, "sasl.client_secret", "or sasl.client_secret_file"},
		"endpoint, two of one": {with(endpoint, stream.Settings{"sasl.client_secret_file": empty}), "sasl.client_secret", "is set beside"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := connect(stream.Clusters{"main": with(stream.Settings{"brokers": "a:1"}, tt.settings)}, "main", nil, nil)
			wantTold(t, err, true, "kafka: cluster main: ", tt.want)
			if wrong, ok := errors.AsType[*stream.SettingError](err); !ok || wrong.Key != tt.key || wrong.Cluster != "main" {
				t.Errorf("got %#v, want an error about %q", wrong, tt.key)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a password is in the error: %v", err)
			}
		})
	}
}

func TestUnknownCluster(t *testing.T) {
	t.Parallel()
	_, err := connect(stream.Clusters{"b": nil, "a": nil}, "main", nil, nil)
	wantTold(t, err, true, "kafka: cluster main: it is not configured (configured are a, b)")
	_, err = connect(nil, "main", nil, nil)
	wantTold(t, err, true, "it is not configured (none is)")
	_, err = connect(stream.Clusters{"main": {"client_id": "x"}}, "main", nil, nil)
	wantTold(t, err, true, "cluster main: brokers: is missing")
}

// The user's own options come last, and their errors are told.
func TestClientOptions(t *testing.T) {
	t.Parallel()
	clusters := stream.Clusters{"main": {"brokers": "a:1", "client_id": "from settings"}}
	id := func(opts func() ([]kgo.Opt, error), more ...kgo.Opt) string {
		client, err := connect(clusters, "main", opts, nil, more...)
		return closeOnEnd(t, client, err).OptValue(kgo.ClientID).(string)
	}
	if got := id(nil); got != "from settings" {
		t.Errorf("client id %q", got)
	}
	own := func() ([]kgo.Opt, error) { return []kgo.Opt{kgo.ClientID("own")}, nil }
	if got := id(own, kgo.ClientID("given")); got != "own" {
		t.Errorf("client id %q, want the user's own", got)
	}
	_, err := connect(clusters, "main", func() ([]kgo.Opt, error) { return nil, fmt.Errorf("no token") }, nil)
	wantTold(t, err, false, "kafka: cluster main: client options: no token")
	_, err = connect(clusters, "main", func() ([]kgo.Opt, error) { return []kgo.Opt{kgo.MaxBufferedRecords(-1)}, nil }, nil)
	wantTold(t, err, true, "kafka: cluster main: client options: ")
}

// Whatever the settings are: no panic, and a secret is in no error.
func FuzzParseCluster(f *testing.F) {
	f.Add("a:1,b:2", "PLAIN", "hunter2hunter2", "me", "30s", "true")
	f.Add("[::1]:x", "OAUTHBEARER", "", "", "", "")
	f.Add("me:pw@host:1", "scram-sha-256", "p\x00w", "$ConnectionString", "-1s", "x")
	f.Fuzz(func(t *testing.T, brokers, mechanism, secret, user, timeout, enabled string) {
		for _, key := range []string{"sasl.password", "sasl.token", "sasl.client_secret"} {
			s := stream.Settings{
				"brokers": brokers, "sasl.mechanism": mechanism, "sasl.username": user, "connect_timeout": timeout,
				"tls.enabled": enabled, key: "<<" + secret + ">>",
			}
			for _, settings := range []stream.Settings{s, with(s, stream.Settings{"sasl.token_endpoint": "https://x/?" + secret, "sasl.client_id": "x"})} {
				c, err := parseCluster(stream.Clusters{"main": settings}, "main")
				if err != nil && strings.Contains(err.Error(), s[key]) {
					t.Errorf("the secret %q is in %v", secret, err)
				}
				if text := fmt.Sprintf("%v %+v %#v %s", c, c, c, c); strings.Contains(text, s[key]) {
					t.Errorf("the secret %q is printed: %s", secret, text)
				}
			}
		}
	})
}
