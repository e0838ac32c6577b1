package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/page"
	"github.com/isowatch/isowatch/internal/render/picture"
)

// shelf is findings in memory, oldest first; a cursor is an index.
type shelf struct {
	findings []finding.Finding
	asked    []Query
	broken   error
}

func (s *shelf) List(q Query) (page []finding.Finding, next string, err error) {
	s.asked = append(s.asked, q)
	if s.broken != nil {
		return nil, "", s.broken
	}
	end := len(s.findings)
	if q.Before != "" {
		if end, err = strconv.Atoi(q.Before); err != nil {
			return nil, "", fmt.Errorf("cursor %q: %w", q.Before, ErrCursor)
		}
		end = min(end, len(s.findings)) // as the store: behind the latest one
	}
	for i := end - 1; i >= 0; i-- {
		f := s.findings[i]
		if q.Source != "" && q.Source != f.Source || q.Anomaly != "" && q.Anomaly != f.Anomaly ||
			q.Kind != "" && q.Kind != f.Kind || q.Group != "" && q.Group != groupKey(&f) || q.State != "" && q.State != f.State {
			continue
		}
		if _, ended, ok := f.EndedBetween(); ok && ended < q.Since {
			continue
		}
		if len(page) == q.Limit {
			return page, strconv.Itoa(i + 1), nil
		}
		page = append(page, f)
	}
	return page, "", nil
}

func (s *shelf) Get(id string) (finding.Finding, bool, error) {
	i := slices.IndexFunc(s.findings, func(f finding.Finding) bool { return f.ID == id })
	if i < 0 || s.broken != nil {
		return finding.Finding{}, false, s.broken
	}
	return s.findings[i], true, nil
}

func cardOf(f finding.Finding) *page.Card { return page.NewCard(f, page.Options{}) }

func skew(id string) finding.Finding {
	return finding.Finding{
		ID: id, Source: "orders", Kind: finding.KindViolation, State: finding.Final, Certain: true,
		Anomaly: "G2-item", Title: "write skew",
		Guidance: finding.Guidance{
			Headline: "T1 and T2 skewed", Meaning: "A rule may be broken.",
			Causes: []string{"Snapshot isolation."}, Next: []string{"Find them.", "Lock the rows."},
		},
		Refutes: []string{"serializable"}, AlsoRefutes: []string{"strong-session-serializable", "strong-serializable"},
		Txns: []string{"T1", "T2"}, Endpoints: map[string]string{"T1": "db-1:5432"},
		Edges: []finding.Edge{
			{From: "T1", To: "T2", Type: "rw", Key: "x", Value: "2", Evidence: "T1 read x = 1, which T2 overwrote with 2"},
			{From: "T2", To: "T1", Type: "rw", Key: "y", Value: "2", Evidence: "T2 read y = 1, which T1 overwrote with 2"},
		},
		Explanation: "G2-item\n\nLet:\n  T1 = session a #1: r x 1, w y 2\n  T2 = session b #1: r y 1, w x 2\n\nThen:\n  - T1 < T2, because T1 read x = 1.\n",
		History: []json.RawMessage{
			json.RawMessage(`{"txn":"T1","session":"a","seq":1,"status":"committed","trace_id":"4bf92f","start":"2026-11-20T18:59:58Z","end":"2026-11-20T18:59:59Z","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"y","value":2}]}`),
			json.RawMessage(`{"txn":"T2","session":"b","seq":1,"status":"committed","start":"2026-11-20T18:59:58Z","end":"2026-11-20T18:59:59Z","ops":[{"op":"r","key":"y","value":1},{"op":"w","key":"x","value":2}]}`),
		},
		Positions:     map[string]string{"T1": "nats:ISOWATCH/7", "T2": "nats:ISOWATCH/9"},
		FirstPosition: "nats:ISOWATCH/7", LastPosition: "nats:ISOWATCH/9", DetectedAt: "2026-11-20T19:00:00Z",
	}
}

// served is a handler over the findings, and what it logs.
func served(findings ...finding.Finding) (http.Handler, *shelf, *strings.Builder) {
	o, s, logged := options(findings...)
	return Handler(o), s, logged
}

