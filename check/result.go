package check

import (
	"fmt"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/words"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// Verdict is the answer on one level.
type Verdict string

const (
	// OK: the history satisfies the level.
	OK Verdict = window.OK
	// Violated: it does not, and the findings prove it.
	Violated Verdict = window.Violated
	// Unknown: no violation was found, and the records do not show that there is none.
	Unknown Verdict = window.Unknown
)

// Level is a level with its verdict.
type Level struct {
	Name    string
	Verdict Verdict
	Reason  string // why it is Unknown; "" otherwise
}

// BadRecord is a record that could not be decoded.
type BadRecord struct{ Position, Reason string }

// Result is the answer on one history.
type Result struct {
	Transactions int64   // distinct ones
	Levels       []Level // that were judged, weak ones first
	// Findings are the faults, in the order in which they were found. With [Text] each reads
	// like a proof. Those with Expected are allowed by every level that was asked for.
	Findings []finding.Finding
	Bad      []BadRecord

	report *whole.Report
}

func resultOf(r *whole.Report, bad []BadRecord) *Result {
	result := &Result{Transactions: r.Transactions, Findings: r.Findings, Bad: bad, report: r}
	for _, l := range isolation.AllLevels() {
		if v, judged := r.Verdicts[l.String()]; judged {
			result.Levels = append(result.Levels, Level{l.String(), Verdict(v), r.Reasons[l.String()]})
		}
	}
	return result
}

// Verdict is that on the level of [Expect], or else the gravest: Violated, then Unknown, then OK.
func (r *Result) Verdict() Verdict { return Verdict(r.report.Outcome()) }

// Of is the verdict on one level by name, "" if it was not judged.
func (r *Result) Of(level string) Verdict { return Verdict(r.report.Verdicts[level]) }

// maxShown findings are in the text of a result.
const maxShown = 20

// String is the result for people: the verdicts, and the first 20 findings.
func (r *Result) String() string {
	text := append(whole.AppendVerdicts(nil, r.report, false), '\n')
	for _, b := range r.Bad[:min(len(r.Bad), maxShown)] {
		text = fmt.Appendf(text, "bad record at %s: %s\n", words.Visible(b.Position), words.Visible(b.Reason))
	}
	var advised words.Advised
	for i := range r.Findings[:min(len(r.Findings), maxShown)] {
		text = words.AppendAsked(text, advised.Once(&r.Findings[i]), false, r.report.Numbers)
	}
	if more := len(r.Findings) - maxShown; more > 0 {
		text = append(text, whole.Plural(int64(more), "more finding", "more findings")+"\n"...)
	}
	return string(text)
}

// Text is a finding for people: what is wrong, what it refutes, and the operations that
// contradict each other. It ends with an empty line.
func Text(f *finding.Finding) string { return string(words.AppendAsked(nil, f, false, words.Lines)) }
