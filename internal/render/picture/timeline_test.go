package picture

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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
			"T1 from 0 ms to 2 ms. T2 from 1000 ms to 1002 ms.", "+0\n", "+1000\n", "2026-03-02 09:00:00.000", "▒ 1  +500 ms, not ended  partition of n1", "\n1 →\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%d: %q is missing in\n%s", width, want, text)
			}
		}
		if !strings.Contains(string(svg), ` data-local="2026-03-02T09:00:00Z"></text>`) {
			t.Errorf("%d: no line for the time of the reader", width)
		}
		if strings.Contains(text, "no time") {
			t.Error("an event without a time is drawn")
		}
	}
}

// A long name of a session ends within the picture.
func TestTimelineCutsSessions(t *testing.T) {
	f := writeSkew()
	long := strings.Repeat("host-pod-process-", 12)
	f.History[0] = json.RawMessage(strings.Replace(string(f.History[0]), `"s0"`, `"`+long+`"`, 1))
	for _, width := range []int{WideTime, NarrowTime} {
		text, _ := wellFormed(t, Timeline(scene.New(&f), nil, width))
		session := regexp.MustCompile("session host.*").FindString(text)
		if n := len([]rune(session)); n < 30 || float64(n)*charWidth > float64(width-2*margin) {
			t.Errorf("%d: %d letters: %s", width, n, session)
		}
	}
}

// What happened outside the transactions is at the edge with its distance, and no band. Each event has its
// number and its offset in the legend.
func TestTimelineMarksOutside(t *testing.T) {
	f := writeSkew()
	marks := []finding.Mark{
		{Name: "kill node 2", Start: "2026-03-02T08:59:57.9Z", End: "2026-03-02T08:59:58Z"},
		{Name: "pause", Start: "2026-03-02T08:59:59Z", End: "2026-03-02T09:00:00.001Z"},
		{Name: "no time", Start: "today"},
		{Name: "partition", Start: "2026-03-02T09:00:00.25Z", End: "2026-03-02T09:00:00.5Z"},
		{Name: "heal", Start: "2026-03-02T09:00:01.502Z", End: "2026-03-02T09:00:03Z"},
		{Name: "late", Start: "2026-03-02T09:00:05Z"},
	}
	for _, width := range []int{WideTime, NarrowTime} {
		svg := Timeline(scene.New(&f), marks, width)
		text, _ := wellFormed(t, svg)
		if n := strings.Count(string(svg), `class="mark"`); n != 2 { // the pause and the partition
			t.Errorf("%d: %d bands", width, n)
		}
		for _, want := range []string{
			"\n← 1  2 s before\n", "\n← 2\n", "\n4\n", "\n5  500 ms after →\n", "\n6  4 s after →\n",
			"▒ 1  −2.1 s to −2 s  kill node 2\n", "▒ 2  −1 s to +1 ms  pause\n", "▒ 4  +250 ms to +500 ms  partition\n", "▒ 5  +1.5 s to +3 s  heal\n", "▒ 6  +5 s, not ended  late\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%d: %q is missing in\n%s", width, want, text)
			}
		}
		at := map[string]bool{}
		for _, m := range regexp.MustCompile(`<text class="legend" x="([0-9.]+)" y="([0-9.]+)">(?:← )?[1-6]`).FindAllStringSubmatch(string(svg), -1) {
			if at[m[1]+" "+m[2]] {
				t.Errorf("%d: two labels are at %s, %s", width, m[1], m[2])
			}
			at[m[1]+" "+m[2]] = true
		}
		if len(at) != 5 {
			t.Errorf("%d: labels at %v", width, at)
		}
	}
}

