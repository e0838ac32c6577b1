package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
)

// board is groups in memory.
type board struct {
	catalog *catalog.Catalog
	index   Index
	broken  error
}

func newBoard(findings ...finding.Finding) *board {
	b := &board{catalog: catalog.New(0, 0)}
	for i := range findings {
		text, err := json.Marshal(&findings[i])
		if err != nil {
			panic(err)
		}
		s, err := catalog.Summarize(uint64(i+1), text)
		if err != nil {
			panic(err)
		}
		b.catalog.Put([]catalog.Summary{s})
	}
	return b
}

func (b *board) Groups(q Query, by string, skip, most int) (catalog.Groups, Index, error) {
	b.index.Findings = b.catalog.Len()
	return b.catalog.Group(catalog.Query{
		Source: q.Source, Anomaly: q.Anomaly, Kind: q.Kind, State: q.State, Group: q.Group, Text: q.Text, Name: q.Name,
		Endpoint: q.Endpoint, Acknowledged: q.Acknowledged, Silenced: q.Silenced, Expected: q.Expected,
		Since: q.Since, Until: q.Until, Recent: q.Recent, Now: boardNow.UnixNano(),
	}, by, skip, most), b.index, b.broken
}

func (b *board) Marks(group string) catalog.Marks {
	m, _ := b.catalog.Marked(group)
	return m
}

func (b *board) Mark(group string, change func(*catalog.Marks)) (catalog.Marks, error) {
	if b.broken != nil {
		return catalog.Marks{}, b.broken
	}
	if len(b.catalog.List(catalog.Query{Group: group}, 0, 1)) == 0 {
		return catalog.Marks{}, ErrNoGroup
	}
	m, _ := b.catalog.Marked(group)
	change(&m)
	b.catalog.Mark(group, m)
	return m, nil
}

var boardNow = time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)

func groupKey(f *finding.Finding) string {
	g := catalog.GroupOf(f)
	return g.Key()
}

// conflict is a finding of a group: of the names, on a cart.
func conflict(id string, n int, names ...string) finding.Finding {
	f := skew(id)
	f.Names = map[string]string{}
	for i, name := range names {
		f.Names[f.Txns[i]] = name
	}
	f.Edges[0].Key, f.Edges[1].Key = fmt.Sprint("cart:", n), fmt.Sprint("cart:", n+1)
	return f
}

func groupsSite(findings ...finding.Finding) (http.Handler, *board, Options) {
	o, _, _ := options(findings...)
	o.Now = func() time.Time { return boardNow }
	return Handler(o), o.Groups.(*board), o
}

