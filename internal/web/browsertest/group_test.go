//go:build integration

package browsertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// member starts a member of a group over the NATS server inside another monitor, and publishes an anomaly there.
func member(t *testing.T) *service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	launch(t, "", "", "", "--nats-port", port)
	state, dir := t.TempDir(), t.TempDir()
	file := func(name string, subjects ...string) string {
		settings := fmt.Sprintf("group: {name: the-group-of-the-shop, state: %q, member: a-member-with-a-long-name, lease: 1s}\ninputs:\n- nats: {urls: [%q], stream: ISOWATCH, subjects: [%s]}\n",
			"file://"+state, "nats://127.0.0.1:"+port, strings.Join(subjects, ", "))
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const orders, stock = "isowatch.events.orders-of-the-eastern-region", "isowatch.events.stock"
	m := launch(t, "", "", "", "--config", file("group.yaml", orders, stock))
	if out, err := exec.Command(build(t), "self-test", m.url, "--config", file("published.yaml", stock), "--patience", "1m").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return m
}

// TestGroupPages looks at the pages of a member, and goes from the group to a finding of a unit and back.
func TestGroupPages(t *testing.T) {
	b, m := open(t), member(t)
	for _, path := range []string{"/", "/findings", "/list", "/findings/ab12"} {
		b.look(m.url + path)
	}
	b.do("the group", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(m.url+"/"), chromedp.WaitReady("main"))
	units := value[[]string](b, `[...document.querySelectorAll('td:first-child a[href^="/units/"]')].map((a) => a.href)`)
	if len(units) != 2 {
		t.Fatalf("the page leads to %q", units)
	}
	found := ""
	for _, unit := range units {
		b.look(unit)
		b.do("findings of a unit", chromedp.Navigate(unit+"list?source=isowatch-self-test"), chromedp.WaitReady("main"))
		if links := value[[]string](b, `[...document.querySelectorAll('main a[href*="/findings/"]')].map((a) => new URL(a.getAttribute("href").split("#")[0], location).href)`); len(links) > 0 {
			found = links[0]
		}
	}
	if !strings.HasPrefix(found, m.url+"/units/") {
		t.Fatalf("no unit has a finding: %q", found)
	}
	b.look(found)
	b.do("back to the group", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(found), chromedp.Click(`nav a`), chromedp.WaitReady("table"))
	if at := value[string](b, `location.pathname`); at != "/" {
		t.Errorf("the first link of a unit's page leads to %s", at)
	}
	b.silent("the group")
}
