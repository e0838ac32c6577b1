package picture

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// Each arrow leads to its evidence, on a ring and in a column, and says so in words. A file by itself has no links.
func TestArrowsAreLinks(t *testing.T) {
	address := func(i int) string { return fmt.Sprintf(`/watch/findings/1f?a&b#1f-edge-%d`, i+1) }
	for n := 2; n <= 9; n++ {
		f := ring(slices.Repeat([]string{"rw"}, n)...)
		for _, draw := range []func(*scene.Scene, Evidence) []byte{Wide, Narrow} {
			svg := string(draw(scene.New(&f), address))
			wellFormed(t, []byte(svg))
			for i, e := range f.Edges {
				link := fmt.Sprintf(`<a href="/watch/findings/1f?a&amp;b#1f-edge-%d" `, i+1)
				if said := link + fmt.Sprintf(`aria-label="Evidence: %s before %s, rw %s">`, e.From, e.To, e.Key); strings.Count(svg, said) != 1 {
					t.Errorf("%d transactions: no %s", n, said)
				}
				if strings.Count(svg, link+`tabindex="-1" aria-hidden="true"><path class="hit"`) != 1 {
					t.Errorf("%d transactions: the line of arrow %d is no link", n, i)
				}
			}
			if !strings.Contains(svg, `role="group"`) {
				t.Error("links inside an image are not told")
			}
		}
		if svg := string(SVG(f)); strings.Contains(svg, "<a") || !strings.Contains(svg, `role="img"`) {
			t.Errorf("%d transactions: links in a file by itself", n)
		}
	}
}

// Two operations of one transaction that contradict each other are joined by a bracket, which is a link too.
func TestBracketIsLink(t *testing.T) {
	f := finding.Finding{ID: "1f", Anomaly: "internal", Txns: []string{"T1"}, About: &finding.About{Txn: "T1", Op: 1, Key: "x", Value: "1"}}
	f.History = append(f.History, record("T1", "s", 0, does("w", "x", 2), does("r", "x", 1)))
	svg := string(Wide(scene.New(&f), func(i int) string { return fmt.Sprint("#", i) }))
	wellFormed(t, []byte(svg))
	if !strings.Contains(svg, `<a href="#0" aria-label="Evidence: two operations of T1"><path class="hit"`) {
		t.Errorf("the bracket is no link in\n%s", svg)
	}
}
