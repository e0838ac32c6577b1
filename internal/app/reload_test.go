package app

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

func fileSink(path, name string) config.Sink {
	return sinkOf(func(s *config.Sink) { s.Name, s.File = name, &config.FileSink{Path: path} })
}

// A reload changes levels and sinks between two findings: what one sink was given the next
// is not, a new one begins at the present, and one of the same name goes on.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	holds := func(name string) (ids int) {
		text, err := os.ReadFile(path(name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Count(string(text), `"revision":1,`)
	}
	s := liveService(t)
	s.Sinks = []config.Sink{fileSink(path("stays"), "stays"), fileSink(path("goes"), "goes")}
	sink := make(caught, 10)
	a := start(t, s, sink)
	send(t, a, skewOne, skewTwo)
	if f := sink.next(t); f.Expected {
		t.Fatalf("%+v", f)
	}
	eventually(t, "delivery", func() bool { return holds("stays") == 1 && holds("goes") == 1 })

	next := s
	next.Watch.Expect = isolation.Level{Base: isolation.SnapshotIsolation}
	next.Watch.Levels = append(isolation.Watched(), levels(t, "read-atomic")...)
	next.HTTP.Profiles = true // needs a new start
	next.Sinks = []config.Sink{fileSink(path("stays"), "stays"), fileSink(path("comes"), "comes")}
	next.Sinks[1].Send = config.SendAll
	if err := a.Reload(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	again := strings.NewReplacer("T", "V", `"x"`, `"z"`, `"y"`, `"w"`)
	send(t, a, again.Replace(skewOne), again.Replace(skewTwo))
	eventually(t, "delivery to the new sink", func() bool { return holds("comes") > 0 })
	if holds("stays") != 1 || holds("goes") != 1 {
		t.Errorf("stays %d, goes %d", holds("stays"), holds("goes"))
	}
	if text := get(t, a, "/metrics"); !strings.Contains(text, "isowatch_config_last_reload_successful 1") || strings.Contains(text, "reload_success_timestamp_seconds 0") {
		t.Error("the metrics do not tell of the reload")
	}
	if page := get(t, a, "/"); !strings.Contains(page, "snapshot-isolation") {
		t.Error("the page does not show the new level")
	}
	if response, err := http.Get("http://" + a.HTTPAddr() + "/debug/pprof/"); err != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("%v, %v", response, err)
	}

	// What is refused changes nothing.
	for name, change := range map[string]func(*config.Service){
		"levels": func(s *config.Service) {
			s.Watch.Levels = append(slices.Clone(s.Watch.Levels), levels(t, "strong-session-causal")...)
		},
		"invalid": func(s *config.Service) { s.Watch.Lateness = -1 },
		"sink":    func(s *config.Service) { s.Sinks = []config.Sink{fileSink("/no/such/folder/x", "stays")} },
	} {
		bad := next
		change(&bad)
		if err := a.Reload(t.Context(), bad); err == nil {
			t.Errorf("%s: taken", name)
		}
		if !strings.Contains(get(t, a, "/metrics"), "isowatch_config_last_reload_successful 0") {
			t.Errorf("%s: the metrics do not tell that it was refused", name)
		}
	}
	a.reloading <- struct{}{} // as while the caps wait for a step
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Reload(ended, next); !errors.Is(err, context.Canceled) {
		t.Errorf("a reload that waits for another one, ended: %v", err)
	}
	<-a.reloading
	if got := a.watchOf("default").Expect.String(); got != "snapshot-isolation" || len(a.made) != 2 {
		t.Errorf("after refusals: %s, %d sinks", got, len(a.made))
	}
	before := holds("comes")
	send(t, a, `{"txn":"U1","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":2}]}`,
		`{"txn":"U2","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":3}]}`)
	eventually(t, "delivery after refusals", func() bool { return holds("comes") > before && holds("stays") == 2 })
	stop(t, a)
	if err := a.Reload(t.Context(), next); err == nil {
		t.Error("reloaded after the stop")
	}
}

// A replay answers what is expected now, not what was when the service started.
func TestReplayClosesAfterReload(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	s.Watch.Idle = time.Second
	sink := make(caught, 10)
	a := start(t, s, sink)
	send(t, a, append(skewApart()[:3], ran("T2", 2, 3, `{"op":"r","key":"x","value":[]}`))...)
	f := storedFinding(t, s.Data, sink.next(t).ID, finding.Final)
	next := s
	next.Watch.Expect = levels(t, "read-committed")[0]
	next.Watch.Levels = append(isolation.Watched(), next.Watch.Expect)
	if err := a.Reload(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	r := replayOf()
	r.Data, r.From, r.To = s.Data, bound(t, flagOf(f.Command, "--from")), bound(t, flagOf(f.Command, "--to"))
	answer := &finding.Finding{ID: f.ID, Source: "default", State: finding.ResolvedOK, Txns: f.Txns, Explanation: "So it is."}
	r.Watch.Expect = s.Watch.Expect
	if err := CloseFinding(t.Context(), &r, answer); err == nil || !strings.Contains(err.Error(), "was not checked for read-committed") {
		t.Errorf("checked for what was expected before: %v", err)
	}
	r.Watch.Expect = next.Watch.Expect
	if err := CloseFinding(t.Context(), &r, answer); err != nil {
		t.Errorf("checked for what is expected now: %v", err)
	}
	storedFinding(t, s.Data, f.ID, finding.ResolvedOK)
}

// A token that was renewed counts from the reload on, and the one before no more; one
// that cannot be read lets the reload be refused.
func TestReloadReadsSecretsOfPages(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	s := liveService(t)
	s.HTTP.Token.File = file
	a := start(t, s)
	admitted := func() (tokens string) {
		for _, token := range []string{"one", "two"} {
			request, err := http.NewRequest(http.MethodGet, "http://"+a.HTTPAddr()+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+token)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				tokens += token
			}
		}
		return tokens
	}
	write("two\n")
	if got := admitted(); got != "one" {
		t.Errorf("before the reload %q is admitted", got)
	}
	other := s
	other.HTTP.Profiles = true // http needs a new start, with its secrets
	if err := a.Reload(t.Context(), other); err != nil || admitted() != "one" {
		t.Errorf("another http: %v, %q is admitted", err, admitted())
	}
	if err := a.Reload(t.Context(), s); err != nil || admitted() != "two" {
		t.Errorf("after the reload: %v, %q is admitted", err, admitted())
	}
	write("")
	if err := a.Reload(t.Context(), s); err == nil || admitted() != "two" {
		t.Errorf("an empty file: %v, %q is admitted", err, admitted())
	}
}

