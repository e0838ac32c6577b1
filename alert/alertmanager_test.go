package alert

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// alerts are those of the posts, one a line: name, pattern's names, count and what is
// left of it at now.
func alerts(t *testing.T, bodies []string, now time.Time) string {
	t.Helper()
	var lines []string
	for _, body := range bodies {
		var posted []postedAlert
		if err := json.Unmarshal([]byte(body), &posted); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		for _, p := range posted {
			left := p.EndsAt.Sub(now)
			state := fmt.Sprintf("fires for %v", left)
			if left <= 0 {
				state = "is over"
			}
			lines = append(lines, fmt.Sprintf("%s %s %s {%s} %s", p.Labels["alertname"], p.Labels["severity"], p.Labels["anomaly"], p.Annotations["transactions"], state))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// What a finding says for people stands in the annotations of its alert.
func TestAnnotations(t *testing.T) {
	f := of("1", "G2-item", "pay", "audit")
	f.Headline, f.Meaning = "Two skewed.", "A rule may be broken."
	f.Causes, f.Next = []string{"Snapshot isolation.", "A bug."}, []string{"Lock."}
	f.Explanation = "G2-item: the results\n\nLet:\n  T1 = r x 1\n"
	s := firing{Alerts: map[string]*alertState{}}
	s.take(&f, time.Unix(0, 0), map[string]bool{})
	key := PatternOf(&f).Key()
	texts := (&Alertmanager{}).post(key, s.Alerts[key], time.Unix(900, 0)).Annotations
	for name, want := range map[string]string{
		"headline": "Two skewed.", "meaning": "A rule may be broken.", "causes": "Snapshot isolation.\nA bug.", "next": "Lock.",
		"proof": "Let:\n  T1 = r x 1",
	} {
		if texts[name] != want {
			t.Errorf("annotation %s is %q, want %q", name, texts[name], want)
		}
	}
	if texts["summary"] != f.Headline {
		t.Errorf("the summary is %q: what happened is not in it", texts["summary"])
	}
}

func TestAlertmanager(t *testing.T) {
	var requests *[]*http.Request
	var bodies *[]string
	down := false
	url, requests, bodies := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if down {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	now := time.Unix(1_700_000_000, 0)
	options := AlertmanagerOptions{
		URLs: []string{url + "/am"}, Login: Login{User: "u", Password: []byte("p")}, Hold: 15 * time.Minute, Resend: time.Minute,
		Labels: map[string]string{"team": "db", "severity": "page"}, Pages: "https://isowatch.example/", Now: func() time.Time { return now },
	}
	a, err := NewAlertmanager(options)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(step string, want ...string) {
		t.Helper()
		if got := alerts(t, *bodies, now); got != strings.Join(want, "\n") {
			t.Errorf("%s: posted\n%s\nwant\n%s", step, got, strings.Join(want, "\n"))
		}
		*bodies, *requests = nil, nil
	}
	deliver := func(findings ...finding.Finding) {
		t.Helper()
		outbox := &memory{}
		outbox.add(findings...)
		if err := a.Deliver(t.Context(), outbox.all); err != nil {
			t.Fatal(err)
		}
	}
	flush := func() {
		t.Helper()
		if due := a.Due(); due.IsZero() || due.After(now) {
			t.Fatalf("nothing is due: %v", due)
		}
		if err := a.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first := of("id/1", "G2-item", "pay", "audit")
	deliver(first, of("2", "G2-item", "audit", "pay"), of("3", "G1a", "pay"))
	r := (*requests)[0]
	user, password, _ := r.BasicAuth()
	if r.Method != http.MethodPost || r.URL.Path != "/am/api/v2/alerts" || user != "u" || password != "p" {
		t.Errorf("%s %s by %s", r.Method, r.URL, user)
	}
	var posted []postedAlert
	if err := json.Unmarshal([]byte((*bodies)[0]), &posted); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(posted, func(p postedAlert) bool { return p.Labels["anomaly"] == "G1a" })
	if p := posted[i]; p.GeneratorURL != "https://isowatch.example/findings/3" || p.Annotations["page_url"] != p.GeneratorURL || p.Labels["team"] != "db" || p.Labels["source"] != "db" ||
		len(p.Labels["pattern"]) != 16 || p.Annotations["finding"] != "3" || !p.StartsAt.Equal(now) || len(p.Labels) != 6 {
		t.Errorf("posted %+v", p)
	}
	if p := posted[1-i]; p.GeneratorURL != "https://isowatch.example/findings/2" || !strings.Contains(p.Annotations["description"], "2 findings") {
		t.Errorf("posted %+v", p)
	}
	expect("first", "IsolationViolated page G1a {pay} fires for 15m0s", "IsolationViolated page G2-item {audit, pay} fires for 15m0s")

	// It is sent again, with the end that its last finding gives it, over restarts.
	now = now.Add(time.Minute)
	flush()
	expect("again", "IsolationViolated page G1a {pay} fires for 14m0s", "IsolationViolated page G2-item {audit, pay} fires for 14m0s")
	state := stateOf(a)
	if a, err = NewAlertmanager(options); err != nil {
		t.Fatal(err)
	}
	a.Restore(state)
	now = now.Add(4 * time.Minute)
	deliver(of("4", "G1a", "pay"))
	expect("one more", "IsolationViolated page G1a {pay} fires for 15m0s")

	// Withdrawn as a whole: over at once. In part: it goes on.
	deliver(later(of("3", "G1a", "pay"), finding.Withdrawn))
	expect("one withdrawn", "IsolationViolated page G1a {pay} fires for 15m0s")
	deliver(later(of("4", "G1a", "pay"), finding.Withdrawn))
	expect("all withdrawn", "IsolationViolated page G1a {pay} is over", "IsolationWithdrawn info G1a {pay} fires for 15m0s")
	now = now.Add(time.Minute)
	flush()
	expect("it is told again that it was withdrawn", "IsolationViolated page G2-item {audit, pay} fires for 9m0s", "IsolationWithdrawn info G1a {pay} fires for 14m0s")
	deliver(of("5", "G1a", "pay"))
	expect("another one", "IsolationViolated page G1a {pay} fires for 15m0s")
	deliver(later(of("5", "G1a", "pay"), finding.Withdrawn))
	expect("withdrawn too", "IsolationViolated page G1a {pay} is over", "IsolationWithdrawn info G1a {pay} fires for 15m0s")

	// An upgrade to another anomaly moves the finding.
	up := later(first, finding.Provisional)
	up.Anomaly = "G1c"
	deliver(up, later(of("2", "G2-item", "audit", "pay"), finding.Withdrawn))
	expect("upgraded", "IsolationViolated page G1c {audit, pay} fires for 15m0s", "IsolationViolated page G2-item {audit, pay} is over",
		"IsolationWithdrawn info G2-item {audit, pay} fires for 9m0s")

	// While it is down nothing is forgotten.
	down = true
	now = now.Add(20 * time.Minute)
	before := string(stateOf(a))
	if err := a.Flush(t.Context()); err == nil || string(stateOf(a)) != before || strings.Contains(err.Error(), "p@") {
		t.Errorf("%v", err)
	}
	*bodies = nil
	down = false
	flush()
	expect("time-out", "IsolationViolated page G1c {audit, pay} is over", "IsolationWithdrawn info G1a {pay} is over", "IsolationWithdrawn info G2-item {audit, pay} is over")
	if stateOf(a) != nil || !a.Due().IsZero() {
		t.Errorf("left: %s", stateOf(a))
	}
	deliver(later(of("9", "G1a", "pay"), finding.Withdrawn)) // of something long over
	expect("nothing to say")
}

// A horizon finding is undecided until a replay closes it: then it is over, or another
// alert says that it is a violation.
func TestAlertsOfReplay(t *testing.T) {
	url, _, bodies := receiver(t, func(http.ResponseWriter, *http.Request) {})
	now := time.Unix(1_700_000_000, 0)
	a, err := NewAlertmanager(AlertmanagerOptions{URLs: []string{url}, Hold: 15 * time.Minute, Resend: time.Minute, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(f finding.Finding, want ...string) {
		t.Helper()
		*bodies = nil
		if err := a.Deliver(t.Context(), []Delivery{{Finding: f}}); err != nil {
			t.Fatal(err)
		}
		if got := alerts(t, *bodies, now); got != strings.Join(want, "\n") {
			t.Errorf("posted\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	}
	first, second := of("1", "horizon"), of("2", "horizon")
	first.Kind, second.Kind, first.Certain, second.Certain = finding.KindHorizon, finding.KindHorizon, false, false
	undecided := "IsolationUndecided warning horizon {}"
	deliver(first, undecided+" fires for 15m0s")
	deliver(second, undecided+" fires for 15m0s")
	deliver(later(first, finding.ResolvedViolated), undecided+" fires for 15m0s", "IsolationViolated critical resolved-violated {} fires for 15m0s")
	deliver(later(second, finding.ResolvedOK), undecided+" is over")
}

func TestAlertNames(t *testing.T) {
	for kind, want := range map[finding.Kind]string{
		finding.KindViolation: "IsolationViolated critical", finding.KindHorizon: "IsolationUndecided warning",
		finding.KindGap: "IsolationInputLost warning", finding.KindRecord: "IsolationRecordsContradict warning",
	} {
		f := of("1", "x")
		f.Kind = kind
		if got := alertName(&alertState{Kind: string(kind)}) + " " + severity(&f); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}

// What asks for less has a name of its own: no record is at fault.
func TestAlertNameOfWeaker(t *testing.T) {
	x := alertState{Kind: string(finding.KindRecord), Pattern: Pattern{Anomaly: finding.WeakerThanExpected}}
	if got := alertName(&x); got != "IsolationWeakerThanExpected" {
		t.Error(got)
	}
}

// One of a cluster is enough; all down is a failure; a rejected alert is told apart.
func TestAlertmanagerCluster(t *testing.T) {
	up, _, bodies := receiver(t, func(http.ResponseWriter, *http.Request) {})
	reject, _, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	for _, c := range []struct {
		name     string
		urls     []string
		ok       bool
		rejected bool
	}{
		{"one down", []string{"http://127.0.0.1:1", up}, true, false},
		{"all down", []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}, false, false},
		{"rejected", []string{reject}, false, true},
	} {
		a, err := NewAlertmanager(AlertmanagerOptions{URLs: c.urls, Hold: time.Hour, Resend: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		err = a.Deliver(t.Context(), []Delivery{{Finding: of("1", "G2")}})
		if (err == nil) != c.ok || errors.Is(err, ErrRejected) != c.rejected || (stateOf(a) != nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if len(*bodies) != 1 {
		t.Errorf("%d posts", len(*bodies))
	}
	for _, urls := range [][]string{nil, {"nonsense"}, {"http://ok", "ftp://secret/"}} {
		if _, err := NewAlertmanager(AlertmanagerOptions{URLs: urls}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", urls, err)
		}
	}
}

// What clients choose cannot make more alerts, nor longer ones, than is bounded.
func TestAlertsAreBounded(t *testing.T) {
	a, err := NewAlertmanager(AlertmanagerOptions{URLs: []string{"http://127.0.0.1:1"}, Hold: time.Hour, Resend: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	next := a.state.clone()
	for i := range 5000 {
		f := of(fmt.Sprint(i), "G2", strings.Repeat("é\n", 300)+fmt.Sprint(i))
		f.Edges = []finding.Edge{{From: "T0", To: "T0", Type: "rw", Key: strings.Repeat("k", 1000)}}
		next.take(&f, time.Now(), map[string]bool{})
	}
	a.state = next
	if len(next.Alerts) > maxAlerts+1 || len(next.IDs) > maxAlertIDs {
		t.Errorf("%d alerts, %d ids", len(next.Alerts), len(next.IDs))
	}
	for key, x := range next.Alerts {
		if text, err := json.Marshal(a.post(key, x, time.Now())); err != nil || len(text) > 3000 {
			t.Fatalf("%d bytes: %s", len(text), text)
		}
	}
}