func options(findings ...finding.Finding) (Options, *shelf, *strings.Builder) {
	s, logged := &shelf{findings: findings}, &strings.Builder{}
	reg := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "isowatch_probe_total", Help: "A probe."})
	reg.MustRegister(counter)
	counter.Add(3)
	return Options{
		Findings: s, Groups: newBoard(findings...), Gatherer: reg,
		Ready:  func() error { return nil },
		Status: func() any { return map[string]int{"transactions": 7} },
		Facts:  func() []Fact { return []Fact{{"expected level", "serializable"}} },
		Log:    slog.New(slog.NewTextHandler(logged, nil)),
	}, s, logged
}

func get(handler http.Handler, target string) (status int, body string, header http.Header) {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, target, nil))
	return recorder.Code, recorder.Body.String(), recorder.Header()
}

func TestMeanwhile(t *testing.T) {
	o, _, _ := options()
	o.Ready = func() error { return errors.New("no room") }
	handler := WhileWaiting(Options{Gatherer: o.Gatherer, Ready: o.Ready})
	for target, want := range map[string]string{
		"/metrics": "isowatch_probe_total 3", "/-/healthy": "healthy", "/-/ready": "no room", "/": "no room", "/api/v1/status": "no room", "/style.css": "no room",
	} {
		status, body, header := get(handler, target)
		if (status == http.StatusOK) != (target == "/metrics" || target == "/-/healthy") || !strings.Contains(body, want) || header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d, %s", target, status, body)
		}
	}
}

func TestRoutes(t *testing.T) {
	handler, _, _ := served(skew("1f"))
	for _, c := range []struct {
		target string
		status int
		media  string
		holds  string
	}{
		{"/", 200, "text/html; charset=utf-8", "write skew"},
		{"/findings/1f", 200, "text/html; charset=utf-8", `<span class="why">T1 read x = 1, which T2 overwrote with 2</span>`},
		{"/findings/1f.svg", 200, "image/svg+xml", "<svg xmlns="},
		{"/findings/2f", 404, "text/html; charset=utf-8", "no finding of this id"},
		{"/findings/2f.svg", 404, "text/html; charset=utf-8", "no finding of this id"},
		{"/findings/1f.dot", 200, "text/vnd.graphviz; charset=utf-8", `"T1" -> "T2"`},
		{"/findings/1f.json", 200, "application/json", `"anomaly":"`},
		{"/findings/1f.jsonl", 200, "application/jsonl; charset=utf-8", `{"txn":"T1"`},
		{"/findings/1f.edn", 200, "application/edn; charset=utf-8", ":type :ok"},
		{"/findings/1f.html", 200, "text/html; charset=utf-8", "<h2>Transactions (2)</h2>"},
		{"/findings/1f.pdf", 404, "text/html; charset=utf-8", "no finding of this id"},
		{"/page.js", 200, "text/javascript; charset=utf-8", "EventSource"},
		{"/favicon.svg", 200, "image/svg+xml; charset=utf-8", "<svg"},
		{"/style.css", 200, "text/css; charset=utf-8", ".badge"},
		{"/metrics", 200, "", "isowatch_probe_total 3"},
		{"/-/healthy", 200, "text/plain; charset=utf-8", "healthy\n"},
		{"/-/ready", 200, "text/plain; charset=utf-8", "ready\n"},
		{"/api/v1/findings", 200, "application/json", `[{"id":"1f"`},
		{"/api/v1/findings/1f", 200, "application/json", `{"id":"1f"`},
		{"/api/v1/findings/2f", 404, "application/json", `{"error":"no such finding"}`},
		{"/api/v1/status", 200, "application/json", `{"transactions":7}`},
		{"/nowhere", 404, "", "not found"},
		{"/findings/", 404, "", "not found"},
		{"/api/v1/", 404, "", "not found"},
	} {
		status, body, header := get(handler, c.target)
		if status != c.status || !strings.Contains(body, c.holds) {
			t.Errorf("%s: %d, %s, want %d with %q", c.target, status, body, c.status, c.holds)
		}
		if media := header.Get("Content-Type"); c.media != "" && media != c.media {
			t.Errorf("%s: %s, want %s", c.target, media, c.media)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", c.target, name, got, want)
			}
		}
	}
}

