//go:build integration

package browsertest

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium is the browser; without one the test fails in CI, and is skipped elsewhere.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "needs the program chromium")
	return ""
}

func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what + "; with CI=true this is a failure")
}

// browser is a tab, and what went wrong in it.
type browser struct {
	context.Context
	t   *testing.T
	axe string

	mu     sync.Mutex
	errors []string
}

func open(t *testing.T) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(time.Minute))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	tab, cancel = context.WithTimeout(tab, 14*time.Minute)
	t.Cleanup(cancel)
	if err := chromedp.Run(tab); err != nil { // the browser lives as long as the context of its first action
		t.Fatal(err)
	}
	b := &browser{Context: tab, t: t, axe: axe(t)}
	chromedp.ListenTarget(tab, func(e any) {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			b.wrong(e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				b.wrong(fmt.Sprintf("console %s: %s", e.Type, e.Args[0].Value))
			}
		case *log.EventEntryAdded: // what the policy blocked, what was not found
			if e.Entry.Level == log.LevelError {
				b.wrong(e.Entry.Text + " " + e.Entry.URL)
			}
		}
	})
	return b
}

func (b *browser) wrong(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = append(b.errors, text)
}

// do runs actions, and fails the test at the first that fails.
func (b *browser) do(what string, actions ...chromedp.Action) {
	b.t.Helper()
	limited, cancel := context.WithTimeout(b.Context, time.Minute)
	defer cancel()
	if err := chromedp.Run(limited, actions...); err != nil {
		b.t.Fatalf("%s: %v\nlogged: %q", what, err, b.errors)
	}
}

// value returns what a JavaScript expression gives. A page that gives way to the next one meanwhile gives nothing.
func value[T any](b *browser, expression string) (v T) {
	b.t.Helper()
	b.do(expression, chromedp.ActionFunc(func(tab context.Context) error {
		for {
			err := chromedp.Evaluate(expression, &v).Do(tab)
			if err == nil || !strings.Contains(err.Error(), "Inspected target navigated") || tab.Err() != nil {
				return err
			}
		}
	}))
	return v
}

// silent fails the test if something was logged.
func (b *browser) silent(where string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		b.t.Errorf("%s: %s", where, e)
	}
	b.errors = nil
}

// muchToLookAt elements take axe-core half a minute. The colours of a larger report are those of small ones.
const muchToLookAt = 5000

// look goes to a page and says what is wrong with it: on a phone in New York, where each time is told twice, and on a desk in
// UTC. Both are looked at in light and in dark.
func (b *browser) look(url string) { b.lookAt(url, "") }

// lookAt is look at a page that the browser logs as refused, with this status; "": it is not.
func (b *browser) lookAt(url, refused string) {
	b.t.Helper()
	for _, as := range []struct {
		scheme, zone string
		width        int64
	}{{"light", "America/New_York", 360}, {"dark", "UTC", 1440}} {
		where := fmt.Sprintf("%s, %d px, %s, %s", url, as.width, as.scheme, as.zone)
		b.do(where,
			chromedp.EmulateViewport(as.width, 900),
			emulation.SetTimezoneOverride(as.zone),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: as.scheme}}),
			chromedp.Navigate(url), chromedp.WaitReady("main"))
		if told := value[int](b, `document.querySelectorAll("time:not(summary time) + .local").length`) > 0; told != (as.zone != "UTC") &&
			value[int](b, `document.querySelectorAll("time:not(summary time)").length`) > 0 {
			b.t.Errorf("%s: local times are told: %v", where, told)
		}
		if wrong := value[[]string](b, axes); len(wrong) > 0 {
			b.t.Errorf("%s: axes of timelines in the zone of the reader: %q", where, wrong)
		}
		b.fits(where)
		b.accessible(where, "document", "{}")
		if refused != "" {
			b.expected(where, "responded with a status of "+refused)
		}
		if value[int](b, `document.querySelectorAll("*").length`) > muchToLookAt {
			b.silent(where)
			continue
		}
		other := map[string]string{"light": "dark", "dark": "light"}[as.scheme]
		b.do(other, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: other}}))
		b.accessible(where+", and then "+other, "document", `{runOnly: ["color-contrast"]}`)
		b.silent(where)
	}
}