// A source that is first met while a configuration is being refused is checked by the
// one that stays.
func TestSourcesToComeKeepTheirConfiguration(t *testing.T) {
	a := &App{config: config.DefaultService()}
	machine := a.machineOf(&a.config)
	refused := a.config
	refused.Watch.Lateness = a.config.Watch.Lateness + time.Hour
	a.current.Store(&refused)
	if got := machine("new").Lateness; got != window.For(a.config.Watch.Lateness) {
		t.Errorf("a new source is given a lateness of %v while %s is in effect", got, a.config.Watch.Lateness)
	}
}

// A sink that does not let go is given nothing more, and delays neither the reload nor
// the others for long.
func TestReloadWithAHangingSink(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits 6 s for a sink that hangs: not with -short")
	}
	release := make(chan struct{})
	s := liveService(t)
	a, err := New(Options{Config: s, Sinks: []alert.Route{{Sink: hangingSink{release}, Filter: alert.Everything()}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Stop(context.Background()) })
	send(t, a, skewOne, skewTwo)
	eventually(t, "the finding", func() bool { return a.Status().Outbox.Findings > 0 })
	next := s
	path := filepath.Join(t.TempDir(), "f")
	next.Sinks = []config.Sink{fileSink(path, "f")}
	if err := a.Reload(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	send(t, a, `{"txn":"U1","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":2}]}`,
		`{"txn":"U2","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":3}]}`)
	eventually(t, "delivery", func() bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(text), "lost-update")
	})
	close(release)
}

// hangingSink ignores its context.
type hangingSink struct{ release chan struct{} }

func (hangingSink) Name() string { return "hanging" }
func (h hangingSink) Deliver(context.Context, []alert.Delivery) error {
	<-h.release
	return nil
}

// A reload takes a level away and adds another one: what was live is looked at again, and
// metrics, status and API tell since when it is watched, and what the other had come to.
func TestReloadLevels(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	s.Watch.Levels, s.Watch.Named = levels(t, "snapshot-isolation,prefix"), true
	s.Watch.Expect = s.Watch.Levels[0]
	sink := make(caught, 10)
	a := start(t, s, sink)
	send(t, a, skewOne, skewTwo)
	eventually(t, "both transactions", func() bool {
		x := a.Status().Sources
		return len(x) == 1 && x[0].Counters.Committed == 2
	})
	next := s
	next.Watch.Levels = levels(t, "snapshot-isolation,serializable")
	next.Watch.Expect = next.Watch.Levels[1]
	if err := a.Reload(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if f := sink.next(t); f.Expected || f.Anomaly != "G2-item" {
		t.Errorf("%+v", f)
	}
	eventually(t, "the status", func() bool { return len(a.Status().Sources[0].Ended) == 1 })
	x := a.Status().Sources[0]
	if v := x.Verdicts["serializable"]; v.Verdict != "violated" || v.Since == 0 {
		t.Errorf("serializable: %+v", v)
	}
	if v := x.Verdicts["snapshot-isolation"]; v.Since != 0 {
		t.Errorf("snapshot isolation: %+v", v)
	}
	if e := x.Ended["prefix"]; e.Verdict != "unknown" || e.Until != x.Verdicts["serializable"].Since {
		t.Errorf("prefix ended as %+v", e)
	}
	text := get(t, a, "/metrics")
	for want, there := range map[string]bool{
		`isowatch_verdict{level="serializable",source="default"} 2`:       true,
		`isowatch_verdict{level="snapshot-isolation",source="default"} 1`: true,
		`isowatch_verdict{level="prefix"`:                                 false,
	} {
		if strings.Contains(text, want) != there {
			t.Errorf("metrics hold %s: %v", want, !there)
		}
	}
	api := get(t, a, "/api/v1/status")
	for _, want := range []string{`"since":`, `"ended":{"prefix":{"verdict":"unknown"`} {
		if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(api, " ", ""), "\n", ""), want) {
			t.Errorf("the status does not hold %s:\n%s", want, api)
		}
	}
	if page := get(t, a, "/"); !strings.Contains(page, "watched since") {
		t.Error("the page does not show since when the level is watched")
	}
	stop(t, a)

	again := start(t, next)
	eventually(t, "the next life", func() bool { return len(again.Status().Sources) == 1 })
	if got := again.Status().Sources[0].Verdicts["serializable"]; !reflect.DeepEqual(got, x.Verdicts["serializable"]) {
		t.Errorf("in the next life %+v, want %+v", got, x.Verdicts["serializable"])
	}
}
