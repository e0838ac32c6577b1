package main

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// groupPages is where people reach the pages of any member.
const groupPages = "http://pages.example"

// TestGroupPages: each member shows the whole group, with the pages and findings of units that another member has. It names a
// member that it cannot ask.
func TestGroupPages(t *testing.T) {
	t.Parallel()
	r := newGroupRun(t, plantedMessages(t, 3_000, 1_000), natsGroup, "file")
	r.flags = []string{"--http", "127.0.0.1:0", "--http-external-url", groupPages}
	r.start(t, "a")
	r.start(t, "b")
	a, b := r.members[0].address(t), r.members[1].address(t)
	r.publish(t.Context(), t, time.Second)
	r.await(t, "findings of each source", func() bool { return len(r.texts()) >= 2*groupSources })
	r.await(t, "same findings on both members", func() bool { return len(listed(t, a)) == len(r.texts()) && len(listed(t, b)) == len(r.texts()) })

	var view struct {
		Members []struct {
			Member string
			Units  int
		}
		Units []struct {
			Unit, Owner, State, Pages string
			Sources                   *int
		}
		NotAsked []string `json:"not_asked"`
	}
	r.await(t, "what both members tell", func() bool {
		view.Units, view.Members, view.NotAsked = nil, nil, nil
		if err := json.Unmarshal([]byte(get(t, a+"/api/v1/group")), &view); err != nil {
			return false
		}
		for _, u := range view.Units {
			if u.Sources == nil || *u.Sources != 1 || u.State != "owned" {
				return false
			}
		}
		return len(view.Units) == groupSources && len(view.Members) == 2 && len(view.NotAsked) == 0
	})
	page := get(t, a+"/")
	for _, u := range view.Units {
		if !strings.Contains(page, `href="`+u.Pages+`"`) {
			t.Errorf("the page leads to no pages of %s:\n%s", u.Unit, page)
		}
		own := get(t, a+u.Pages+"list")
		for _, fact := range []string{"<dd>" + u.Unit + "</dd>", "<dd>" + u.Owner + "</dd>", "<dt>group</dt><dd>g</dd>", `<nav><a href="/">group</a>`} {
			if !strings.Contains(own, fact) {
				t.Errorf("the list of %s does not tell %s:\n%.1500s", u.Unit, fact, own)
			}
		}
		if !strings.Contains(own, u.Pages+"findings/") || !strings.Contains(own, `href="`+u.Pages+`style.css"`) {
			t.Errorf("the list of %s, which %s has, leads elsewhere:\n%.1000s", u.Unit, u.Owner, own)
		}
	}
	checkLinks(t, r, a, b)
	if text := get(t, a+"/units/none/"); !strings.Contains(text, "not found") {
		t.Errorf("a unit that is none has pages: %s", text)
	}

	r.members[1].signal(t, syscall.SIGSTOP)
	time.Sleep(200 * time.Millisecond) // until each thread stands still
	answer, err := http.Get(a + "/api/v1/findings")
	r.await(t, "a to say whose unit it takes", func() bool {
		return r.members[0].logged(`msg="b's lease is over: this member takes the unit" unit=`) > 0
	})
	r.members[1].signal(t, syscall.SIGCONT)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if got := answer.Header.Get("X-Not-Asked"); got != "b" {
		t.Errorf("%q could not be asked, want b", got)
	}
	r.await(t, "b to say what happened", func() bool { return r.members[1].logged("stood still for") > 0 })
	r.await(t, "a metric of what b has lost", func() bool { return metric(t, b, `isowatch_group_moves_total{reason="lost"}`) >= 1 })
}

// checkLinks follows the links in posts, and that of a rule, on a member that may have the unit or not.
func checkLinks(t *testing.T, r *groupRun, a, b string) {
	t.Helper()
	for _, text := range r.texts() {
		var f struct {
			PageURL    string `json:"page_url"`
			ID, Source string
		}
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		path, found := strings.CutPrefix(f.PageURL, groupPages)
		if !found || !strings.HasPrefix(path, "/units/") {
			t.Fatalf("the post of %s leads to %q", f.ID, f.PageURL)
		}
		for _, member := range []string{a, b} {
			if page := get(t, member+path); !strings.Contains(page, path+".svg") {
				t.Errorf("%s%s shows no finding %s:\n%.1000s", member, path, f.ID, page)
			}
			answer, err := http.Get(member + "/findings?source=" + f.Source)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Request.URL.Path, "/units/") {
				t.Errorf("/findings?source=%s leads to %s: %s", f.Source, answer.Request.URL, answer.Status)
			}
		}
		break // the others are the same
	}
	for _, member := range []string{a, b} {
		if want := `isowatch_pages_info{url="` + groupPages + `"} 1`; !strings.Contains(get(t, member+"/metrics"), want) || strings.Count(get(t, member+"/metrics"), "\nisowatch_pages_info") != 1 {
			t.Errorf("the metrics of %s have no %s, or more", member, want)
		}
	}
	answer, err := http.Get(a + "/-/healthy")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if got := answer.Header.Get("Isowatch-Member"); got != "a" {
		t.Errorf("the member %q answers, want a", got)
	}
}

// address is where the member has its pages.
func (m *groupMember) address(t *testing.T) string {
	t.Helper()
	said := regexp.MustCompile(`listening http=(\S+)`)
	for deadline := time.Now().Add(groupPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if found := said.FindStringSubmatch(m.log.String()); found != nil {
			return "http://" + strings.TrimPrefix(found[1], "http://")
		}
	}
	t.Fatalf("%s has no pages", m.name)
	return ""
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// listed are the findings of a member's API.
func listed(t *testing.T, address string) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	_ = json.Unmarshal([]byte(get(t, address+"/api/v1/findings?limit=1000")), &all) // an error has none
	return all
}
