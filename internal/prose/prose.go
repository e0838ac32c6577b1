// Package prose finds sentences that have to be read twice: those with too many words, and
// those with phrases that are not to be used. Tests hold to it what users read.
package prose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// MaxWords is how many words a sentence may have beside code.
const MaxWords = 25

// phrase is a way to write that is not to be used.
type phrase struct {
	find    *regexp.Regexp
	but     *regexp.Regexp // what it finds and is fine; nil: nothing
	instead string         // what to write instead
}

var phrases = sync.OnceValue(func() []phrase {
	re := regexp.MustCompile
	return []phrase{
		{re(`(^|[.:;] )Of [a-z]+\b`), re(`Of (is|are|returns)$`), "a sentence that begins with its subject"},
		{re(`^(What|Who|Whom|Whoever|Whatever) [^?]*[^?]\.$`), nil, "a sentence that begins with a noun"},
		{re(`(^|[.:;] )Who(ever)? \w+s\b`), nil, "a noun: a client that, a person who"},
		{re(`\b(of|to|from|by|than|after|before) (whom|whoever|who)\b`), nil, "a noun: a client that, a person who"},
		{re(`(?i)\b(is|are|was|were) (what|who|whom)\b[^?]*$`), nil, "a noun: the value that, the transaction that"},
		{re(`\b[Ww]hat( \w+){1,6} is that\b`), nil, "a plain sentence: the log shows it"},
		{re(`\bof which\b`), nil, "which of them, or two sentences"},
		{re(`\bwhose\b.*\bwhose\b`), nil, "two sentences"},
		{re(`\b([Tt]hat|[Tt]hose) of\b`), nil, "the noun again, or: the same as"},
		{re(`\bthat one('s|[.,;:])`), nil, "the noun again"},
		{re(`\b[Nn]one of\b`), nil, "no, or: is not one of"},
		{re(`\b(says?|said|tells?|told) so\b`), nil, "what it says: the log names it"},
		{re(`\b[Ii]t is (the|only|not) [^.,:;]* (that|who) `), nil, "a plain sentence: the log shows it"},
		{re(`\bas long as (\w+ (is|are|was|were|has|have|do|does) )?(not|no|nothing|nobody)\b`), nil, "until"},
		{re(`(^|[ (])(?i:not|never|nothing|nobody|no) (\w+ ){0,3}(without|not|never|nothing|nobody)\b`), nil, "one negation: needs, only, until"},
		{re(`.*\b[Nn]or\b`), re(`(?i)\bneither\b`), "and no, or two sentences"},
		{re(`(?i)\b(lest|anew|thereby|whereby|wherein|thereof|hence|thus|latter|former|but for)\b`), nil, "again, so, the noun, except"},
		{re(`(?i)\S+ (is|are|was|were) no \w+`), re(`(?i)^there |no (longer|more)$`), "is not a"},
		{re(`;.*;`), re(`\w: `), "a sentence for each thought"},
		{re(`(?i)\b(in order to|utilize|leverage|seamless|robust)\b`), nil, "to, use, or nothing"},
	}
})

// fault is the first words of a sentence that the phrase finds, and that are not fine.
func (p phrase) fault(sentence string) string {
	for _, m := range p.find.FindAllString(sentence, -1) {
		if p.but == nil || !p.but.MatchString(m) {
			return m
		}
	}
	return ""
}

// Faults are a page's sentences with too many words beside code, and its phrases that are
// not to be used. A page is Markdown, or one of the other texts of this package.
func Faults(page string) []string {
	var all []string
	for _, s := range sentences(page) {
		if n := words(s); n > MaxWords {
			all = append(all, fmt.Sprintf("%d words: %s", n, s))
		}
		for _, p := range phrases() {
			if m := p.fault(s); m != "" {
				all = append(all, fmt.Sprintf("%q, write %s: %s", m, p.instead, s))
			}
		}
	}
	return all
}

// words counts the words of a sentence that are not code.
func words(sentence string) int {
	return len(slices.DeleteFunc(strings.Fields(sentence), func(w string) bool { return strings.Contains(w, "CODE") }))
}

var (
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	linkTarget = regexp.MustCompile(`\]\([^)\s]*\)`)
	comment    = regexp.MustCompile(`(?s)<!--.*?-->`)
	newBlock   = regexp.MustCompile(`^([-*] |\d+\. |\|)`)
	ends       = regexp.MustCompile(`[.!?][)"*]*\s`)
)

// sentences are those of a page: of its paragraphs, headings, list items and cells of tables,
// and of the comments in its blocks of code. A piece of code in a sentence becomes the word CODE.
func sentences(page string) []string {
	var text, block strings.Builder
	fenced := false
	for line := range strings.Lines(comment.ReplaceAllString(page, "")) {
		whole := line
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			if fenced {
				text.WriteString("\n" + strings.Join(Comments(block.String()), "\n") + "\n")
				block.Reset()
			}
			fenced = !fenced
			text.WriteString("\n")
		case fenced:
			block.WriteString(whole)
		case strings.HasPrefix(line, "Names: "): // a list
		case line == "" || strings.HasPrefix(line, "#"):
			text.WriteString("\n" + line + "\n")
		default:
			text.WriteString(newBlock.ReplaceAllString(line, "\n$0") + " ")
		}
	}
	plain := linkTarget.ReplaceAllString(inlineCode.ReplaceAllString(text.String(), "CODE"), "]")
	parts := strings.FieldsFunc(ends.ReplaceAllString(plain+" ", "$0\n"), func(r rune) bool { return strings.ContainsRune("\n|·", r) })
	for i, s := range parts {
		parts[i] = strings.TrimSpace(s)
	}
	return parts
}
