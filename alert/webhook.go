package alert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// WebhookOptions say where findings are posted.
type WebhookOptions struct {
	// Name is the sink's name; "": "webhook".
	Name string
	// URL is http or https. It may hold a secret, so errors name the host only.
	URL string
	// Secret, unless empty, signs each body: X-Isowatch-Signature is "sha256="
	// and the HMAC-SHA256 of the body in hex.
	Secret []byte
	// Transport carries the requests; nil: a clone of the default one.
	Transport http.RoundTripper
}

// Webhook posts {"findings":[...]} to a URL.
//
// Idempotency-Key is a hash of the ids, revisions and states in the body: the
// same request again has the same key. After a restart findings may come in
// other groups; a receiver that must not act twice keeps id and revision.
type Webhook struct {
	name   string
	target *url.URL
	secret []byte
	client *http.Client
}

// NewWebhook checks the URL.
func NewWebhook(o WebhookOptions) (*Webhook, error) {
	target, err := url.Parse(o.URL)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, errors.New("webhook: the URL is not http://HOST/... or https://HOST/...")
	}
	if o.Name == "" {
		o.Name = "webhook"
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	client := &http.Client{
		Transport: o.Transport,
		// A redirected POST would become a GET, and a signed body would go to
		// another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Webhook{o.Name, target, o.Secret, client}, nil
}

// Name is the name of the options.
func (w *Webhook) Name() string { return w.name }

// Deliver posts the findings in one request; 2xx is success.
func (w *Webhook) Deliver(ctx context.Context, findings []Delivery) error {
	payload := body(findings)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.target.String(), bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("webhook: request to %s cannot be made", w.target.Host)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "isowatch")
	request.Header.Set("Idempotency-Key", idempotencyKey(findings))
	if len(w.secret) > 0 {
		mac := hmac.New(sha256.New, w.secret)
		mac.Write(payload)
		request.Header.Set("X-Isowatch-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	response, err := w.client.Do(request)
	if err != nil {
		var withURL *url.Error
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		return fmt.Errorf("webhook: post to %s: %w", w.target.Host, err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // read to keep the connection
	return w.judge(response, answer)
}

// judge tells failures that may pass from those that the content causes.
func (w *Webhook) judge(response *http.Response, answer []byte) error {
	if response.StatusCode/100 == 2 {
		return nil
	}
	err := fmt.Errorf("webhook: %s answered %s: %s", w.target.Host, response.Status, excerpt(answer))
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

func body(findings []Delivery) []byte {
	out := []byte(`{"findings":[`)
	for i := range findings {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, findings[i].JSON...)
	}
	return append(out, "]}\n"...)
}

func idempotencyKey(findings []Delivery) string {
	hash := sha256.New()
	for i := range findings {
		f := &findings[i].Finding
		fmt.Fprintf(hash, "%q %d %q\n", f.ID, f.Revision, f.State)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// excerpt is the start of an answer, fit for one log line.
func excerpt(answer []byte) string {
	text := strings.Join(strings.Fields(string(answer[:min(len(answer), 200)])), " ")
	return visible(text)
}
