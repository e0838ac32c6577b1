package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/catalog"
)

// many is an overview of n sources, each as bad as its number says.
func many(n int) func(time.Duration, int) Overview {
	return func(span time.Duration, skip int) Overview {
		to := time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC)
		o := Overview{From: to.Add(-span), To: to, Total: n, Reading: true}
		for i := skip; i < min(n, skip+SourcesOnPage); i++ {
			x := Source{
				Name: fmt.Sprintf("source-%d", i), Expected: "postgresql/serializable", Verdict: []string{"ok", "unknown", "violated"}[i%3],
				Decided: "98.7%", Undecided: []string{"7 reads: nobody wrote the value"}, Rate: 1234.5, Timed: true, Lag: 1500 * time.Millisecond, Strips: o.From, Closes: 95 * time.Second,
				PerMillion: []Rate{{"G2-item", 3, 12.25}}, Levels: []Level{{Name: "serializable", Verdict: "ok"}, {Name: "read-committed", Verdict: "ok"}},
			}
			for j := range x.Levels[0].Cells {
				x.Levels[0].Cells[j] = []Cell{NoData, OK, Unknown, Violated}[j%4]
			}
			o.Sources = append(o.Sources, x)
		}
		o.Inputs = []Input{{Name: "nats:S", Up: true, CaughtUp: true, Lost: []string{"records of nats:S were lost: retention"}}, {Name: "file:log/*.jsonl", Troubles: []string{"file:log/*.jsonl: no file matches"}},
			{Name: "file:a,b", Up: true, CaughtUp: true, Waits: []string{"b"}, Patterns: 2}, {Name: "file:c", Up: true, CaughtUp: true, Waits: []string{"c"}, Patterns: 1},
		}
		counts := make([]int, Parts)
		counts[59], counts[3] = 4, 1
		o.Found = Found{o.From, o.To, []catalog.Series{{Anomaly: "G2-item", Counts: counts, Total: 5}}}
		return o
	}
}

func TestOverview(t *testing.T) {
	o, _, _ := options(skew("1f"))
	o.Overview = many(120)
	handler := Handler(o)
	status, body, _ := get(handler, "/")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	for want, n := range map[string]int{
		`<article class="card source`: SourcesOnPage, "✓ ok": 17, "? unknown": 17, "✕ violated</span><br>": 16, "no violation found · 98.7% of reads decided": 17, `<span class="soft">98.7% of reads decided</span>`: 17, "98.7% of reads are decided.": 50, "1234 txn/s": 50, "<span>1.5 s behind</span>": 50, "<span>Per million transactions: write skew 12.2</span>": 50, "∅ lost records": 1, "records of nats:S were lost: retention": 1,
		"serializable, 60 parts: 15 violated, 15 unknown, 15 ok, 15 without data": 150, `href="/?span=1h&amp;skip=50"`: 1, "at its end": 2, "✕ cannot read": 1, "✓ reads": 2, "? 1 of 2 patterns: no file matches": 1, `<span class="badge uncertain">? no file matches</span> <code>file:c</code>`: 1,
		"5 findings from 2026-11-20 18:00 to 2026-11-20 19:00, at most 4 in one of 60 parts": 2, "7 reads: nobody wrote the value": 50,
		`<a href="/findings?anomaly=G2-item&amp;expected=false&amp;since=2026-11-20T18%3A00%3A00Z">`: 1, `role="status" data-again>Older parts of the strips are still being read`: 1, `href="/findings/1f"`: 1, `<span class="meta">orders · <time`: 1,
		`>at most 4</text>`: 2, `>18:00</text>`: 2, `>18:30</text>`: 2, `>19:00 UTC</text>`: 2, // wide and narrow
		`<time datetime="2026-11-20T18:00:00Z">`: 1, "Until then it is in work": 50,
		`<a href="/list?expected=false&amp;since=2026-11-20T18%3A59%3A00Z" aria-label="4 findings, 2026-11-20 18:59 to 2026-11-20 19:00 UTC">`:                                                                    2, // and what ended later
		`<a href="/list?expected=false&amp;since=2026-11-20T18%3A03%3A00Z&amp;until=2026-11-20T18%3A04%3A00Z" aria-label="1 finding, 2026-11-20 18:03 to 2026-11-20 18:04 UTC">`:                                  2,
		`<a href="/list?ended-from=2026-11-20T18%3A03%3A00Z&amp;ended-to=2026-11-20T18%3A04%3A00Z&amp;refutes=serializable&amp;source=source-0" aria-label="violated, 2026-11-20 18:03 to 2026-11-20 18:04 UTC">`: 1,
	} {
		if got := strings.Count(body, want); got != n {
			t.Errorf("%d times %s, want %d", got, want, n)
		}
	}
	if _, last, _ := get(handler, "/?span=24h&skip=100"); strings.Count(last, `<article class="card source`) != 20 || strings.Contains(last, "More sources") || !strings.Contains(last, "2026-11-19 19:00 to") {
		t.Error("the last page does not show the last 20 sources of a day")
	}
	for _, query := range []string{"span=2h", "skip=-1", "skip=x", "scr=1"} {
		if status, body, _ := get(handler, "/?"+query); status != 400 || !strings.Contains(body, "Wrong query") {
			t.Errorf("%s: %d", query, status)
		}
	}
	if status, _, header := get(handler, "/?anomaly=G0&limit=3"); status != 302 || header.Get("Location") != "/list?anomaly=G0&limit=3" {
		t.Errorf("the list's old address: %d to %s", status, header.Get("Location"))
	}
}

