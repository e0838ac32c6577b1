package alert

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// matchers are those of a link to a new silence, decoded as Alertmanager's pages do: + is no space.
func matchers(t *testing.T, s Silence) string {
	t.Helper()
	_, filter, ok := strings.Cut(s.URL, "#/silences/new?filter=")
	text, err := url.PathUnescape(filter)
	if !ok || err != nil || strings.ContainsAny(filter, "&#") {
		t.Fatalf("%s: %v", s.URL, err)
	}
	return text
}

// The matchers of a link are the labels of the alert that the finding makes.
func TestSilencesMatchAlerts(t *testing.T) {
	source := `or"ders of a\b & c+d`
	f := finding.Finding{ID: "1f", Source: source, Anomaly: "G2-item", Kind: finding.KindViolation, State: finding.Provisional, Certain: true, Txns: []string{"T1"}, Names: map[string]string{"T1": "checkout"}}
	a, err := NewAlertmanager(AlertmanagerOptions{URLs: []string{"http://am:9093"}, Labels: map[string]string{"team": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	next := a.state.clone()
	next.take(&f, time.Now(), map[string]bool{})
	for key, x := range next.Alerts {
		labels := a.post(key, x, time.Now()).Labels
		links := Silences("http://u:p@am:9093/base/", []string{"team=x"}, PatternOf(&f), f.Kind)
		if len(links) != 2 || !strings.HasPrefix(links[0].URL, "http://am:9093/base/#/") {
			t.Fatalf("%+v", links)
		}
		first, rest, _ := strings.Cut(strings.TrimPrefix(matchers(t, links[1]), "{source="), ", anomaly=")
		var value string // the form reads JSON
		if err := json.Unmarshal([]byte(first), &value); err != nil || value != labels["source"] || rest != `"G2-item"}` {
			t.Errorf("%s: the source is %q and not %q: %v", first, value, labels["source"], err)
		}
		quoted := `source="or\"ders of a\\b & c+d", anomaly="` + labels["anomaly"] + `"`
		if got, want := matchers(t, links[0]), "{"+quoted+`, pattern="`+labels["pattern"]+`"}`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got, want := matchers(t, links[1]), "{"+quoted+"}"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	confirmed := f
	confirmed.State = finding.ResolvedViolated
	links := Silences("https://am", nil, PatternOf(&f), finding.KindHorizon)
	one, other := PatternOf(&f), PatternOf(&confirmed)
	if got := matchers(t, links[0]); !strings.Contains(got, `pattern=~"`+one.Key()+"|"+other.Key()+`"`) {
		t.Errorf("what a replay confirms is not silenced: %s", got)
	}
	if links := Silences("http://am", []string{"pattern=x", "source=y"}, one, f.Kind); len(links) != 0 {
		t.Errorf("the sink's own labels take the place of ours: %+v", links)
	}
	if links := Silences("://", nil, one, f.Kind); links != nil {
		t.Errorf("%+v", links)
	}
}
