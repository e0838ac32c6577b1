package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/docs"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/picture"
	"github.com/isowatch/isowatch/internal/render/words"
)

var rewrite = flag.Bool("rewrite", false, "write the pictures of docs/anomalies")

// example is a history on a page, how it is checked, and what that reports.
var example = regexp.MustCompile("(?s)```json\n(.*?)```\n\n`monitor (check [^`]* )FILE` reports `([^`]*)`")

// refuted are the levels, one or two, that the text behind an example names.
var refuted = regexp.MustCompile("refutes `([^`]*)`(?: and `([^`]*)`)?")

// drawn are the pages whose pictures are drawn by hand: their findings name no operations.
var drawn = map[string]bool{"horizon": true, "weaker-than-expected": true}

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
				if m := refuted.FindStringSubmatch(p.Text[at[1]:]); m != nil && len(f.Refutes) > 0 && strings.Join(f.Refutes, " ") != strings.TrimSpace(m[1]+" "+m[2]) {
					t.Errorf("%s refutes %v, the page says %v", want, f.Refutes, m[1:])
				}
				for _, r := range f.Refutes {
					if l, err := isolation.ParseLevel(r); err != nil || l.Forbids(f.Anomaly) == isolation.Allowed {
						t.Errorf("explain says that %s allows %s (%v)", r, f.Anomaly, err)
					}
				}
				cycle := words.Cycle(&f)
				behind, _, _ := strings.Cut(p.Text[at[1]:], "\n## ")
				if strings.Contains(cycle, " -") && !strings.Contains(behind, "\n\n```text\n"+cycle+"\n```\n") {
					t.Errorf("the page does not show the cycle %s", cycle)
				}
				if n == 0 && !drawn[p.Names[0]] {
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
	var names []string
	for _, f := range findingsOf(t, "history.jsonl", history, command) {
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

// Every kind of finding that the program can print has a page, and explain finds it by each of the titles
// that findings have.
func TestEveryFindingHasAPage(t *testing.T) {
	for _, x := range isolation.EveryTitle() {
		want, ok := docs.Find(docs.Anomalies(), x.Anomaly)
		if !ok {
			t.Errorf("%s has no page", x.Anomaly)
			continue
		}
		titles := []string{want.Title}
		if item, ok := docs.Find(docs.Anomalies(), withoutOrder(x.Anomaly)+"-item"); ok { // a range takes part, and the title does not say so
			titles = append(titles, item.Title)
		}
		if p, ok := docs.Named(docs.Phenomena(), x.Title); ok && isolation.IsTried(x.Title) {
			titles = append(titles, p.Title)
		}
		if x.Title == "conflicting writes" {
			titles = append(titles, "Read skew") // of two classes
		}
		for _, name := range []string{x.Anomaly, x.Title, isolation.TitleOf(x.Anomaly)} {
			var b bytes.Buffer
			if err := explain(&b, name); err != nil {
				t.Errorf("%s: explain %q: %v", x.Anomaly, name, err)
				continue
			}
			heading, _, _ := strings.Cut(strings.TrimPrefix(b.String(), "# "), "\n")
			if withoutOrder(x.Anomaly) != x.Anomaly { // a form has a page of its own
				heading = strings.TrimSuffix(strings.TrimSuffix(heading, " with session order"), " in real time")
			}
			if !slices.Contains(titles, heading) {
				t.Errorf("%s: explain %q shows the page %q, want one of %q", x.Anomaly, name, heading, titles)
			}
		}
	}
}

// No two pages go by one name.
func TestNamesOfPagesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, p := range slices.Concat(docs.Anomalies(), docs.Phenomena(), docs.Levels()) {
		for _, n := range p.Names {
			if other, ok := seen[strings.ToLower(n)]; ok && other != p.Title {
				t.Errorf("%q is a name of %q and of %q", n, other, p.Title)
			}
			seen[strings.ToLower(n)] = p.Title
		}
	}
}

// Every name that a page lists for a level is understood as that level wherever a level is named, and
// every name that is understood is on the page.
func TestNamesOfLevelsAreUnderstood(t *testing.T) {
	parse := func(name string) string {
		expected, setting, err := isolation.ParseExpected(name)
		if err != nil || setting != "" {
			return fmt.Sprintf("%q, %v", setting, err)
		}
		levels, err := isolation.ParseLevels(name)
		if err != nil || len(levels) != 1 || levels[0] != expected {
			return fmt.Sprintf("expected %v, among levels %v, %v", expected, levels, err)
		}
		return expected.String()
	}
	for _, p := range docs.Levels() {
		for _, name := range p.Names {
			if got := parse(name); got != p.Names[0] {
				t.Errorf("%s lists %q, which is %s", p.Names[0], name, got)
			}
		}
	}
	listed := regexp.MustCompile(`(?s)\n(?:Names|Also taken as this level): (.*?)\n\n`)
	for _, l := range isolation.AllLevels() {
		var page strings.Builder
		if err := explain(&page, l.String()); err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, m := range listed.FindAllStringSubmatch(page.String(), -1) {
			for name := range strings.SplitSeq(strings.Join(strings.Fields(strings.TrimSuffix(m[1], ".")), " "), ", ") {
				found[name] = true
				if got := parse(name); got != l.String() {
					t.Errorf("explain %v lists %q, which is %s", l, name, got)
				}
				if err := explain(io.Discard, name); err != nil {
					t.Errorf("explain %s: %v", name, err)
				}
			}
		}
		for _, name := range slices.Concat([]string{l.String()}, isolation.OtherNames(l), isolation.NearestNames(l)) {
			if !found[name] {
				t.Errorf("explain %v lacks the name %q", l, name)
			}
		}
	}
}

// The tables of docs/levels.md list what is taken as which level, all of it.
func TestTakenNamesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/levels.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| ([^|`]*) \\| `([^`]*)` \\| (weaker|stronger|a little stronger|its form for transactions) \\|").FindAllStringSubmatch(string(text), -1)
	listed := map[string]bool{}
	for _, m := range rows {
		for name := range strings.SplitSeq(m[1], ", ") {
			listed[name] = true
			if l, err := isolation.ParseLevel(name); err != nil || l.String() != m[2] || isolation.Taken(name) == "" {
				t.Errorf("%q is %v, %v, with the note %q; the page says %s", name, l, err, isolation.Taken(name), m[2])
			}
		}
	}
	for _, l := range isolation.AllLevels() {
		for _, name := range isolation.NearestNames(l) {
			if !listed[name] && name != "repeatable reads" {
				t.Errorf("the table lacks %q, taken as %v", name, l)
			}
		}
	}
}

// named are words in the marks of code.
var named = regexp.MustCompile("`([^`]*)`")

// Each section on an anomaly by another name says what is reported instead, and that has a page.
func TestPhenomenaNameWhatIsReported(t *testing.T) {
	for _, p := range docs.Phenomena() {
		_, reported, found := strings.Cut(p.Text, "\nIsowatch reports ")
		if !found {
			t.Errorf("%s: nothing is said of what is reported", p.Title)
		}
		for _, m := range named.FindAllStringSubmatch(reported, -1) {
			if !slices.Contains(isolation.AnomalyNames(), m[1]) && !strings.HasPrefix(m[1], "-") && m[1] != "at_least" && m[1] != "unknown" {
				t.Errorf("%s: no finding is called %q", p.Title, m[1])
			}
		}
	}
}

// What checkers and papers call anomalies is explained.
func TestForeignAnomalies(t *testing.T) {
	for _, names := range []string{
		// Elle's elle.txn, list-append, rw-register and consistency-model.
		"G0 G0-process G0-realtime G1 G1-process G1-realtime G1a G1b G1c G1c-process G1c-realtime internal dirty-update lost-update write-skew",
		"G-single G-single-process G-single-realtime G-single-item G-single-item-process G-single-item-realtime predicate-read-miss",
		"G-nonadjacent G-nonadjacent-process G-nonadjacent-realtime G-nonadjacent-item G-nonadjacent-item-process G-nonadjacent-item-realtime",
		"G2 G2-process G2-realtime G2-item G2-item-process G2-item-realtime duplicate-elements incompatible-order cyclic-versions future-read garbage-read",
		"GSIa GSIb G-SI G-SIa G-SIb G-MSR G-monotonic G-cursor G-update empty-transaction-graph cycle-search-timeout",
		"PL-1-cycle-exists PL-2-cycle-exists PL-SI-cycle-exists PL-2.99-cycle-exists PL-3-cycle-exists PL-SS-cycle-exists strong-snapshot-isolation-cycle-exists",
		"strong-PL-1-cycle-exists strong-PL-2-cycle-exists strong-session-PL-1-cycle-exists strong-session-PL-2-cycle-exists strong-session-serializable-cycle-exists",
		// Adya's thesis, and the critique of ANSI's levels.
		"G-MSRa G-MSRb G-cursor(x) G1-predA G1-predB G-SQL-atomic E2 E-single E-monotonic E-update P0 P1 P2 P3 P4 P4C A1 A2 A3 A5A A5B IMP PMP OTV",
		// Plume, IsoVista, AWDIT, MTC, PolySI.
		"ThinAirRead AbortedRead FutureRead NotMyOwnWrite NotMyLastWrite IntermediateRead CyclicCO NonMonoReadCO NonMonoReadAO NonMonoReadCM NonRepeatableRead",
		"FracturedReadCO FracturedReadAO FracturedReadCM COConflictAO COConflictCM ConflictAO ConflictCM CyclicHb NonMonoReadHb NonMonoReadCo FracturedReadHbSo",
		"FracturedReadHbWr FracturedReadCoSo FracturedReadCoWr HbConflictCo ConflictCo SessionGuaranteeViolation CausalityViolation LongFork LostUpdate WriteSkew",
	} {
		for _, name := range strings.Fields(names) {
			isExplained(t, name)
		}
	}
	for _, name := range []string{"serialization anomaly", "read only transaction anomaly", "read-only anomaly", "dirty reads", "lost updates", "phantoms", "Write Skew", "aborted reads"} {
		isExplained(t, name)
	}
}

// isExplained: the name is one of an anomaly, and not of a level.
func isExplained(t *testing.T, name string) {
	t.Helper()
	var page strings.Builder
	if err := explain(&page, name); err != nil {
		t.Errorf("%s: %v", name, err)
	} else if strings.Contains(page.String(), "It forbids") {
		t.Errorf("%s is explained as a level:\n%.60s", name, page.String())
	}
}

// The page of each level speaks of its own form: nothing is said that only another form does, and
// nobody is told to ask for the level itself.
func TestLevelsSpeakOfTheirForm(t *testing.T) {
	asked := regexp.MustCompile(`ask for (strong-[a-z-]+)(?: or (strong-[a-z-]+))?`)
	for _, l := range isolation.AllLevels() {
		var b strings.Builder
		if err := explainLevel(&b, l); err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllStringSubmatch(b.String(), -1) {
			for _, name := range m[1:] {
				stronger, err := isolation.ParseLevel(name)
				if name != "" && (err != nil || l.Implies(stronger) || !stronger.Implies(l)) {
					t.Errorf("explain %s tells people to ask for %s (%v)", l, name, err)
				}
			}
		}
		if old := strings.Contains(b.String(), "may still read old data."); old != (l == isolation.Level{Base: isolation.Serializable}) {
			t.Errorf("explain %s speaks of old data as the plain form does: %v\n%s", l, old, b.String())
		}
	}
}
