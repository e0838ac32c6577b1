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

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var looked = flag.String("look", "", "a folder for screenshots of each page, in light and dark, 1440 and 360 px wide")

// shoot writes a page into the folder in both themes and at both widths, from its top to its end.
func (b *browser) shoot(name, url string) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1440, 360} {
			var shot []byte
			b.do(name, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.EmulateViewport(width, 900), chromedp.Navigate(url), chromedp.WaitReady("main"))
			height := min(max(value[int64](b, `document.documentElement.scrollHeight`), 900), 6000)
			b.do(name, chromedp.EmulateViewport(width, height), chromedp.CaptureScreenshot(&shot))
			file := filepath.Join(*looked, fmt.Sprintf("%s-%s-%d.png", name, scheme, width))
			if err := os.WriteFile(file, shot, 0o600); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// TestLook makes screenshots of each page and of a finding of each kind, for a person to look at.
func TestLook(t *testing.T) {
	if *looked == "" {
		t.Skip("makes screenshots with -look FOLDER: make look")
	}
	if err := os.MkdirAll(*looked, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	password, settings := filepath.Join(dir, "password"), filepath.Join(dir, "isowatch.yaml")
	for file, text := range map[string]string{password: "correct horse", settings: "http:\n  user: ann\n  password-file: " + password + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := startAs(t, "ann", "correct horse", "--config", settings)
	s.feed(t)
	byAnomaly, nine := map[string]found{}, ""
	within(t, 4*time.Minute, "not all anomalies were found", func() bool {
		for _, f := range s.findings(t) {
			if _, had := byAnomaly[f.Anomaly]; !had || f.Source == f.Anomaly {
				byAnomaly[f.Anomaly] = f
			}
			if f.Source == "nine" && len(f.Txns) == 9 {
				nine = f.ID
			}
		}
		for _, k := range kinds {
			if byAnomaly[k].ID == "" {
				return false
			}
		}
		return nine != ""
	})
	if _, err := s.stdin.Write([]byte("this is no record\n")); err != nil { // a dead letter, which leaves later reads open
		t.Fatal(err)
	}
	b := open(t)
	b.login("ann", "correct horse")
	b.do("a group", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+"/findings?q="+byAnomaly["lost-update"].ID), chromedp.WaitReady("article.group"))
	group := value[string](b, `document.querySelector("article.group .paths a").href`)
	b.do("a group", chromedp.Navigate(group), chromedp.WaitReady("section.change form"))
	b.press("acknowledge", "ticket 17: the shop reads the stock without a lock")
	b.until("it is not acknowledged", `document.querySelector(".mark-of") !== null`)
	b.press("silence", "until the release of Monday")
	b.until("it is not silenced", `document.querySelectorAll(".mark-of").length === 2`)
	for name, path := range map[string]string{"overview": "/", "overview-7d": "/?span=7d", "list": "/list", "list-none": "/list?source=nobody",
		"groups": "/findings", "groups-filtered": "/findings?silenced=true", "groups-none": "/findings?q=nothing", "finding-nine": "/findings/" + nine, "finding-missing": "/findings/0"} {
		b.shoot(name, s.url+path)
	}
	b.shoot("group", group)
	for k, f := range byAnomaly {
		b.shoot("finding-"+k, s.url+"/findings/"+f.ID)
	}
	b.shoot("report-check", "file://"+report(t))
	for k, args := range others {
		file, page := filepath.Join(dir, k+".jsonl"), filepath.Join(dir, k+".html")
		if err := os.WriteFile(file, []byte(strings.Join(examples(t)[k], "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		exec.Command(build(t), append(append([]string{"check"}, args...), "--report", page, file)...).Run() // it ends with 1 for a violation
		b.shoot("report-"+k, "file://"+page)
	}
	m := member(t)
	b.shoot("members", m.url+"/")
	b.shoot("units", m.url+"/findings")
	shops, _ := shops(t)
	b.judged(shops)
	b.shoot("overview-50", shops.url+"/")
	b.shoot("groups-50", shops.url+"/findings")
}
