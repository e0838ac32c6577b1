//go:build integration

package browsertest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var rewrite = flag.Bool("rewrite", false, "take the screenshots of docs/ anew")

// kinds are anomalies that the examples show: with a cycle, without one, and of no violation. The example of
// nonlinearizable is a stale read, where transactions are checked.
var kinds = []string{"G0", "G1a", "G1b", "G1c", "G2", "G2-item", "G-single", "G-single-item", "G-nonadjacent-item", "lost-update", "internal",
	"garbage-read", "duplicate-elements", "future-read", "incompatible-order", "dirty-update", "session-not-sequential",
	"G-nonadjacent", "G-single-item-realtime", "contradictory-record", "weaker-than-expected", "gap", "horizon"}

// others are anomalies whose examples want other settings, or all records at once: arguments of check.
var others = map[string][]string{
	"nonlinearizable":   {"--levels", "linearizable"},
	"cyclic-versions":   {"--levels", "all", "--contract", "sequential-keys=true"},
	"unattributed-read": {"--contract", "capture=partial"},
}

// TestPages looks at a finding of each kind, and walks through the pages as a person does.
func TestPages(t *testing.T) {
	b := open(t)
	s := start(t)
	s.feed(t)
	byAnomaly := map[string]found{}
	var nine, five found
	t.Cleanup(func() {
		for _, k := range kinds {
			if byAnomaly[k].ID == "" {
				t.Errorf("%s was not found", k)
			}
		}
		if nine.ID == "" {
			t.Error("the cycle of nine was not found")
		}
		if five.ID == "" {
			t.Error("the cycle of five was not found")
		}
	})
	within(t, time.Minute, "not all anomalies were found", func() bool {
		for _, f := range s.findings(t) {
			if _, had := byAnomaly[f.Anomaly]; !had || f.Source == f.Anomaly { // its own example
				byAnomaly[f.Anomaly] = f
			}
			if f.Source == "nine" && len(f.Txns) == 9 {
				nine = f
			}
			if f.Source == "five" && len(f.Txns) == 5 {
				five = f
			}
		}
		for _, k := range kinds {
			if byAnomaly[k].ID == "" {
				return false
			}
		}
		return nine.ID != "" && five.ID != ""
	})
	t.Run("look", func(t *testing.T) {
		b.t = t
		b.look(s.url + "/")
		b.look(s.url + "/list")
		b.look(s.url + "/list?source=nobody")
		b.do("older", chromedp.Navigate(s.url+"/list"), chromedp.WaitReady("p.older a"))
		b.look(value[string](b, `document.querySelector("p.older a").href`))
		b.lookAt(s.url+"/findings/0", "404")
		b.lookAt(s.url+"/list?limit=none", "400")
		b.look(s.url + "/findings/" + nine.ID)
		for _, f := range byAnomaly {
			b.look(s.url + "/findings/" + f.ID)
		}
	})
	t.Run("reports", func(t *testing.T) {
		b.t = t
		written := "file://" + report(t)
		b.look(written)
		b.reportDownloads(written)
		long := "file://" + longReport(t)
		for _, width := range []int64{360, 1440} { // axe-core takes a minute for all of its findings
			b.do("a long report", chromedp.EmulateViewport(width, 900), chromedp.Navigate(long), chromedp.WaitReady("ul.contents"))
			b.fits(fmt.Sprintf("a long report, %d px", width))
			b.accessible("a long report", `{include: [[".notice"], ["ol.contents"], ["ul.contents"]]}`, "{}")
			b.silent("a long report")
		}
		for name, args := range map[string][]string{
			"probe": {"probe", "sim:snapshot-isolation", "--expect", "serializable", "--duration", "3s"},
			"demo":  {"demo", "--duration", "5s", "--http", "off"},
		} {
			file := filepath.Join(t.TempDir(), name+".html")
			out, _ := exec.Command(build(t), append(args, "--report", file)...).CombinedOutput() // probe ends with 1 for a violation
			if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "</html>") {
				t.Fatalf("no report of %s, %v:\n%s", name, err, out)
			}
			b.look("file://" + file)
		}
	})
	t.Run("pictures", func(t *testing.T) {
		b.t = t
		for _, k := range kinds {
			if *rewrite {
				b.portray(k, s.url+"/findings/"+byAnomaly[k].ID)
			}
		}
	})
	t.Run("groups", func(t *testing.T) {
		b.t = t
		b.groups(s, byAnomaly["lost-update"])
	})
	t.Run("find, filter, open, expand, download", func(t *testing.T) {
		b.t = t
		b.walk(s, byAnomaly["lost-update"])
	})
	t.Run("two records of one transaction", func(t *testing.T) {
		b.t = t
		b.contradictory(s, byAnomaly["contradictory-record"])
	})
	t.Run("each arrow opens its evidence", func(t *testing.T) {
		b.t = t
		b.edges(s, byAnomaly["lost-update"], nine)
	})
	t.Run("seven and more on a phone", func(t *testing.T) {
		b.t = t
		b.do("nine", chromedp.EmulateViewport(360, 900), chromedp.Navigate(s.url+"/findings/"+nine.ID), chromedp.WaitReady("figure.graph svg"))
		if *rewrite {
			b.screenshot("finding-phone", 360, 1600)
		}
		b.legible("figure.graph.zoom", 8, 20)
		b.legible("figure.graph.time", 10, 20)
	})
	t.Run("text of pictures at each width", func(t *testing.T) {
		b.t = t
		for _, width := range []int64{500, 768, 769, 900, 1024, 1440} {
			b.do("timeline", chromedp.EmulateViewport(width, 900), chromedp.Navigate(s.url+"/findings/"+nine.ID), chromedp.WaitReady("figure.graph svg"))
			b.legible("figure.graph.time", 10, 20)
			b.do("a ring of five", chromedp.Navigate(s.url+"/findings/"+five.ID), chromedp.WaitReady("figure.graph svg"))
			b.legible("figure.graph.zoom", 7, 20)
		}
	})
	t.Run("what changes is renewed, and what is open stays open", func(t *testing.T) {
		b.t = t
		b.follows(s)
	})
}

