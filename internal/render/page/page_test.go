package page

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"github.com/isowatch/isowatch/internal/render/picture"
	"github.com/isowatch/isowatch/internal/render/records"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// A report is one file: it loads nothing, and its policy admits the style sheets and the script in it.
func TestReport(t *testing.T) {
	var b bytes.Buffer
	err := WriteReport(&b, &Report{
		Heading: "history.jsonl", Made: time.Date(2026, 11, 20, 19, 5, 0, 0, time.UTC),
		Facts: []Fact{{Name: "transactions", Text: "3"}},
		Parts: []Part{{
			Heading:  "part <i>",
			Verdicts: []Verdict{{"serializable", "violated", "because"}},
			Notes:    []string{"values repeat <b>: record `version`"},
			Findings: []finding.Finding{{ID: "1f", Anomaly: "G2-item", Title: "write skew <b>"}, {ID: "2f", Anomaly: "G1a"}, {ID: "3f", Anomaly: "G2-item", Title: "write skew <b>"}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"<h1>history.jsonl</h1>", "<dt>transactions</dt><dd>3</dd>", `<th scope="row">serializable</th><td class="verdict violated">violated</td><td>because</td>`,
		`<a href="#1f">write skew &lt;b&gt;</a>`, `id="2f"`, "3 findings in 2 groups", "<b>× 2</b>", "1 more of this group", `id="3f"`, "<h2>part &lt;i&gt;</h2>", "2026-11-20 19:05:00.000 UTC",
		`<ul class="notes"><li>values repeat &lt;b&gt;: record <code>version</code></li></ul>`,
		"<style>" + Style() + "</style>", "<script>" + Script + "</script>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, hash := range []string{hashOf(Style()), hashOf(Script)} {
		if !strings.Contains(html.UnescapeString(text), hash) {
			t.Errorf("the policy does not admit %s", hash)
		}
	}
	text = strings.NewReplacer(Script, "", Style(), "").Replace(text)
	for _, banned := range []string{` src=`, `href="/`, "<link", "<img"} {
		if strings.Contains(text, banned) {
			t.Errorf("it holds %s", banned)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "in 1 h", time.Second - 4*time.Hour: "in 4 h", -100 * time.Minute: "in 2 h", -89 * time.Second: "in 1 min", -time.Second: "in 1 s",
		59 * time.Second: "59 s ago", time.Minute: "1 min ago", 61 * time.Minute: "1 h ago", 47 * time.Hour: "47 h ago", 48 * time.Hour: "2 days ago",
	} {
		if got := age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// Of many transactions the picture and the dependencies come first: the proof and the transactions are
// folded. Without dependencies the proof stays open.
func TestLongIsFolded(t *testing.T) {
	for _, c := range []struct {
		txns  int
		edges bool
		want  bool
	}{{4, true, false}, {5, true, true}, {5, false, false}} {
		f := finding.Finding{ID: "1f", Anomaly: "G1c", Title: "cycle", Explanation: "G1c\n\nLet:\n  T0 = r x 1\n"}
		for i := range c.txns {
			id, next := fmt.Sprint("T", i), fmt.Sprint("T", (i+1)%c.txns)
			f.Txns = append(f.Txns, id)
			f.History = append(f.History, json.RawMessage(fmt.Sprintf(`{"txn":%q,"status":"committed","ops":[{"op":"w","key":"k%d","value":1}]}`, id, i)))
			if c.edges {
				f.Edges = append(f.Edges, finding.Edge{From: id, To: next, Type: "wr", Key: fmt.Sprint("k", i), Value: "1", Evidence: "it read it"})
			}
		}
		var b bytes.Buffer
		if err := WriteReport(&b, &Report{Heading: "h", Parts: []Part{{Findings: []finding.Finding{f}}}}); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"proof-1f", "transactions-1f"} {
			open := strings.Contains(b.String(), `id="`+part+`" open>`)
			if open == c.want || !strings.Contains(b.String(), `id="`+part+`"`) {
				t.Errorf("%d transactions, dependencies: %v: %s is open: %v", c.txns, c.edges, part, open)
			}
		}
	}
}

// A stale read is linked with what it saw and what it missed: each link opens its evidence, under its own id.
func TestStaleHasEvidence(t *testing.T) {
	f := finding.Finding{ID: "1f", Anomaly: "nonlinearizable", Txns: []string{"T3", "T2", "T1"}, About: &finding.About{Txn: "T3", Key: "x", ClockDrift: "0s"}}
	for i, op := range []string{`"w","key":"x","value":1`, `"w","key":"x","value":2`, `"r","key":"x","value":1`} {
		f.History = append(f.History, json.RawMessage(fmt.Sprintf(`{"txn":"T%d","status":"committed","start":%d,"end":%d,"ops":[{"op":%s}]}`, i+1, 200*i+100, 200*i+200, op)))
	}
	var b bytes.Buffer
	if err := WriteReport(&b, &Report{Heading: "h", Parts: []Part{{Findings: []finding.Finding{f}}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"T3 read what T1 wrote", "T2 replaced the write of T1 before T3 began", `id="1f-step-1"`, `id="1f-step-2"`, "edge rw", "edge wr"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// Where retention has dropped the records, the page says so, and keeps words and dependencies.
func TestNoEvidence(t *testing.T) {
	f := finding.Finding{ID: "1f", Anomaly: "G1c", Title: "cycle", Txns: []string{"A", "B"}, NoEvidence: true,
		Edges: []finding.Edge{{From: "A", To: "B", Type: "wr", Key: "x", Value: "1", Evidence: "B read it"}, {From: "B", To: "A", Type: "ww", Key: "y", Value: "2", Evidence: "A replaced it"}}}
	for _, gone := range []bool{true, false} {
		f.NoEvidence = gone
		var b bytes.Buffer
		if err := WriteReport(&b, &Report{Heading: "h", Parts: []Part{{Findings: []finding.Finding{f}}}}); err != nil {
			t.Fatal(err)
		}
		for _, said := range []string{"The evidence of this finding is no longer kept", "The record is no longer kept."} {
			if strings.Contains(b.String(), said) != gone {
				t.Errorf("dropped: %v, but %q", gone, said)
			}
		}
		if !strings.Contains(b.String(), "A replaced it") {
			t.Error("a dependency is missing")
		}
	}
}

// Events have their number in the timeline, and times as elsewhere: to a millisecond, with their age.
func TestEvents(t *testing.T) {
	o := Options{Now: time.Date(2026, 3, 2, 9, 5, 0, 0, time.UTC)}
	f := finding.Finding{ID: "1f", Anomaly: "G1c", During: []finding.Mark{
		{Name: "kill", Start: "2026-03-02T09:00:00.123456789Z", End: "2026-03-02T09:00:01Z"}, {Name: "pause", Start: "2026-03-02T09:00:00Z"}, {Name: "odd", Start: "today", End: "later"},
	}}
	var b bytes.Buffer
	if err := Templates().ExecuteTemplate(&b, "finding", NewFull(f, o, nil)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`1. kill, <time datetime="2026-03-02T09:00:00.123456789Z">2026-03-02 09:00:00.123 UTC</time> <span class="soft">(4 min ago)</span> to <time`,
		`2. pause, <time datetime="2026-03-02T09:00:00Z">2026-03-02 09:00:00.000 UTC</time> <span class="soft">(5 min ago)</span>, which had not ended`,
		"3. odd, today to later",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// An address in an advice is a link, and nothing else of the text is.
func TestLinked(t *testing.T) {
	for text, want := range map[string]string{
		"Jepsen: <https://jepsen.io/a-b.1>.":                                                      `Jepsen: <a href="https://jepsen.io/a-b.1" rel="noreferrer">https://jepsen.io/a-b.1</a>.`,
		"record `version`, or --window; run `monitor check --contract a=<b>`.":                    `record <code>version</code>, or <span class="flag">--window</span>; run <code>monitor check <span class="flag">--contract</span> a=&lt;b&gt;</code>.`,
		"use `--window`, not ` alone":                                                             "use <code><span class=\"flag\">--window</span></code>, not ` alone",
		`<script>x</script> <https://x"onclick=1> & javascript:`:                                  `&lt;script&gt;x&lt;/script&gt; &lt;https://x&#34;onclick=1&gt; &amp; javascript:`,
		"Run monitor findings --id 1f --output svg, or -o dot (--html). A well-known a--b stays.": `Run monitor findings <span class="flag">--id</span> 1f <span class="flag">--output</span> svg, or <span class="flag">-o</span> dot (<span class="flag">--html</span>). A well-known a--b stays.`,
	} {
		if got := string(linked(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A record is shown with its times as inputs have them. A value that looks like a time stays as it is.
func TestReadable(t *testing.T) {
	got := readable([]byte(`{"txn":"T1","start":1795965214181656000,"end":1795965214181656001,"ops":[{"op":"w","key":"a","value":{"start":1795965214181656000}}]}`))
	want := `{"txn":"T1","start":"2026-11-29T15:13:34.181656Z","end":"2026-11-29T15:13:34.181656001Z","ops":[{"op":"w","key":"a","value":{"start":1795965214181656000}}]}`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A finding has one title: on pages the same as in alerts and JSON. Behind it stands the title of its group, where that is
// another one.
func TestTitle(t *testing.T) {
	for _, c := range []struct{ anomaly, title, want string }{
		{"G-single-item", "fractured read", "fractured read (G-single-item, a form of read skew)"},
		{"G-single-item", "read skew", "read skew (G-single-item)"},
		{"G-single-item", "", "G-single-item"},
		{"unheard-of", "a title", "a title (unheard-of)"},
		{"G-nonadjacent", "long fork", "long fork (G-nonadjacent)"},
	} {
		var b strings.Builder
		if err := WriteReport(&b, &Report{Parts: []Part{{Findings: []finding.Finding{{ID: "1f", Anomaly: c.anomaly, Title: c.title}}}}}); err != nil {
			t.Fatal(err)
		}
		_, h1, _ := strings.Cut(b.String(), `<span class="title">`)
		h1, _, _ = strings.Cut(h1, "</h1>")
		if got := strings.Join(strings.Fields(regexp.MustCompile("<[^>]*>").ReplaceAllString(h1, "")), " "); got != c.want {
			t.Errorf("%s, %q: %q, want %q", c.anomaly, c.title, got, c.want)
		}
	}
}

// A trace id is one value wherever it stands in the link.
func TestTraceURL(t *testing.T) {
	const id = "a&b=c+d e/f?g#h%20ä"
	for _, link := range []string{"https://h/trace/{trace_id}/x", "https://h/?a=1&id={trace_id}&b=2", "https://h/x#/search?id={trace_id}"} {
		got, err := url.Parse(traceURL(link, id))
		if err != nil {
			t.Fatal(err)
		}
		var found string
		switch {
		case got.RawQuery != "":
			found = got.Query().Get("id")
			if q := got.Query(); len(q) != 3 || q.Get("b") != "2" {
				t.Errorf("%s: the query is %v", link, q)
			}
		case got.EscapedFragment() != "":
			values, _ := url.ParseQuery(strings.TrimPrefix(got.EscapedFragment(), "/search?"))
			found = values.Get("id")
		default:
			found = strings.TrimSuffix(strings.TrimPrefix(got.Path, "/trace/"), "/x")
			if n := strings.Count(got.EscapedPath(), "/"); n != 3 {
				t.Errorf("%s has %d steps", got, n)
			}
		}
		if found != id {
			t.Errorf("%s leads to %q", got, found)
		}
	}
	if got := traceURL("https://h/{trace_id}", "4bf92f3577b34da6a3ce929d0e0e4736"); got != "https://h/4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Error(got)
	}
}

// A finding in a report has its downloads within the file: what the service has at addresses of their own.
func TestDownloadsWithinAReport(t *testing.T) {
	f := finding.Finding{
		ID: "1f", Anomaly: "G1a", Title: "aborted read", Txns: []string{"T1", "T2"}, About: &finding.About{Txn: "T2", Key: "x", Value: "\"<\u202e>\""},
		History: []json.RawMessage{
			json.RawMessage(`{"txn":"T1","status":"aborted","ops":[{"op":"w","key":"x","value":"<\u202e>"}]}`),
			json.RawMessage(`{"txn":"T2","status":"committed","ops":[{"op":"r","key":"x","value":"<\u202e>"}]}`),
		},
	}
	var b bytes.Buffer
	if err := WriteReport(&b, &Report{Parts: []Part{{Findings: []finding.Finding{f, {ID: "2f", Anomaly: "gap", Kind: finding.KindGap}}}}}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`<a href="data:[^;]+;base64,([^"]*)" download="([^"]*)">`).FindAllStringSubmatch(html.UnescapeString(b.String()), -1) {
		text, err := base64.StdEncoding.DecodeString(m[1])
		if err != nil {
			t.Fatalf("%s: %v", m[2], err)
		}
		got[m[2]] = string(text)
	}
	want := map[string]string{"finding-1f.svg": string(picture.SVG(f)), "finding-1f.dot": string(picture.DOT(f))}
	for name, form := range map[string]func(*finding.Finding) ([]byte, error){
		"finding-1f.json": func(f *finding.Finding) ([]byte, error) { return json.Marshal(f) }, "finding-1f.jsonl": records.JSONL, "finding-1f.edn": records.EDN,
	} {
		text, err := form(&f)
		if err != nil {
			t.Fatal(err)
		}
		want[name] = string(text)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %.80q, want %.80q", name, got[name], text)
		}
	}
	if len(got) != len(want)+1 || got["finding-2f.json"] == "" {
		t.Errorf("%d downloads", len(got))
	}
	if n := strings.Count(b.String(), ".isowatch .txn rect"); n != 1 {
		t.Errorf("the style of pictures is there %d times", n)
	}
}

// A report that gets too long by downloads has those of the first findings, and says so.
func TestLongReportHasFewerDownloads(t *testing.T) {
	written := func(n int) string {
		var all []finding.Finding
		for i := range n {
			all = append(all, finding.Finding{
				ID: fmt.Sprintf("f%02d", i), Anomaly: "G1a", Kind: finding.KindViolation, Txns: []string{"T1"},
				History: []json.RawMessage{json.RawMessage(`{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":"` + strings.Repeat("value ", 30_000) + `"}]}`)},
			})
		}
		var b bytes.Buffer
		if err := WriteReport(&b, &Report{Parts: []Part{{Findings: all}}}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	short, long := written(4), written(30)
	if strings.Contains(short, "would be too long") || strings.Count(short, ".edn") != 4 {
		t.Errorf("a short report of %d bytes has %d downloads", len(short), strings.Count(short, ".edn"))
	}
	loaded := strings.Count(long, `.edn"`)
	if loaded < 5 || loaded > 28 || !strings.Contains(long, fmt.Sprintf("only the first %d findings have theirs", loaded)) {
		t.Errorf("a long report has %d downloads", loaded)
	}
	if last := fmt.Sprintf("finding-f%02d.edn", loaded-1); !strings.Contains(long, last) {
		t.Errorf("no %s", last)
	}
	if len(long) > mostBytes || len(long) < mostBytes*8/10 {
		t.Errorf("%d bytes", len(long))
	}
}

// A picture of names alone, without an arrow or an operation, is none.
func TestNoPictureOfNamesAlone(t *testing.T) {
	bare := finding.Finding{ID: "1f", Anomaly: "gap", Kind: finding.KindGap, Txns: []string{"T3"}}
	if f := NewFull(bare, Options{}, nil); f.SVG != "" || len(f.Members) != 1 {
		t.Errorf("%d members, %s", len(f.Members), f.SVG)
	}
	bare.History = []json.RawMessage{json.RawMessage(`{"txn":"T3","status":"committed","ops":[{"op":"r","key":"x","value":1}]}`)}
	if f := NewFull(bare, Options{}, nil); f.SVG == "" {
		t.Error("an operation is not drawn")
	}
}
