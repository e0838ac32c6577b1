package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

func TestQuery(t *testing.T) {
	handler, shelf, _ := served(skew("1f"))
	for _, c := range []struct {
		raw  string
		want Query
		bad  string
	}{
		{"", Query{Limit: 100}, ""},
		{"limit=1&source=a%20b&anomaly=G1a&kind=horizon&state=final&before=1", Query{Limit: 1, Source: "a b", Anomaly: "G1a", Kind: "horizon", State: "final", Before: "1"}, ""},
		{"limit=1000", Query{Limit: 1000}, ""},
		{"state=waiting", Query{Limit: 100, State: finding.Waiting}, ""},
		{"kind=&state=&source=", Query{Limit: 100}, ""},
		{"from=2026-11-20T19:00:00Z&to=2026-11-20T19:01:00Z", Query{Limit: 100, From: 1795201200e9, To: 1795201260e9}, ""},
		{"from=&to=&ended-from=&ended-to=&refutes=", Query{Limit: 100}, ""},
		{"ended-from=2026-11-20T19:00:00Z&ended-to=2026-11-20T19:01:00Z&refutes=serializable", Query{Limit: 100, EndedFrom: 1795201200e9, EndedTo: 1795201260e9, Refutes: "serializable"}, ""},
		{"since=24h&until=", Query{Limit: 100, Recent: 24 * 3600e9}, ""},
		{"since=2026-11-20T19:00:00Z&until=2026-11-20T20:01%2B01:00", Query{}, `"until" is "2026-11-20T20:01+01:00", want a time`},
		{"since=2026-11-20T19:00:00Z&until=2026-11-20T20:01:00%2B01:00", Query{Limit: 100, Since: 1795201200e9, Until: 1795201260e9}, ""},
		{"since=2026-11-20+19:00&until=2026-11-20T19:01", Query{Limit: 100, Since: 1795201200e9, Until: 1795201260e9}, ""},
		{"since=0s", Query{}, `"since" is "0s", want more than no time`},
		{"since=yesterday", Query{}, `"since" is "yesterday", want a duration as 24h or 7d, or a time`},
		{"until=1h", Query{}, `"until" is "1h", want a time`},
		{"ended-to=now", Query{}, `"ended-to" is "now", want a time`},
		{"refutes=everything", Query{}, `"refutes" is "everything", and no level`},
		{"from=today", Query{}, `"from" is "today", want a time`},
		{"limit=0", Query{}, `"limit" is "0", want 1 to 1000`},
		{"limit=1001", Query{}, `"limit" is "1001"`},
		{"limit=-1", Query{}, `"limit" is "-1"`},
		{"limit=ten", Query{}, `"limit" is "ten"`},
		{"limit=", Query{}, `"limit" is ""`},
		{"limit=1&limit=2", Query{}, `"limit" is given 2 times`},
		{"kind=bug", Query{}, `"kind" is "bug", want one of ["violation"`},
		{"anomaly=", Query{Limit: 100}, ""},
		{"anomaly=G2item", Query{}, `"anomaly" is "G2item", and no anomaly has this name; did you mean "G2-item"?`},
		{"anomaly=zzzzzz", Query{}, `"anomaly" is "zzzzzz", want one of ["G0" `},
		{"expected=true", Query{Limit: 100, Expected: "true"}, ""},
		{"expected=yes", Query{}, `"expected" is "yes", want true or false`},
		{"state=open", Query{}, `"state" is "open", want one of ["waiting" "provisional"`},
		{"sorce=orders", Query{}, `unknown parameter "sorce"`},
		{"before=xyz", Query{}, `"before" is not a cursor`},
		{"source=%zz", Query{}, "query: invalid URL escape"},
		{"source=%ff", Query{}, `"source" is not UTF-8`},
		{"source=a;limit=1", Query{}, "query: invalid semicolon"},
		{"source=" + strings.Repeat("x", 1025), Query{}, `"source" is longer than 1024 bytes`},
	} {
		shelf.asked = nil
		status, body, _ := get(handler, "/api/v1/findings?"+c.raw)
		if c.bad != "" {
			var answer struct{ Error string }
			if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 400 || !strings.Contains(answer.Error, c.bad) {
				t.Errorf("%.40s: %d, %s, want 400 with %s", c.raw, status, body, c.bad)
			}
			continue
		}
		if status != 200 || len(shelf.asked) != 1 || shelf.asked[0] != c.want {
			t.Errorf("%s: %d, asked for %+v, want %+v", c.raw, status, shelf.asked, c.want)
		}
		// The page takes the same filters.
		if status, _, _ := get(handler, "/?"+c.raw); status != 200 {
			t.Errorf("page with %s: %d", c.raw, status)
		}
	}
	for raw, want := range map[string]int{
		"sorce=orders": 400, "limit=0": 400, "before=xyz": 400, "refresh=0": 400, "refresh=x": 400, "refresh=3601": 400, "refresh=5": 200,
	} {
		status, body, _ := get(handler, "/?"+raw)
		if status != want || status == 400 && !strings.Contains(body, "Wrong query") {
			t.Errorf("page with %s: %d, want %d", raw, status, want)
		}
	}
}

