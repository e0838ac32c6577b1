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
	"sync/atomic"
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
	if len(*bodies) != 4 {
		t.Fatalf("%d requests for two findings, twice", len(*bodies))
	}
	for i, id := range []string{skew().ID, "second"} {
		var content struct{ Findings []finding.Finding }
		if err := json.Unmarshal([]byte((*bodies)[i]), &content); err != nil {
			t.Fatalf("%v in %s", err, (*bodies)[i])
		}
		if len(content.Findings) != 1 || content.Findings[0].ID != id || i == 0 && content.Findings[0].Explanation != skew().Explanation {
			t.Errorf("body %s", (*bodies)[i])
		}
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(body))
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.Header.Get("X-Isowatch-Signature") != want {
		t.Errorf("signature %q, want %q", r.Header.Get("X-Isowatch-Signature"), want)
	}
	key := func(i int) string { return (*requests)[i].Header.Get("Idempotency-Key") }
	if key(0) == "" || key(0) == key(1) || key(0) != key(2) || key(1) != key(3) {
		t.Errorf("keys %q %q, on the retry %q %q", key(0), key(1), key(2), key(3))
	}
}

// TestIdempotencyKeyOfARevision: a revision has one key, whichever findings come with it: all at once, one by
// one after a restart, and after an error.
func TestIdempotencyKeyOfARevision(t *testing.T) {
	var fail atomic.Bool
	url, requests, bodies := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if fail.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	outbox := &memory{}
	for _, id := range []string{"a", "b", "c"} {
		outbox.add(finding.Finding{ID: id, Revision: 1})
	}
	keys := map[string]string{} // by body
	check := func() {
		t.Helper()
		for i, body := range *bodies {
			key := (*requests)[i].Header.Get("Idempotency-Key")
			if have, ok := keys[body]; ok && have != key || key == "" {
				t.Errorf("%s has the keys %q and %q", body, have, key)
			}
			keys[body] = key
		}
	}
	if err := webhook(t, WebhookOptions{URL: url}).Deliver(t.Context(), outbox.all); err != nil {
		t.Fatal(err)
	}
	sink := webhook(t, WebhookOptions{URL: url})
	for _, batch := range [][]Delivery{outbox.all[1:2], outbox.all[1:], outbox.all[:1]} {
		if err := sink.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if len(*bodies) != 3+4 || len(keys) != 3 {
		t.Errorf("%d requests, %d bodies", len(*bodies), len(keys))
	}
	before := len(*bodies)
	if err := sink.Deliver(t.Context(), outbox.all[:1]); err != nil {
		t.Fatal(err)
	}
	fail.Store(true)
	if err := sink.Deliver(t.Context(), outbox.all); err == nil {
		t.Fatal("no error")
	}
	fail.Store(false)
	if err := sink.Deliver(t.Context(), outbox.all); err != nil {
		t.Fatal(err)
	}
	check()
	if n := len(*bodies) - before; n != 1+1+3 {
		t.Errorf("%d requests", n)
	}
}

func TestIdempotencyKeyTellsContentApart(t *testing.T) {
	base := finding.Finding{ID: "a", State: finding.Provisional}
	upgraded, withdrawn, other := base, base, base
	upgraded.Revision, withdrawn.State, other.ID = 1, finding.Withdrawn, "b"
	seen := map[string]string{}
	for name, f := range map[string]finding.Finding{"base": base, "upgraded": upgraded, "withdrawn": withdrawn, "other": other} {
		key := idempotencyKey(&Delivery{Finding: f})
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
