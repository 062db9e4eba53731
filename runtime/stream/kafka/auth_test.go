package kafka

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tws-go/tws/runtime/stream"
)

const goodPassword, badPassword = "correct horse", "wrong battery"

// mechanismsOfFake are what the imitation offers.
var mechanismsOfFake = []string{mechanismPlain, mechanismScram256, mechanismScram512}

func TestPassword(t *testing.T) {
	t.Parallel()
	for _, mechanism := range mechanismsOfFake {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			_, s := fakeCluster(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "alice", goodPassword))
			s = with(s, stream.Settings{"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": goodPassword})
			log := &logBuffer{}
			if err := reach(t, s, log); err != nil {
				t.Errorf("with the right password: %v", err)
			}
			// The imitation closes the connection instead of an answer, as some
			// brokers do, so that nobody can be sure.
			err := reach(t, with(s, stream.Settings{"sasl.password": badPassword}), log)
			wantTold(t, err, false, "kafka: cluster main: broker 127.0.0.1:", "user alice ("+mechanism+")", "wrong password or an unknown user")
			if log.String() != "" || strings.Contains(err.Error(), badPassword) {
				t.Errorf("logged beside the error %v:\n%s", err, log.String())
			}
		})
	}
}

// A broker that answers as real ones do is believed at once.
func TestPasswordRefused(t *testing.T) {
	t.Parallel()
	fake, s := fakeCluster(t, kfake.EnableSASL(), kfake.Superuser(mechanismPlain, "alice", goodPassword))
	var asked atomic.Int32
	fake.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		asked.Add(1)
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		resp.ErrorMessage = kmsg.StringPtr("no good: " + badPassword)
		return resp, nil, true
	})
	log := &logBuffer{}
	err := reach(t, with(s, stream.Settings{"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": badPassword}), log)
	wantTold(t, err, true, "refuses user alice (PLAIN): wrong password or unknown user")
	told, ok := errors.AsType[*ClusterError](err)
	if !ok || told.Cluster != "main" || !errors.Is(err, kerr.SaslAuthenticationFailed) {
		t.Errorf("%#v does not tell the cluster and the cause", err)
	}
	if asked.Load() != 1 {
		t.Errorf("tried %d times, want once", asked.Load())
	}
	if all := err.Error() + log.String(); strings.Contains(all, badPassword) || log.String() != "" {
		t.Errorf("want one line without the password:\n%s", all)
	}
}

func TestMechanismNotOffered(t *testing.T) {
	t.Parallel()
	_, s := fakeCluster(t, kfake.EnableSASL())
	err := reach(t, with(s, stream.Settings{"sasl.mechanism": "OAUTHBEARER", "sasl.token": "hunter2"}), &logBuffer{})
	wantTold(t, err, true, "does not offer sasl.mechanism OAUTHBEARER: set it to one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512")
}

func TestNoSASL(t *testing.T) {
	t.Parallel()
	_, s := fakeCluster(t, kfake.EnableSASL())
	log := &logBuffer{}
	err := reach(t, s, log)
	wantTold(t, err, false, "closes the connection at once, as one does that wants SASL on this port: set sasl.mechanism")
}

// A secret's file is read for each login, and its last line end is none of it.
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]stream.Settings{
		"password": {"brokers": "a", "sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password_file": file},
		"token":    {"brokers": "a", "sasl.mechanism": "OAUTHBEARER", "sasl.token_file": file, "sasl.extensions": "logicalCluster=lkc-1, identityPoolId=pool-2"},
	} {
		write("first secret\r\n")
		c, err := parseCluster(stream.Clusters{"main": s}, "main")
		if err != nil {
			t.Fatal(err)
		}
		if sent, err := authBytes(t, c); err != nil || !strings.Contains(sent, "first secret") || strings.Contains(sent, "\n") {
			t.Errorf("%s: sent %q, %v", name, sent, err)
		}
		write("second secret")
		sent, err := authBytes(t, c)
		if err != nil || !strings.Contains(sent, "second secret") {
			t.Errorf("%s: sent %q, %v after the file has changed", name, sent, err)
		}
		if name == "token" && !strings.Contains(sent, "\x01identityPoolId=pool-2\x01logicalCluster=lkc-1\x01") {
			t.Errorf("sent %q without the extensions", sent)
		}
		write("")
		_, err = authBytes(t, c)
		wantTold(t, c.diagnose("b:1", err), true, "sasl."+name+"_file: "+file+" is empty")
	}
}

