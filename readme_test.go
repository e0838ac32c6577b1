package isowatch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/render/words"
	"github.com/isowatch/isowatch/internal/whole"
)

// exampleFinding returns what the history of docs/alert.jsonl contains.
func exampleFinding(t *testing.T) finding.Finding {
	t.Helper()
	whole := whole.Whole{Watch: config.DefaultWatch(config.WholeContract())}
	r, err := whole.CheckFile("docs/alert.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 1 {
		t.Fatalf("%d findings, want the one that the README shows", len(r.Findings))
	}
	return r.Findings[0]
}

// TestReadmeAlert holds the alert that the README quotes to what is printed.
func TestReadmeAlert(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	f := exampleFinding(t)
	text := strings.TrimSpace(string(words.AppendAsked(nil, &f, false, words.Lines)))
	if !strings.Contains(string(readme), text) {
		t.Errorf("README.md does not hold the alert as it is printed:\n%s", text)
	}
}

// named finds files in the checkout that commands name.
var named = regexp.MustCompile(`\.?/?[a-z]+(/[a-z-]+)*\.(jsonl|edn|json)\b`)

// TestReadmeCommands: the README is short, builds the program before it uses it, and its commands name
// files that are there.
func TestReadmeCommands(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	if n := strings.Count(readme, "\n"); n > 120 {
		t.Errorf("README.md has %d lines, want at most 120", n)
	}
	build, use := strings.Index(readme, "go build -o monitor ./cmd/monitor"), strings.Index(readme, "./monitor ")
	if build < 0 || use < build {
		t.Error("README.md uses ./monitor before it says how to build it")
	}
	files := 0
	for line := range strings.Lines(readme[build:]) {
		command, _, _ := strings.Cut(line, " # ")
		if !strings.Contains(command, "./monitor ") || strings.Contains(command, "*") {
			continue
		}
		for _, file := range named.FindAllString(command, -1) {
			files++
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(command), err)
			}
		}
	}
	if files < 3 {
		t.Errorf("%d files are named in commands: README.md has more", files)
	}
}

// link finds the targets of Markdown links and images.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// anchor is how headings are named in links.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestLinks follows every link within the documentation.
func TestLinks(t *testing.T) {
	docs, err := os.ReadDir("docs")
	if err != nil {
		t.Fatal(err)
	}
	pages := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	for _, d := range docs {
		if strings.HasSuffix(d.Name(), ".md") {
			pages = append(pages, "docs/"+d.Name())
		}
	}
	deeper, _ := filepath.Glob("docs/*/*.md")
	pages = append(pages, deeper...)
	followed := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			followed++
			if why := broken(page, m[1]); why != "" {
				t.Errorf("%s: link to %s: %s", page, m[1], why)
			}
		}
	}
	if followed < 20 {
		t.Errorf("%d links were followed: the documentation has more", followed)
	}
}

// broken says why a link on a page leads nowhere.
func broken(page, target string) string {
	file, fragment, _ := strings.Cut(target, "#")
	path := page
	if file != "" {
		path = page[:strings.LastIndexByte(page, '/')+1] + file
	}
	if _, err := os.Stat(path); err != nil || fragment == "" {
		return reason(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") && anchor(strings.TrimLeft(line, "#")) == fragment {
			return ""
		}
	}
	return "no such heading"
}

func reason(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestBrokenLinksAreSeen(t *testing.T) {
	for target, want := range map[string]bool{
		"docs/semantics.md":                   false,
		"docs/proofs.md#8-the-window-theorem": false,
		"docs/semantics.md#9-no-such-heading": true,
		"docs/no-such-page.md":                true,
	} {
		if got := broken("README.md", target) != ""; got != want {
			t.Errorf("%s: broken is %v, want %v", target, got, want)
		}
	}
}

// TestMetricsPage holds docs/metrics.md to the tables of metrics in the code:
// every metric is described, and none that does not exist.
func TestMetricsPage(t *testing.T) {
	names := map[string]bool{}
	for file, pattern := range map[string]string{
		"internal/app/metric_table.go": `(?m)^\t\t\{"([a-z_]+)", "`,
		"alert/metrics.go":             `"isowatch_([a-z_]+)"`,
		"internal/app/group_pages.go":  `"isowatch_([a-z_]+)"`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(found) < 5 {
			t.Errorf("%s: only %d metrics were found: its form has changed", file, len(found))
		}
		for _, m := range found {
			names["isowatch_"+m[1]] = true
		}
	}
	page, err := os.ReadFile("docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	tables, _, _ := strings.Cut(string(page), "## Rules")
	described := map[string]bool{}
	for _, m := range regexp.MustCompile("`(isowatch_[a-z_]+)`").FindAllStringSubmatch(tables, -1) {
		described[m[1]] = true
		if !names[m[1]] {
			t.Errorf("docs/metrics.md describes %s, which does not exist", m[1])
		}
	}
	for name := range names {
		if !described[name] {
			t.Errorf("docs/metrics.md does not describe %s", name)
		}
	}
}
