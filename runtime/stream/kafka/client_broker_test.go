//go:build kafka_broker

package kafka

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// brokerEnv returns a variable that broker.sh sets.
func brokerEnv(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: runtime/stream/kafka/broker/broker.sh run go test ...", name)
	}
	return value
}

// unsigned is a token that a broker for tests takes, until a time.
func unsigned(until time.Time) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":"alice","iat":%d,"exp":%d}`, time.Now().Unix(), until.Unix())) + "."
}

// A broker lets in whom it should, and what it refuses is told plainly.
func TestBrokerLogin(t *testing.T) {
	t.Parallel()
	certs := brokerEnv(t, "TWS_KAFKA_CERTS")
	ca := stream.Settings{"tls.ca": filepath.Join(certs, "ca.pem")}
	pair := stream.Settings{"tls.cert": filepath.Join(certs, "client.pem"), "tls.key": filepath.Join(certs, "client.key")}
	other := newAuthority(t)
	other.issue("client", "client", farFuture)
	foreign := stream.Settings{"tls.cert": other.file("client.pem"), "tls.key": other.file("client.key")}
	login := func(mechanism, user, password string) stream.Settings {
		return stream.Settings{"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}
	}
	token := func(text string) stream.Settings {
		return stream.Settings{"sasl.mechanism": mechanismOAuth, "sasl.token": text}
	}
	tests := []struct {
		name, listener string
		settings       stream.Settings
		want           string // in the error, "" for none
		misconfigured  bool
	}{
		{"nothing", "TWS_KAFKA", nil, "", false},
		{"TLS", "TWS_KAFKA_SSL", ca, "", false},
		{"TLS, unknown authority", "TWS_KAFKA_SSL", stream.Settings{"tls.enabled": "true"}, "set tls.ca to the file", true},
		{"TLS, other authority", "TWS_KAFKA_SSL", stream.Settings{"tls.ca": other.file("ca.pem")}, "is not signed by tls.ca", true},
		{"TLS, another name", "TWS_KAFKA_SSL", with(ca, stream.Settings{"tls.server_name": "elsewhere"}), "and not for elsewhere", true},
		{"client certificate", "TWS_KAFKA_MTLS", with(ca, pair), "", false},
		{"no client certificate", "TWS_KAFKA_MTLS", ca, "it most likely wants a client certificate", true},
		{"other client certificate", "TWS_KAFKA_MTLS", with(ca, foreign), "does not accept the client certificate in tls.cert", true},
		{"TLS to plain", "TWS_KAFKA", ca, "as one does that does not speak TLS on this port", false},
		{"plain to TLS", "TWS_KAFKA_SSL", nil, "TLS on this port: set tls.enabled to true", true},
		{"PLAIN", "TWS_KAFKA_SASL", login(mechanismPlain, "alice", "alice-secret"), "", false},
		{"PLAIN, wrong password", "TWS_KAFKA_SASL", login(mechanismPlain, "alice", badPassword), "refuses user alice (PLAIN): wrong password or unknown user", true},
		{"SCRAM-SHA-256", "TWS_KAFKA_SASL_SSL", with(ca, login(mechanismScram256, "bob", "bob-secret")), "", false},
		{"SCRAM-SHA-512", "TWS_KAFKA_SASL_SSL", with(ca, login(mechanismScram512, "alice", "alice-secret")), "", false},
		{"SCRAM, wrong password", "TWS_KAFKA_SASL_SSL", with(ca, login(mechanismScram512, "alice", badPassword)), "refuses user alice (SCRAM-SHA-512)", true},
		{"SCRAM, unknown user", "TWS_KAFKA_SASL_SSL", with(ca, login(mechanismScram512, "eve", badPassword)), "refuses user eve (SCRAM-SHA-512)", true},
		{"token", "TWS_KAFKA_SASL_SSL", with(ca, token(unsigned(time.Now().Add(time.Hour)))), "", false},
		{"token, expired", "TWS_KAFKA_SASL_SSL", with(ca, token(unsigned(time.Now().Add(-time.Hour)))), "refuses the token (OAUTHBEARER): expired", true},
		{"login where none is", "TWS_KAFKA", login(mechanismPlain, "alice", "alice-secret"), "does not authenticate with SASL on this port", true},
		{"no login", "TWS_KAFKA_SASL", nil, "as one does that wants SASL on this port", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := &logBuffer{}
			err := reach(t, with(stream.Settings{"brokers": brokerEnv(t, tt.listener), "connect_timeout": "20s"}, tt.settings), log)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantTold(t, err, tt.misconfigured, "kafka: cluster main: ", tt.want)
			if text := log.String(); text != "" {
				t.Errorf("logged beside the error:\n%s", text)
			}
		})
	}
}

