package isowatch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxWords is how many words a sentence may have: one with more has to be read twice.
const maxWords = 30

// unfinished are the documents that do not keep the rules yet, and how many faults they
// have. The numbers may only fall: write the smaller one here when you have mended some.
var unfinished = map[string]int{
	"docs/design.md": 41,
	"docs/proofs.md": 121, "docs/testing.md": 1,
}

// phrases are not to be used, each with what to write instead.
var phrases = []struct {
	find    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\bOf \w+ (whose|of which|that)\b`), "a sentence that begins with its subject"},
	{regexp.MustCompile(`(^|[.:;] )Who(ever)? \w+s\b`), "a noun: a client that, a person who"},
	{regexp.MustCompile(`\b(is|are) none of\b`), "is not one of, does not"},
	{regexp.MustCompile(`\bsays so\b`), "what it says: the log names it"},
	{regexp.MustCompile(`\bthat one('s|[.,;:])`), "the noun again"},
	{regexp.MustCompile(`(?i)\b(in order to|utilize|leverage|seamless|robust)\b`), "to, use, or nothing"},
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\([^)\s]*\)`)
	comment    = regexp.MustCompile(`(?s)<!--.*?-->`)
	newBlock   = regexp.MustCompile(`^([-*] |\d+\. |\|)`)
	ends       = regexp.MustCompile(`[.!?][)"*]*\s`)
)

// sentences are those of a page: of its paragraphs, headings, list items and cells of tables.
// A piece of code in a sentence becomes the word CODE.
func sentences(page string) []string {
	var text strings.Builder
	fenced := false
	page = inlineCode.ReplaceAllString(comment.ReplaceAllString(page, ""), "CODE")
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			text.WriteString("\n")
		case fenced, strings.HasPrefix(line, "Names: "): // a list
		case line == "" || strings.HasPrefix(line, "#"):
			text.WriteString("\n" + line + "\n")
		default:
			text.WriteString(newBlock.ReplaceAllString(line, "\n$0") + " ")
		}
	}
	plain := linkTarget.ReplaceAllString(text.String(), "]")
	return strings.FieldsFunc(ends.ReplaceAllString(plain, "$0\n"), func(r rune) bool { return strings.ContainsRune("\n|·", r) })
}

// faults are a page's sentences with too many words beside code, and its phrases that are
// not to be used.
func faults(page string) []string {
	var all []string
	for _, s := range sentences(page) {
		s = strings.TrimSpace(s)
		words := slices.DeleteFunc(strings.Fields(s), func(w string) bool { return strings.Contains(w, "CODE") })
		if len(words) > maxWords {
			all = append(all, fmt.Sprintf("%d words: %s", len(words), s))
		}
		for _, p := range phrases {
			if m := p.find.FindString(s); m != "" {
				all = append(all, fmt.Sprintf("%q, write %s: %s", m, p.instead, s))
			}
		}
	}
	return all
}

// TestProse holds the documentation to short sentences and plain words.
func TestProse(t *testing.T) {
	pages := []string{"README.md", "helm/isowatch/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, _ := filepath.Glob(pattern)
		pages = append(pages, found...)
	}
	for _, name := range pages {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		} else if found := faults(string(text)); len(found) != unfinished[name] {
			t.Errorf("%s has %d faults, and unfinished has %d:\n%s", name, len(found), unfinished[name], strings.Join(found, "\n"))
		}
	}
}

// TestFaultsAreSeen: the check itself can fail.
func TestFaultsAreSeen(t *testing.T) {
	many := strings.Repeat("word ", maxWords)
	for page, want := range map[string]int{
		many + "end.":                     1,
		many + "end. " + many + "end.":    2,
		many + "\n\nend.":                 0,
		"```\n" + many + "end.\n```\n":    0,
		many + "`code`":                   0,
		"Names: " + many + "end.":         0,
		"Of pieces whose begin is late,":  1,
		"| It ends. Who waits is lost. |": 1,
	} {
		if got := faults(page); len(got) != want {
			t.Errorf("%q: %q, want %d", page, got, want)
		}
	}
}
