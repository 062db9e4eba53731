package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// reach connects to a cluster called main and asks it; log gets what was logged.
func reach(t testing.TB, settings stream.Settings, log *logBuffer) error {
	t.Helper()
	client, err := connect(stream.Clusters{"main": settings}, "main", nil, testLog(log))
	if err != nil {
		return err
	}
	defer client.Close()
	return ping(t.Context(), client)
}

func testLog(b *logBuffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// with returns settings with others added.
func with(s stream.Settings, more stream.Settings) stream.Settings {
	s = maps.Clone(s)
	maps.Copy(s, more)
	return s
}

// fakeCluster is an imitation with one broker.
func fakeCluster(t testing.TB, opts ...kfake.Opt) (*kfake.Cluster, stream.Settings) {
	t.Helper()
	fake, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return fake, stream.Settings{"brokers": fake.ListenAddrs()[0], "connect_timeout": "10s"}
}

// authority is a certificate authority for tests, whose files are in a folder.
type authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = a.newKey()
	a.cert = a.sign("ca", template, template, &a.key.PublicKey, a.key)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

// sign writes NAME.pem.
func (a *authority) sign(name string, template, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

func (a *authority) write(name, kind string, der []byte) {
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// issue writes NAME.pem and NAME.key, for an address or a host, until a time.
func (a *authority) issue(name, host string, until time.Time) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Unix(0, 0), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	key := a.newKey()
	a.sign(name, template, a.cert, &key.PublicKey, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".key", "PRIVATE KEY", der)
	pair, err := tls.LoadX509KeyPair(a.file(name+".pem"), a.file(name+".key"))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

var farFuture = time.Unix(1<<33, 0)

// wantTold requires one line with all parts, and whether a person has to act.
func wantTold(t testing.TB, err error, misconfigured bool, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	text := err.Error()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("got  %s\nwant %s in it", text, part)
		}
	}
	if strings.Contains(text, "\n") {
		t.Errorf("the error has several lines:\n%s", text)
	}
	if got := isMisconfigured(err); got != misconfigured {
		t.Errorf("ErrMisconfigured is %v, want %v: %s", got, misconfigured, text)
	}
}

// authBytes returns what a cluster's mechanism sends first.
func authBytes(t testing.TB, c *cluster) (string, error) {
	t.Helper()
	_, first, err := c.sasl.Authenticate(context.Background(), "")
	return string(first), err
}

// closeOnEnd closes a client when the test ends.
func closeOnEnd(t testing.TB, c *kgo.Client, err error) *kgo.Client {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