func TestGroupsPage(t *testing.T) {
	waiting := conflict("3c", 9, "refund")
	waiting.State = finding.Waiting
	handler, board, _ := groupsSite(conflict("1a", 1, "checkout", "refund"), conflict("2b", 5, "checkout", "refund"), waiting)
	status, body, _ := get(handler, "/findings")
	for _, want := range []string{
		"2 groups of 3 findings", "checkout and refund", "<code>cart:#</code>", "<code>db-1:5432</code>", "2 final", "1 waiting", "◔ waiting",
		"2026-11-20 18:59:59.000 UTC", "(1 h ago)", `<rect x="`, "/findings?group=", "in the last",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	if status != 200 || strings.Contains(body, "is being built") || strings.Contains(body, "not in the index") {
		t.Errorf("%d:\n%s", status, body)
	}
	for query, want := range map[string]string{
		"q=cart:6": "1 group of 1 finding", "q=check": "1 group of 2 findings", "state=waiting": "1 group of 1 finding", "name=refund": "2 groups of 3 findings",
		"q=cart:77": "No finding matches", "endpoint=nowhere": "No finding matches", "acknowledged=true": "No finding matches", "limit=1": "More groups",
		"sort=count&skip=1": ">refund<", "q=1a": "1 group of 1 finding",
		"sort=worst": `<option value="worst" selected>violated first`, "sort=worst&skip=1": "◔ waiting",
	} {
		if _, body, _ := get(handler, "/findings?"+query); !strings.Contains(body, want) {
			t.Errorf("%s: no %q in\n%s", query, want, body)
		}
	}
	for query, want := range map[string]bool{"": false, "q=cart": false, "limit=5": false, "sort=last": false, "sort=count": false, "since=1h": false, "since=2h": true, "until=2026-11-21": true, "q=cart&kind=violation": true, "silenced=true": true} {
		if _, body, _ := get(handler, "/findings?"+query); strings.Contains(body, `<details class="more" open>`) != want || !strings.Contains(body, `<details class="more"`) {
			t.Errorf("%s: the filters are open: %v", query, !want)
		}
	}
	for _, query := range []string{"sort=best", "since=-1h", "since=soon", "until=24h", "skip=-1", "skip=x", "sorce=a", "silenced=2"} {
		if status, _, _ := get(handler, "/findings?"+query); status != 400 {
			t.Errorf("%s: %d", query, status)
		}
		if status, _, _ := get(handler, "/api/v1/groups?"+query); status != 400 {
			t.Errorf("API, %s: %d", query, status)
		}
	}
	board.index = Index{Filling: true}
	if _, body, _ = get(handler, "/findings"); !strings.Contains(body, "is being built") || !strings.Contains(body, "So far it has 3") {
		t.Error("the page does not say how far the index is")
	}
	board.index = Index{Full: true}
	if _, body, _ = get(handler, "/findings"); !strings.Contains(body, "the newest 3 findings") {
		t.Error("the page does not say that there are older findings")
	}
}

// A stretch of time filters groups, and trends are as long. Links to others keep the other filters.
func TestGroupsSince(t *testing.T) {
	handler, _, _ := groupsSite(conflict("1a", 1, "checkout", "refund"), conflict("2b", 5, "refund")) // they ended at 18:59:59
	for query, want := range map[string]string{
		"since=2h":                        "Trends span 2026-11-20 18:00 to 2026-11-20 20:00 UTC: 5 min a bar, by when the last transaction of a finding ended.",
		"since=2026-11-20T18:59:59Z":      "2 groups of 2 findings",
		"since=2026-11-20+19:00":          "No finding matches",
		"until=2026-11-20T18:59:59Z":      "No finding matches",
		"since=1h&until=2026-11-20T19:30": ": 2 min 30 s a bar",
		"since=1h":                        "Trends span 2026-11-20 17:59 to 2026-11-20 18:59 UTC", // all are older: it ends with the latest
		"since=7d&q=refund&sort=count":    `<a href="/findings?q=refund&amp;since=24h&amp;sort=count">24h</a> · <b aria-current="true">7d</b> · <a href="/findings?q=refund&amp;sort=count">all</a>`,
		"since=90m":                       `name="since" value="1h30m0s"`,
		"":                                `<b aria-current="true">all</b>`,
		"since=2d&until=2026-11-21":       `name="until" value="2026-11-21T00:00:00Z"`,
	} {
		if _, body, _ := get(handler, "/findings?"+query); !strings.Contains(body, want) {
			t.Errorf("%s: no %q in\n%s", query, want, body)
		}
	}
	if _, body, _ := get(handler, "/api/v1/groups?since=6h"); !strings.Contains(body, `"bar_seconds":900,"bars_end":"2026-11-20T20:00:00Z","before_bars":0`) {
		t.Error(body)
	}
	if _, body, _ := get(handler, "/list?since=6h"); !strings.Contains(body, `name="since" value="6h"`) {
		t.Error("the list forgets the time")
	}
}

// A group that no finding is of is not found. While the index is built, or if it has no room for all, the group may be there.
func TestNoSuchGroup(t *testing.T) {
	f := conflict("1a", 1, "checkout", "refund")
	handler, b, _ := groupsSite(f)
	for query, want := range map[string]int{"group=nope": 404, "group=nope&since=6h": 404, "group=" + groupKey(&f): 200, "anomaly=G0&group=" + groupKey(&f): 200} {
		if status, body, _ := get(handler, "/findings?"+query); status != want {
			t.Errorf("%s: %d, want %d\n%s", query, status, want, body)
		}
	}
	for _, index := range []Index{{Filling: true}, {Full: true}} {
		b.index = index
		if status, _, _ := get(handler, "/findings?group=nope"); status != 200 {
			t.Errorf("%+v: %d", index, status)
		}
	}
}

// Each control of a form has a label around it, and each picture a text.
func TestControlsAreLabelled(t *testing.T) {
	handler, _, o := groupsSite(conflict("1a", 1, "checkout", "refund"))
	o.Guard = func() Guard { return Guard{User: "ann", Password: []byte("pass")} }
	_, list, _ := get(handler, "/findings")
	f := conflict("1a", 1, "checkout", "refund")
	_, group, _ := ask(Handler(o), http.MethodGet, "/findings?group="+groupKey(&f), "", "ann", "pass", nil)
	for name, page := range map[string]string{"list": list, "group": group} {
		controls := regexp.MustCompile(`<(input|select)[ >]`).FindAllStringIndex(page, -1)
		if len(controls) < 2 {
			t.Errorf("%s has %d controls", name, len(controls))
		}
		for _, at := range controls {
			before := page[:at[0]]
			if hidden := strings.HasPrefix(page[at[0]:], `<input type="hidden"`); !hidden && strings.LastIndex(before, "<label>") <= strings.LastIndex(before, "</label>") {
				t.Errorf("%s: no label around %.60s", name, page[at[0]:])
			}
		}
		if strings.Count(page, "<svg") == 0 || strings.Count(page, "<svg") != strings.Count(page, "aria-label=\"")-strings.Count(page, "<section") {
			t.Errorf("%s: a picture without a text", name)
		}
		for _, banned := range []string{"<script", " style=", " onclick"} {
			if strings.Contains(strings.Replace(page, ownScript, "", 1), banned) {
				t.Errorf("%s holds %s", name, banned)
			}
		}
	}
}

// A key with commas has quotes on pages, so that it looks like one.
func TestKeysWithCommas(t *testing.T) {
	f := conflict("1a", 1, "checkout", "refund")
	f.Edges[0].Key = "x, w y"
	handler, _, _ := groupsSite(f)
	for path, want := range map[string]string{
		"/findings": `<dt>Keys</dt><dd><code>cart:#</code>, <code>&#34;x, w y&#34;</code></dd>`, "/findings/1a": `<code class="key">&#34;x, w y&#34;</code>`,
	} {
		if _, body, _ := get(handler, path); !strings.Contains(body, want) {
			t.Errorf("%s: no %s in\n%s", path, want, body)
		}
	}
}

func TestGroupPage(t *testing.T) {
	var all []finding.Finding
	for i := range 60 {
		all = append(all, conflict(fmt.Sprintf("f%02d", i), 10*i, "checkout", "refund"))
	}
	other := conflict("other", 1, "audit")
	handler, _, o := groupsSite(append(all, other)...)
	key := groupKey(&all[0])
	_, body, _ := get(handler, "/findings?group="+key)
	next := regexp.MustCompile(`href="(/findings\?[^"]*before=[^"]*)"`).FindStringSubmatch(body)
	if strings.Count(body, `href="/findings/f`) != groupsOnPage || strings.Contains(body, "/findings/other") || next == nil {
		t.Fatalf("%d findings are shown:\n%s", strings.Count(body, `href="/findings/f`), body)
	}
	if _, body, _ = get(handler, strings.ReplaceAll(next[1], "&amp;", "&")); strings.Count(body, `href="/findings/f`) != 30 || !strings.Contains(body, "/findings/f00") {
		t.Errorf("the second page:\n%s", body)
	}
	if !strings.Contains(body, howToLogIn) || strings.Contains(body, `method="post"`) {
		t.Error("nobody is known, and the page does not say how to change that")
	}
	o.Silences = func(g *catalog.Group) []Link {
		return []Link{{"Silence " + g.Source, "http://am:9093/#/silences/new?filter=%7B%7D"}}
	}
	if _, body, _ = get(Handler(o), "/findings?group="+key); !strings.Contains(body, `<a href="http://am:9093/#/silences/new?filter=%7B%7D"`) {
		t.Errorf("no link to Alertmanager:\n%s", body)
	}
	_, body, _ = get(Handler(o), "/findings?since=2026-11-20T19:30&group="+key)
	for _, want := range []string{"<title>write skew", `<span class="title">write skew</span>`, "checkout and refund", "No finding of this group is of this time.", "Silence orders"} {
		if !strings.Contains(body, want) {
			t.Errorf("a time without findings of the group: no %q in\n%s", want, body)
		}
	}
	if strings.Contains(body, "60") || strings.Contains(body, `class="trend"`) {
		t.Errorf("a time without findings of the group has the figures of another:\n%s", body)
	}
	if _, body, _ := get(handler, "/api/v1/findings?group="+key+"&limit=2"); strings.Count(body, `"group":"`+key+`"`) != 2 || strings.Contains(body, `"acknowledged"`) {
		t.Errorf("the API: %s", body)
	}
	for _, path := range []string{"/list?group=zzz", "/api/v1/findings?group=zzz", "/findings?group=zzz"} {
		if code, body, _ := get(handler, path); code != http.StatusNotFound || !strings.Contains(body, "There is no group of this key.") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/list?source=zzz&group=" + key, "/api/v1/findings?source=zzz&group=" + key} {
		if code, _, _ := get(handler, path); code != http.StatusOK {
			t.Errorf("%s: %d of a group that is there", path, code)
		}
	}
}

func TestGroupsJSON(t *testing.T) {
	_, board, o := groupsSite(conflict("1a", 1, "checkout", "refund"), conflict("2b", 5, "checkout", "refund"))
	o.Silences = func(*catalog.Group) []Link { return []Link{{"s", "http://am/"}} }
	handler := Handler(o)
	f := conflict("1a", 1, "checkout", "refund")
	key := groupKey(&f)
	board.catalog.Mark(key, catalog.Marks{
		Acknowledged: &catalog.Mark{Who: "ann", Why: "known", At: boardNow.Add(-2 * time.Hour).UnixNano()},
		Silenced:     &catalog.Mark{Who: "bob", Why: "noise", At: 1, Until: boardNow.Add(-time.Hour).UnixNano()},
	})
	_, body, _ := get(handler, "/api/v1/groups")
	var answer groupsJSON
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Groups) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	g := answer.Groups[0]
	if g.Key != key || g.Findings != 2 || g.States[finding.Final] != 2 || g.Title != "write skew" || g.First != "2026-11-20T18:59:59Z" || g.Since != 2 ||
		g.Acknowledged == nil || g.Acknowledged.Who != "ann" || g.Acknowledged.Over || !g.Silenced.Over || len(g.Trend) != catalog.Bars || len(g.Silences) != 1 {
		t.Errorf("%s", body)
	}
	if _, body, _ := get(handler, "/api/v1/findings"); !strings.Contains(body, `"group":"`+key+`","acknowledged":{"who":"ann","why":"known"`) {
		t.Errorf("findings do not say that they are acknowledged: %s", body)
	}
	if _, body, _ := get(handler, "/api/v1/groups?silenced=true"); !strings.Contains(body, `"groups":[]`) {
		t.Errorf("a silence that has ended still holds: %s", body)
	}
}

