package app

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/config"
)

// What the self-test plants is found, by all the way that input takes, and nobody else is
// told, neither by sinks, pages, metrics nor lists.
func TestSelfTest(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	s.SelfTest = 5 * time.Second
	sink := make(caught, 8)
	a := start(t, s, sink)
	waitFor(t, "the self-test finds what it planted", func() bool {
		a.selfTest.mu.Lock()
		defer a.selfTest.mu.Unlock()
		return !a.selfTest.found.IsZero()
	})
	for _, r := range skewOf("a") {
		send(t, a, r)
	}
	if f := sink.next(t); f.Source != config.DefaultSource {
		t.Errorf("a sink is given %+v", f)
	}
	if n := a.Status().Records; n != 2 {
		t.Errorf("%d records are counted, want the two that were sent", n)
	}
	metrics := get(t, a, "/metrics")
	if strings.Contains(metrics, `source="isowatch-self-test"`) || !strings.Contains(metrics, "\nisowatch_self_test_failures_total 0\n") {
		t.Errorf("metrics:\n%s", metrics)
	}
	for _, line := range strings.Split(metrics, "\n") {
		for _, name := range []string{"isowatch_self_test_seconds ", "isowatch_self_test_last_success_timestamp_seconds "} {
			if strings.HasPrefix(line, name) && strings.HasSuffix(line, " 0") {
				t.Error(line)
			}
		}
	}
	for _, path := range []string{"/api/v1/findings", "/", "/api/v1/status"} {
		if text := get(t, a, path); strings.Contains(text, "planted-") {
			t.Errorf("%s shows what was planted:\n%s", path, text)
		}
	}
	if text := get(t, a, "/api/v1/findings?source=isowatch-self-test"); !strings.Contains(text, "planted-") {
		t.Errorf("who asks for it is not shown what was planted:\n%s", text)
	}
	stop(t, a)
	for _, r := range append(stored(t, s.Data, Findings), stored(t, s.Data, Panes)...) {
		if strings.Contains(r, config.SelfTestSource) {
			t.Errorf("listed: %s", r)
		}
	}

	// What was planted in another life is no success of this one.
	again := start(t, s)
	waitFor(t, "it is found again", func() bool {
		again.selfTest.mu.Lock()
		defer again.selfTest.mu.Unlock()
		return !again.selfTest.found.IsZero()
	})
}

// What is not found until the next is planted has failed.
func TestSelfTestFails(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := newSelfTest(time.Minute, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	first := s.plant(1)
	now = now.Add(time.Minute)
	s.plant(2)
	now = now.Add(2 * time.Second)
	if err := s.Deliver(t.Context(), foundIn(first)); err != nil || !s.found.IsZero() {
		t.Errorf("what was given up counts: %v, %v", s.found, err)
	}
	now = now.Add(time.Second)
	third := s.plant(3)
	now = now.Add(time.Second)
	if err := s.Deliver(t.Context(), foundIn(third)); err != nil || s.took != time.Second || s.failures != 2 || s.failing {
		t.Errorf("%v, %d failures, %v", s.took, s.failures, err)
	}
}

// foundIn is the finding of what a message plants.
func foundIn(m ingest.Message) []alert.Delivery {
	var d event.Decoder
	var b event.Batch
	d.DecodeMessage(&b, event.Position{}, m.Value)
	return []alert.Delivery{{Finding: finding.Finding{Txns: []string{b.Text(b.Txns[1].ID), b.Text(b.Txns[0].ID)}}}}
}