// A user without a permission is told which.
func TestBrokerPermission(t *testing.T) {
	t.Parallel()
	const topic = "login.permissions"
	clusters := stream.Clusters{
		"admin": {"brokers": brokerEnv(t, "TWS_KAFKA")},
		"main":  {"brokers": brokerEnv(t, "TWS_KAFKA_SASL"), "sasl.mechanism": mechanismPlain, "sasl.username": "bob", "sasl.password": "bob-secret"},
	}
	made, err := connect(clusters, "admin", nil, nil)
	admin := kadm.NewClient(closeOnEnd(t, made, err))
	if created, err := admin.CreateTopic(t.Context(), 1, 1, nil, topic); err != nil && created.Err != kerr.TopicAlreadyExists {
		t.Fatal(err)
	}
	acl := kadm.NewACLs().Topics(topic).Allow("User:alice").AllowHosts("*").Operations(kadm.OpAll).ResourcePatternType(kadm.ACLPatternLiteral)
	if done, err := admin.CreateACLs(t.Context(), acl); err != nil || len(done) != 1 || done[0].Err != nil {
		t.Fatal(done, err)
	}
	made, err = connect(clusters, "main", nil, nil, kgo.UnknownTopicRetries(0))
	client := closeOnEnd(t, made, err)
	var refusal error
	until(t, "the permission to count", func() bool {
		refusal = client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr()
		return refusal != nil
	})
	wantTold(t, explain("main", topic, refusal), true, "we may not use topic "+topic+": grant this user READ and DESCRIBE")
}

// A binary that logs in with TLS reads, and with a wrong password ends with one
// line and the exit code of a wrong configuration.
func TestBrokerLoginOfBinary(t *testing.T) {
	t.Parallel()
	config := `
clusters:
  main:
    brokers: ` + brokerEnv(t, "TWS_KAFKA_SASL_SSL") + `
    tls:
      ca: ` + filepath.Join(brokerEnv(t, "TWS_KAFKA_CERTS"), "ca.pem") + `
    sasl: {mechanism: SCRAM-SHA-512, username: alice, password: "${PASSWORD}"}
`
	clusters := stream.Clusters{"admin": {"brokers": brokerEnv(t, "TWS_KAFKA")}}
	made, err := connect(clusters, "admin", nil, nil)
	client := closeOnEnd(t, made, err)
	admin := kadm.NewClient(client)
	if _, err := admin.DeleteTopic(t.Context(), "greetings"); err != nil && err != kerr.UnknownTopicOrPartition {
		t.Fatal(err)
	}
	until(t, "a topic without records", func() bool {
		_, err := admin.CreateTopic(t.Context(), 1, 1, nil, "greetings")
		return err == nil
	})
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "greetings", Value: []byte(`"hello"`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	code, out, text := runBinary(t, config, "PASSWORD=alice-secret")
	if code != 0 || out != "\"hello\"\n" {
		t.Errorf("with the right password: exit code %d, stdout %q, stderr:\n%s", code, out, text)
	}
	code, _, text = runBinary(t, config, "PASSWORD="+badPassword)
	wantRefusal(t, code, text, "refuses user alice (SCRAM-SHA-512): wrong password or unknown user")
}
