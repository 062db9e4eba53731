package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tws-go/tws/runtime/stream"
)

// load reads a file with this content, called tws.yaml; a message has {F} in place
// of its name.
func load(t testing.TB, content string, environ ...string) (Config, string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tws.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, environ)
	text := ""
	if err != nil {
		text = strings.ReplaceAll(err.Error(), file, "{F}")
	}
	for _, s := range c.Clusters {
		for key, value := range s {
			s[key] = strings.ReplaceAll(value, filepath.Dir(file), "{D}")
		}
	}
	return c, text, err
}

func TestLoad(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		environ []string
		want    stream.Clusters
	}{
		"nothing":       {"", nil, stream.Clusters{}},
		"comments":      {"# none yet\n", nil, stream.Clusters{}},
		"no clusters":   {"clusters:\n", nil, stream.Clusters{}},
		"null document": {"---\n", nil, stream.Clusters{}},
		"list": {
			"clusters:\n  main:\n    brokers: [a:9092, b:9092]\n", nil,
			stream.Clusters{"main": {"brokers": "a:9092,b:9092"}},
		},
		"groups and types": {
			"clusters:\n  main:\n    brokers: a:9092,b:9092\n    tls: {enabled: true, ca: certs/ca.pem, cert: /abs/c.pem}\n    sasl:\n      username: 0123\n      password: \"1e3\"\n",
			nil,
			stream.Clusters{"main": {
				"brokers": "a:9092,b:9092", "tls.enabled": "true", "tls.ca": "{D}/certs/ca.pem", "tls.cert": "/abs/c.pem",
				"sasl.username": "0123", "sasl.password": "1e3",
			}},
		},
		"keys with dots": {
			"clusters: {main: {sasl.username: me, sasl: {password: it}}}", nil,
			stream.Clusters{"main": {"sasl.username": "me", "sasl.password": "it"}},
		},
		"variables": {
			"clusters: {main: {brokers: \"${A}:1,${B_2}:2\", client_id: \"$${A} $A $$ $${ ${A}\", sasl: {username: $ConnectionString, password: \"${P}\"}}}",
			[]string{"A=a", "B_2=b", "P=x${A}$${y=z", "P2="},
			stream.Clusters{"main": {
				"brokers": "a:1,b:2", "client_id": "${A} $A $$ ${ a",
				"sasl.username": "$ConnectionString", "sasl.password": "x${A}$${y=z",
			}},
		},
		"the environment goes first": {
			"clusters: {main: {brokers: a:1, sasl: {password: old}}}",
			[]string{"TWS_CLUSTERS_MAIN_BROKERS=b:1,c:1", "TWS_CLUSTERS_MAIN_SASL_PASSWORD=${new}", "TWS_CLUSTERS_MAIN_TLS_CA=x.pem"},
			stream.Clusters{"main": {"brokers": "b:1,c:1", "sasl.password": "${new}", "tls.ca": "{D}/x.pem"}},
		},
		"a name with a dash": {
			"clusters: {Main-eu: {brokers: a:1}}", []string{"TWS_CLUSTERS_MAIN_EU_CLIENT_ID=me"},
			stream.Clusters{"Main-eu": {"brokers": "a:1", "client_id": "me"}},
		},
		"a cluster of the environment": {
			"", []string{"TWS_CLUSTERS_TEST_2_BROKERS=a:1", "TWS_CLUSTERS_TEST_2_SASL_CLIENT_ID=me"},
			stream.Clusters{"test_2": {"brokers": "a:1", "sasl.client_id": "me"}},
		},
		"other variables": {"", []string{"TWS_KAFKA=a:1", "broken", "=C:=x"}, stream.Clusters{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, err := load(t, tt.content, tt.environ...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plainMaps(tt.want), plainMaps(c.Clusters)); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

// plainMaps are settings that cmp may print.
func plainMaps(c stream.Clusters) map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, s := range c {
		out[name] = s
	}
	return out
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		environ []string
		want    string // in the error; {F} is the file
	}{
		"syntax":               {"clusters:\n  main: [a\n", nil, "{F}:2: no YAML: did not find expected ',' or ']'"},
		"two documents":        {"clusters:\n---\nclusters:\n", nil, "{F}: want one document"},
		"list at the top":      {"- a\n", nil, "{F}:1: want keys with values"},
		"unknown at the top":   {"clusters:\ncluster: 1\n", nil, "{F}:2: there is no key cluster; the keys are clusters"},
		"clusters as text":     {"clusters: main\n", nil, "{F}:1: clusters: want keys with values"},
		"bad name":             {"clusters:\n  a.b: {}\n", nil, "{F}:2: clusters: a cluster's name consists of"},
		"cluster twice":        {"clusters:\n  a: {}\n  a: {}\n", nil, "{F}:3: clusters: a key is there twice, first on line 2"},
		"key twice":            {"clusters:\n  a:\n    brokers: x\n    brokers: y\n", nil, "{F}:4: clusters.a: a key is there twice, first on line 3: brokers"},
		"key twice, by dots":   {"clusters:\n  a:\n    tls.ca: x\n    tls: {ca: y}\n", nil, "{F}:4: clusters.a.tls.ca: is there twice, first at {F}:3"},
		"unknown key":          {"clusters:\n  a:\n    borkers: x\n", nil, "{F}:3: clusters.a: there is no key borkers, did you mean brokers?; the keys are brokers, "},
		"unknown in a group":   {"clusters:\n  a:\n    sasl:\n      passwrd: x\n", nil, "{F}:4: clusters.a.sasl: there is no key sasl.passwrd, did you mean sasl.password?"},
		"group as text":        {"clusters:\n  a:\n    sasl: x\n", nil, "{F}:3: clusters.a.sasl: want keys with values"},
		"value as group":       {"clusters:\n  a:\n    brokers: {x: y}\n", nil, "{F}:3: clusters.a.brokers: want a value, got keys"},
		"list for a value":     {"clusters:\n  a:\n    client_id: [x, y]\n", nil, "{F}:3: clusters.a.client_id: want one value, got a list"},
		"list in a list":       {"clusters:\n  a:\n    brokers:\n      - x\n      - [y]\n", nil, "{F}:5: clusters.a.brokers: want text as item"},
		"empty list":           {"clusters:\n  a:\n    brokers: []\n", nil, "{F}:3: clusters.a.brokers: the list is empty"},
		"no value":             {"clusters:\n  a:\n    brokers:\n", nil, "{F}:3: clusters.a.brokers: has no value"},
		"empty value":          {"clusters:\n  a:\n    brokers: ' '\n", nil, "{F}:3: clusters.a.brokers: has no value"},
		"alias":                {"clusters:\n  a:\n    sasl: {password: *pw}\n", nil, "{F}: a value that begins with *, & or ! must be in quotes"},
		"anchor":               {"clusters:\n  a:\n    client_id: &pw\n", nil, "{F}:3: clusters.a: a value that begins with"},
		"tag":                  {"clusters:\n  a:\n    client_id: !pw\n", nil, "{F}:3: clusters.a: a value that begins with"},
		"merge":                {"clusters:\n  a:\n    <<: {brokers: x}\n", nil, "{F}:3: clusters.a: a value that begins with"},
		"absent variable":      {"clusters:\n  a:\n    sasl:\n      password: x${PW}\n", nil, "{F}:4: clusters.a.sasl.password: the environment has no variable PW"},
		"empty variable":       {"clusters: {a: {client_id: \"${PW}\"}}", []string{"PW="}, "clusters.a.client_id: the variable PW of the environment is empty"},
		"bad reference":        {"clusters: {a: {client_id: \"${a-b}\"}}", nil, "clusters.a.client_id: want ${NAME}"},
		"open reference":       {"clusters: {a: {client_id: \"x${PW\"}}", []string{"PW=1"}, "clusters.a.client_id: want ${NAME}"},
		"variable of nobody":   {"clusters: {a: {brokers: x}}", []string{"TWS_CLUSTERS_B_SASL_PASSWORD=x"}, "TWS_CLUSTERS_B_SASL_PASSWORD: this variable is of no cluster (there are a)"},
		"variable, no cluster": {"", []string{"TWS_CLUSTERS_B_SASL_PASSWORD=x"}, "this variable is of no cluster (there is none)"},
		"variable, no key":     {"clusters: {a: {brokers: x}}", []string{"TWS_CLUSTERS_A_SASL_PASSWRD=x"}, "TWS_CLUSTERS_A_SASL_PASSWRD: there is no key sasl_passwrd, did you mean sasl.password?"},
		"empty override":       {"clusters: {a: {brokers: x}}", []string{"TWS_CLUSTERS_A_BROKERS="}, "TWS_CLUSTERS_A_BROKERS: this variable is empty"},
		"names alike":          {"clusters: {a-b: {brokers: x}, a_b: {brokers: x}}", []string{"TWS_CLUSTERS_A_B_BROKERS=x"}, "this variable can mean clusters.a-b.brokers or clusters.a_b.brokers"},
		"name or group": {
			"clusters: {a: {brokers: x}, a_sasl: {brokers: x}}", []string{"TWS_CLUSTERS_A_SASL_CLIENT_ID=x"},
			"this variable can mean clusters.a_sasl.client_id or clusters.a.sasl.client_id",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, text, err := load(t, tt.content, tt.environ...)
			if !strings.Contains(text, tt.want) {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
			if strings.Contains(text, "\n") {
				t.Errorf("several errors for one mistake:\n%s", text)
			}
			var e *Error
			if !errors.Is(err, stream.ErrMisconfigured) || !errors.As(err, &e) {
				t.Errorf("%v is no Error that is ErrMisconfigured", err)
			}
		})
	}
}

// Every mistake of a file is told at once.
func TestLoadAllErrors(t *testing.T) {
	t.Parallel()
	_, text, _ := load(t, "clusters:\n  a:\n    brokrs: x\n    client_id: [x]\n  b: y\n")
	want := []string{"{F}:3: ", "{F}:4: ", "{F}:5: "}
	lines := strings.Split(text, "\n")
	if len(lines) != len(want) {
		t.Fatalf("got %d errors, want %d:\n%s", len(lines), len(want), text)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("got %s, want %s", lines[i], w)
		}
	}
}

func TestLoadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "there is no such file",
		dir:                             "is a directory",
		big:                             "more than a configuration may have",
		"/dev/zero":                     "more bytes than a configuration may have",
	} {
		if _, err := Load(path, nil); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s: %s", err, path, want)
		}
	}
	c, err := Load("", []string{"TWS_CLUSTERS_MAIN_BROKERS=a:1", "TWS_CLUSTERS_MAIN_TLS_CA=ca.pem"})
	if err != nil || c.Clusters["main"]["tls.ca"] != "ca.pem" {
		t.Errorf("without a file: %v, %v", c.Clusters["main"]["tls.ca"], err)
	}
}

func TestWhere(t *testing.T) {
	t.Parallel()
	c, _, err := load(t, "clusters:\n  main:\n    brokers: a:1\n    tls:\n      cert: x\n", "TWS_CLUSTERS_MAIN_CLIENT_ID=me")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"brokers": "tws.yaml:3", "tls.cert": "tws.yaml:5", "tls.key": "tws.yaml:2", "": "tws.yaml:2", "client_id": "TWS_CLUSTERS_MAIN_CLIENT_ID",
	} {
		if got := filepath.Base(c.Where("main", key)); got != want {
			t.Errorf("Where(main, %s) = %s, want %s", key, got, want)
		}
	}
	if got := c.Where("other", "brokers"); got != "" {
		t.Errorf("a cluster that is nowhere is at %s", got)
	}
}