// The pages and the API say what a finding means, what is likely to cause it, and what to do.
func TestAdviceIsShown(t *testing.T) {
	handler, _, _ := served(skew("1f"))
	const list = "<div class=\"sentence\">Likely causes:<ul><li>Snapshot isolation.</li></ul></div>" +
		"<div class=\"sentence\">What to do:<ol><li>Find them.</li><li>Lock the rows.</li></ol></div>"
	for target, want := range map[string]string{
		"/": list, "/findings/1f": list, "/api/v1/findings/1f": `"meaning":"A rule may be broken.","causes":["Snapshot isolation."],"next":["Find them.","Lock the rows."]`,
	} {
		if _, body, _ := get(handler, target); !strings.Contains(body, want) {
			t.Errorf("%s does not hold %s:\n%s", target, want, body)
		}
	}
}

func TestEndpointsAreShown(t *testing.T) {
	handler, _, _ := served(skew("1f"))
	if _, body, _ := get(handler, "/findings/1f"); !strings.Contains(body, "<div><dt>Server</dt><dd><code>db-1:5432</code></dd></div>") {
		t.Errorf("the page does not say on which server T1 was:\n%s", body)
	}
}

func TestNotReady(t *testing.T) {
	reason := errors.New("state is being loaded")
	handler := Handler(Options{Ready: func() error { return reason }, Gatherer: prometheus.NewRegistry()})
	if status, body, _ := get(handler, "/-/ready"); status != 503 || body != "not ready: state is being loaded\n" {
		t.Errorf("%d, %q", status, body)
	}
	if status, _, _ := get(handler, "/-/healthy"); status != 200 {
		t.Errorf("healthy: %d: one that loads is alive", status)
	}
	reason = nil
	if status, _, _ := get(handler, "/-/ready"); status != 200 {
		t.Errorf("%d after the reason is gone", status)
	}
}

func TestFailuresAreLoggedAndNotShown(t *testing.T) {
	handler, shelf, logged := served()
	shelf.broken = errors.New("value log 7 is damaged")
	for _, target := range []string{"/", "/findings/1f", "/findings/1f.svg", "/api/v1/findings", "/api/v1/findings/1f"} {
		logged.Reset()
		status, body, _ := get(handler, target)
		if status != 500 || strings.Contains(body, "value log") || !strings.Contains(logged.String(), "value log 7") {
			t.Errorf("%s: %d, %s, logged %s", target, status, body, logged)
		}
	}
	broken := Handler(Options{Status: func() any { return func() {} }, Gatherer: prometheus.NewRegistry()})
	if status, body, _ := get(broken, "/api/v1/status"); status != 500 || !json.Valid([]byte(body)) {
		t.Errorf("status that cannot be encoded: %d, %s", status, body)
	}
}

func TestSignBesideEachColour(t *testing.T) {
	seen := map[string]bool{}
	for _, change := range []func(*finding.Finding){
		func(*finding.Finding) {},
		func(f *finding.Finding) { f.Expected = true },
		func(f *finding.Finding) { f.Certain = false },
		func(f *finding.Finding) { f.Kind = finding.KindHorizon },
		func(f *finding.Finding) { f.Kind = finding.KindGap },
		func(f *finding.Finding) { f.Kind = finding.KindRecord },
		func(f *finding.Finding) { f.State = finding.Waiting },
		func(f *finding.Finding) { f.State = finding.Withdrawn },
	} {
		f := skew("1f")
		change(&f)
		c := cardOf(f)
		sign, word, ok := strings.Cut(c.Badge(), " ")
		if !ok || sign == "" || word != string(c.Verdict) || seen[sign] {
			t.Errorf("badge %q", c.Badge())
		}
		seen[sign] = true
		if !strings.Contains(page.Style(), "."+word+" { --tone") {
			t.Errorf("no colour for %s", word)
		}
	}
}

func TestPictureIdsAreUniqueOnThePage(t *testing.T) {
	handler, _, _ := served(skew("1f"), skew("2f"))
	_, body, _ := get(handler, "/")
	seen := map[string]bool{}
	for _, rest := range strings.Split(body, ` id="`)[1:] {
		id, _, _ := strings.Cut(rest, `"`)
		if seen[id] {
			t.Errorf("id %s comes twice", id)
		}
		seen[id] = true
	}
	if len(seen) < 4 || !strings.Contains(policy, picture.StyleHash()) {
		t.Errorf("ids %v", seen)
	}
}