// Below a path of a proxy, every link, form and redirect of groups stays below it.
func TestGroupsBelowBase(t *testing.T) {
	f := conflict("1a", 1, "checkout", "refund")
	_, _, o := groupsSite(f, conflict("2b", 2, "audit"))
	o.Base = "/watch"
	o.Guard = func() Guard { return Guard{User: "ann", Password: []byte("pass")} }
	handler := Handler(o)
	for _, target := range []string{"/watch/findings?limit=1", "/watch/findings?group=" + groupKey(&f), "/watch/findings?q=none", "/watch/findings?group=none"} {
		status, body, _ := ask(handler, http.MethodGet, target, "", "ann", "pass", nil)
		if want := map[bool]int{true: 404, false: 200}[strings.HasSuffix(target, "group=none")]; status != want {
			t.Errorf("%s: %d", target, status)
		}
		for _, link := range regexp.MustCompile(`(?:href|action)="(/[^"]*)"`).FindAllStringSubmatch(body, -1) {
			if !strings.HasPrefix(link[1], "/watch/") {
				t.Errorf("%s leads to %s", target, link[1])
			}
		}
	}
	status, _, header := ask(handler, http.MethodPost, "/watch/findings", "group="+groupKey(&f)+"&do=acknowledge&why=x", "ann", "pass", nil)
	if status != 303 || !strings.HasPrefix(header.Get("Location"), "/watch/findings?group=") {
		t.Errorf("%d, to %s", status, header.Get("Location"))
	}
}

