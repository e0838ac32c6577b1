package app

import (
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// Report is the answer on one source.
type Report = whole.Report

// SourceReports say what was found of each source of s, as [whole.Report] does of a file, on
// the levels that levels names for it. Without a source there is one, called name.
func SourceReports(s *engine.Status, name string, levels func(source string) []isolation.Level) []Report {
	list := s.Sources
	if len(list) == 0 {
		list = []*engine.SourceStatus{{Source: name}}
	}
	var reports []Report
	for i := range list {
		x := list[i]
		r := Report{File: x.Source, Verdicts: map[string]string{}, Reasons: map[string]string{}}
		r.Counters.Add(x.Counters)
		r.Counters.DeadLetters = s.DeadLetters
		r.Transactions = r.Counters.Committed + r.Counters.Aborted + r.Counters.Unknown
		for _, l := range levels(x.Source) {
			v, known := x.Verdicts[l.String()]
			if len(s.Sources) == 0 && s.DeadLetters > 0 {
				v, known = engine.Verdict{Verdict: window.Unknown, Reason: whole.Plural(s.DeadLetters, "bad record", "bad records")}, true
			}
			if !known {
				continue // the records cannot decide it
			}
			r.Verdicts[l.String()] = v.Verdict
			r.Decide(l.String(), v.Decided)
			if v.Verdict == window.Unknown {
				r.Reasons[l.String()] = v.Reason
			}
		}
		r.NoteRepeating("", x.Repeating, nil)
		reports = append(reports, r)
	}
	return reports
}

// Outcome is the gravest verdict on the levels over all sources of s, each with those
// that levels names. Without a source it is "ok" when nothing came, and "unknown" when
// nothing of what came could be taken in.
func Outcome(s *engine.Status, levels func(source string) []isolation.Level) string {
	outcome := window.OK
	if len(s.Sources) == 0 && s.DeadLetters > 0 {
		return window.Unknown
	}
	for i := range s.Sources {
		for _, l := range levels(s.Sources[i].Source) {
			outcome = whole.Worse(outcome, s.Sources[i].Verdicts[l.String()].Verdict)
		}
	}
	return outcome
}
