package alert

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/isowatch/isowatch/finding"
)

// Text writes findings for people on a terminal.
type Text struct {
	w     io.Writer
	color bool
}

// NewText writes to w, with ANSI colours if asked; words say what colours say.
func NewText(w io.Writer, color bool) *Text { return &Text{w, color} }

// Name is "text".
func (t *Text) Name() string { return "text" }

// Deliver writes the findings in one write.
func (t *Text) Deliver(_ context.Context, findings []Delivery) error {
	var out []byte
	for i := range findings {
		out = AppendText(out, &findings[i].Finding, t.color)
	}
	_, err := t.w.Write(out)
	return err
}

// AppendText appends the finding in its human form, closed by an empty line:
// verdict and name, what it refutes, the cycle, the explanation. Texts that
// came with the events cannot steer the terminal: control characters are shown
// as \xNN.
func AppendText(dst []byte, f *finding.Finding, color bool) []byte {
	verdict, sentence := VerdictOf(f)
	return appendText(dst, f, color, verdict, sentence)
}

// AppendAsked is AppendText in an answer on levels that were asked for: none of them is
// the expected one.
func AppendAsked(dst []byte, f *finding.Finding, color bool) []byte {
	verdict, sentence := VerdictOf(f)
	if verdict == Allowed {
		sentence = "Allowed by the levels asked for. " + refutes(f)
	}
	return appendText(dst, f, color, verdict, sentence)
}

func appendText(dst []byte, f *finding.Finding, color bool, verdict Verdict, sentence string) []byte {
	paint := painter(color)
	b := bytes.NewBuffer(dst)
	fmt.Fprintf(b, "%s  %s", paint(verdict, strings.ToUpper(string(verdict))), paint("", visible(f.Title)))
	if f.Anomaly != f.Title {
		fmt.Fprintf(b, " (%s)", visible(f.Anomaly))
	}
	fmt.Fprintf(b, "  %s  finding %s", sourceOf(f), visible(f.ID))
	if f.Revision > 0 {
		fmt.Fprintf(b, " revision %d", f.Revision)
	}
	b.WriteByte('\n')
	line := func(text string) {
		if text != "" {
			fmt.Fprintf(b, "  %s\n", text)
		}
	}
	line(visible(sentence))
	if f.AtLeast {
		line("At least: the search for a worse cycle ran out of budget.")
	}
	if f.Count > 1 {
		line(fmt.Sprintf("It stands for %d findings that share its dependencies.", f.Count))
	}
	line(visible(Cycle(f)))
	for text := range strings.SplitSeq(Proof(f), "\n") {
		line(visible(text))
	}
	for i := range f.During {
		line(visible(During(&f.During[i])))
	}
	if f.Command != "" {
		line("Replay: " + visible(f.Command))
	}
	if f.FirstPosition != "" {
		line("From " + visible(f.FirstPosition) + " to " + visible(f.LastPosition))
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func sourceOf(f *finding.Finding) string {
	if f.Epoch == "" {
		return visible(f.Source)
	}
	return visible(f.Source) + "/" + visible(f.Epoch)
}

// painter sets a verdict, or "" for bold, in colour.
func painter(color bool) func(Verdict, string) string {
	if !color {
		return func(_ Verdict, text string) string { return text }
	}
	codes := map[Verdict]string{
		Violated: "1;31", Uncertain: "1;33", Undecided: "1;33", Lost: "1;35", Malformed: "1;35", Weaker: "1;33",
		Allowed: "1;34", Cleared: "1;32", "": "1",
	}
	return func(v Verdict, text string) string { return "\x1b[" + codes[v] + "m" + text + "\x1b[0m" }
}

// visible is text with control and formatting characters, and bytes that are
// not UTF-8, written out.
func visible(text string) string {
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && text[i] != 0xef:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden: category C (control, format as the bidirectional marks, surrogates)
// and the line separators.
func hidden(r rune) bool {
	return unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}
