package web

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/catalog"

	"github.com/isowatch/isowatch/finding"
)

// A dependency opens its evidence: the two operations, the positions of their records, and these.
func TestEvidence(t *testing.T) {
	o, _, _ := options(skew("1f"))
	o.Trace = "https://jaeger.example/trace/{trace_id}?x=1"
	o.Now = func() time.Time { return time.Date(2026, 11, 20, 19, 5, 0, 0, time.UTC) }
	o.Beside = func(source string, from, to time.Time) []finding.Mark {
		if source != "orders" || from.Format(time.TimeOnly) != "18:59:53" || to.Format(time.TimeOnly) != "19:00:04" {
			t.Errorf("asked for %s from %v to %v", source, from, to)
		}
		return []finding.Mark{{Name: "the monitor did not run", Start: "2026-11-20T18:59:58Z", End: "2026-11-20T19:00:01Z"}}
	}
	_, body, _ := get(Handler(o), "/findings/1f")
	for _, want := range []string{
		`<details class="step" id="1f-step-1">`, `<code>T1</code>: <code>r x 1</code> <span class="soft">operation 1</span> <span class="soft">at</span> <code>nats:ISOWATCH/7</code>`,
		`<code>T2</code>: <code>w x 2</code> <span class="soft">operation 2</span>`, "&#34;txn&#34;:&#34;T1&#34;",
		`<a href="https://jaeger.example/trace/4bf92f?x=1" rel="noreferrer"><code>4bf92f</code></a>`,
		`<time datetime="2026-11-20T19:00:00Z">2026-11-20 19:00:00.000 UTC</time> <span class="soft">(5 min ago)</span>`,
		"<dt>Took</dt><dd>1 s</dd>", "▒ 1  +0 s to +3 s  the monitor did not run", "<dt>Beside</dt><dd>1. the monitor did not run, <time datetime=\"2026-11-20T18:59:58Z\">2026-11-20 18:59:58.000 UTC</time>", "Timeline of write skew (G2-item)",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in\n%s", want, body)
		}
	}
}

// The API tells of a finding by itself what its page shows beside the transactions.
func TestBesideInTheAPI(t *testing.T) {
	o, _, _ := options(skew("1f"))
	o.Beside = func(string, time.Time, time.Time) []finding.Mark {
		return []finding.Mark{{Name: "other levels", Text: "expected causal", Start: "2026-11-20T18:59:58Z"}}
	}
	const want = `"beside":[{"name":"other levels","text":"expected causal","start":"2026-11-20T18:59:58Z"}]`
	for target, has := range map[string]bool{"/api/v1/findings/1f": true, "/findings/1f.json": true, "/api/v1/findings": false} {
		if _, body, _ := get(Handler(o), target); strings.Contains(body, want) != has || !strings.Contains(body, `"id":"1f"`) {
			t.Errorf("%s: %s", target, body)
		}
	}
}

// Behind a proxy that serves the pages below a path every link leads there. Probes come past it.
func TestBase(t *testing.T) {
	o, _, _ := options(skew("1f"))
	o.Base, o.Changes = "/watch", func() uint64 { return 0 }
	handler := Handler(o)
	for _, target := range []string{"/watch/", "/watch/findings/1f", "/watch/findings/nothing", "/watch/?refresh=5&limit=1"} {
		_, body, _ := get(handler, target)
		for _, rest := range strings.Split(body, `="/`)[1:] {
			if link, _, _ := strings.Cut(rest, `"`); !strings.HasPrefix(link, "watch/") {
				t.Errorf("%s leads to /%s", target, link)
			}
		}
	}
	for target, want := range map[string]int{"/watch": 301, "/watch/style.css": 200, "/metrics": 200, "/-/ready": 200, "/watch/metrics": 200, "/watching/metrics": 404} {
		if status, _, _ := get(handler, target); status != want {
			t.Errorf("%s: %d, want %d", target, status, want)
		}
	}
}

func TestGzip(t *testing.T) {
	handler, _, _ := served(skew("1f"))
	request := httptest.NewRequest(http.MethodGet, "/findings/1f", nil)
	request.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, request)
	if got := w.Header().Get("Content-Encoding"); got != "gzip" {
		t.Fatalf("Content-Encoding %q", got)
	}
	size := w.Body.Len()
	r, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(text), "write skew") || size > len(text)/2 {
		t.Errorf("%d bytes for %d, %v", size, len(text), err)
	}
}

