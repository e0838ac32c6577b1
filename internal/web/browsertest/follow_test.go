//go:build integration

package browsertest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// more gives the monitor a finding in each of the sources from-0 to from-(n-1): a transaction that does not read its
// own write. It stays provisional until a later record comes.
func (s *service) more(t *testing.T, from string, n int) {
	t.Helper()
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `{"txn":"N","name":"of %s","source":"%s-%d","status":"committed","start":"2026-01-01T00:00:00Z","end":"2026-01-01T00:00:01Z",`+
			`"ops":[{"op":"w","key":"k","value":2},{"op":"r","key":"k","value":1}]}`+"\n", from, from, i)
	}
	if _, err := io.WriteString(s.stdin, out.String()); err != nil {
		t.Fatal(err)
	}
}

// later gives the source a record of a day later.
func (s *service) later(t *testing.T, source string) {
	t.Helper()
	if _, err := io.WriteString(s.stdin, `{"txn":"L","source":"`+source+`","status":"committed","start":"2026-01-02T00:00:00Z","end":"2026-01-02T00:00:01Z","ops":[]}`+"\n"); err != nil {
		t.Fatal(err)
	}
}

// live goes to a page and waits until it follows what changes.
func (b *browser) live(url string) {
	b.t.Helper()
	b.do(url, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url), chromedp.WaitReady("main"))
	b.until("the page does not follow", `document.getElementById("live-state").textContent === "live"`)
}

// until waits for an expression.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	within(b.t, 30*time.Second, what, func() bool { return value[bool](b, expression) })
}

// shows waits for a text on the page.
func (b *browser) shows(text string) {
	b.t.Helper()
	b.until(text+" does not come by itself", fmt.Sprintf("document.querySelector('main').textContent.includes(%q)", text))
}

// holds keeps an element in mind, and focuses it.
func (b *browser) holds(element string) {
	b.t.Helper()
	if !value[bool](b, `(() => { window.held = `+element+`; held.focus({focusVisible: true}); return document.activeElement === held; })()`) {
		b.t.Fatalf("%s cannot be focused", element)
	}
}