// The legend has what is told of a mark, as far as there is room.
func TestTimelineTellsMarks(t *testing.T) {
	f := writeSkew()
	marks := []finding.Mark{
		{Name: "failover", Text: "node 3", Start: "2026-03-02T09:00:00Z", End: "2026-03-02T09:00:00.5Z"},
		{Name: "other levels", Text: "expected serializable, watched serializable, snapshot-isolation", Start: "2026-03-02T09:00:00Z", End: "2026-03-02T09:00:00Z"},
	}
	for width, want := range map[int][]string{
		WideTime:   {"▒ 1  +0 s to +500 ms  failover: node 3\n", "▒ 2  +0 s  other levels: expected serializable, watched serializable, snapshot-isolation\n"},
		NarrowTime: {"▒ 1  +0 s to +500 ms  failover: node 3\n", "▒ 2  +0 s  other levels: expected seria…\n"},
	} {
		text, _ := wellFormed(t, Timeline(scene.New(&f), marks, width))
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("%d: no %q in\n%s", width, line, text)
			}
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

// A record of unknown outcome without an end has no times. Its transaction has a line, and no bar.
func TestTimelineWithoutAnEnd(t *testing.T) {
	f := ring("rw", "rw", "rw")
	f.History[0] = json.RawMessage(`{"txn":"T1","session":"s0","status":"unknown","start":"2026-03-02T09:00:00Z","ops":[{"op":"r","key":"a","value":1},{"op":"w","key":"c","value":2}]}`)
	for _, width := range []int{WideTime, NarrowTime} {
		svg := Timeline(scene.New(&f), nil, width)
		text, elements := wellFormed(t, svg)
		if elements["rect"] != 2 {
			t.Errorf("%d: %d bars", width, elements["rect"])
		}
		last := strings.Join(strings.Fields(text[strings.LastIndex(text, "session "):]), " ")
		if want := "session s0 T1, unknown, no times r a 1, w c 2"; last != want && !strings.HasPrefix(last, want+" ") {
			t.Errorf("%d: the last session is %q", width, last)
		}
		if want := "T2 from 0 ms to 2 ms. T3 from 1000 ms to 1002 ms. T1 without times."; !strings.Contains(text, want) {
			t.Errorf("%d: %q is missing in\n%s", width, want, text)
		}
	}
}

func TestTimelineNeedsTimes(t *testing.T) {
	f := writeSkew()
	f.History = nil
	if svg := Timeline(scene.New(&f), nil, WideTime); svg != nil {
		t.Errorf("%s", svg)
	}
	f.History = []json.RawMessage{json.RawMessage(`{"txn":"T1","status":"unknown","ops":[]}`)}
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

// On a phone each operation that has no room beside others has a line, and many are told as a number.
func TestTimelineOperations(t *testing.T) {
	f := writeSkew()
	long := strings.Repeat("k", 24)
	f.Edges[0].Key, f.Edges[1].Key = long+"1", long+"2"
	f.History = nil
	for i, own := range []string{"2", "1"} {
		other := map[string]string{"1": "2", "2": "1"}[own]
		f.History = append(f.History, record(f.Txns[i], "s"+own, i, does("r", long+other, 1), does("w", long+own, 2)))
	}
	for width, lines := range map[int]int{WideTime: 2, NarrowTime: 4} {
		svg := Timeline(scene.New(&f), nil, width)
		if got := strings.Count(string(svg), `class="op"`); got != lines {
			t.Errorf("%d: the operations have %d lines, want %d\n%s", width, got, lines, svg)
		}
		if strings.Contains(string(svg), "…") {
			t.Errorf("%d: an operation is cut\n%s", width, svg)
		}
	}
}

// An axis has two ticks at least, and a long one counts seconds.
func TestTimelineAxis(t *testing.T) {
	for long, want := range map[time.Duration][]string{
		46 * time.Millisecond: {">+0<", ">+20<", ">+40<", ">ms since"}, 49: {">+0.00004<"}, 18 * time.Second: {">+0<", ">+10<", ">s since"},
	} {
		f := finding.Finding{ID: "1f", Txns: []string{"T1"}, History: []json.RawMessage{
			json.RawMessage(fmt.Sprintf(`{"txn":"T1","status":"committed","start":1000,"end":%d,"ops":[]}`, 1000+long)),
		}}
		svg := string(Timeline(scene.New(&f), nil, NarrowTime))
		for _, text := range want {
			if !strings.Contains(svg, text) {
				t.Errorf("%v: no %s in\n%s", long, text, svg)
			}
		}
	}
}