func TestPagingReachesEveryFindingOnce(t *testing.T) {
	var all []finding.Finding
	for i := range 57 {
		all = append(all, skew(fmt.Sprint(i)))
	}
	handler, _, _ := served(all...)
	var seen []string
	for target := "/api/v1/findings?limit=10"; target != ""; {
		_, body, header := get(handler, target)
		var page []finding.Finding
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatal(err)
		}
		for _, f := range page {
			seen = append(seen, f.ID)
		}
		if target = ""; header.Get("X-Next") != "" {
			target = "/api/v1/findings?limit=10&before=" + header.Get("X-Next")
		}
	}
	slices.Reverse(seen) // newest first
	for i, id := range seen {
		if id != fmt.Sprint(i) {
			t.Fatalf("seen %q", seen)
		}
	}
	if len(seen) != 57 {
		t.Errorf("%d of 57 seen", len(seen))
	}
	_, body, _ := get(handler, "/?source=orders")
	if !strings.Contains(body, `href="/list?before=37&amp;source=orders"`) {
		t.Error("the page has no link to older findings that keeps the filter")
	}
	if _, body, _ = get(handler, "/?before=17"); strings.Contains(body, "Older findings") {
		t.Error("the last page links to an older one")
	}
}

func TestEmptyList(t *testing.T) {
	handler, _, _ := served()
	if _, body, _ := get(handler, "/api/v1/findings"); body != "[]\n" {
		t.Errorf("%q, want an empty array", body)
	}
	if _, body, _ := get(handler, "/"); !strings.Contains(body, "No anomaly found so far.") {
		t.Error("the page does not say that there is none")
	}
	if _, body, _ := get(handler, "/?anomaly=G1a"); !strings.Contains(body, "No finding matches.") || !strings.Contains(body, "<option selected>G1a") {
		t.Error("the page does not say that the filter finds none, or forgets it")
	}
}

// Each page and each list refuses a name that no anomaly has. An empty list would say that there is none.
func TestUnknownAnomalyIsRefused(t *testing.T) {
	handler, _, _ := served(skew("1f"))
	for _, path := range []string{"/findings", "/list", "/api/v1/findings", "/api/v1/groups"} {
		for anomaly, want := range map[string]int{"nonsense": 400, "lost-update": 200} {
			if status, body, _ := get(handler, path+"?anomaly="+anomaly); status != want || want == 400 && !strings.Contains(body, "nonsense") {
				t.Errorf("%s of %s: %d, want %d", path, anomaly, status, want)
			}
		}
	}
}

// A finding in the API names its page: where sinks link to, or else the path.
func TestPageURLInTheAPI(t *testing.T) {
	for pages, want := range map[string]string{"": "/base/findings/1f", "https://watch.example/db": "https://watch.example/db/findings/1f"} {
		o, _, _ := options(skew("1f"))
		o.Base, o.Pages = "/base", func() string { return pages }
		handler := Handler(o)
		for _, path := range []string{"/api/v1/findings", "/api/v1/findings/1f", "/findings/1f.json"} {
			if status, body, _ := get(handler, path); status != 200 || !strings.Contains(body, `"page_url":"`+want+`"`) {
				t.Errorf("%s: %d, %s, want %s", path, status, body, want)
			}
		}
	}
}