// TestOtherKinds looks at the report of a check for each kind that wants other settings.
func TestOtherKinds(t *testing.T) {
	b := open(t)
	monitor := build(t)
	for k, args := range others {
		dir := t.TempDir()
		file, report := filepath.Join(dir, "history.jsonl"), filepath.Join(dir, "report.html")
		if err := os.WriteFile(file, []byte(strings.Join(examples(t)[k], "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := exec.Command(monitor, append(append([]string{"check"}, args...), "--report", report, file)...).CombinedOutput() // it ends with 1 for a violation
		url := "file://" + report
		b.look(url)
		if got := value[string](b, `document.querySelector("article.single h1")?.textContent ?? ""`); !strings.Contains(got, k) {
			t.Fatalf("%s is not the first finding: %q\n%s", k, got, out)
		}
		if *rewrite {
			b.portray(k, url)
		}
	}
	smallPictures(t)
}

// brokenLabels are the labels in groups that take more than one line.
const brokenLabels = `[...document.querySelectorAll(".groupfacts dt")].filter((e) => {
	const text = document.createRange();
	text.selectNodeContents(e);
	return text.getClientRects().length !== 1;
}).map((e) => e.textContent)`

// groups searches for a finding, and goes through its group to its page.
func (b *browser) groups(s *service, f found) {
	t := b.t
	b.look(s.url + "/findings")
	b.look(s.url + "/findings?q=nothing")
	b.look(s.url + "/findings?since=90m&kind=violation&sort=worst")
	for _, width := range []int64{360, 420, 500} { // what a label names may be long
		where := fmt.Sprintf("the groups, %d px", width)
		b.do(where, chromedp.EmulateViewport(width, 900), chromedp.Navigate(s.url+"/findings"), chromedp.WaitReady("article.group"),
			chromedp.Evaluate(`document.querySelectorAll(".groupfacts dd").forEach((e) => e.append(" and more".repeat(30)))`, nil))
		b.fits(where)
		if broken := value[[]string](b, brokenLabels); len(broken) > 0 {
			t.Errorf("%s: labels of more than one line: %q", where, broken)
		}
	}
	if *rewrite {
		var shot []byte
		b.do("the groups", light, chromedp.EmulateViewport(pictureWidth, 800), chromedp.Navigate(s.url+"/findings"), chromedp.WaitReady("article.group"),
			chromedp.CaptureScreenshot(&shot))
		keep(t, groupsPicture, shot, pictureColours)
	}
	small(t, groupsPicture)
	b.do("the groups", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+"/findings"), chromedp.WaitReady("main"),
		chromedp.SetValue(`input[name=q]`, f.ID), chromedp.Submit(`form.filter`), chromedp.WaitReady("main"))
	within(t, 10*time.Second, "the search is not in the address", func() bool {
		return strings.Contains(value[string](b, `location.search`), "q="+f.ID)
	})
	if n := value[int](b, `document.querySelectorAll("article.group").length`); n != 1 {
		t.Fatalf("the finding is in %d groups", n)
	}
	b.do("the last day", chromedp.Click(`//p[@class="spans"]/a[.="24h"]`, chromedp.BySearch))
	within(t, 10*time.Second, "the stretch of time is not in the address", func() bool {
		return strings.Contains(value[string](b, `location.search`), "since=24h")
	})
	b.do("violated first", chromedp.WaitReady("form.filter"), chromedp.SetValue(`select[name=sort]`, "worst"), chromedp.Click(`form.filter > button`))
	within(t, 10*time.Second, "the order is not in the address, or it lost the rest", func() bool {
		query := value[string](b, `location.search`)
		return strings.Contains(query, "sort=worst") && strings.Contains(query, "since=24h") && strings.Contains(query, "q="+f.ID)
	})
	if text := value[string](b, `document.getElementById("live").textContent`); !strings.Contains(text, "1 group of 1 finding") || !strings.Contains(text, "1 h a bar") {
		t.Errorf("the last day: %s", text)
	}
	group := value[string](b, `document.querySelector("article.group .paths a").href`)
	b.look(group)
	b.do("the group", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(group), chromedp.WaitReady("main"),
		chromedp.Click(`a[href$="/findings/`+f.ID+`"]`), chromedp.WaitReady("figure.graph svg"))
	b.silent("the groups")
}

// walk finds the finding in the list, filters, opens its page, opens the evidence, zooms and downloads.
func (b *browser) walk(s *service, f found) {
	t := b.t
	b.do("the list", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+"/list"), chromedp.WaitReady("main"),
		chromedp.SetValue(`select[name=anomaly]`, "lost-update"), chromedp.SetValue(`input[name=source]`, f.Source), chromedp.Submit(`form.filter`), chromedp.WaitReady("main"))
	within(t, 10*time.Second, "the filter is not in the address", func() bool {
		return strings.Contains(value[string](b, `location.search`), "anomaly=lost-update")
	})
	if others := value[int](b, `[...document.querySelectorAll("article .anomaly")].filter((e) => e.textContent !== "(lost-update)").length`); others > 0 {
		t.Errorf("%d findings of other anomalies are listed", others)
	}
	b.do("the finding", chromedp.Click(`a[href$="/findings/`+f.ID+`"]`), chromedp.WaitReady("figure.graph svg"),
		chromedp.Click("details.step > summary"), chromedp.WaitVisible("details.step .end .raw"))
	if text := value[string](b, `document.querySelector("details.step .end .raw").textContent`); !strings.Contains(text, `"ops":[`) {
		t.Errorf("the evidence is %q", text)
	}
	before := value[string](b, `document.querySelector("figure.zoom svg").getAttribute("viewBox")`)
	b.do("zoom", chromedp.Click(`button[aria-label="Zoom in"]`))
	if after := value[string](b, `document.querySelector("figure.zoom svg").getAttribute("viewBox")`); after == before {
		t.Error("the picture is not zoomed")
	}
	b.do("keys", chromedp.Focus("figure.zoom"), chromedp.KeyEvent("-"), chromedp.KeyEvent("-"))
	if after := value[string](b, `document.querySelector("figure.zoom svg").getAttribute("viewBox")`); after != before {
		t.Errorf("the keys do not zoom out: %s, and it was %s", after, before)
	}
	b.downloads(f)
	b.silent("the walk")
}
