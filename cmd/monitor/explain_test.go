package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/docs"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/picture"
	"github.com/isowatch/isowatch/isolation"
)

var rewrite = flag.Bool("rewrite", false, "write the pictures of docs/anomalies")

// example is a history on a page, how it is checked, and what that reports.
var example = regexp.MustCompile("(?s)```json\n(.*?)```\n\n`monitor (check [^`]* )FILE` reports `([^`]*)`")

// refuted is the level that the text behind an example names.
var refuted = regexp.MustCompile("refutes `([^`]*)`")

// Each example on a page of an anomaly shows that anomaly, refutes the level that the page names,
// and has the picture beside it.
func TestExamplesOnPages(t *testing.T) {
	for _, p := range docs.Anomalies() {
		t.Run(p.Names[0], func(t *testing.T) {
			found := example.FindAllStringSubmatchIndex(p.Text, -1)
			if len(found) == 0 {
				t.Fatal("no example")
			}
			for n, at := range found {
				history, command, want := p.Text[at[2]:at[3]], p.Text[at[4]:at[5]], p.Text[at[6]:at[7]]
				f := findingOf(t, history, command, want)
				if m := refuted.FindStringSubmatch(p.Text[at[1]:]); m != nil && len(f.Refutes) > 0 && !slices.Equal(f.Refutes, m[1:]) {
					t.Errorf("%s refutes %v, the page says %v", want, f.Refutes, m[1:])
				}
				for _, r := range f.Refutes {
					if l, err := isolation.ParseLevel(r); err != nil || l.Forbids(f.Anomaly) == isolation.Allowed {
						t.Errorf("explain says that %s allows %s (%v)", r, f.Anomaly, err)
					}
				}
				if n == 0 && strings.Contains(p.Text, ".svg)") {
					comparePicture(t, p.Names[0], f)
				}
			}
		})
	}
}

// manyOfOne is a plural, or its verb, behind the number 1.
var manyOfOne = regexp.MustCompile(`(^|[^\w.,/-])1 (?:more |bad |stronger )?(?:transactions|operations|records|reads|writes|findings|levels|keys|sessions|edges|dependencies)\b|\b1 read or write depend\b`)

// What is printed of the examples says "1 transaction", and not "1 transactions".
func TestOneIsNotMany(t *testing.T) {
	for _, p := range docs.Anomalies() {
		for _, m := range example.FindAllStringSubmatch(p.Text, -1) {
			file := filepath.Join(t.TempDir(), "history.jsonl")
			if err := os.WriteFile(file, []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			term := terminal{stdout: &stdout, stderr: &stderr, lookupEnv: func(string) (string, bool) { return "", false }}
			run(t.Context(), append(strings.Fields(m[2]), file), term)
			if bad := manyOfOne.FindString(stdout.String() + stderr.String()); bad != "" {
				t.Errorf("%s: %q in\n%s", p.Names[0], bad, stdout.String())
			}
		}
	}
}

// The page that a plain name leads to has an example whose finding is called that.
func TestNamesShowWhatTheySay(t *testing.T) {
	for name, title := range map[string]string{
		"fuzzy read": "non-repeatable read", "non-repeatable read": "non-repeatable read", "P2": "non-repeatable read", "own write not read": "own write not read",
		"phantom": "phantom", "P3": "phantom", "A3": "non-repeatable read", "dirty read": "aborted read", "aborted read": "aborted read",
		"intermediate read": "intermediate read", "dirty write": "write cycle", "circular information flow": "circular information flow",
		"read skew": "fractured read", "fractured read": "fractured read", "causality violation": "causality violation", "non-monotonic view": "non-monotonic view", "OTV": "non-monotonic view", "stale read": "stale read",
		"read your writes violated": "read your writes violated", "long fork": "long fork", "write skew": "write skew", "lost update": "lost update",
	} {
		p, ok := docs.Find(docs.Anomalies(), name)
		if !ok {
			t.Errorf("nothing is called %q", name)
			continue
		}
		var shown []string
		for _, m := range example.FindAllStringSubmatch(p.Text, -1) {
			shown = append(shown, findingOf(t, m[1], m[2], m[3]).Title)
		}
		if !slices.Contains(shown, title) {
			t.Errorf("%q leads to %s, which shows %q and no %s", name, p.Names[0], shown, title)
		}
	}
}

// findingOf checks the history and returns the finding of that name.
func findingOf(t *testing.T, history, command, want string) finding.Finding {
	t.Helper()
	file := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(file, []byte(history), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	term := terminal{stdout: &stdout, stderr: &stderr, lookupEnv: func(string) (string, bool) { return "", false }}
	run(t.Context(), append(strings.Fields(command), "--output", "jsonl", file), term)
	var report struct{ Findings []finding.Finding }
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	var names []string
	for _, f := range report.Findings {
		if names = append(names, f.Anomaly); f.Anomaly == want {
			return f
		}
	}
	t.Fatalf("it reports %v, want %s", names, want)
	return finding.Finding{}
}

// comparePicture holds the file beside the page to the picture of the finding.
func comparePicture(t *testing.T, name string, f finding.Finding) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "anomalies", name+".svg")
	want := picture.SVG(f)
	if *rewrite {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not the picture of its example (%v); go test ./cmd/monitor -run Pages -rewrite", file, err)
	}
}

// Every kind of finding that the program can print has a page, and its title is among the page's names.
func TestEveryFindingHasAPage(t *testing.T) {
	for _, name := range isolation.AnomalyNames() {
		p, ok := docs.Find(docs.Anomalies(), name)
		if !ok {
			t.Errorf("%s has no page", name)
			continue
		}
		if title := isolation.TitleOf(name); name == p.Names[0] {
			if other, ok := docs.Find(docs.Anomalies(), title); !ok || other.Title != p.Title {
				t.Errorf("%s: its title %q is no name of its page", name, title)
			}
		}
	}
}

// No two pages go by one name.
func TestNamesOfPagesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, p := range slices.Concat(docs.Anomalies(), docs.Levels()) {
		for _, n := range p.Names {
			if other, ok := seen[strings.ToLower(n)]; ok && other != p.Title {
				t.Errorf("%q is a name of %q and of %q", n, other, p.Title)
			}
			seen[strings.ToLower(n)] = p.Title
		}
	}
}
