package picture

import (
	"encoding/json"
	"fmt"
	"regexp"
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

// No line of the axis crosses a text.
func TestTimelineRulesCrossNoText(t *testing.T) {
	f := ring("rw", "rw", "rw")
	f.History[0], f.History[1], f.History[2] = record("T1", "a", 3), record("T2", "b", 2), record("T3", "a", 1)
	number := func(text string) (n float64) {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, width := range []int{WideTime, NarrowTime} {
		svg := string(Timeline(scene.New(&f), []finding.Mark{{Name: "restart", Start: "2026-03-02T09:00:00Z"}}, width))
		texts := regexp.MustCompile(`<text [^>]*y="([0-9.]+)"`).FindAllStringSubmatch(svg, -1)
		rules := regexp.MustCompile(`<path class="rule" d="([^"]*)"`).FindAllStringSubmatch(svg, -1)
		if len(texts) == 0 || len(rules) == 0 {
			t.Fatal(svg)
		}
		for _, rule := range rules {
			pieces := regexp.MustCompile(`M[0-9.]+ ([0-9.]+)V([0-9.]+)`).FindAllStringSubmatch(rule[1], -1)
			if len(pieces) != 4 { // three bars, and the axis
				t.Errorf("%d: %s", width, rule[1])
			}
			for _, piece := range pieces {
				for _, text := range texts {
					const above, below = 9, 3 // a baseline: what letters take, px
					if y := number(text[1]); number(piece[1]) < y+below && number(piece[2]) > y-above {
						t.Errorf("%d: %s crosses the text at %g", width, piece[0], y)
					}
				}
			}
		}
	}
}
