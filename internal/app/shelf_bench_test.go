package app

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// aFinding is one of about 3 KB, as a write skew of two transactions of six operations is stored:
// of 40 pairs of code paths, 3 patterns of keys and 2 servers.
func aFinding(r *rand.Rand, n int) finding.Finding {
	one, two := fmt.Sprint("checkout-", n), fmt.Sprint("refund-", n)
	keys := []string{fmt.Sprint([]string{"cart:", "stock/", "user."}[n%3], r.IntN(50_000)), fmt.Sprint("total:", r.IntN(50_000))}
	at := shelfNow.Add(-time.Duration(100_000-n) * 20 * time.Second)
	f := finding.Finding{
		ID: fmt.Sprintf("%016x-%08x", r.Uint64(), n), Source: []string{"orders", "billing"}[n%2], Kind: finding.KindViolation, State: finding.Final, Revision: 2,
		Certain: true, Anomaly: []string{"G2-item", "G-single-item", "G1a"}[n%7%3], Title: "write skew", Count: int64(n % 2),
		Guidance: finding.Guidance{
			Headline: fmt.Sprintf("%s and %s each read what the other one wrote, of %s.", one, two, keys[0]),
			Meaning:  "Each transaction checked a rule that the other one broke.", Causes: []string{"The database ran both at snapshot isolation.", "A session asked for a weaker level."},
			Next: []string{"Find the two code paths.", "Lock the rows that they check."},
		},
		Refutes: []string{"serializable"}, AlsoRefutes: []string{"strong-session-serializable", "strong-serializable"},
		Txns: []string{one, two}, Names: map[string]string{one: fmt.Sprint("path", n%40), two: "refund"}, Endpoints: map[string]string{one: fmt.Sprint("db-", n%2, ":5432")},
		Edges: []finding.Edge{
			{From: one, To: two, Type: "rw", Key: keys[0], Value: "17", Evidence: one + " read " + keys[0] + " = 16, which " + two + " overwrote with 17"},
			{From: two, To: one, Type: "rw", Key: keys[1], Value: "9", Evidence: two + " read " + keys[1] + " = 8, which " + one + " overwrote with 9"},
		},
		Explanation:   fmt.Sprintf("G2-item\n\nLet:\n  T1 = %s: r %s 16, w %s 9\n  T2 = %s: r %s 8, w %s 17\n\nThen:\n  - T1 < T2, because T1 read %s = 16.\n  - T2 < T1, because T2 read %s = 8.\n", one, keys[0], keys[1], two, keys[1], keys[0], keys[0], keys[1]),
		FirstPosition: fmt.Sprint("nats:ISOWATCH/", n), LastPosition: fmt.Sprint("nats:ISOWATCH/", n+1),
		FoundAt: at.Format(time.RFC3339Nano), DetectedAt: at.Add(time.Minute).Format(time.RFC3339Nano),
	}
	for i, txn := range f.Txns {
		f.History = append(f.History, json.RawMessage(fmt.Sprintf(
			`{"txn":%q,"session":"s-%d","status":"committed","start":%d,"end":%d,"name":%q,"ops":[{"op":"r","key":%q,"value":16},{"op":"r","key":%q,"value":8},{"op":"r","key":"user:%d","value":{"name":"x","credit":17}},{"op":"w","key":%q,"value":17},{"op":"w","key":"log:%d","value":1},{"op":"w","key":"log:%d","value":2}]}`,
			txn, r.IntN(500), at.Add(-time.Second).UnixNano(), at.UnixNano(), f.Names[txn], keys[i], keys[1-i], r.IntN(9000), keys[i], 2*n, 2*n+1)))
	}
	return f
}

