package docs

import (
	"encoding/xml"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// parts are the sections that every page of an anomaly has.
var parts = []string{"What happened", "Example", "Levels that forbid it", "Usual causes", "What to do", "Read more"}

// sentence is an end of one.
var sentence = regexp.MustCompile(`[.!?](\s|$)`)

// What a page tells and what a finding means stand one below the other: they share no four words in a row, or
// the same thing would be read twice.
func TestMeaningSaysMore(t *testing.T) {
	for _, p := range Anomalies() {
		happened := strings.Join(strings.Fields(strings.ToLower(p.Section("What happened"))), " ")
		words := strings.Fields(strings.ToLower(isolation.MeaningOf(p.Names[0])))
		for i := range len(words) - 3 {
			if text := strings.Trim(strings.Join(words[i:i+4], " "), ".,:;"); strings.Contains(happened, text) {
				t.Errorf("%s says twice: %s", p.Names[0], text)
			}
		}
	}
}

// Every kind of finding has a picture of its page, of at most 40 KB, and so has a stale read.
func TestEveryKindIsPictured(t *testing.T) {
	list, err := os.ReadFile("pictures.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"G-single-item-realtime"}
	for _, p := range Anomalies() {
		names = append(names, p.Names[0])
	}
	for _, name := range names {
		file := "findings/" + name + ".png"
		if info, err := os.Stat(file); err != nil || info.Size() > 40<<10 {
			t.Errorf("%s is missing or too large: make pages with -rewrite (%v)", file, err)
		}
		if !strings.Contains(string(list), "]("+file+")") {
			t.Errorf("pictures.md does not show %s", name)
		}
	}
}

// Every page tells what happened in two sentences, and has an example of at most five lines
// with its picture, and a link in every line of what to read.
func TestEveryPageIsWhole(t *testing.T) {
	for _, p := range Anomalies() {
		name := p.Names[0]
		for _, part := range parts {
			if p.Section(part) == "" {
				t.Errorf("%s has no section %q", name, part)
			}
		}
		if n := len(sentence.FindAllString(p.Section("What happened"), -1)); n != 2 {
			t.Errorf("%s: %d sentences tell what happened, want 2", name, n)
		}
		if strings.Contains(p.Section("What happened"), "the example") {
			t.Errorf("%s: what happened is told where no example is shown", name)
		}
		example := p.Section("Example")
		_, history, _ := strings.Cut(example, "```json\n")
		history, _, _ = strings.Cut(history, "```")
		if n := strings.Count(history, "\n"); n < 1 || n > 5 {
			t.Errorf("%s: an example of %d lines", name, n)
		}
		if !strings.Contains(example, "]("+name+".svg)") {
			t.Errorf("%s has no picture", name)
		}
		if svg, err := os.ReadFile("anomalies/" + name + ".svg"); err != nil || xml.Unmarshal(svg, new(struct{ XMLName xml.Name })) != nil {
			t.Errorf("%s has a picture that cannot be read (%v)", name, err)
		}
		for line := range strings.Lines(p.Section("Read more")) {
			if !strings.HasPrefix(line, "- ") || !strings.Contains(Readable(line), " <https://") {
				t.Errorf("%s: nothing to follow in %q", name, line)
			}
		}
	}
}

// A link is readable without a browser.
func TestReadable(t *testing.T) {
	for page, want := range map[string]string{
		"[Elle](https://arxiv.org/abs/2003.10554), section 4":   "Elle <https://arxiv.org/abs/2003.10554>, section 4",
		"see [Replay](../replay.md#the-range).":                 "see Replay <https://github.com/isowatch/isowatch/blob/main/docs/replay.md#the-range>.",
		"**Your capture**: `aborted`.\n\n![a picture](x.svg)\n": "Your capture: aborted.\n\n",
	} {
		if got := Readable(page); got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}
