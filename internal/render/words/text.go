// Package words says what findings mean, for people.
package words

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// Append appends the finding in its human form, closed by an empty line:
// verdict and name, what it refutes, the cycle, the explanation. Texts that
// came with the events cannot steer the terminal: control characters are shown
// as \xNN.
func Append(dst []byte, f *finding.Finding, color bool) []byte {
	verdict, sentence := VerdictOf(f)
	return appendText(dst, f, color, verdict, sentence, OfService)
}

// AppendAsked is Append in an answer on levels that were asked for. No level among
// them is the expected one. A recording says what the numbers in positions count.
func AppendAsked(dst []byte, f *finding.Finding, color bool, of Numbers) []byte {
	verdict, sentence := VerdictOf(f)
	if verdict == Allowed {
		sentence = "Allowed by the levels asked for. " + refutes(f)
	}
	return appendText(dst, f, color, verdict, sentence, of)
}

// AppendLine appends a finding that the expected level allows on one line: it is counted, and its page has the rest.
func AppendLine(dst []byte, f *finding.Finding, color bool) []byte {
	paint := painter(color)
	dst = fmt.Appendf(dst, "%s  %s", paint(Allowed, strings.ToUpper(string(Allowed))), paint("", Visible(Name(f.Title, f.Anomaly))))
	dst = fmt.Appendf(dst, "  %s  %s  ", sourceOf(f), Visible(cmp.Or(Cycle(f), f.Headline)))
	if f.PageURL != "" {
		return fmt.Appendf(dst, "%s\n", Visible(f.PageURL))
	}
	return fmt.Appendf(dst, "finding %s\n", Visible(f.ID))
}

// Merged says of a finding with a count what is counted.
func Merged(f *finding.Finding) string {
	return fmt.Sprintf("%d anomalies share a dependency, such as one wrong read. They are told as this one finding.", f.Count)
}

// Name is an anomaly in words, with the name that it has elsewhere in brackets: "write skew (G2-item)".
func Name(title, anomaly string) string {
	if title == "" || title == anomaly {
		return anomaly
	}
	return title + " (" + anomaly + ")"
}

func appendText(dst []byte, f *finding.Finding, color bool, verdict Verdict, sentence string, of Numbers) []byte {
	paint := painter(color)
	b := bytes.NewBuffer(dst)
	fmt.Fprintf(b, "%s  %s", paint(verdict, strings.ToUpper(string(verdict))), paint("", Visible(f.Title)))
	if f.Anomaly != f.Title {
		fmt.Fprintf(b, " (%s)", Visible(f.Anomaly))
	}
	fmt.Fprintf(b, "  %s  finding %s", sourceOf(f), Visible(f.ID))
	if f.Revision > 0 {
		fmt.Fprintf(b, " revision %d", f.Revision)
	}
	b.WriteByte('\n')
	line := func(text string) {
		if text != "" {
			fmt.Fprintf(b, "  %s\n", text)
		}
	}
	line(Visible(f.Headline))
	line(Visible(f.Meaning))
	for text := range strings.SplitSeq(Advice(f), "\n") {
		line(Visible(text))
	}
	line(Visible(sentence))
	if f.AtLeast {
		line("At least: the search for a worse anomaly stopped at its limit.")
	}
	if f.Count > 1 {
		line(Merged(f))
	}
	line(Visible(Cycle(f)))
	for text := range strings.SplitSeq(Proof(f), "\n") {
		line(Visible(text))
	}
	for i := range f.During {
		line(Visible(During(&f.During[i])))
	}
	if f.PageURL != "" {
		line("Page: " + Visible(f.PageURL))
	}
	if f.Command != "" {
		line("Replay: " + Visible(f.Command))
	}
	if f.FirstPosition != "" {
		line("From " + Visible(Place(f.FirstPosition, of)) + " to " + Visible(Place(f.LastPosition, of)))
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func sourceOf(f *finding.Finding) string {
	if f.Epoch == "" {
		return Visible(f.Source)
	}
	return Visible(f.Source) + "/" + Visible(f.Epoch)
}

// painter sets a verdict, or "" for bold, in colour.
func painter(color bool) func(Verdict, string) string {
	if !color {
		return func(_ Verdict, text string) string { return text }
	}
	codes := map[Verdict]string{
		Violated: "1;31", Uncertain: "1;33", Waiting: "1;33", Undecided: "1;33", Lost: "1;35", Malformed: "1;35", Weaker: "1;33",
		Allowed: "1;34", Cleared: "1;32", "": "1",
	}
	return func(v Verdict, text string) string { return "\x1b[" + codes[v] + "m" + text + "\x1b[0m" }
}

// Visible is text with control and formatting characters, and bytes that are
// not UTF-8, written out.
func Visible(text string) string { return finding.Visible(text) }
