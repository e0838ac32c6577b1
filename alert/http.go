package alert

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Login is shown to a receiver over HTTP: basic auth, or a bearer token. No error
// holds it.
type Login struct {
	User     string
	Password []byte
	Token    []byte
}

func (l Login) on(request *http.Request) {
	switch {
	case l.User != "":
		request.SetBasicAuth(l.User, string(l.Password))
	case len(l.Token) > 0:
		request.Header.Set("Authorization", "Bearer "+string(l.Token))
	}
}

// NewTransport is one that trusts the authorities in pem, or the system's authorities
// where pem has none.
func NewTransport(pem []byte) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if len(pem) > 0 {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, errors.New("the CA file holds no PEM certificate")
		}
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	}
	return t, nil
}

// poster posts JSON to one URL, which may hold a secret: errors name its host only.
type poster struct {
	kind   string // of the sink, for errors
	target *url.URL
	login  Login
	client *http.Client
}

func newPoster(kind, target string, login Login, transport http.RoundTripper) (*poster, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: the URL is not http://HOST/... or https://HOST/...", kind)
	}
	if transport == nil {
		transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	return &poster{kind, u, login, &http.Client{
		Transport: transport,
		// A redirected POST would become a GET, and a signed body would go to
		// another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// post is nil for an answer of 2xx.
func (p *poster) post(ctx context.Context, payload []byte, header http.Header) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.target.String(), bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("%s: request to %s cannot be made", p.kind, p.target.Host)
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "isowatch")
	setOwner(ctx, request.Header)
	p.login.on(request)
	response, err := p.client.Do(request)
	if err != nil {
		var withURL *url.Error
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		return fmt.Errorf("%s: post to %s: %w", p.kind, p.target.Host, err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // read to keep the connection
	return p.judge(response, answer)
}

// judge tells failures that may pass from those that the content causes.
func (p *poster) judge(response *http.Response, answer []byte) error {
	if response.StatusCode/100 == 2 {
		return nil
	}
	err := fmt.Errorf("%s: %s answered %s: %s", p.kind, p.target.Host, response.Status, excerpt(answer))
	switch response.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %w", ErrRejected, err)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		// The form with a date would need this clock to agree with theirs.
		if seconds, numErr := strconv.Atoi(response.Header.Get("Retry-After")); numErr == nil && seconds > 0 {
			return &RetryError{Err: err, After: time.Duration(min(seconds, 1<<20)) * time.Second}
		}
	}
	return err
}
