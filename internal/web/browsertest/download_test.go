//go:build integration

package browsertest

import (
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
