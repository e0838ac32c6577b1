package picture

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

func TestTimeline(t *testing.T) {
	f := writeSkew()
	f.During = []finding.Mark{{Name: "partition of n1", Start: "2026-03-02T09:00:00.5Z"}, {Name: "no time", Start: "today"}}
	f.History[1] = json.RawMessage(strings.Replace(string(f.History[1]), "committed", "unknown", 1))
	for _, width := range []int{WideTime, NarrowTime} {
		svg := Timeline(scene.New(&f), f.During, width)
		text, elements := wellFormed(t, svg)
		if elements["rect"] != 3 { // two transactions and a mark
			t.Errorf("%d: %d bars", width, elements["rect"])
		}
		for _, want := range []string{
			"session s0", "session s1", "T1  2 ms", "T2, unknown  2 ms", "r a 1, w b 2",
			"T1 from 0 ms to 2 ms. T2 from 1000 ms to 1002 ms.", "+0\n", "+1000\n", "2026-03-02 09:00:00.000", "▒ partition of n1",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%d: %q is missing in\n%s", width, want, text)
			}
		}
		if strings.Contains(text, "no time") {
			t.Error("an event without a time is drawn")
		}
	}
}

// Bars of one session are in one group, in the order of their starts.
func TestTimelineBySession(t *testing.T) {
	f := ring("rw", "rw", "rw")
	f.History[0], f.History[1], f.History[2] = record("T1", "a", 3), record("T2", "b", 2), record("T3", "a", 1)
	text, _ := wellFormed(t, Timeline(scene.New(&f), nil, WideTime))
	var order []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "session ") || strings.HasPrefix(line, "T") && strings.HasSuffix(line, "  2 ms") {
			order = append(order, strings.TrimSuffix(line, "  2 ms"))
		}
	}
	if want := []string{"session a", "T3", "T1", "session b", "T2"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
}

func TestTimelineNeedsTimes(t *testing.T) {
	f := writeSkew()
	f.History = nil
	if svg := Timeline(scene.New(&f), nil, WideTime); svg != nil {
		t.Errorf("%s", svg)
	}
}
