//go:build integration

package browsertest

import (
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// withoutScripts filters the list of findings and that of groups, and acknowledges a group and takes it back: with
// scripts off, by keys and clicks only.
func (b *browser) withoutScripts(s *service, group string, f found) {
	t := b.t
	t.Helper()
	b.do("scripts", emulation.SetScriptExecutionDisabled(true))
	defer b.do("scripts", emulation.SetScriptExecutionDisabled(false))
	arrives := func(what, search string) {
		t.Helper()
		within(t, 20*time.Second, what+" is not in the address", func() bool {
			return strings.Contains(value[string](b, `location.search`), search) && value[string](b, `document.readyState`) == "complete"
		})
	}
	b.do("the list", chromedp.Navigate(s.url+"/list"), chromedp.Click("details.more > summary"), chromedp.WaitVisible("select[name=anomaly]"),
		chromedp.SetValue(`select[name=anomaly]`, f.Anomaly), chromedp.SendKeys(`form.filter input[name=source]`, f.Source), chromedp.Click(`form.filter button`))
	arrives("the filter", "anomaly="+f.Anomaly)
	if n, others := value[int](b, `document.querySelectorAll("article .anomaly").length`),
		value[int](b, `[...document.querySelectorAll("article .anomaly")].filter((e) => e.textContent !== "(`+f.Anomaly+`)").length`); n == 0 || others > 0 {
		t.Errorf("%d findings are listed, %d of them are others", n, others)
	}
	b.do("the groups", chromedp.Navigate(s.url+"/findings"), chromedp.WaitReady("form.filter"),
		chromedp.SendKeys(`form.filter input[name=q]`, f.ID), chromedp.Click(`form.filter button`))
	arrives("the search", "q="+f.ID)
	b.do("more filters", chromedp.Click("details.more > summary"), chromedp.WaitVisible("select[name=acknowledged]"),
		chromedp.SetValue(`select[name=acknowledged]`, "false"), chromedp.Click("details.more button"))
	arrives("the state", "acknowledged=false")
	b.do("the group", chromedp.Click("article.group .paths a"), chromedp.WaitReady("section.change form"))
	if at := value[string](b, `location.href`); at != group {
		t.Errorf("the group's link leads to %s, and it is %s", at, group)
	}

	b.do("no reason", chromedp.Click(`button[value=acknowledge]`))
	if at := value[string](b, `location.href`); at != group || b.marks() != "" {
		t.Errorf("without a reason: at %s, %q", at, b.marks())
	}
	b.do("acknowledge", chromedp.SendKeys(`input[name=why]`, "ticket 18"), chromedp.Click(`button[value=acknowledge]`))
	within(t, 20*time.Second, "it is not acknowledged", func() bool {
		return strings.Contains(b.marks(), "Acknowledged by ann") && strings.Contains(b.marks(), "ticket 18")
	})
	b.do("take back", chromedp.WaitReady(`button[value=unacknowledge]`), chromedp.Click(`button[value=unacknowledge]`))
	within(t, 20*time.Second, "the acknowledgement stays", func() bool { return b.marks() == "" && value[string](b, `document.readyState`) == "complete" })
	b.silent("scripts off")
}
