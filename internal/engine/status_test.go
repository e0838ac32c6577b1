package engine_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/isowatch/isowatch/window"
)

// TestStatusJSON: every name of a field is lower case, and steps are counted over
// lives.
func TestStatusJSON(t *testing.T) {
	s := newSettled(t, 1<<40)
	for life := range 2 {
		if err := s.open(window.Config{}); err != nil {
			t.Fatal(err)
		}
		if got := s.engine.Status().Steps; got != uint64(2*life) {
			t.Errorf("life %d begins with %d steps", life, got)
		}
		s.read(record("p", 2*life, 0, true))
		s.read(record("p", 2*life+1, 1, true))
	}
	text, err := json.Marshal(s.engine.Status())
	if err != nil {
		t.Fatal(err)
	}
	if names := regexp.MustCompile(`"[^":]*[A-Z][^":]*":`).FindAll(text, -1); names != nil {
		t.Errorf("names %s in %s", names, text)
	}
	var status struct {
		Steps   int
		Sources []struct{ Counters, Sizes map[string]int64 }
	}
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatal(err)
	}
	if status.Steps != 4 || status.Sources[0].Counters["committed"] != 4 || status.Sources[0].Sizes["keys"] != 1 {
		t.Errorf("status %s", text)
	}
}