// A password that is put right lets the next connection in.
func TestPasswordRotation(t *testing.T) {
	t.Parallel()
	_, s := fakeCluster(t, kfake.EnableSASL(), kfake.Superuser(mechanismScram256, "alice", goodPassword))
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(badPassword), 0o600); err != nil {
		t.Fatal(err)
	}
	clusters := stream.Clusters{"main": with(s, stream.Settings{"sasl.mechanism": mechanismScram256, "sasl.username": "alice", "sasl.password_file": file})}
	made, err := connect(clusters, "main", nil, nil)
	client := closeOnEnd(t, made, err)
	if err := ping(t.Context(), client); err == nil {
		t.Fatal("the wrong password was accepted")
	}
	if err := os.WriteFile(file, []byte(goodPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ping(t.Context(), client); err != nil {
		t.Errorf("with the right password in the file: %v", err)
	}
}

func TestTokenEndpoint(t *testing.T) {
	t.Parallel()
	const secret = "s3cret/+&"
	var status, form, body = http.StatusOK, "", `{"access_token":"abc","token_type":"bearer"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, password, _ := r.BasicAuth()
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		form = r.Method + " " + id + " " + password + " " + r.PostForm.Encode()
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		w.Write([]byte(body))
	}))
	defer server.Close()
	c, err := parseCluster(stream.Clusters{"main": {
		"brokers": "a", "sasl.mechanism": "OAUTHBEARER", "sasl.token_endpoint": server.URL + "/token", "sasl.client_id": "me",
		"sasl.client_secret": secret, "sasl.scope": "kafka write",
	}}, "main")
	if err != nil {
		t.Fatal(err)
	}
	if sent, err := authBytes(t, c); err != nil || sent != "n,,\x01auth=Bearer abc\x01\x01" {
		t.Errorf("sent %q, %v", sent, err)
	}
	if want := "POST me s3cret%2F%2B%26 grant_type=client_credentials&scope=kafka+write"; form != want {
		t.Errorf("asked %s, want %s", form, want)
	}
	for _, tt := range []struct {
		status        int
		body          string
		misconfigured bool
		want          string
	}{
		{401, `{"error":"invalid_client","error_description":"` + secret + `"}`, true, "sasl.token_endpoint: the server refuses client me: invalid_client (HTTP status 401)"},
		{400, secret, true, "the server refuses client me (HTTP status 400)"},
		{400, `{"error":"` + secret + `"}`, true, "the server refuses client me (HTTP status 400)"},
		{302, "", true, "the server refuses client me (HTTP status 302)"},
		{200, "<html>" + secret, true, "the server's answer has no access_token"},
		{503, secret, false, "no token from sasl.token_endpoint: it answers with HTTP status 503"},
	} {
		status, body = tt.status, tt.body
		_, err := authBytes(t, c)
		f := c.diagnose("b:1", err)
		wantTold(t, f, tt.misconfigured, tt.want)
		if strings.Contains(f.Error()+err.Error(), secret) {
			t.Errorf("the secret is in %v", err)
		}
	}
	server.Close()
	_, err = authBytes(t, c)
	f := c.diagnose("b:1", err)
	wantTold(t, f, false, "no token from sasl.token_endpoint: dial tcp")
	if f.grade != passing || errors.Is(f, context.Canceled) {
		t.Errorf("a server that is down is not waited for: %v", f)
	}
}