// aFirstPage is the first page over the store: 50 sources, with the strips of two levels over an hour of their panes.
func aFirstPage(b *testing.B, x *shelved, st *store.Store) func(time.Duration, int) web.Overview {
	b.Helper()
	for n := range web.SourcesOnPage {
		for i := range 360 {
			start := shelfNow.Add(-time.Duration(i+1) * 10 * time.Second).UnixNano()
			putPane(b, st, &window.Pane{Source: fmt.Sprint("source-", n), Start: start, Verdicts: map[string]string{"serializable": []string{"ok", "violated"}[i%9%2], "snapshot-isolation": "ok"}})
		}
	}
	strips, settings := newStrips(engine.Reader{Store: st}), config.DefaultService()
	asker := &App{shelf: x.shelf}
	asker.current.Store(&settings)
	var statuses []*engine.SourceStatus
	for _, name := range []string{"orders", "billing"} { // no pane of theirs is closed
		statuses = append(statuses, &engine.SourceStatus{Source: name, Latest: shelfNow.UnixNano()})
	}
	return func(span time.Duration, _ int) web.Overview {
		o := web.Overview{From: shelfNow.Add(-span), To: shelfNow, Found: x.shelf.count(shelfNow.UnixNano(), int64(span)/web.Parts)}
		deadline := time.Now().Add(stripPatience)
		open := asker.openViolations(statuses, shelfNow, span)
		for n := range web.SourcesOnPage {
			s := web.Source{Name: fmt.Sprint("source-", n), Expected: "serializable", Verdict: "violated", Timed: true, Strips: o.From, Closes: time.Minute}
			parts, whole := strips.of(s.Name, shelfNow.UnixNano(), int64(span)/web.Parts, deadline, time.Now)
			for _, name := range []string{"serializable", "snapshot-isolation"} {
				l := web.Level{Name: name, Verdict: "violated"}
				for i, c := range parts {
					l.Cells[i] = c[name]
				}
				markOpen(&l, open[s.Name], o.From.UnixNano(), int64(span)/web.Parts)
				s.Levels = append(s.Levels, l)
			}
			o.Sources, o.Reading = append(o.Sources, s), o.Reading || !whole
		}
		o.Total = len(o.Sources)
		return o
	}
}

// BenchmarkPages times the pages over a store of 100,000 findings on disk (ISOWATCH_FINDINGS: so many), and the building of
// the index. An answer may take 100 ms of CPU time: 100 ms for a person, where the machine has nothing else to do. On a busy
// machine that is steadier than the time that passes.
func BenchmarkPages(b *testing.B) {
	count := 100_000
	if n, err := strconv.Atoi(os.Getenv("ISOWATCH_FINDINGS")); err == nil {
		count = n
	}
	st, err := store.Open(b.TempDir(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	x := newShelved(b, st)
	r := rand.New(rand.NewPCG(26, 26))
	var rare finding.Finding
	bytes := 0
	for n := 0; n < count; {
		var list []finding.Finding
		for ; n < count && len(list) < 500; n++ {
			f := aFinding(r, n)
			if n == count/10 {
				f.State = finding.Withdrawn
				rare = f
			}
			list = append(list, f)
		}
		x.write(list)
		if n == 500 {
			text, _ := json.Marshal(&list[0])
			bytes = len(text)
		}
	}
	x.restart(0)
	began := time.Now()
	for more := true; more; {
		if more, err = x.shelf.fill(); err != nil {
			b.Fatal(err)
		}
	}
	took := time.Since(began)
	fmt.Printf("%d findings of %d bytes: index built in %v; %.1f MB, %d bytes a finding\n", count, bytes, took.Round(time.Millisecond),
		float64(x.shelf.bytes())/1e6, x.shelf.bytes()/int64(count))
	handler := web.Handler(web.Options{
		Findings: x.shelf, Groups: x.shelf, Overview: aFirstPage(b, x, st), Gatherer: prometheus.NewRegistry(), Ready: func() error { return nil }, Status: func() any { return nil },
		Facts: func() []web.Fact { return nil }, Now: func() time.Time { return shelfNow },
	})
	for _, c := range benchedPages(&rare) {
		b.Run(c.name, func(b *testing.B) {
			var most time.Duration
			before := processorTime(b)
			for b.Loop() {
				began := time.Now()
				recorder := httptest.NewRecorder()
				handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, c.path, nil))
				most = max(most, time.Since(began))
				if recorder.Code != http.StatusOK {
					b.Fatalf("%d: %s", recorder.Code, recorder.Body)
				}
			}
			b.ReportMetric(float64(most.Microseconds())/1000, "ms-at-most")
			took := (processorTime(b) - before) / time.Duration(b.N)
			b.ReportMetric(float64(took.Microseconds())/1000, "cpu-ms/op")
			if took > 100*time.Millisecond && count <= 100_000 {
				b.Errorf("%v of CPU time an answer: at most 100 ms", took)
			}
		})
	}
}

