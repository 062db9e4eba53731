package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// parseTLS reads what connections are encrypted with. Any of its keys turns it
// on, and tls.enabled: false turns it off.
func (c *cluster) parseTLS() error {
	on, err := c.parseBool("tls.enabled", c.has("tls"))
	if err != nil {
		return err
	}
	skip, err := c.parseBool("tls.insecure_skip_verify", false)
	if err != nil || !on {
		return err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.settings["tls.server_name"], InsecureSkipVerify: skip}
	if config.RootCAs, err = c.authorities(); err != nil {
		return err
	}
	if config.GetClientCertificate, err = c.clientCertificate(); err != nil {
		return err
	}
	c.tls = config
	return nil
}

// authorities reads whom to trust: nil for those that the system does.
func (c *cluster) authorities() (*x509.CertPool, error) {
	const key = "tls.ca"
	file := c.settings[key]
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, c.wrong(key, "%w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, c.wrong(key, "%s has no certificate: want a PEM file, with -----BEGIN CERTIFICATE-----", file)
	}
	return pool, nil
}

// clientCertificate returns what reads the client's certificate, nil if it has
// none. The files are read for each connection, so that they can be replaced
// while the pipeline runs.
func (c *cluster) clientCertificate() (func(*tls.CertificateRequestInfo) (*tls.Certificate, error), error) {
	certFile, keyFile := c.settings["tls.cert"], c.settings["tls.key"]
	switch {
	case certFile == "" && keyFile == "":
		return nil, nil
	case keyFile == "":
		return nil, c.wrong("tls.key", "is missing: tls.cert needs the file of its private key")
	case certFile == "":
		return nil, c.wrong("tls.cert", "is missing: tls.key needs the file of its certificate")
	}
	read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		cert, err := os.ReadFile(certFile)
		if err != nil {
			return nil, c.wrong("tls.cert", "%w", err)
		}
		key, err := os.ReadFile(keyFile)
		if err != nil {
			return nil, c.wrong("tls.key", "%w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, c.wrong("tls.cert", "%s and tls.key %s are no certificate with its private key, both as PEM: %w", certFile, keyFile, err)
		}
		return &pair, nil
	}
	if _, err := read(nil); err != nil {
		return nil, err
	}
	return read, nil
}

// describeCA says which certificate authorities are trusted.
func (c *cluster) describeCA() string {
	if file := c.settings["tls.ca"]; file != "" {
		return fmt.Sprintf("tls.ca %s", file)
	}
	return "the authorities that this machine trusts"
}
