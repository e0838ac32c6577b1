package page

import (
	"strings"
	"testing"
	"time"
)

// A report shows the verdict on a level over time, under the level: the worst one of the panes in each part. A level
// without panes, and a history of one pane, have no strip.
func TestStripOfReport(t *testing.T) {
	const second = int64(time.Second)
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC).UnixNano()
	var panes []Pane
	for i := range int64(60) {
		verdict := "ok"
		switch i {
		case 10, 11:
			verdict = "violated"
		case 30, 31:
			verdict = "unknown"
		case 50:
			continue
		}
		panes = append(panes, Pane{at + i*second, at + (i+1)*second, map[string]string{"serializable": verdict}, map[int64][]string{31: {"serializable"}}[i]})
	}
	of := func(panes []Pane, timed bool) string {
		var b strings.Builder
		part := Part{Heading: "h", Verdicts: []Verdict{{"serializable", "violated", ""}, {"causal", "ok", ""}}, Panes: panes, Timed: timed}
		if err := WriteReport(&b, &Report{Parts: []Part{part}}); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(b.String(), "<body>")
		body, _, _ = strings.Cut(body, "<script>")
		return body
	}
	timed := of(panes, true)
	for _, want := range []string{
		`aria-label="serializable, 60 parts: 2 violated, 1 unknown, 1 no violation found, 55 ok, 1 without data"`,
		`<rect class="violated" x="50" y="0" width="10" height="18"><title data-from="2026-11-29T10:00:10Z" data-to="2026-11-29T10:00:12Z">violated, 2026-11-29 10:00:10 to 2026-11-29 10:00:12 UTC</title>`,
		"The strip below a level has its verdict over time, in 60 parts from 2026-11-29 10:00 to 2026-11-29 10:01 UTC. The highest",
	} {
		if !strings.Contains(timed, want) {
			t.Errorf("%s is missing in\n%s", want, timed)
		}
	}
	if n := strings.Count(timed, `class="strip"`); n != 1 || strings.Contains(timed, "<a href=\"http") {
		t.Errorf("%d strips", n)
	}
	if text := of(panes, false); !strings.Contains(text, "by the order of the records, which have no times") || strings.Contains(text, "data-from") {
		t.Error(text)
	}
	if text := of(panes[:1], true); strings.Contains(text, "strip") {
		t.Error(text)
	}
	// Three panes fill the whole strip.
	three := []Pane{{at, at + second, map[string]string{"serializable": "ok"}, nil}, {at + second, at + 2*second, map[string]string{"serializable": "violated"}, nil}, {at + 2*second, at + 3*second, map[string]string{"serializable": "ok"}, nil}}
	if text := of(three, true); !strings.Contains(text, "60 parts: 20 violated, 40 ok") {
		t.Error(text)
	}
}