// held says whether that element is still the one with the focus.
func (b *browser) held(what string) {
	b.t.Helper()
	if !value[bool](b, `held.isConnected && document.activeElement === held`) {
		b.t.Errorf("%s: the focus is at %s", what, value[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
	}
}

// follows opens findings on pages, and waits for others to come.
func (b *browser) follows(s *service) {
	t := b.t

	// The list: what is open, focused or selected stays, and is the same node.
	b.live(s.url + "/list")
	last := value[string](b, `(() => { const d = [...document.querySelectorAll("article details")].filter((d) => !d.open).at(-1); d.open = true; return d.id; })()`)
	closed := value[string](b, `[...document.querySelectorAll("article details")].filter((d) => !d.open).at(-1).id`)
	b.holds(`document.querySelector("#` + last + ` > summary")`)
	const selected = `getSelection().toString()`
	b.do("select", chromedp.Evaluate(`getSelection().selectAllChildren(document.querySelector("#`+last+` .proof"))`, nil))
	text := value[string](b, selected)
	s.more(t, "new", 1)
	b.shows("new-0")
	b.held("a new finding on the list")
	if now := value[string](b, selected); text == "" || now != text {
		t.Errorf("%q was selected, and now %q", text, now)
	}
	s.more(t, "many", 25)
	b.until("the list is not renewed", `document.querySelectorAll("article details[id^=finding-]").length > 10 && [...document.querySelectorAll("article")].filter((a) => a.textContent.includes("many-")).length >= 19`)
	b.held("a page of new findings on the list")
	if !value[bool](b, `document.getElementById("`+last+`").open`) || !value[bool](b, `document.getElementById("`+last+`").textContent.includes("not renewed here")`) {
		t.Error("what was open is closed, or does not say that it is not renewed")
	}
	if value[bool](b, `document.getElementById("`+closed+`") !== null`) {
		t.Error("a closed finding beyond the page stays")
	}
	if said := value[string](b, `document.getElementById("live-state").textContent`); !strings.HasPrefix(said, "live, ") || !strings.HasSuffix(said, " new") {
		t.Errorf("it says %q", said)
	}
	b.silent("the list")

	// The first page.
	b.live(s.url + "/")
	b.holds(`document.querySelector("article.source summary")`)
	s.more(t, "first", 1)
	b.shows("first-0")
	b.held("the overview")
	if said := value[string](b, `document.getElementById("live-state").textContent`); said != "live" {
		t.Errorf("the overview says %q", said)
	}
	b.silent("the overview")

	// A tab that nobody sees has no connection, and catches up when it is seen.
	const hide = `Object.defineProperty(document, "hidden", {get: () => %v, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`
	b.live(s.url + "/list")
	b.do("hide", chromedp.Evaluate(fmt.Sprintf(hide, true), nil))
	s.more(t, "unseen", 1)
	within(t, 30*time.Second, "no finding", func() bool {
		for _, f := range s.findings(t) {
			if f.Source == "unseen-0" {
				return true
			}
		}
		return false
	})
	time.Sleep(2500 * time.Millisecond) // a page that follows is renewed within two seconds
	if value[bool](b, `document.getElementById("live-state").textContent !== "" || document.querySelector("main").textContent.includes("unseen-0")`) {
		t.Error("a page that nobody sees follows")
	}
	b.do("show", chromedp.Evaluate(fmt.Sprintf(hide, false), nil))
	b.shows("unseen-0")
	b.silent("a tab that was hidden")

	// Groups, and one of them.
	b.live(s.url + "/findings?q=nobody")
	b.holds(`document.querySelector("input[name=q]")`)
	b.do("type", chromedp.SendKeys("input[name=q]", "-was-here"))
	s.more(t, "nobody", 1)
	b.shows("of nobody")
	b.held("the groups")
	if typed := value[string](b, `held.value`); typed != "-was-herenobody" {
		t.Errorf("what was typed is %q", typed)
	}
	b.live(s.url + "/findings?q=nobody")
	group := value[string](b, `document.querySelector("article.group .paths a").href`)
	b.holds(`document.querySelector("article.group .paths a")`)
	s.later(t, "nobody-0")
	b.until("the group's states are not renewed", `document.querySelector(".groupfacts").textContent.includes("1 final")`)
	b.held("the groups' states")
	b.live(group)
	if !value[bool](b, `document.querySelector(".rows li").textContent.includes("final")`) {
		t.Error("the finding is not final")
	}
	b.silent("the groups")

	// A finding's state.
	s.more(t, "state", 1)
	var id string
	within(t, 30*time.Second, "no finding", func() bool {
		for _, f := range s.findings(t) {
			if f.Source == "state-0" {
				id = f.ID
			}
		}
		return id != ""
	})
	b.live(s.url + "/findings/" + id)
	const state = `[...document.querySelectorAll("dl.record div")].find((d) => d.textContent.startsWith("State")).textContent`
	if now := value[string](b, state); !strings.Contains(now, "provisional") {
		t.Errorf("at first: %s", now)
	}
	b.do("zoom", chromedp.Click(`button[aria-label="Zoom in"]`))
	zoomed := value[string](b, `document.querySelector("figure.zoom svg").getAttribute("viewBox")`)
	b.holds(`document.querySelector("button[aria-label='Zoom in']")`)
	s.later(t, "state-0")
	b.until("the finding's state is not renewed", state+`.includes("final")`)
	b.held("a finding")
	if now := value[string](b, `document.querySelector("figure.zoom svg").getAttribute("viewBox")`); now != zoomed {
		t.Errorf("the picture was zoomed to %s, and is at %s", zoomed, now)
	}
	b.silent("the finding")
}

// marksFollow acknowledges the group of a finding beside the page, which shows it by itself.
func (b *browser) marksFollow(s *service, group, id string) {
	t := b.t
	say := func(form string) {
		request, err := http.NewRequest(http.MethodPost, s.url+"/api/v1/groups/"+group, strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth(s.user, s.password)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status)
		}
	}
	for i, page := range []string{"/findings?q=" + id, "/findings?group=" + group, "/findings/" + id} {
		b.live(s.url + page)
		why := fmt.Sprintf("beside-%d", i)
		say("do=acknowledge&why=" + why)
		b.shows(why)
	}
	b.live(s.url + "/findings?group=" + group)
	b.holds(`document.querySelector("input[name=why]")`)
	b.do("type", chromedp.SendKeys("input[name=why]", "half a rea"))
	say("do=unacknowledge")
	b.until("the acknowledgement stays", `!document.querySelector("main").textContent.includes("Acknowledged by")`)
	b.held("a form")
	if typed := value[string](b, `held.value`); typed != "half a rea" {
		t.Errorf("what was typed is %q", typed)
	}
	b.silent("marks")
}
