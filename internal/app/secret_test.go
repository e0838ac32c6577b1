package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/config"
)

// guarded is a buffer for several goroutines.
type guarded struct {
	sync.Mutex
	bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.Lock()
	defer g.Unlock()
	return g.Buffer.Write(p)
}

func (g *guarded) text() string {
	g.Lock()
	defer g.Unlock()
	return g.String()
}

// No log, page, metric, status, error or printed setting shows a secret, whichever way
// it was given, also when everything that needs it fails.
func TestSecretsAreNotShown(t *testing.T) {
	const secret = "s3cret-hidden"
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEST_SECRET", secret)
	from := config.Secret{File: file}
	s := liveService(t)
	s.HTTP.User, s.HTTP.Password, s.HTTP.Token = "u", from, config.Secret{Env: "TEST_SECRET"}
	am := config.NewAlertmanager()
	am.URLs, am.Token = []string{"http://u:" + secret + "@127.0.0.1:1/" + secret}, from
	s.Sinks = []config.Sink{
		sinkOf(func(s *config.Sink) {
			s.Webhook = &config.Webhook{URL: "http://u:" + secret + "@127.0.0.1:1/" + secret + "?t=" + secret, Secret: from}
		}),
		sinkOf(func(s *config.Sink) { s.Alertmanager = &am }),
		sinkOf(func(s *config.Sink) {
			s.NATS = &config.NATSSink{NATS: config.NATS{URLs: []string{"nats://u:" + secret + "@127.0.0.1:1"}}, Subject: "x"}
		}),
		sinkOf(func(s *config.Sink) {
			s.Kafka = &config.KafkaSink{Kafka: config.Kafka{Brokers: []string{"127.0.0.1:1"}, Mechanism: "PLAIN", User: "u", PasswordEnv: "TEST_SECRET"}, Topic: "t"}
		}),
	}
	var log guarded
	sink := make(caught, 10)
	a, err := New(Options{
		Config: s, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Sinks: []alert.Route{{Sink: sink, Filter: alert.Everything()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Stop(t.Context()) })
	send(t, a, skewOne, skewTwo)
	sink.next(t)
	for _, name := range []string{"webhook", "alertmanager", "nats", "kafka"} {
		eventually(t, "failure of "+name, func() bool { return strings.Contains(log.text(), "sink="+name) })
	}
	if err := a.Reload(t.Context(), func() config.Service {
		bad := s
		bad.Sinks = append(bad.Sinks[:0:0], sinkOf(func(s *config.Sink) { s.Webhook = &config.Webhook{URLFrom: from} }))
		return bad
	}()); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("reload: %v", err)
	}
	shown := map[string]string{"log": log.text()}
	for _, path := range []string{"/", "/metrics", "/api/v1/status", "/api/v1/findings", "/-/ready"} {
		request, err := http.NewRequest(http.MethodGet, "http://"+a.HTTPAddr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth("u", secret)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		body.ReadFrom(response.Body) // a cut body is still looked at
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, response.Status)
		}
		shown[path] = body.String()
	}
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	shown["settings"] = string(text)
	for where, text := range shown {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s shows the secret: %q", where, text[max(0, i-100):i+20])
		}
	}
}

// What a limited sink holds back survives a stop before its digest: nothing is told
// twice, nothing is left out.
func TestDigestOverARestart(t *testing.T) {
	s := liveService(t)
	path := filepath.Join(t.TempDir(), "f")
	limited := func(every time.Duration) []config.Sink {
		return []config.Sink{sinkOf(func(s *config.Sink) {
			s.File, s.PerPattern, s.Every = &config.FileSink{Path: path}, new(1), every
		})}
	}
	s.Sinks = limited(time.Hour) // the first life stops before its digest
	lostUpdate := func(key string) []string {
		return []string{
			fmt.Sprintf(`{"txn":"%s1","name":"pay","status":"committed","ops":[{"op":"r","key":"%s","value":1},{"op":"w","key":"%s","value":2}]}`, key, key, key),
			fmt.Sprintf(`{"txn":"%s2","name":"pay","status":"committed","ops":[{"op":"r","key":"%s","value":1},{"op":"w","key":"%s","value":3}]}`, key, key, key),
		}
	}
	holds := func(what string) func() bool {
		return func() bool { text, err := os.ReadFile(path); return err == nil && strings.Contains(string(text), what) }
	}
	sink := make(caught, 10)
	a := start(t, s, sink)
	send(t, a, lostUpdate("a")...)
	eventually(t, "the first", holds(`"anomaly":"lost-update"`))
	first := sink.next(t)
	for _, key := range []string{"b", "c"} {
		send(t, a, lostUpdate(key)...)
		sink.next(t)
	}
	stop(t, a)
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "digest") || strings.Count(string(text), `{"id":`) != 1 {
		t.Fatalf("%v, or more than the first was told:\n%s", err, text)
	}
	s.Sinks = limited(time.Millisecond)
	a = start(t, s, sink)
	eventually(t, "the digest", holds(`"digest"`))
	stop(t, a)
	if text, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), `{"id":`) != 1 || !strings.Contains(string(text), first.ID) || strings.Count(string(text), `"digest"`) != 1 ||
		!strings.Contains(string(text), `"names":["pay"]`) || !strings.Contains(string(text), `"findings":2,`) {
		t.Errorf("the file holds\n%s", text)
	}
}