// A page that follows is told within two seconds, through a server with its time limits.
func TestEvents(t *testing.T) {
	o, _, _ := options()
	var changes atomic.Uint64
	o.Changes = changes.Load
	server := httptest.NewUnstartedServer(nil)
	server.Config = NewServer(Handler(o), o.Log)
	server.Start()
	defer server.Close()
	answer, err := http.Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if media := answer.Header.Get("Content-Type"); media != "text/event-stream" {
		t.Fatalf("%s, %s", answer.Status, media)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() && lines.Text() != "retry: 3000" {
	}
	changes.Add(1)
	for lines.Scan() && lines.Text() != "event: change" {
	}
	if err := lines.Err(); err != nil || lines.Text() != "event: change" {
		t.Errorf("%q, %v", lines.Text(), err)
	}
}

// All pages of findings follow what changes: they say where they are told, and what is renewed.
func TestPagesFollow(t *testing.T) {
	o, _, _ := options(skew("1f"))
	b := newBoard(skew("1f"))
	o.Groups = b
	rows, _, _ := b.Groups(Query{}, catalog.ByLast, 0, 1)
	handler := Handler(o)
	for _, target := range []string{"/list", "/findings", "/findings?group=" + rows.Rows[0].Key, "/findings/1f"} {
		status, body, _ := get(handler, target)
		for _, want := range []string{`data-events="/events"`, `id="live" data-live>`, `id="live-state"`} {
			if status != 200 || strings.Count(body, want) != 1 {
				t.Errorf("%s: %d, %d of %s", target, status, strings.Count(body, want), want)
			}
		}
	}
}

func TestNothingToFollow(t *testing.T) {
	handler, _, _ := served()
	if status, _, _ := get(handler, "/events"); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
}

func TestTooManyPagesFollow(t *testing.T) {
	s := &site{Options: Options{Changes: func() uint64 { return 0 }, Now: time.Now}}
	s.watching.Store(maxWatching)
	w := httptest.NewRecorder()
	s.events(w, httptest.NewRequest(http.MethodGet, "/events", nil))
	if w.Code != http.StatusServiceUnavailable || s.watching.Load() != maxWatching {
		t.Errorf("%d, %d watch", w.Code, s.watching.Load())
	}
}

// Where there are no records, the page does not link them, and their addresses say why.
func TestNoRecords(t *testing.T) {
	for gone, want := range map[bool]struct {
		status int
		said   string
	}{
		true: {http.StatusGone, "The records of this finding are no longer kept: retention.evidence"}, false: {http.StatusNotFound, "This finding carries no records."},
	} {
		f := skew("1f")
		f.History, f.NoEvidence = nil, gone
		handler, _, _ := served(f)
		for _, ending := range []string{".jsonl", ".edn"} {
			if status, body, header := get(handler, "/findings/1f"+ending); status != want.status || !strings.Contains(body, want.said) || header.Get("Content-Disposition") != "" {
				t.Errorf("%s, dropped %v: %d, %s", ending, gone, status, body)
			}
			if _, body, _ := get(handler, "/findings/1f"); strings.Contains(body, "1f"+ending) {
				t.Errorf("%s, dropped %v: the page links it", ending, gone)
			}
		}
		for _, ending := range []string{".svg", ".dot", ".html", ""} {
			if status, _, _ := get(handler, "/findings/1f"+ending); status != http.StatusOK {
				t.Errorf("%s, dropped %v: %d", ending, gone, status)
			}
		}
	}
}

// Beside the downloads stands how the records show the finding again, and why they are not there as EDN.
func TestRecordsAreFoundAgain(t *testing.T) {
	f := finding.Finding{
		ID: "1f", Kind: finding.KindRecord, Anomaly: "session-not-sequential", Txns: []string{"B", "A"},
		History: []json.RawMessage{
			[]byte(`{"txn":"A","session":"a","status":"committed","start":100,"end":300,"ops":[{"op":"w","key":"x","value":1}]}`),
			[]byte(`{"txn":"B","session":"a","status":"committed","start":200,"end":400,"ops":[{"op":"w","key":"x","value":2}]}`),
		},
	}
	for anomaly, want := range map[string]struct {
		edn     bool
		command string
	}{
		"session-not-sequential": {false, "monitor check --contract start=existing,clock-drift=1s finding-1f.jsonl<"},
		"contradictory-record":   {false, "monitor check --contract start=existing,clock-drift=1s finding-1f.jsonl<"},
		"unattributed-read":      {true, "monitor check --contract capture=partial,clock-drift=1s finding-1f.jsonl<"},
		"horizon":                {true, ""},
	} {
		f.Anomaly = anomaly
		o, _, _ := options(f)
		o.Contract = func(string) string { return "start=existing,clock-drift=1s" }
		handler := Handler(o)
		_, body, _ := get(handler, "/findings/1f")
		status, edn, _ := get(handler, "/findings/1f.edn")
		_, report, _ := get(handler, "/findings/1f.html")
		if linked := strings.Contains(body, "1f.edn"); linked != want.edn || (status == http.StatusOK) != want.edn || strings.Contains(report, "1f.edn") != want.edn {
			t.Errorf("%s: EDN is linked %v, and has status %d", anomaly, linked, status)
		}
		for name, text := range map[string]string{"page": body, "report": report, "EDN": edn} {
			if strings.Contains(text, "only JSONL keeps") == want.edn {
				t.Errorf("%s, %s: why there is no EDN: %s", anomaly, name, text)
			}
			if name != "EDN" && strings.Contains(text, "finds it again: <code>"+want.command) != (want.command != "") {
				t.Errorf("%s, %s: no %s in %s", anomaly, name, want.command, text)
			}
		}
	}
}
