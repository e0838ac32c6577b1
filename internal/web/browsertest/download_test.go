//go:build integration

package browsertest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	control "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// downloads clicks each download on the page of a finding. The page stays where it is.
func (b *browser) downloads(f found) {
	t := b.t
	t.Helper()
	dir := t.TempDir()
	b.do("downloads", control.SetDownloadBehavior(control.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir))
	at := value[string](b, `location.href`)
	for _, x := range []struct{ link, ending, holds string }{
		{`a[href*="/api/v1/findings/"]`, ".json", `"id":"` + f.ID + `"`}, {`a[href$=".svg"]`, ".svg", "<svg"}, {`a[href$=".dot"]`, ".dot", "digraph"},
		{`a[href$=".jsonl"]`, ".jsonl", `"txn":`}, {`a[href$=".edn"]`, ".edn", ":type :ok"}, {`a[href$=".html"]`, ".html", "<!doctype html>"},
	} {
		b.do("download "+x.ending, chromedp.Click("p.links "+x.link, chromedp.NodeVisible))
		file, got := filepath.Join(dir, "finding-"+f.ID+x.ending), ""
		within(t, 20*time.Second, "a click does not download "+x.ending, func() bool {
			text, err := os.ReadFile(file)
			got = string(text)
			return err == nil
		})
		if !strings.Contains(got, x.holds) {
			t.Errorf("the download %s holds %.80q", x.ending, got)
		}
	}
	if now := value[string](b, `location.href`); now != at {
		t.Errorf("a download leads from %s to %s", at, now)
	}
}

// contradictory looks at a finding of two records with one id: both are drawn, with what differs, and both are in the downloads.
func (b *browser) contradictory(s *service, f found) {
	t := b.t
	t.Helper()
	b.do("two records", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+"/findings/"+f.ID), chromedp.WaitReady("figure.graph svg"),
		chromedp.Click("details.step > summary"), chromedp.WaitVisible("details.step .end .raw"))
	for what, want := range map[string]int{`figure.zoom .wide g.txn, figure.zoom > svg g.txn`: 2, `figure.time .wide rect.bar`: 2, "details.step .end > pre.raw": 2} {
		if n := value[int](b, fmt.Sprintf(`document.querySelectorAll(%q).length`, what)); n != want {
			t.Errorf("%d of %s, want %d", n, what, want)
		}
	}
	if text := value[string](b, `document.querySelector("details.step").textContent`); !strings.Contains(text, "they differ in outcome (committed, then aborted)") {
		t.Errorf("what differs: %s", text)
	}
	for ending, status := range map[string]int{".jsonl": http.StatusOK, ".edn": http.StatusNotFound} { // EDN has no ids
		answer, err := s.get("/findings/" + f.ID + ending)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != status || strings.Count(string(text), "\n") < 2 {
			t.Errorf("%s: %v, %d %s", ending, err, answer.StatusCode, text)
		}
	}
}

// reportDownloads clicks each download of a finding in a report, which no service serves.
func (b *browser) reportDownloads(report string) {
	t := b.t
	t.Helper()
	dir := t.TempDir()
	b.do("downloads of a report", control.SetDownloadBehavior(control.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir),
		chromedp.EmulateViewport(1440, 900), chromedp.Navigate(report), chromedp.WaitReady("article.single"))
	const first = `document.querySelector("a[download$='.edn']").closest("article").id`
	id := value[string](b, first)
	for ending, holds := range map[string]string{".json": `"id":"` + id + `"`, ".svg": "</svg>", ".dot": "digraph", ".jsonl": `"txn":`, ".edn": ":type :"} {
		file := "finding-" + id + ending
		b.do("download "+file, chromedp.Click(`a[download="`+file+`"]`, chromedp.NodeVisible))
		got := ""
		within(t, 20*time.Second, "a click does not download "+file, func() bool {
			text, err := os.ReadFile(filepath.Join(dir, file))
			got = string(text)
			return err == nil && got != ""
		})
		if !strings.Contains(got, holds) {
			t.Errorf("the download %s holds %.80q", file, got)
		}
	}
	if now := value[string](b, `location.href`); now != report {
		t.Errorf("a download leads from %s to %s", report, now)
	}
	b.silent("downloads of a report")
}
