package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// The groups of a report show when their findings were, all on one scale. Findings of one instant, or without times, show nothing.
func TestTrendsOfAReport(t *testing.T) {
	at := func(anomaly string, seconds ...string) (all []finding.Finding) {
		for _, s := range seconds {
			f := finding.Finding{ID: anomaly + s, Anomaly: anomaly, Txns: []string{"t"}}
			if s != "" {
				f.Ended = []string{"2026-03-02T09:00:00Z", "2026-03-02T09:00:" + s + "Z"}
			}
			all = append(all, f)
		}
		return all
	}
	for _, c := range []struct {
		findings []finding.Finding
		bar      string
		bars     []string
	}{
		{append(at("G0", "00", "24", ""), at("G1a", "12", "12", "24")...), "A bar is 1 s long.", []string{
			`<rect x="0" y="0" width="4" height="28"/><rect x="115" y="0" width="4" height="28"/>`,
			`<rect x="55" y="0" width="4" height="28"/><rect x="115" y="14" width="4" height="14"/>`,
		}},
		{at("G0", "00", "00"), "", nil},
		{at("G0", "", ""), "", nil},
	} {
		var b bytes.Buffer
		if err := WriteReport(&b, &Report{Parts: []Part{{Findings: c.findings}}}); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		if strings.Contains(page, "A bar is") != (c.bar != "") || !strings.Contains(page, c.bar) || strings.Count(page, `class="trend"`) != len(c.bars) {
			t.Errorf("%d trends, want %d and %q", strings.Count(page, `class="trend"`), len(c.bars), c.bar)
		}
		for _, bars := range c.bars {
			if !strings.Contains(page, bars) {
				t.Errorf("the report lacks %s", bars)
			}
		}
	}
}
