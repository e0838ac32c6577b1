package alert

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/isowatch/isowatch/internal/render/words"
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

// Webhook posts {"findings":[...]} to a URL, with one finding in each request. With "page_url" beside it, the
// address of the finding's page. It posts {"digest":[...]} of
// the findings that were held back.
//
// Idempotency-Key is a hash of the finding's id, revision and state, or of the digest. So a revision has the
// same key each time, after a restart too.
type Webhook struct {
	name   string
	to     *poster
	secret []byte
}

// NewWebhook checks the URL.
func NewWebhook(o WebhookOptions) (*Webhook, error) {
	if o.Name == "" {
		o.Name = "webhook"
	}
	to, err := newPoster("webhook", o.URL, Login{}, o.Transport)
	if err != nil {
		return nil, err
	}
	return &Webhook{o.Name, to, o.Secret}, nil
}

// Name is the name of the options.
func (w *Webhook) Name() string { return w.name }

// BatchMax is 1: a finding is a request.
func (w *Webhook) BatchMax() int { return 1 }

// Deliver posts each finding in a request of its own; 2xx is success.
func (w *Webhook) Deliver(ctx context.Context, findings []Delivery) error {
	for i := range findings {
		if err := w.send(ctx, w.body(&findings[i]), idempotencyKey(&findings[i])); err != nil {
			return err
		}
	}
	return nil
}

// Digest implements [Digester].
func (w *Webhook) Digest(ctx context.Context, held []Held) error {
	text, err := digestBody(held)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	return w.send(ctx, append(text, '\n'), hex.EncodeToString(hash[:16]))
}

func (w *Webhook) send(ctx context.Context, payload []byte, key string) error {
	header := http.Header{"Idempotency-Key": {key}}
	if len(w.secret) > 0 {
		mac := hmac.New(sha256.New, w.secret)
		mac.Write(payload)
		header.Set("X-Isowatch-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	return w.to.post(ctx, payload, header)
}

func (w *Webhook) body(f *Delivery) []byte {
	b := append(append([]byte(`{"findings":[`), f.JSON...), ']')
	if f.Finding.PageURL != "" {
		link, _ := json.Marshal(f.Finding.PageURL) // of a string: it does not fail
		b = append(append(b, `,"page_url":`...), link...)
	}
	return append(b, "}\n"...)
}

func digestBody(held []Held) ([]byte, error) {
	text, err := json.Marshal(map[string]any{"digest": held})
	if err != nil {
		return nil, fmt.Errorf("digest: %w", err)
	}
	return text, nil
}

func idempotencyKey(d *Delivery) string {
	f := &d.Finding
	hash := sha256.Sum256(fmt.Appendf(nil, "%q %d %q\n", f.ID, f.Revision, f.State))
	return hex.EncodeToString(hash[:16])
}

// excerpt is the start of an answer, fit for one log line.
func excerpt(answer []byte) string {
	text := strings.Join(strings.Fields(string(answer[:min(len(answer), 200)])), " ")
	return words.Visible(text)
}
