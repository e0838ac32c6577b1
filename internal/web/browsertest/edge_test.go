//go:build integration

package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// edges opens the evidence of each arrow from the picture: with the pointer, with keys, without a script, from the
// list and in a report.
func (b *browser) edges(s *service, f, nine found) {
	t := b.t
	b.do("a window that is in front", emulation.SetFocusEmulationEnabled(true))
	for _, without := range []bool{false, true} {
		b.do("scripts", emulation.SetScriptExecutionDisabled(without))
		for _, width := range []int64{1440, 360} {
			for _, f := range []found{f, nine} {
				b.do("the finding", chromedp.EmulateViewport(width, 900), chromedp.Navigate(s.url+"/findings/"+f.ID), chromedp.WaitReady("figure.graph svg"))
				b.eachEdge(t, fmt.Sprintf("%s, %d px, without a script: %v", f.Anomaly, width, without))
			}
		}
	}
	b.do("scripts", emulation.SetScriptExecutionDisabled(false))

	// The list leads to the page of the finding, with the evidence open.
	b.do("the list", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+"/list?anomaly="+f.Anomaly+"&source="+f.Source), chromedp.WaitReady("article"),
		chromedp.Click(`article details[open] .wide svg a[aria-label], article details[open] figure > svg a[aria-label]`), chromedp.WaitVisible(`details.step[open] .end`))
	if at := value[string](b, `location.pathname + location.hash`); at != "/findings/"+f.ID+"#"+f.ID+"-edge-1" {
		t.Errorf("the list leads to %s", at)
	}
	b.silent("edges")
}

// shownLinks are the links of the labels in the picture that is shown.
const shownLinks = `[...document.querySelectorAll("figure.zoom svg a[aria-label]")].filter((a) => a.getBoundingClientRect().width > 0)`

// eachEdge follows each link of the picture.
func (b *browser) eachEdge(t *testing.T, where string) {
	t.Helper()
	links, steps := value[int](b, shownLinks+`.length`), value[int](b, `document.querySelectorAll("details.step").length`)
	if links == 0 || links != steps {
		t.Fatalf("%s: %d links in the picture, %d dependencies beside it", where, links, steps)
	}
	for i := range links {
		link := fmt.Sprintf("(%s)[%d]", shownLinks, i)
		follow := chromedp.Action(chromedp.KeyEvent(kb.Enter))
		if i == 0 {
			at := value[[]float64](b, link+`.scrollIntoView({block: "center"}), (() => { const r = `+link+`.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
			follow = chromedp.MouseClickXY(at[0], at[1])
		} else if !value[bool](b, link+`.focus({focusVisible: true}), document.activeElement === `+link) {
			t.Fatalf("%s: arrow %d cannot be focused", where, i+1)
		} else if wide := value[string](b, `getComputedStyle(`+link+`.querySelector("rect")).strokeWidth`); wide != "3.5px" {
			t.Errorf("%s: the focus on arrow %d cannot be seen: its border is %s wide", where, i+1, wide)
		}
		b.do("follow an arrow", follow)
		open := `[...document.querySelectorAll("details.step")].map((d) => d.open)`
		b.until(fmt.Sprintf("%s: arrow %d does not open its evidence", where, i+1), fmt.Sprintf(`(%s)[%d]`, open, i))
		if n := value[int](b, `(`+open+`).filter((o) => o).length`); n != i+1 {
			t.Errorf("%s: behind arrow %d, %d dependencies are open", where, i+1, n)
		}
		if !value[bool](b, fmt.Sprintf(`(() => { const r = document.querySelectorAll("details.step")[%d].getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0; })()`, i)) {
			t.Errorf("%s: the evidence of arrow %d is out of sight", where, i+1)
		}
	}
}
