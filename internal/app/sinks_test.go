package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/config"
)

func sinkOf(change func(*config.Sink)) config.Sink {
	s := config.NewSink()
	change(&s)
	return s
}

func everySink(dir string) []config.Sink {
	am := config.NewAlertmanager()
	am.URLs, am.Labels = []string{"http://127.0.0.1:1"}, []string{"team=db"}
	return []config.Sink{
		sinkOf(func(s *config.Sink) { s.Webhook = &config.Webhook{URL: "http://127.0.0.1:1/"} }),
		sinkOf(func(s *config.Sink) { s.Alertmanager = &am }),
		sinkOf(func(s *config.Sink) {
			s.NATS = &config.NATSSink{NATS: config.NATS{URLs: []string{"127.0.0.1:1"}}, Subject: "x"}
		}),
		sinkOf(func(s *config.Sink) {
			s.Kafka = &config.KafkaSink{Kafka: config.Kafka{Brokers: []string{"127.0.0.1:1"}}, Topic: "t"}
		}),
		sinkOf(func(s *config.Sink) {
			s.Name, s.PerPattern, s.Send = "file", new(0), config.SendAll
			s.File = &config.FileSink{Path: filepath.Join(dir, "findings.jsonl")}
		}),
	}
}

// Sinks that cannot be reached hold up neither the start nor each other.
func TestEverySink(t *testing.T) {
	s := liveService(t)
	dir := t.TempDir()
	s.Sinks = everySink(dir)
	sink := make(caught, 10)
	a := start(t, s, sink)
	var got []string
	for _, m := range a.made {
		_, limited := m.route.Sink.(*alert.Limiter)
		got = append(got, m.route.Sink.Name()+map[bool]string{true: " limited"}[limited])
	}
	if want := "webhook limited, alertmanager, nats, kafka, file"; strings.Join(got, ", ") != want {
		t.Errorf("sinks %q, want %s", got, want)
	}
	send(t, a, skewOne, skewTwo)
	f := sink.next(t)
	stop(t, a)
	text, err := os.ReadFile(filepath.Join(dir, "findings.jsonl"))
	if err != nil || !strings.Contains(string(text), `"id":"`+f.ID+`"`) {
		t.Errorf("the file holds %s, %v", text, err)
	}
}

// All that is wrong with sinks, and with the secrets of the pages, is told at once,
// without a secret.
func TestSinkFaults(t *testing.T) {
	t.Setenv("HOOK_URL", "nonsense s3cret")
	s := liveService(t)
	s.Sinks = []config.Sink{
		sinkOf(func(s *config.Sink) { s.Webhook = &config.Webhook{URLFrom: config.Secret{Env: "HOOK_URL"}} }),
		sinkOf(func(s *config.Sink) { s.File = &config.FileSink{Path: "/no/such/folder/f"} }),
		sinkOf(func(s *config.Sink) {
			am := config.NewAlertmanager()
			am.URLs, am.CAFile = []string{"http://127.0.0.1:1"}, "/no/such/ca"
			s.Alertmanager = &am
		}),
	}
	s.HTTP.User, s.HTTP.Password.File, s.HTTP.Token.File = "u", "/no/such/password", "/no/such/token"
	a, err := New(Options{Config: s})
	if err == nil {
		err = a.Start(t.Context())
	}
	if !errors.Is(err, ErrConfig) || errors.Is(err, ErrInput) {
		t.Fatal(err)
	}
	for _, want := range []string{"http: secret file: open /no/such/password", "http: secret file: open /no/such/token", "sink webhook: webhook: the URL is not", "sink file: ", "sink alertmanager: CA file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a secret is told: %v", err)
	}
}