// benched is an answer that is measured, and the row of docs/pages.md that tells it.
type benched struct{ name, row, path string }

// benchedPages are the answers. rare is a finding that a search looks for.
func benchedPages(rare *finding.Finding) []benched {
	return []benched{
		{"first page", "`/` with 50 sources and 18,000 panes", "/"},
		{"first page of a week", "`/?span=7d`, the same", "/?span=7d"},
		{"groups", "`/findings`", "/findings"},
		{"groups of a day, violated first", "`/findings` of a day, violated first", "/findings?since=24h&sort=worst"},
		{"filter", "`/findings` with four filters", "/findings?source=orders&anomaly=G2-item&expected=false&endpoint=db-0:5432"},
		{"search by transaction", "a search by transaction", "/findings?q=" + rare.Txns[0]},
		{"search by session", "a search by session", "/findings?q=s-17"},
		{"search by key", "a search by key", "/findings?q=" + rare.Edges[0].Key},
		{"search by name", "a search by name", "/findings?q=path7"},
		{"group", "a group with a page of its findings", "/findings?group=" + groupKeyOf(rare)},
		{"finding", "one finding, and its report", "/findings/" + rare.ID},
		{"report of a finding", "one finding, and its report", "/findings/" + rare.ID + ".html"},
		{"list", "`/list`, and with a filter that matches one finding", "/list"},
		{"list of a stretch of a strip", "`/list` as a strip asks for it", "/list?source=orders&refutes=serializable&ended-from=2026-11-20T09:00:00Z&ended-to=2026-11-20T09:01:00Z"},
		{"list that matches little", "`/list`, and with a filter that matches one finding", "/list?state=withdrawn"},
		{"API groups", "`/api/v1/findings`, `/api/v1/groups`", "/api/v1/groups"},
		{"API findings", "`/api/v1/findings`, `/api/v1/groups`", "/api/v1/findings"},
		{"API findings that match little", "`/api/v1/findings`, `/api/v1/groups`", "/api/v1/findings?state=withdrawn"},
		{"API findings that match none", "`/api/v1/findings`, `/api/v1/groups`", "/api/v1/findings?anomaly=G0"},
	}
}

// TestBenchedPages holds the table of docs/pages.md to what is measured.
func TestBenchedPages(t *testing.T) {
	text, err := os.ReadFile("../../docs/pages.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| page | time | CPU time | longest time |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	told := map[string]bool{}
	for line := range strings.SplitSeq(table, "\n") {
		told[strings.Split(line, " | ")[0]] = false
	}
	for _, c := range benchedPages(&finding.Finding{Txns: []string{"T"}, Edges: []finding.Edge{{}}}) {
		if _, ok := told["| "+c.row]; !ok {
			t.Errorf("%s: docs/pages.md has no row %q", c.name, c.row)
		}
		told["| "+c.row] = true
	}
	for row, measured := range told {
		if !measured {
			t.Errorf("docs/pages.md has the row %q, which nothing measures", row)
		}
	}
}

// processorTime returns what the process has taken of the processors so far.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
