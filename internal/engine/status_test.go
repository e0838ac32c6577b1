package engine_test

import (
	"encoding/json"
	"fmt"
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

// TestWatermarkIsATime: where records have no times it counts them, and 1970 is no time
// that anything was checked up to.
func TestWatermarkIsATime(t *testing.T) {
	for _, times := range []string{"", fmt.Sprintf(`"start":%d,"end":%[1]d,`, awayEpoch)} {
		s := newSettled(t, 1<<40)
		for life := range 3 {
			if err := s.open(window.Config{}); err != nil {
				t.Fatal(err)
			}
			c := record("p", life, 0, true)
			c.Messages[0].Value = fmt.Appendf(nil, `{"txn":"%d",%s"status":"committed","ops":[{"op":"w","key":"x","value":%[1]d}]}`, life, times)
			s.read(c)
			if got := s.source(); (got.Watermark > 0) != (times != "") || got.Counters.Committed != int64(life+1) {
				t.Errorf("life %d, times %q: watermark %d of %d transactions", life, times, got.Watermark, got.Counters.Committed)
			}
		}
	}
}