// expected takes out what the browser has to log.
func (b *browser) expected(where, text string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := slices.DeleteFunc(b.errors, func(e string) bool { return strings.Contains(e, text) })
	if len(rest) == len(b.errors) {
		b.t.Errorf("%s: nothing logged has %q", where, text)
	}
	b.errors = rest
}

// axes are the lines of timelines that do not tell the local time, to a millisecond, or that tell UTC twice.
const axes = `[...document.querySelectorAll("text[data-local]")].map((e) => {
	const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
	const local = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3}).format(new Date(e.dataset.local));
	const told = zone === "UTC" ? e.textContent === "" : e.textContent.endsWith(local + " local");
	return told ? "" : zone + ": " + e.textContent + ", want " + local;
}).filter((wrong) => wrong)`

// fits says what is wider than the page.
func (b *browser) fits(where string) {
	b.t.Helper()
	wide := value[[]string](b, `(() => {
		const root = document.documentElement, width = root.clientWidth;
		if (root.scrollWidth <= width) return [];
		const over = (e) => e.getBoundingClientRect().right > width + 1 || e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1;
		return [...document.querySelectorAll("body *")].filter((e) => over(e) && getComputedStyle(e).overflowX === "visible")
			.map((e) => e.tagName + "." + e.getAttribute("class") + " to " + Math.round(e.getBoundingClientRect().right) + ": " + e.textContent.slice(0, 40))
			.slice(0, 5).concat(["the page is " + root.scrollWidth + " px wide"]);
	})()`)
	if len(wide) > 0 {
		b.t.Errorf("%s: wider than the page: %q", where, wide)
	}
}

// legible says whether text of a picture is less or more than so many px high.
func (b *browser) legible(picture string, least, most float64) {
	b.t.Helper()
	heights := value[[]float64](b, fmt.Sprintf(`[...document.querySelectorAll("%s svg text")].filter((e) => e.getBoundingClientRect().width > 0)
		.map((e) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)`, picture))
	if len(heights) == 0 {
		b.t.Errorf("%s has no text", picture)
		return
	}
	if low, high := slices.Min(heights), slices.Max(heights); low < least || high > most {
		b.t.Errorf("%s, %v px: text is %.1f to %.1f px high, want %v to %v", picture, value[int](b, "innerWidth"), low, high, least, most)
	}
}

// accessible says what axe-core finds in a part of the page, with these options beside.
func (b *browser) accessible(where, part, options string) {
	b.t.Helper()
	var result string
	b.do("axe", chromedp.Evaluate(b.axe+";undefined", nil),
		chromedp.Evaluate(`axe.run(`+part+`, {resultTypes: ["violations"], ...`+options+`}).then((r) => JSON.stringify(r.violations.map((v) => v.id + " (" + v.impact + "): " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | "))))`,
			&result, awaits))
	var violations []string
	if err := json.Unmarshal([]byte(result), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		b.t.Errorf("%s: axe: %s", where, v)
	}
}

// awaits lets an expression wait for its promise.
func awaits(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

const axeVersion = "4.14.1"

// axe is the script of axe-core, from npm.
func axe(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("npm", "pack", "--silent", "--pack-destination", dir, "axe-core@"+axeVersion).CombinedOutput(); err != nil {
		missing(t, fmt.Sprintf("axe-core cannot be had from npm: %v: %s", err, out))
	}
	file, err := os.Open(filepath.Join(dir, "axe-core-"+axeVersion+".tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(unpacked); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			t.Fatal("axe.min.js is not in the package")
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(head.Name, "/axe.min.js") {
			text, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}
