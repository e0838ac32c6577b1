package app

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
)

// A source that hides values has hashes in sinks, on pages and in the API; its owner finds the
// records in the folder. Another source shows its values. What was found before hides them too.
func TestShowValues(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	hiding := config.Source{Name: "secret", Watch: s.Watch}
	hiding.Watch.ShowValues = false
	s.Sources = []config.Source{hiding, {Name: "open", Watch: s.Watch}}
	sink := make(caught, 10)
	a := start(t, s, sink)
	of := func(source, record string) string {
		return strings.NewReplacer(`"txn":"`, `"source":"`+source+`","txn":"`+source, `"value":1`, `"value":"private"`, `"value":2`, `"value":"private2"`).Replace(record)
	}
	send(t, a, of("secret", skewOne), of("secret", skewTwo), of("open", skewOne), of("open", skewTwo))
	ids := map[string]string{}
	for len(ids) < 2 {
		d := <-sink
		ids[d.Finding.Source] = d.Finding.ID
		text, err := json.Marshal(&d.Finding)
		if err != nil || string(text) != string(d.JSON) && len(d.JSON) > 0 && !json.Valid(d.JSON) {
			t.Fatal(err)
		}
		for _, x := range []string{string(text), string(d.JSON)} {
			if tells := strings.Contains(x, "private"); tells != (d.Finding.Source == "open") {
				t.Errorf("a sink is told of %s: %s", d.Finding.Source, x)
			}
		}
		if d.Finding.Source == "secret" && (len(d.Finding.History) != 2 || !strings.Contains(string(d.JSON), `\"#`)) {
			t.Errorf("nothing stands in place of the values: %s", d.JSON)
		}
	}
	// The record as it came in is evidence, where values are shown.
	for source, want := range map[string]bool{"open": true, "secret": false} {
		for _, path := range []string{"/api/v1/findings/" + ids[source], "/findings/" + ids[source], "/findings/" + ids[source] + ".html"} {
			text := strings.ReplaceAll(strings.ReplaceAll(get(t, a, path), "&#34;", `"`), `\"`, `"`)
			if got := strings.Contains(text, of(source, skewOne)); got != want {
				t.Errorf("%s has the record as it came in: %v", path, got)
			}
			if says := strings.Contains(text, "What came in holds values, which are hidden here."); !strings.HasPrefix(path, "/api") && says == want {
				t.Errorf("%s says that records are hidden: %v", path, says)
			}
		}
	}
	for _, path := range []string{"/", "/findings/", "/api/v1/findings/", "/api/v1/findings", "/findings"} {
		for source, id := range ids {
			at := path + "?source=" + source
			if strings.HasSuffix(path, "s/") {
				at = path + id
			}
			if tells := strings.Contains(get(t, a, at), "private"); tells != (source == "open" && path != "/findings") {
				t.Errorf("%s tells values: %v", at, tells)
			}
		}
	}
	for source, id := range ids {
		for _, form := range []string{"svg", "dot", "jsonl", "edn", "html"} {
			if tells := strings.Contains(get(t, a, "/findings/"+id+"."+form), "private"); tells != (source == "open") {
				t.Errorf("the download %s of %s tells values: %v", form, source, tells)
			}
		}
	}
	all := stored(t, s.Data, Findings)
	if !slices.ContainsFunc(all, func(f string) bool {
		return strings.Contains(f, `"source":"secret"`) && strings.Contains(f, `"value":"private"`) && strings.Contains(f, `"hidden":true`)
	}) {
		t.Errorf("the owner does not find the records: %q", all)
	}
	next := s
	next.Sources = slices.Clone(s.Sources)
	next.Sources[1].Watch.ShowValues = false
	if err := a.Reload(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if body := get(t, a, "/api/v1/findings/"+ids["open"]); strings.Contains(body, "private") || strings.Contains(body, `"raw":`) || !strings.Contains(body, "values are hidden") {
		t.Errorf("what was found before tells values: %s", body)
	}
}

// What is of no value keeps its text.
func TestTextsWithoutValues(t *testing.T) {
	for _, c := range []struct {
		f    finding.Finding
		want bool
	}{
		{finding.Finding{Kind: finding.KindViolation}, true},
		{finding.Finding{Kind: finding.KindRecord, Anomaly: "contradictory-record"}, true},
		{finding.Finding{Kind: finding.KindRecord, Anomaly: finding.WeakerThanExpected}, false},
		{finding.Finding{Kind: finding.KindHorizon}, false},
		{finding.Finding{Kind: finding.KindHorizon, State: finding.ResolvedViolated}, true},
		{finding.Finding{Kind: finding.KindGap}, false},
	} {
		h := hiding{"key", func(string) bool { return true }}
		c.f.Explanation = "as it was"
		h.finding(&c.f)
		if got := c.f.Explanation != "as it was"; got != c.want {
			t.Errorf("%+v: hidden %v", c.f, got)
		}
	}
}