// Strips of records that are older than the span say which time they show.
func TestOldStripSaysItsTime(t *testing.T) {
	o, _, _ := options()
	for old, want := range map[time.Duration]int{0: 0, 72 * time.Hour: 1} {
		o.Overview = func(span time.Duration, skip int) Overview {
			x := many(1)(span, skip)
			x.Sources[0].Strips = x.From.Add(-old)
			return x
		}
		_, body, _ := get(Handler(o), "/")
		said, there := strings.Count(body, "The strip shows "), strings.Count(body, "The strip shows 2026-11-17 18:00 to 2026-11-17 19:00 UTC")
		if said != want || there != want {
			t.Errorf("older by %v: said %d times, and %d times rightly, want %d", old, said, there, want)
		}
	}
}

// A source that only its contract leaves open looks healthy, with what is decided. One that something else leaves
// open does not.
func TestOpenByContract(t *testing.T) {
	for _, byContract := range []bool{true, false} {
		o, _, _ := options()
		o.Overview = func(time.Duration, int) Overview {
			l := Level{Name: "serializable", Verdict: "no violation found", Reason: "not all writers are captured (capture=partial)"}
			l.Cells[7] = Open
			return Overview{Total: 1, Sources: []Source{{Name: "orders", Verdict: "unknown", Reason: "1 bad record: record `version`", ByContract: byContract, Decided: "98.7%", Levels: []Level{l}}}}
		}
		_, body, _ := get(Handler(o), "/")
		for _, want := range []string{
			`<article class="card source cleared">`, `<span class="badge cleared">✓ no violation found</span>`, `<span class="soft">98.7% of reads decided</span>`,
		} {
			if strings.Contains(body, want) != byContract {
				t.Errorf("by contract %v: %s\n%s", byContract, want, body)
			}
		}
		// The folded row has the reason, where something else does.
		if strings.Contains(body, `<span class="soft brief">1 bad record: record <code>version</code></span>`) == byContract {
			t.Errorf("by contract %v: the reason in the row\n%s", byContract, body)
		}
		if !strings.Contains(body, `<rect class="open"`) || !strings.Contains(body, "serializable, 60 parts: 1 no violation found, 59 without data") {
			t.Error("the strip does not tell such a part")
		}
	}
}

