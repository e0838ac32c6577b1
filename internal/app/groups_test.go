package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
)

// asAnn asks the service's pages as its user.
func asAnn(t *testing.T, a *App, method, path, form string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequest(method, "http://"+a.HTTPAddr()+path, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("ann", "pass")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// A finding of a running service is in its group at once, and the group's silence survives a restart.
func TestGroupsOfService(t *testing.T) {
	t.Setenv("TEST_PASSWORD", "pass")
	s := liveService(t)
	s.HTTP.User, s.HTTP.Password = "ann", config.Secret{Env: "TEST_PASSWORD"}
	s.Sinks = []config.Sink{sinkOf(func(s *config.Sink) {
		m := config.NewAlertmanager()
		m.URLs = []string{"http://user:secret@127.0.0.1:1/am"}
		s.Alertmanager = &m
	}), sinkOf(func(s *config.Sink) {
		m := config.NewAlertmanager()
		m.URLs, m.External = []string{"http://127.0.0.1:1/"}, "https://alerts.example/am"
		s.Name, s.Alertmanager = "outside", &m
	})}
	sink := make(caught, 10)
	a := start(t, s, sink)
	send(t, a, skewOne, skewTwo)
	f := sink.next(t)
	var answer struct {
		Groups []struct {
			Group    string `json:"group"`
			Silences []struct{ URL string }
			Silenced *struct{ Who, Why string }
		}
	}
	groups := func(query string) int {
		t.Helper()
		_, body := asAnn(t, a, http.MethodGet, "/api/v1/groups?"+query, "")
		answer.Groups = nil
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return len(answer.Groups)
	}
	if groups("q="+f.ID) != 1 {
		t.Fatal("the finding is in no group")
	}
	key, link := answer.Groups[0].Group, answer.Groups[0].Silences[0].URL
	if filter, _ := url.PathUnescape(link); !strings.HasPrefix(filter, `http://127.0.0.1:1/am/#/silences/new?filter={source="default", anomaly="`+f.Anomaly+`", pattern="`) {
		t.Errorf("the silence: %s", filter)
	}
	if outside := answer.Groups[0].Silences[2].URL; !strings.HasPrefix(outside, "https://alerts.example/am/#/silences/new") {
		t.Errorf("the silence of a sink with an address for people: %s", outside)
	}
	before := a.shelf.version.Load()
	if status, body := asAnn(t, a, http.MethodPost, "/api/v1/groups/"+key, "do=silence&for=4h&why=known"); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if a.shelf.version.Load() == before {
		t.Error("a silence does not renew the pages")
	}
	if status, body := asAnn(t, a, http.MethodPost, "/-/reload", ""); status != 409 {
		t.Errorf("a service without a file of settings reloads: %d %s", status, body)
	}
	if _, body := asAnn(t, a, http.MethodGet, "/metrics", ""); !strings.Contains(body, `isowatch_memory_bytes{part="catalog"}`) {
		t.Error("no memory of the catalog")
	}
	stop(t, a)
	a = start(t, s)
	eventually(t, "the silence", func() bool {
		return groups("silenced=true") == 1 && answer.Groups[0].Group == key && answer.Groups[0].Silenced.Who == "ann" && answer.Groups[0].Silenced.Why == "known"
	})
}

// A reload by request takes the file as SIGHUP does, and says what is wrong with it.
func TestReloadIsAskedFor(t *testing.T) {
	t.Setenv("TEST_PASSWORD", "pass")
	s := liveService(t)
	s.HTTP.User, s.HTTP.Password = "ann", config.Secret{Env: "TEST_PASSWORD"}
	next := s
	next.Watch.Expect = levels(t, "snapshot-isolation")[0]
	a, err := New(Options{Config: s, Reread: func() (config.Service, error) { return next, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, a) })
	if status, body := asAnn(t, a, http.MethodPost, "/-/reload", ""); status != 200 || a.watchOf("x").Expect != next.Watch.Expect {
		t.Errorf("%d %s; expected is %s", status, body, a.watchOf("x").Expect)
	}
	next.Memory, next.HTTP.Profiles = 1<<30, true
	if status, body := asAnn(t, a, http.MethodPost, "/-/reload", ""); status != 200 || !strings.Contains(body, "restart: memory, http") {
		t.Errorf("a file that only a restart takes whole: %d %s", status, body)
	}
	next.Watch.Levels = nil
	if status, body := asAnn(t, a, http.MethodPost, "/-/reload", ""); status != 500 || !strings.Contains(body, "levels") {
		t.Errorf("%d %s", status, body)
	}
}
