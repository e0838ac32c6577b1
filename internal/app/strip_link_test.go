package app

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
)

func read(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v %s", url, answer.Status, err, text)
	}
	return string(text)
}

// lateShop is a monitor of 300 steps of a counter, one each ten seconds, up to an instant. Three lost the step before: at 9:20:00,
// 9:20:10 and 9:43:20 for 10:00. It has these inputs beside the file.
func lateShop(t *testing.T, at, now time.Time, inputs ...config.Input) *App {
	t.Helper()
	dir := t.TempDir()
	var log strings.Builder
	for n := range 300 {
		end, seen := at.Add(time.Duration(n-300)*10*time.Second), n
		if n == 60 || n == 61 || n == 200 {
			seen--
		}
		value := fmt.Sprint(seen)
		if seen == 0 {
			value = "null"
		}
		fmt.Fprintf(&log, `{"txn":"T%d","session":"s","status":"committed","start":%d,"end":%d,"ops":[{"op":"r","key":"stock","value":%s},{"op":"w","key":"stock","value":%d}]}`+"\n",
			n, end.Add(-time.Second).UnixNano(), end.UnixNano(), value, n+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "log.jsonl"), []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := config.DefaultService()
	s.Data, s.HTTP.Address, s.Inputs = dir, "127.0.0.1:0", append(inputs, config.Input{Tail: []string{filepath.Join(dir, "*.jsonl")}})
	s.SelfTest, s.Watch.Contract = 0, config.WholeContract()
	a, err := New(Options{Config: s, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Stop(context.Background()) })
	return a
}

// While a broker has not answered, no pane of the file's records is closed. The strip shows the violations all the same, and each
// stretch leads to its findings.
func TestStripWhileAnInputIsAway(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	a := lateShop(t, at, at, config.Input{NATS: &config.NATS{URLs: []string{"nats://127.0.0.1:1"}, Stream: "S"}})
	links := regexp.MustCompile(`<a href="(/list\?ended-from=[^"]*)" aria-label="violated, [^ ]* ([^ ]*) to [^ ]* ([^ ]*) UTC">`)
	var stretches []string
	waitFor(t, "violated stretches", func() bool {
		page := read(t, "http://"+a.HTTPAddr()+"/")
		stretches = nil
		for _, x := range links.FindAllStringSubmatch(page, -1) {
			if stretches = append(stretches, x[2]+"-"+x[3]); read(t, "http://"+a.HTTPAddr()+strings.Replace(html.UnescapeString(x[1]), "/list", "/api/v1/findings", 1)) == "[]\n" {
				t.Errorf("%s leads to no finding", x[2])
			}
		}
		return strings.Contains(page, "waits until each input has answered") && len(a.Status().Sources) > 0 && a.Status().Sources[0].Counters.Committed == 300 && len(stretches) >= 2
	})
	slices.Sort(stretches)
	if got := slices.Compact(stretches); !slices.Equal(got, []string{"09:19-09:21", "09:43-09:44"}) {
		t.Errorf("violated: %q", got)
	}
	if x := a.Status().Sources[0]; x.Watermark != 0 {
		t.Errorf("a watermark of %d: all inputs have answered", x.Watermark)
	}
}

// A violated stretch of a strip leads to the findings that violate it, though they were found later, and to no others.
// Records are told late: what was found minutes after a pane still belongs to it.
func TestStripLeadsToItsFindings(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	a := lateShop(t, at, at)
	links := regexp.MustCompile(`<a href="(/list\?ended-from=[^"]*)" aria-label="violated, ([^"]*)">`)
	var found [][]string
	waitFor(t, "violated stretches", func() bool {
		found = links.FindAllStringSubmatch(read(t, "http://"+a.HTTPAddr()+"/"), -1)
		return slices.ContainsFunc(found, func(x []string) bool { return strings.Contains(x[2], "09:43") }) && a.Status().Sources[0].Counters.Committed == 300
	})
	seen := map[string]bool{}
	for _, x := range found {
		link := html.UnescapeString(x[1])
		var list []finding.Finding
		if err := json.Unmarshal([]byte(read(t, "http://"+a.HTTPAddr()+strings.Replace(link, "/list", "/api/v1/findings", 1))), &list); err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			t.Errorf("%s: no finding at %s", x[2], link)
		}
		for _, f := range list {
			early := slices.ContainsFunc(f.Txns, func(id string) bool { return id == "T59" || id == "T60" || id == "T61" })
			if wanted := strings.Contains(x[2], "09:20") || strings.Contains(x[2], "09:19"); early != wanted {
				t.Errorf("%s leads to the finding of %v", x[2], f.Txns)
			}
			seen[f.ID] = true
		}
		if page := read(t, "http://"+a.HTTPAddr()+link); strings.Count(page, `<article class="card`) != len(list) || !strings.Contains(page, "Their transactions ended from") ||
			!strings.Contains(page, `<input type="hidden" name="ended-from"`) {
			t.Errorf("the page of %s does not have the %d findings, or its form loses the time", link, len(list))
		}
	}
	if len(seen) < 2 {
		t.Errorf("%d findings in %d stretches", len(seen), len(found))
	}
}

// A bar of the chart counts the findings whose last transactions ended then, as trends of groups do, and leads to them. The chart
// ends now. Where all records are older than the span, it ends with the latest of them.
func TestBarsLeadToTheirFindings(t *testing.T) {
	bars := regexp.MustCompile(`<a href="(/list\?expected=false[^"]*)" aria-label="(\d+) findings?, [^ ]* ([^ ]*) to`)
	for _, c := range []struct {
		late          time.Duration
		minutes, says string
	}{
		{0, "[09:20 09:43]", " to 2026-11-20 10:01, at most"},
		{9 * 24 * time.Hour, "[09:20 09:43]", " to 2026-11-20 10:00, at most"},
		{50 * time.Minute, "[]", "No finding is of this time."},
	} {
		at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
		a := lateShop(t, at, at.Add(c.late))
		waitFor(t, "findings", func() bool {
			return len(a.Status().Sources) > 0 && a.Status().Sources[0].Counters.Committed == 300 && strings.Count(read(t, "http://"+a.HTTPAddr()+"/api/v1/findings"), `"id":`) >= 2
		})
		page := read(t, "http://"+a.HTTPAddr()+"/")
		minutes := map[string]bool{}
		for _, x := range bars.FindAllStringSubmatch(page, -1) {
			var list []finding.Finding
			if err := json.Unmarshal([]byte(read(t, "http://"+a.HTTPAddr()+strings.Replace(html.UnescapeString(x[1]), "/list", "/api/v1/findings", 1))), &list); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(len(list)) != x[2] {
				t.Errorf("%s: a bar of %s findings leads to %d", x[3], x[2], len(list))
			}
			minutes[x[3]] = true
		}
		if got := fmt.Sprint(slices.Sorted(maps.Keys(minutes))); got != c.minutes || !strings.Contains(page, c.says) {
			t.Errorf("%v later: bars of %s, want %s and %q", c.late, got, c.minutes, c.says)
		}
	}
}