// What the expected level allows has a chart of its own, so that its scale hides nothing. Without findings no link leads
// to them.
func TestChartsApart(t *testing.T) {
	o, _, _ := options()
	forbidden, allowed := make([]int, Parts), make([]int, Parts)
	forbidden[59], allowed[59] = 1, 4000
	var found []catalog.Series
	o.Overview = func(time.Duration, int) Overview {
		return Overview{Found: Found{time.Unix(0, 0), time.Unix(3600, 0), found}}
	}
	handler := Handler(o)
	_, body, _ := get(handler, "/")
	for _, dead := range []string{`href="#latest"`, `href="#inputs"`, "<svg class=\"chart"} {
		if strings.Contains(body, dead) {
			t.Errorf("nothing was found, and the page has %s", dead)
		}
	}
	found = []catalog.Series{{Anomaly: "G2-item", Expected: true, Counts: allowed, Total: 4000}, {Anomaly: "G2-item", Counts: forbidden, Total: 1}}
	_, body, _ = get(handler, "/")
	for _, want := range []string{
		">at most 1</text>", ">at most 4000</text>", `href="/findings?anomaly=G2-item&amp;expected=false&amp;since=`, `href="/findings?anomaly=G2-item&amp;expected=true&amp;since=`,
		`<title data-from="1970-01-01T00:59:00Z" data-to="1970-01-01T01:00:00Z">1 finding, 1970-01-01 00:59 to 1970-01-01 01:00 UTC</title>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}

// A source's name is any text.
func TestHostileSource(t *testing.T) {
	o, _, _ := options()
	o.Overview = func(time.Duration, int) Overview {
		attack := `"'><script>alert(1)</script>` + "\u202e"
		return Overview{
			Sources: []Source{{Name: attack, Expected: attack, Verdict: attack, Reason: attack, Undecided: []string{attack}, Levels: []Level{{Name: attack}, {Name: attack, Reason: attack}}}},
			Inputs:  []Input{{Name: attack, Troubles: []string{attack}, Lost: []string{attack}}}, Found: Found{Series: []catalog.Series{{Anomaly: attack, Counts: []int{1}, Total: 1}}},
		}
	}
	status, body, _ := get(Handler(o), "/")
	if body = strings.Replace(body, ownScript, "", 1); status != 200 || strings.Contains(body, "<script") || strings.Contains(body, "\u202e") {
		t.Errorf("%d\n%s", status, body)
	}
}

// A source without a watermark is told apart by its records.
func TestBehind(t *testing.T) {
	for want, s := range map[string]Source{
		"no record for 20 s": {Timed: true, Idle: 20 * time.Second, Lag: time.Second}, "no record for 26 h 3 min": {Timed: true, Idle: 26*time.Hour + 3*time.Minute},
		"1.5 s behind": {Timed: true, Lag: 1500 * time.Millisecond, Transactions: 1}, "waits until each input has answered": {Unmarked: true, Transactions: 1},
		"no record yet": {}, "records without times": {Transactions: 1},
	} {
		if got := (sourceRow{Source: &s}).Behind(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}

// A source is not called healthy while an input keeps its watermark from beginning. What was found counts at once.
func TestNotJudgedYet(t *testing.T) {
	for want, s := range map[string]Source{
		"? not judged yet uncertain":   {Unmarked: true, Verdict: "ok", Decided: "100%"},
		"✓ ok cleared":                 {Timed: true, Verdict: "ok"},
		"✕ violated violated":          {Unmarked: true, Verdict: "violated"},
		"✓ no violation found cleared": {Timed: true, Verdict: "unknown", ByContract: true},
		"? not judged yet uncertain ":  {Unmarked: true, Verdict: "unknown", ByContract: true},
	} {
		r := sourceRow{Source: &s}
		if got := r.Sign() + " " + r.Tone(); got != strings.TrimSpace(want) || s.Unmarked && r.Healthy() != "" {
			t.Errorf("%+v: %q, want %q, and says %q", s, got, want, r.Healthy())
		}
	}
}

func TestShortNumber(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 0.123456: "0.123", 99.96: "100", 150: "150", 9999: "9999", 12345: "12k", 1234567: "1.23M"} {
		if got := shortNumber(n); got != want {
			t.Errorf("%v: %s, want %s", n, got, want)
		}
	}
}

// The list and the first page do not say in their heads what the first page says of each source.
func TestHeadLeavesOutSources(t *testing.T) {
	o, _, _ := options()
	o.Facts = func() []Fact { return []Fact{{"not decided", "2 reads"}, {"sources", "a, b"}, {"transactions", "7"}} }
	o.Overview = func(time.Duration, int) Overview { return Overview{} }
	for _, path := range []string{"/", "/list"} {
		if _, body, _ := get(Handler(o), path); strings.Contains(body, "<dt>not decided</dt>") || strings.Contains(body, "<dt>sources</dt>") || !strings.Contains(body, "<dt>transactions</dt>") {
			t.Errorf("the head of %s:\n%s", path, body)
		}
	}
}
