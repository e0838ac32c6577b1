//go:build integration

package browsertest

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// login lets the tab show who asks, as a browser does once a person has logged in.
func (b *browser) login(user, password string) {
	b.t.Helper()
	b.do("log in", network.Enable(), network.SetExtraHTTPHeaders(network.Headers{
		"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)),
	}))
}

// TestChange acknowledges and silences a group by its forms, takes both back, and reloads the settings. Only
// who has logged in can.
func TestChange(t *testing.T) {
	dir := t.TempDir()
	password, settings := filepath.Join(dir, "password"), filepath.Join(dir, "isowatch.yaml")
	if err := os.WriteFile(password, []byte("correct horse"), 0o600); err != nil {
		t.Fatal(err)
	}
	configure := func(text string) {
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure("http:\n  user: ann\n  password-file: " + password + "\n")
	b := open(t)
	s := startAs(t, "ann", "correct horse", "--config", settings)
	s.feed(t)
	var f found
	within(t, time.Minute, "no finding", func() bool {
		for _, x := range s.findings(t) {
			if x.Anomaly == "lost-update" {
				f = x
			}
		}
		return f.ID != ""
	})
	if answer, err := http.Get(s.url + "/findings"); err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Fatalf("without a login: %v, %v", answer, err)
	}
	b.login("ann", "correct horse")
	b.do("the group", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+"/findings?q="+f.ID), chromedp.WaitReady("article.group"))
	group := value[string](b, `document.querySelector("article.group .paths a").href`)
	b.look(group)
	b.do("the group", chromedp.Navigate(group), chromedp.WaitReady("section.change form"))

	// A reason is asked for before anything is sent.
	b.do("no reason", chromedp.Click(`button[value=acknowledge]`))
	if marks := b.marks(); value[string](b, `location.href`) != group || marks != "" || !value[bool](b, `document.querySelector("input[name=why]").matches(":invalid")`) {
		t.Errorf("without a reason: at %s, %q", value[string](b, `location.href`), marks)
	}
	b.press("acknowledge", "ticket <17>")
	within(t, 20*time.Second, "it is not acknowledged", func() bool {
		return strings.Contains(b.marks(), "Acknowledged by ann") && strings.Contains(b.marks(), "ticket <17>")
	})
	b.do("how long", chromedp.SetValue(`select[name=for]`, "4h"))
	b.press("silence", "until the release")
	within(t, 20*time.Second, "it is not silenced", func() bool { return strings.Contains(b.marks(), "Silenced by ann until") })
	b.look(group)

	// The list finds the group by its state, and the finding's page says it too.
	b.do("what is silenced", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+"/findings"), chromedp.WaitReady("form.filter"))
	if value[bool](b, `document.querySelector("details.more").open`) {
		t.Error("the filters are open, and none is set")
	}
	b.do("what is silenced", chromedp.Click("details.more > summary"), chromedp.WaitVisible("select[name=silenced]"),
		chromedp.SetValue(`select[name=silenced]`, "true"), chromedp.Click("details.more button"))
	within(t, 20*time.Second, "the silenced group is not found", func() bool {
		return strings.Contains(value[string](b, `location.search`), "silenced=true") && value[int](b, `document.querySelectorAll("article.group").length`) == 1
	})
	if !value[bool](b, `document.querySelector("details.more").open`) {
		t.Error("a filter is set, and the filters are folded")
	}
	b.look(s.url + "/findings?silenced=true")
	b.look(s.url + "/findings/" + f.ID)
	b.do("the finding", chromedp.Navigate(s.url+"/findings/"+f.ID), chromedp.WaitReady("main"))
	if marks := b.marks(); !strings.Contains(marks, "Acknowledged by ann") || !strings.Contains(marks, "Silenced by ann") {
		t.Errorf("the finding's page says %q", marks)
	}

	b.do("the group", chromedp.Navigate(group), chromedp.WaitReady(`button[value=unsilence]`), chromedp.Click(`button[value=unsilence]`))
	within(t, 20*time.Second, "the silence does not end", func() bool {
		return !strings.Contains(b.marks(), "Silenced") && strings.Contains(b.marks(), "Acknowledged")
	})
	b.do("take back", chromedp.Click(`button[value=unacknowledge]`))
	within(t, 20*time.Second, "the acknowledgement stays", func() bool { return b.marks() == "" && value[string](b, `document.readyState`) == "complete" })
	b.silent("the forms")
	b.withoutScripts(s, group, f)
	b.marksFollow(s, group[strings.Index(group, "group=")+len("group="):], f.ID)

	// The settings are read again by who has logged in, from a page of the monitor.
	const post = `fetch("/-/reload", {method: "POST"}).then(async (r) => r.status + " " + await r.text())`
	if said := b.promised(post); !strings.HasPrefix(said, "200 reloaded") {
		t.Errorf("a reload: %s", said)
	}
	b.silent("a reload")
	configure("http:\n  user: ann\n  password-file: " + password + "\nwatch:\n  expect: nonsense\n")
	if said := b.promised(post); !strings.HasPrefix(said, "500 failed to reload") || !strings.Contains(said, "nonsense") {
		t.Errorf("a reload of what is wrong: %s", said)
	}
}

// press gives a reason and presses a button.
func (b *browser) press(do, why string) {
	b.t.Helper()
	b.do(do, chromedp.WaitReady(`input[name=why]`), chromedp.SetValue(`input[name=why]`, why), chromedp.Click(`button[value=`+do+`]`))
}

// marks returns what the page says of who acknowledged or silenced.
func (b *browser) marks() string {
	b.t.Helper()
	return value[string](b, `[...document.querySelectorAll(".mark-of")].map((e) => e.textContent).join("\n")`)
}

// promised returns what the promise of an expression gives.
func (b *browser) promised(expression string) (text string) {
	b.t.Helper()
	b.do(expression, chromedp.Evaluate(expression, &text, chromedp.EvalAsValue, awaits))
	return text
}
