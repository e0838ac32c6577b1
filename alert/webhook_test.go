package alert

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// receiver answers each request by handle, after keeping it.
func receiver(t *testing.T, handle http.HandlerFunc) (url string, got *[]*http.Request, bodies *[]string) {
	t.Helper()
	got, bodies = new([]*http.Request), new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*got, *bodies = append(*got, r), append(*bodies, string(body))
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, got, bodies
}

func webhook(t *testing.T, o WebhookOptions) *Webhook {
	t.Helper()
	w, err := NewWebhook(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWebhookRequest(t *testing.T) {
	url, requests, bodies := receiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	secret := []byte("shared secret")
	sink := webhook(t, WebhookOptions{URL: url + "/hook?token=t", Secret: secret})
	outbox := &memory{}
	outbox.add(skew(), finding.Finding{ID: "second"})
	for range 2 {
		if err := sink.Deliver(t.Context(), outbox.all); err != nil {
			t.Fatal(err)
		}
	}
	r, body := (*requests)[0], (*bodies)[0]
	if r.Method != http.MethodPost || r.URL.String() != "/hook?token=t" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s, %v", r.Method, r.URL, r.Header)
	}
	var content struct{ Findings []finding.Finding }
	if err := json.Unmarshal([]byte(body), &content); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if len(content.Findings) != 2 || content.Findings[0].Explanation != skew().Explanation || content.Findings[1].ID != "second" {
		t.Errorf("body %s", body)
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(body))
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.Header.Get("X-Isowatch-Signature") != want {
		t.Errorf("signature %q, want %q", r.Header.Get("X-Isowatch-Signature"), want)
	}
	if first, again := r.Header.Get("Idempotency-Key"), (*requests)[1].Header.Get("Idempotency-Key"); first == "" || first != again {
		t.Errorf("Idempotency-Key %q, on the retry %q", first, again)
	}
}

func TestIdempotencyKeyTellsContentApart(t *testing.T) {
	base := finding.Finding{ID: "a", State: finding.Provisional}
	upgraded, withdrawn, other := base, base, base
	upgraded.Revision, withdrawn.State, other.ID = 1, finding.Withdrawn, "b"
	seen := map[string]string{}
	for name, findings := range map[string][]Delivery{
		"base": {{Finding: base}}, "upgraded": {{Finding: upgraded}}, "withdrawn": {{Finding: withdrawn}},
		"other": {{Finding: other}}, "two": {{Finding: base}, {Finding: other}}, "two, reversed": {{Finding: other}, {Finding: base}},
	} {
		key := idempotencyKey(findings)
		if seen[key] != "" {
			t.Errorf("%s and %s have one key", name, seen[key])
		}
		seen[key] = name
	}
}

func TestUnsignedWithoutSecret(t *testing.T) {
	url, requests, _ := receiver(t, func(http.ResponseWriter, *http.Request) {})
	if err := webhook(t, WebhookOptions{URL: url}).Deliver(t.Context(), []Delivery{{JSON: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	if _, signed := (*requests)[0].Header["X-Isowatch-Signature"]; signed {
		t.Error("signed without a secret")
	}
}

func TestWebhookAnswers(t *testing.T) {
	for _, c := range []struct {
		status   int
		header   string // Retry-After
		rejected bool
		after    time.Duration
		ok       bool
	}{
		{status: 200, ok: true},
		{status: 202, ok: true},
		{status: 302},
		{status: 400, rejected: true},
		{status: 413, rejected: true},
		{status: 422, rejected: true},
		{status: 401}, // a wrong token: the findings wait until it is put right
		{status: 404},
		{status: 500},
		{status: 503},
		{status: 503, header: "120", after: 2 * time.Minute},
		{status: 429, header: "7", after: 7 * time.Second},
		{status: 429, header: "-7"},
		{status: 429, header: "Fri, 20 Nov 2026 19:00:00 GMT"},
		{status: 500, header: "120"},
	} {
		url, requests, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.Header().Set("Retry-After", c.header)
			w.WriteHeader(c.status)
			io.WriteString(w, "because\n\x1b[31m of this "+strings.Repeat("x", 100_000))
		})
		err := webhook(t, WebhookOptions{URL: url}).Deliver(t.Context(), []Delivery{{JSON: []byte("{}")}})
		var retry *RetryError
		after := time.Duration(0)
		if errors.As(err, &retry) {
			after = retry.After
		}
		if (err == nil) != c.ok || errors.Is(err, ErrRejected) != c.rejected || after != c.after || len(*requests) != 1 {
			t.Errorf("status %d, Retry-After %q: %v, after %v, %d requests", c.status, c.header, err, after, len(*requests))
		}
		if err != nil && (!strings.Contains(err.Error(), `because \x1b[31m of this`) || len(err.Error()) > 400) {
			t.Errorf("status %d: error of %d bytes: %.100v", c.status, len(err.Error()), err)
		}
	}
}

func TestWebhookErrorsHideTheURL(t *testing.T) {
	sink := webhook(t, WebhookOptions{URL: "http://user:pass@127.0.0.1:1/services/SECRET?token=SECRET"})
	err := sink.Deliver(t.Context(), []Delivery{{JSON: []byte("{}")}})
	if err == nil || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "pass") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("Deliver = %v, want the host and no more of the URL", err)
	}
	for _, bad := range []string{"", "hook", "ftp://host/SECRET", "http:///SECRET", "http://host\x7f/SECRET", "://SECRET"} {
		if _, err := NewWebhook(WebhookOptions{URL: bad}); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("NewWebhook(%q) = %v", bad, err)
		}
	}
}

func TestWebhookEndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	url, _, _ := receiver(t, func(http.ResponseWriter, *http.Request) { <-release })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := webhook(t, WebhookOptions{URL: url}).Deliver(ctx, []Delivery{{JSON: []byte("{}")}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Deliver = %v, want the deadline", err)
	}
}
