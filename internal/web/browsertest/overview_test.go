//go:build integration

package browsertest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The sources of the overview by their number: some are violated, of some only a part is captured, some are quiet.
const (
	manySources = 50
	manyMinutes = 50
)

func isViolated(i int) bool { return i%17 == 3 }
func isUnknown(i int) bool  { return i%17 == 5 }
func isQuiet(i int) bool    { return i%17 == 8 }

// many are the records of the sources, one every 20 seconds each, until now. A violated one has lost updates, and a quiet
// one has sent nothing for 12 minutes.
func many(now time.Time) string {
	var out strings.Builder
	for n := range 3 * manyMinutes {
		start := now.Add(time.Duration(n-3*manyMinutes) * 20 * time.Second)
		for i := range manySources {
			if isQuiet(i) && now.Sub(start) < 12*time.Minute {
				continue
			}
			seen := fmt.Sprint(n) // of the counter that each transaction adds to
			switch {
			case n == 0:
				seen = "null"
			case isViolated(i) && (n == 20+i || n == 100-i):
				seen = fmt.Sprint(n - 1)
			}
			fmt.Fprintf(&out, `{"txn":"T%d","name":"reserve","source":"shop-%02d.example","session":"s","seq":%d,"status":"committed","start":%q,"end":%q,"ops":[{"op":"r","key":"stock","value":%s},{"op":"w","key":"stock","value":%d}]}`+"\n",
				n, i, n, start.Format(time.RFC3339Nano), start.Add(5*time.Millisecond).Format(time.RFC3339Nano), seen, n+1)
		}
	}
	return out.String()
}

// shops is a monitor of 50 sources that reads files and a broker. Another pattern of it matches no file.
func shops(t *testing.T) (s, broker *service) {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	l.Close()
	broker = launch(t, "", "", "", "--nats-port", port)
	var settings strings.Builder
	fmt.Fprintf(&settings, `watch:
  expect: serializable
  lateness: 0s
  max-transaction: 100ms
  window: 30s
  contract: {capture: complete, start: empty, unmonitored-writers: no, deletes: recorded, value-identity: unique, clock-drift: 0s}
inputs:
- tail: ["shops-*.jsonl", "stores-*.jsonl"]
- nats: {urls: ["nats://127.0.0.1:%s"], stream: ISOWATCH}
sources:
`, port)
	for i := range manySources {
		if isUnknown(i) {
			fmt.Fprintf(&settings, "- name: shop-%02d.example\n  contract: {capture: partial}\n", i)
		}
	}
	file := filepath.Join(dir, "isowatch.yaml")
	for name, text := range map[string]string{file: settings.String(), filepath.Join(dir, "shops-1.jsonl"): many(time.Now().UTC())} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return launch(t, dir, "", "", "--config", file), broker
}

const verdicts = `[...document.querySelectorAll("article.source")].map((a) => a.querySelector(".badge").textContent)`

// judged waits until the overview shows verdicts on nearly all of the time of the records.
func (b *browser) judged(s *service) {
	within(b.t, 2*time.Minute, "the sources are not judged", func() bool {
		b.do("the overview", chromedp.Navigate(s.url+"/"), chromedp.WaitReady("main"))
		return value[int](b, `document.querySelectorAll("article.source").length`) == manySources && value[bool](b, verdicts+`.includes("✓ ok")`) &&
			value[int](b, `[...document.querySelectorAll("article.source .row .strip .inwork")].filter((r) => +r.getAttribute("x") >= 280).length`) >= manySources-10 &&
			value[int](b, `document.querySelectorAll("article.source .row .strip .violated").length`) >= 3 && !value[bool](b, `document.querySelector("[data-again]") !== null`)
	})
}

// TestOverview looks at 50 sources: healthy ones, violated ones, unknown ones and quiet ones. A violated stretch leads to its
// finding.
func TestOverview(t *testing.T) {
	b := open(t)
	s, broker := shops(t)
	b.judged(s)
	broker.process.Kill()
	within(t, time.Minute, "the broker is not away", func() bool {
		b.do("the overview", chromedp.Navigate(s.url+"/"), chromedp.WaitReady("main"))
		return value[bool](b, `document.querySelector("main").textContent.includes("✕ cannot read")`)
	})
	var violated, unknown int
	for i := range manySources {
		if isViolated(i) {
			violated++
		}
		if isUnknown(i) {
			unknown++
		}
	}
	for verdict, want := range map[string]int{"✕ violated": violated, "✓ no violation found": unknown, "✓ ok": manySources - violated - unknown} {
		if got := value[int](b, fmt.Sprintf(`%s.filter((v) => v === %q).length`, verdicts, verdict)); got != want {
			t.Errorf("%d sources are %s, want %d", got, verdict, want)
		}
	}
	for _, said := range []string{"✕ cannot read", "? 1 of 2 patterns: no file matches"} {
		if !value[bool](b, fmt.Sprintf(`document.querySelector("main").textContent.includes(%q)`, said)) {
			t.Errorf("the page does not say %q", said)
		}
	}
	b.look(s.url + "/")
	b.look(s.url + "/?span=7d")
	for _, width := range []int64{360, 500, 768, 769, 900, 1024, 1440} {
		b.do("charts", chromedp.EmulateViewport(width, 900), chromedp.Navigate(s.url+"/"), chromedp.WaitReady(".chart"))
		b.legible("figure.graph:has(.chart)", 10, 20)
	}
	b.do("a phone", chromedp.EmulateViewport(360, 900), chromedp.Navigate(s.url+"/"), chromedp.WaitReady("main"))
	// A name has the whole width, so it is not cut within a word, and what is behind it begins at one edge in all rows.
	b.until("a name shares its row", `[...document.querySelectorAll("article.source .row")].every((r) => r.querySelector(".who").offsetWidth === r.offsetWidth && r.querySelector(".badge").offsetLeft === r.querySelector(".who").offsetLeft)`)
	b.do("the overview", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+"/"), chromedp.WaitReady("main"))
	if *rewrite {
		b.screenshot("overview", 1200, 1000)
		b.do("the end", chromedp.Evaluate(`document.getElementById("inputs").scrollIntoView()`, nil))
		b.screenshot("overview-end", 1200, 800)
		b.do("the begin", chromedp.Evaluate(`scrollTo(0, 0)`, nil))
		b.screenshot("overview-phone", 360, 1600)
	}
	const stretch = `article.source .levels .strip a[aria-label^=violated]`
	b.do("a violated stretch", chromedp.EmulateViewport(1440, 900), chromedp.Evaluate(`document.querySelector("article.source details").open = true`, nil), chromedp.Click(stretch), chromedp.WaitReady("form.filter"))
	b.until("a violated stretch does not lead to its finding", `document.querySelectorAll("article.card .anomaly, article.card .title").length > 0 && document.querySelector("main").textContent.includes("Their transactions ended")`)
	b.silent("the overview")
}
