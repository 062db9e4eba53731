package kafka

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// The mechanisms of sasl.mechanism.
const (
	mechanismPlain    = "PLAIN"
	mechanismScram256 = "SCRAM-SHA-256"
	mechanismScram512 = "SCRAM-SHA-512"
	mechanismOAuth    = "OAUTHBEARER"
)

// mechanisms is how they are listed.
const mechanisms = mechanismPlain + ", " + mechanismScram256 + ", " + mechanismScram512 + " or " + mechanismOAuth

// The keys of each kind of mechanism, beside sasl.mechanism.
const (
	passwordKeys = "sasl.username sasl.password sasl.password_file"
	tokenKeys    = "sasl.token sasl.token_file sasl.token_endpoint sasl.client_id sasl.client_secret sasl.client_secret_file sasl.scope sasl.extensions"
)

// parseSASL reads how to authenticate. Nothing is authenticated without
// sasl.mechanism, and no key may be set in vain.
func (c *cluster) parseSASL() error {
	const key = "sasl.mechanism"
	name := strings.ToUpper(c.settings[key])
	switch name {
	case "":
		if c.has("sasl") {
			return c.wrong(key, "is missing: want %s", mechanisms)
		}
		return nil
	case mechanismPlain, mechanismScram256, mechanismScram512:
		return c.parsePassword(name)
	case mechanismOAuth:
		return c.parseToken()
	}
	return c.wrong(key, "want %s, got %s", mechanisms, strconv.Quote(c.settings[key]))
}

// unused refuses keys that mean nothing to the mechanism.
func (c *cluster) unused(keys, mechanism string) error {
	for key := range strings.FieldsSeq(keys) {
		if c.settings[key] != "" {
			return c.wrong(key, "means nothing to sasl.mechanism %s: remove it, or choose another mechanism", mechanism)
		}
	}
	return nil
}

func (c *cluster) parsePassword(mechanism string) error {
	if err := c.unused(tokenKeys, mechanism); err != nil {
		return err
	}
	user := c.settings["sasl.username"]
	if user == "" {
		return c.wrong("sasl.username", "is missing: sasl.mechanism %s needs it", mechanism)
	}
	password, err := c.secret("sasl.password", mechanism)
	if err != nil {
		return err
	}
	switch mechanism {
	case mechanismPlain:
		c.sasl = plain.Plain(func(context.Context) (plain.Auth, error) {
			p, err := password()
			return plain.Auth{User: user, Pass: p}, err
		})
	case mechanismScram256:
		c.sasl = scram.Sha256(scramAuth(user, password))
	default:
		c.sasl = scram.Sha512(scramAuth(user, password))
	}
	return nil
}

func scramAuth(user string, password func() (string, error)) func(context.Context) (scram.Auth, error) {
	return func(context.Context) (scram.Auth, error) {
		p, err := password()
		return scram.Auth{User: user, Pass: p}, err
	}
}

// secret returns what reads a secret that is either a setting or, with _file at
// the end of its key, the content of a file. The file is read each time, so that
// it can be replaced while the pipeline runs.
func (c *cluster) secret(key, mechanism string) (func() (string, error), error) {
	value, file := c.settings[key], c.settings[key+"_file"]
	switch {
	case value != "" && file != "":
		return nil, c.wrong(key, "is set beside %s_file: set one of them", key)
	case value != "":
		return func() (string, error) { return value, nil }, nil
	case file == "":
		return nil, c.wrong(key, "is missing: sasl.mechanism %s needs it, or %s_file", mechanism, key)
	}
	read := func() (string, error) { return c.readSecret(key+"_file", file) }
	_, err := read()
	return read, err
}

// readSecret reads a file without the line ends that editors leave at its end.
func (c *cluster) readSecret(key, file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", c.wrong(key, "%w", err)
	}
	text := strings.TrimRight(string(content), "\r\n")
	if text == "" {
		return "", c.wrong(key, "%s is empty", file)
	}
	c.secrets.add(text)
	return text, nil
}

// parseToken reads where tokens come from: exactly one of a setting, a file and
// an authorization server.
func (c *cluster) parseToken() error {
	if err := c.unused(passwordKeys, mechanismOAuth); err != nil {
		return err
	}
	extensions, err := c.extensions()
	if err != nil {
		return err
	}
	token, err := c.tokens()
	if err != nil {
		return err
	}
	c.sasl = oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		t, err := token(ctx)
		return oauth.Auth{Token: t, Extensions: extensions}, err
	})
	return nil
}

func (c *cluster) tokens() (func(context.Context) (string, error), error) {
	if c.settings["sasl.token_endpoint"] != "" {
		if err := c.unused("sasl.token sasl.token_file", "OAUTHBEARER with sasl.token_endpoint"); err != nil {
			return nil, err
		}
		return c.endpointTokens()
	}
	if err := c.unused("sasl.client_id sasl.client_secret sasl.client_secret_file sasl.scope", "OAUTHBEARER without sasl.token_endpoint"); err != nil {
		return nil, err
	}
	if c.settings["sasl.token"] == "" && c.settings["sasl.token_file"] == "" {
		return nil, c.wrong("sasl.token_file", "is missing: sasl.mechanism OAUTHBEARER needs it, sasl.token or sasl.token_endpoint")
	}
	token, err := c.secret("sasl.token", mechanismOAuth)
	return func(context.Context) (string, error) { return token() }, err
}

// extensions reads the SASL extensions, "name=value" with commas between them.
func (c *cluster) extensions() (map[string]string, error) {
	const key = "sasl.extensions"
	if c.settings[key] == "" {
		return nil, nil
	}
	all := map[string]string{}
	for item := range strings.SplitSeq(c.settings[key], ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok || name == "" || value == "" || name == "auth" || strings.ContainsRune(item, '\x01') {
			return nil, c.wrong(key, "want name=value, several with commas between them")
		}
		all[name] = value
	}
	return all, nil
}
