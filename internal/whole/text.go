package whole

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/words"
	"github.com/isowatch/isowatch/window"
)

// maxNotes are printed of a file.
const maxNotes = 5

// maxShown findings are printed of a file; all are counted.
const maxShown = 20

// AppendReport appends the answer on a file for people: the verdicts, then what they
// rest on, with likely causes and what to do.
func AppendReport(dst []byte, r *Report, color bool) []byte {
	var advised words.Advised
	return appendReport(dst, r, color, advised.Once)
}

// AppendProofs is AppendReport without causes and what to do, for an answer that explains its first
// finding at the end.
func AppendProofs(dst []byte, r *Report, color bool) []byte { return appendReport(dst, r, color, Bare) }

// Bare is the finding with its headline and its proof, and nothing that explains it.
func Bare(f *finding.Finding) *finding.Finding {
	bare := *f
	bare.Meaning, bare.Causes, bare.Next = "", nil, nil
	return &bare
}

func appendReport(dst []byte, r *Report, color bool, shown func(*finding.Finding) *finding.Finding) []byte {
	dst = append(AppendVerdicts(dst, r, color), '\n')
	for i := range r.Findings[:min(len(r.Findings), maxShown)] {
		dst = words.AppendAsked(dst, shown(&r.Findings[i]), color, r.Numbers)
	}
	if more := len(r.Findings) - maxShown; more > 0 {
		dst = fmt.Appendf(dst, "%s: see them with --output jsonl\n\n", Plural(int64(more), "more finding", "more findings"))
	}
	return dst
}

// AppendVerdicts appends the verdicts, the weakest level first.
func AppendVerdicts(dst []byte, r *Report, color bool) []byte {
	dst = fmt.Appendf(dst, "%s: %s, %s\n", finding.Visible(r.File), Plural(r.Transactions, "transaction", "transactions"), Plural(r.Counters.Operations, "operation", "operations"))
	width := 0
	for level := range r.Verdicts {
		width = max(width, len(level))
	}
	for _, l := range isolation.AllLevels() { // weak ones first
		verdict, asked := r.Verdicts[l.String()]
		if !asked {
			continue
		}
		dst = fmt.Appendf(dst, "  %-*s  %s\n", width, l, verdictText(verdict, r.Share(l.String()), r.Reasons[l.String()], color))
		if verdict == window.Unknown {
			dst = appendWhy(dst, r.Why[l.String()])
		}
	}
	for _, note := range r.Notes[:min(len(r.Notes), maxNotes)] {
		dst = fmt.Appendf(dst, "  note: %s\n", finding.Visible(note))
	}
	if more := len(r.Notes) - maxNotes; more > 0 {
		dst = fmt.Appendf(dst, "  %s: see --output jsonl\n", Plural(int64(more), "more note", "more notes"))
	}
	return dst
}

func verdictText(verdict, share, reason string, color bool) string {
	text := strings.ToUpper(verdict)
	code := "1;31"
	switch verdict {
	case window.OK:
		text, code = "ok", "1;32"
	case window.Unknown:
		text, code = "unknown", "1;33"
	}
	if color {
		text = "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	if verdict == window.Unknown {
		text += ": no violation found"
		if share != "" {
			text += ": " + share + " of reads decided"
		}
		text += ", but " + reason
	}
	return text
}

// appendWhy are the causes for which reads are not decided, the heaviest first.
func appendWhy(dst []byte, why []window.Why) []byte {
	for _, w := range why {
		dst = fmt.Appendf(dst, "    not decided: %s: %s\n", Plural(w.Reads, "read", "reads"), w.Text)
	}
	return dst
}
