package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	tokenTimeout  = 10 * time.Second
	maxTokenBytes = 1 << 20 // of an authorization server's answer
)

// tokenServer is an OAuth 2.0 authorization server that gives tokens for the
// credentials of a client (RFC 6749, section 4.4).
type tokenServer struct {
	cluster  *cluster
	endpoint string
	clientID string
	secret   func() (string, error)
	scope    string
	http     *http.Client
}

// endpointTokens returns what fetches a token, for each authentication anew: a
// connection authenticates once, and again when the broker asks for it.
func (c *cluster) endpointTokens() (func(context.Context) (string, error), error) {
	if err := c.checkEndpoint(); err != nil {
		return nil, err
	}
	id := c.settings["sasl.client_id"]
	if id == "" {
		return nil, c.wrong("sasl.client_id", "is missing: sasl.token_endpoint needs it")
	}
	secret, err := c.secret("sasl.client_secret", mechanismOAuth+" with sasl.token_endpoint")
	if err != nil {
		return nil, err
	}
	s := &tokenServer{cluster: c, endpoint: c.settings["sasl.token_endpoint"], clientID: id, secret: secret, scope: c.settings["sasl.scope"]}
	s.http = &http.Client{
		Timeout: tokenTimeout,
		// Another address would get to see the client's secret.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s.token, nil
}

// checkEndpoint wants a URL that is encrypted, unless it does not leave the
// machine. The URL is not shown: it may hold a password.
func (c *cluster) checkEndpoint() error {
	const key = "sasl.token_endpoint"
	u, err := url.Parse(c.settings[key])
	if err != nil || u.Host == "" {
		return c.wrong(key, "want a URL, such as https://login.example.com/oauth2/token")
	}
	if u.User != nil {
		return c.wrong(key, "a URL with user and password in it is not supported: use sasl.client_id and sasl.client_secret")
	}
	local := u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return c.wrong(key, "want a URL that begins with https://, since the client's secret goes there")
	}
	return nil
}

// token fetches a token.
func (s *tokenServer) token(ctx context.Context) (string, error) {
	secret, err := s.secret()
	if err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"client_credentials"}}
	if s.scope != "" {
		form.Set("scope", s.scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return "", s.wrong("the URL cannot be used")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(s.clientID), url.QueryEscape(secret))
	resp, err := s.http.Do(req)
	if err != nil {
		return "", s.unreachable(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenBytes))
	if err != nil {
		return "", s.unreachable(err)
	}
	return s.answer(resp.StatusCode, body)
}

// answer reads the server's answer. What it says in its own words is not shown,
// since it may repeat what it was sent; an error code is one word.
func (s *tokenServer) answer(status int, body []byte) (string, error) {
	var answer struct {
		AccessToken string `json:"access_token"`
		Error       string `json:"error"`
	}
	broken := json.Unmarshal(body, &answer)
	switch {
	case status >= 500 || status == http.StatusTooManyRequests:
		return "", s.unreachable(fmt.Errorf("it answers with HTTP status %d", status))
	case status != http.StatusOK && oauthCode(answer.Error):
		return "", s.wrong("the server refuses client %s: %s (HTTP status %d)", s.clientID, answer.Error, status)
	case status != http.StatusOK:
		return "", s.wrong("the server refuses client %s (HTTP status %d)", s.clientID, status)
	case broken != nil || answer.AccessToken == "":
		return "", s.wrong("the server's answer has no access_token: is it the address of a token endpoint?")
	}
	s.cluster.secrets.add(answer.AccessToken)
	return answer.AccessToken, nil
}

// oauthCode reports whether text is one of the standard's error codes.
func oauthCode(text string) bool {
	switch text {
	case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
		return true
	}
	return false
}

func (s *tokenServer) wrong(format string, args ...any) error {
	return s.cluster.wrong("sasl.token_endpoint", format, args...)
}

// unreachable is an error that may pass.
func (s *tokenServer) unreachable(err error) error {
	var outer *url.Error // repeats the URL
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return &tokenError{err}
}

// tokenError says that the authorization server gave no token for now.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return "no token from sasl.token_endpoint: " + e.err.Error() }

func (e *tokenError) Unwrap() error { return e.err }
