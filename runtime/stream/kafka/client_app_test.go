package kafka

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/app"
	"github.com/tws-go/tws/runtime/stream"
	"github.com/tws-go/tws/runtime/stream/console"
)

// asBinary makes the test binary behave as a pipeline that prints a topic.
const asBinary = "TWS_KAFKA_TEST_PIPELINE"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		app.Main(printGreetings)
	}
	os.Exit(m.Run())
}

// greeting is a row that is its own text.
type greeting struct{ text string }

func (*greeting) TWSRow() *tws.Row[greeting] { return greetingRow }

var greetingRow = &tws.Row[greeting]{
	Type:       "kafka.greeting",
	Append:     func(dst []byte, v *greeting) []byte { return append(dst, v.text...) },
	Decode:     func(src []byte, v *greeting) error { v.text = string(src); return nil },
	AppendJSON: func(dst []byte, v *greeting) ([]byte, error) { return append(dst, v.text...), nil },
	DecodeJSON: func(src []byte, v *greeting) error { v.text = string(src); return nil },
}

func printGreetings(p *tws.Pipeline) {
	tws.AppendFlow(p, tws.NewSink(console.JSON[greeting]{}), "print", func(f *tws.Flow) tws.Stream[greeting] {
		return tws.ReadStream(f, Source[greeting]{Cluster: "main", Topic: "greetings"})
	})
}

// runBinary runs the pipeline in a folder of its own with this tws.yaml, and
// returns the exit code and what it wrote.
func runBinary(t *testing.T, config string, environ ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tws.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "run", "--quiet", "--store", "mem")
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), append(environ, asBinary+"=1")...)
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// wantRefusal requires the exit code of a wrong configuration and one line, apart
// from hints, that holds all parts and no secret.
func wantRefusal(t *testing.T, code int, stderr string, parts ...string) {
	t.Helper()
	if code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	var lines []string
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "hint: ") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		t.Errorf("want one line of error, got:\n%s", stderr)
	}
	for _, part := range parts {
		if !strings.Contains(stderr, part) {
			t.Errorf("want %s in:\n%s", part, stderr)
		}
	}
	if strings.Contains(stderr, badPassword) {
		t.Errorf("the password is in:\n%s", stderr)
	}
}

const loginConfig = `
clusters:
  main:
    brokers: ${BROKERS}
    sasl:
      mechanism: SCRAM-SHA-256
      username: alice
      password: ${PASSWORD}
`

// A pipeline reads with the right password; with a wrong one there is one line and
// the exit code of a wrong configuration.
func TestLoginOfBinary(t *testing.T) {
	t.Parallel()
	fake, s := fakeCluster(t, kfake.EnableSASL(), kfake.Superuser(mechanismScram256, "alice", goodPassword), kfake.SeedTopics(1, "greetings"))
	all := with(s, stream.Settings{"sasl.mechanism": mechanismScram256, "sasl.username": "alice", "sasl.password": goodPassword})
	made, err := connect(stream.Clusters{"main": all}, "main", nil, nil)
	client := closeOnEnd(t, made, err)
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "greetings", Value: []byte(`"hello"`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	code, out, text := runBinary(t, loginConfig, "BROKERS="+s["brokers"], "PASSWORD="+goodPassword)
	if code != 0 || out != "\"hello\"\n" {
		t.Fatalf("with the right password: exit code %d, stdout %q, stderr:\n%s", code, out, text)
	}
	fake.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code // as a broker, where the imitation hangs up
		return resp, nil, true
	})
	code, _, text = runBinary(t, loginConfig, "BROKERS="+s["brokers"], "PASSWORD="+badPassword)
	wantRefusal(t, code, text, "cluster main: broker "+s["brokers"]+" refuses user alice (SCRAM-SHA-256): wrong password or unknown user")
}

// A setting that cannot be used is told with its line.
func TestSettingsOfBinary(t *testing.T) {
	t.Parallel()
	code, _, text := runBinary(t, "clusters:\n  main:\n    brokers: a:b\n")
	wantRefusal(t, code, text, `cluster main: brokers: the port of "a:b" is not a number`, "hint: cluster main has this from ./tws.yaml:3")
	code, _, text = runBinary(t, "clusters:\n  main:\n    brokrs: a\n")
	wantRefusal(t, code, text, "./tws.yaml:3: clusters.main: there is no key brokrs, did you mean brokers?")
	code, _, text = runBinary(t, "")
	wantRefusal(t, code, text, "cluster main: it is not configured", "hint: clusters are described in ./tws.yaml")
	code, _, text = runBinary(t, "", "TWS_CLUSTERS_MAIN_BROKERS=a:9092", "TWS_CLUSTERS_MAIN_SASL_PASSWORD="+badPassword)
	wantRefusal(t, code, text, "cluster main: sasl.mechanism: is missing", "hint: cluster main has this from TWS_CLUSTERS_MAIN_BROKERS")
}
