package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/finding"
)

const pages = "https://isowatch.example/watch/"

// Every sink that is told where the pages are links each finding to its page, by a link that needs no
// escape of its own. A sink that is not told gets the finding as it is stored.
func TestLinks(t *testing.T) {
	url, _, bodies := receiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	path := filepath.Join(t.TempDir(), "sink.jsonl")
	var jsonl, text, logged, bare bytes.Buffer
	outbox := &memory{}
	outbox.add(finding.Finding{ID: "a b/c"})
	stored := string(outbox.all[0].JSON)
	d, err := NewDispatcher(outbox, []Route{
		{Sink: webhook(t, WebhookOptions{URL: url}), Pages: pages, Filter: Everything()},
		{Sink: NewFile("file", path), Pages: pages, Filter: Everything()},
		{Sink: NewJSONL(&jsonl), Pages: pages, Filter: Everything()},
		{Sink: NewText(&text, false), Pages: pages, Filter: Everything()},
		{Sink: NewLog(slog.New(slog.NewTextHandler(&logged, nil))), Pages: pages, Filter: Everything()},
		{Sink: silent{NewJSONL(&bare)}, Filter: Everything()},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	const want = "https://isowatch.example/watch/findings/a%20b%2Fc"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{"file": string(file), "jsonl": jsonl.String()} {
		var got, plain finding.Finding
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.PageURL != want {
			t.Errorf("%s: %v in %s", name, err, line)
		}
		if err := json.Unmarshal([]byte(stored), &plain); err != nil {
			t.Fatal(err)
		}
		plain.PageURL = want
		if whole, _ := json.Marshal(plain); string(whole)+"\n" != line {
			t.Errorf("%s: %s\nwant %s", name, line, whole)
		}
	}
	var body struct {
		Findings []finding.Finding `json:"findings"`
		PageURL  string            `json:"page_url"`
	}
	if err := json.Unmarshal([]byte((*bodies)[0]), &body); err != nil || len(body.Findings) != 1 || body.PageURL != want || body.Findings[0].PageURL != want {
		t.Errorf("%v, %+v in %s", err, body, (*bodies)[0])
	}
	if !strings.Contains(text.String(), "\n  Page: "+want+"\n") || !strings.Contains(logged.String(), " page_url="+want) {
		t.Errorf("text %s\nlog %s", &text, &logged)
	}
	if bare.String() != stored+"\n" || string(outbox.all[0].JSON) != stored {
		t.Errorf("without pages: %s, the outbox has %s", &bare, outbox.all[0].JSON)
	}
}

// silent is a second sink of its kind.
type silent struct{ Sink }

func (silent) Name() string { return "silent" }

// A digest links to the list of what it counts.
func TestDigestLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &keptDigest{}
		l := NewLimiter(sink, LimitOptions{PerPattern: 1, Every: time.Minute, Pages: pages})
		var findings []Delivery
		for _, f := range []finding.Finding{of("a", "G2"), of("b", "G2"), later(of("a", "horizon"), finding.ResolvedViolated), later(of("c", "horizon"), finding.ResolvedViolated)} {
			f.Source = "shop & co"
			findings = append(findings, Delivery{Finding: f})
		}
		if err := l.Deliver(t.Context(), findings); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"https://isowatch.example/watch/findings?source=shop+%26+co&anomaly=G2",
			"https://isowatch.example/watch/findings?source=shop+%26+co&state=resolved-violated",
		}
		for i, h := range sink.held {
			if h.PageURL != want[i] && h.PageURL != want[1-i] || len(sink.held) != 2 {
				t.Errorf("%s: %s", h.Pattern, h.PageURL)
			}
		}
		other := Pattern{Source: "db", Anomaly: otherwise}
		if got := listURL(pages, &other); got != "https://isowatch.example/watch/findings?source=db" {
			t.Error(got)
		}
	})
}

// keptDigest keeps what it is told.
type keptDigest struct {
	JSONL
	held []Held
}

func (*keptDigest) Deliver(context.Context, []Delivery) error { return nil }

func (k *keptDigest) Digest(_ context.Context, held []Held) error {
	k.held = append(k.held, held...)
	return nil
}