// Of many code paths some are named in lists, and all on the group's own page.
func TestPathsOfGroups(t *testing.T) {
	for _, c := range []struct {
		names     []string
		some, all string
	}{
		{nil, "Transactions without a name", "Transactions without a name"},
		{[]string{"a"}, "a", "a"},
		{[]string{"a", "b", "c", "d"}, "a, b, c and d", "a, b, c and d"},
		{[]string{"a", "b", "c", "d", "e"}, "a, b, c and 2 others", "a, b, c, d and e"},
	} {
		g := groupRow{}
		g.Names = c.names
		if g.Paths() != c.some || g.AllPaths() != c.all {
			t.Errorf("%q: %q and %q, want %q and %q", c.names, g.Paths(), g.AllPaths(), c.some, c.all)
		}
	}
}

// A row of a list says what happened, and when it was seen first; the finding's page has the times of revisions.
func TestRowsOfLists(t *testing.T) {
	f := conflict("1a", 1, "checkout", "refund")
	f.Headline, f.FoundAt, f.DetectedAt = "Both changed the cart.", "2026-11-20T19:00:00Z", "2026-11-20T19:00:05Z"
	second := f
	second.ID = "2b"
	handler, _, _ := groupsSite(f, second)
	_, list, _ := get(handler, "/list")
	for summary := range strings.SplitSeq(list, "<summary>") {
		if summary, _, ok := strings.Cut(summary, "</summary>"); ok && strings.Contains(summary, "write skew") {
			if strings.Count(summary, "<time ") != 1 || !strings.Contains(summary, "19:00:00.000 UTC") || !strings.Contains(summary, "Both changed the cart.") {
				t.Errorf("list: %s", summary)
			}
		}
	}
	if n := strings.Count(list, `" open>`); n != 1 {
		t.Errorf("%d findings are open", n)
	}
	_, page, _ := get(handler, "/findings?group="+groupKey(&f))
	_, rows, _ := strings.Cut(page, `<ul class="rows">`)
	rows, _, _ = strings.Cut(rows, "</ul>")
	if strings.Count(rows, "<time ") != 2 || strings.Count(rows, "<li ") != 2 {
		t.Errorf("%s", rows)
	}
	if _, page, _ := get(handler, "/findings/1a"); !strings.Contains(page, "This revision") {
		t.Error("the finding's page does not tell when this revision came")
	}
}
