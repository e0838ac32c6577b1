package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// Verdict says in one word how grave a finding is to the reader. Colours and icons
// follow from it.
type Verdict string

const (
	Violated  Verdict = "violated"  // the database broke its promise
	Allowed   Verdict = "allowed"   // an anomaly that the expected level permits
	Uncertain Verdict = "uncertain" // violated, unless a record was not captured
	Waiting   Verdict = "waiting"   // a record on its way could take it back: it is not sent yet
	Undecided Verdict = "undecided" // a horizon finding that waits for its replay, or a read that names no writer
	Lost      Verdict = "lost"      // input is missing
	Malformed Verdict = "malformed" // records contradict each other
	Weaker    Verdict = "weaker"    // transactions ask for less than is expected
	Cleared   Verdict = "cleared"   // withdrawn, replayed without a violation, or over
)

// unattributed is the name of reads of values that no record wrote.
const unattributed = "unattributed-read"

// withdrawn says why a finding was withdrawn.
func withdrawn(by string) string {
	switch by {
	case finding.LateRecord:
		return "Withdrawn: a record that came after the lateness explains it."
	case finding.LateOutcome:
		return "Withdrawn: the outcome of a transaction came late, and explains it."
	case finding.Repetition:
		return "Withdrawn: a value was written a second time. So it does not say which transaction wrote what was read."
	}
	return "Withdrawn: a later record explains it."
}

// VerdictOf is the verdict on f and a sentence that says it.
func VerdictOf(f *finding.Finding) (Verdict, string) {
	weaker := f.Anomaly == finding.WeakerThanExpected
	switch f.State {
	case finding.Waiting:
		return Waiting, "Waiting: a record that is still on its way could explain it, so it is not sent yet. " + refutes(f)
	case finding.Withdrawn:
		return Cleared, withdrawn(f.WithdrawnBy)
	case finding.ResolvedOK:
		if weaker {
			return Cleared, "Over: for an hour, no transaction has asked for less than expected."
		}
		if f.Kind == finding.KindGap {
			return Cleared, "Over: for an hour, no record was missing. The lost ones stay unchecked."
		}
		if f.Kind == finding.KindRecord {
			return Cleared, "Over: for an hour, no record has contradicted another."
		}
		return Cleared, "Cleared: the replay found no violation of the expected level."
	case finding.ResolvedViolated:
		return Violated, "Violated: the replay confirmed it. " + refutes(f)
	}
	switch f.Kind {
	case finding.KindHorizon:
		return Undecided, "Undecided: a transaction depends on one that has left the window. A replay decides it."
	case finding.KindGap:
		return Lost, "Input is lost: the lost transactions were not checked."
	case finding.KindRecord:
		if weaker {
			return Weaker, "Transactions ask for a weaker level than expected: anomalies that it allows give no finding and no alert."
		}
		if f.Anomaly == unattributed {
			return Undecided, "No record wrote a value that was read. This is not a violation, but the read cannot be checked."
		}
		return Malformed, "A record contradicts another, or itself: capture is at fault, not the database."
	}
	switch {
	case f.Expected:
		return Allowed, "Allowed by the expected level. " + refutes(f)
	case !f.Certain:
		return Uncertain, "Uncertain: a transaction without a record could explain it. " + refutes(f)
	}
	return Violated, refutes(f)
}

func refutes(f *finding.Finding) string {
	if len(f.Refutes) == 0 {
		return ""
	}
	text, with := "Refutes "+strings.Join(f.Refutes, " and "), ", and with it "
	if len(f.Refutes) > 1 {
		with = ", and with them "
	}
	switch n := len(f.AlsoRefutes); n {
	case 0:
		return text + "."
	case 1:
		return text + with + f.AlsoRefutes[0] + "."
	default:
		return text + fmt.Sprintf("%s%d stronger levels.", with, n)
	}
}

// Proof is the explanation without its headline, which repeats name and levels:
// from "Let:" on where it has that form, otherwise all of it.
func Proof(f *finding.Finding) string {
	if _, proof, ok := strings.Cut(f.Explanation, "\n\nLet:\n"); ok {
		return "Let:\n" + strings.TrimRight(proof, "\n")
	}
	return strings.TrimRight(f.Explanation, "\n")
}

// Cycle is the cycle on one line: T1 -rw x-> T2 -wr y-> T1. It is empty for a
// finding without edges.
func Cycle(f *finding.Finding) string {
	if len(f.Edges) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(ShortName(f, f.Edges[0].From))
	for i, e := range f.Edges {
		if i > 0 && e.From != f.Edges[i-1].To {
			b.WriteString("; " + ShortName(f, e.From))
		}
		b.WriteString(" -" + EdgeLabel(e) + "-> " + ShortName(f, e.To))
	}
	return b.String()
}

// ShortName is the transaction's name in the explanation: its id, or T1, T2 and
// so on where one of the ids is longer than 20 bytes.
func ShortName(f *finding.Finding, id string) string {
	at := slices.Index(f.Txns, id)
	if at < 0 || !slices.ContainsFunc(f.Txns, func(id string) bool { return len(id) > 20 }) {
		return id
	}
	return fmt.Sprintf("T%d", at+1)
}

// EdgeLabel is an edge's type and key: rw x, or rw(derived) x of one that follows from others.
func EdgeLabel(e finding.Edge) string {
	label := e.Type
	if e.Derived {
		label += "(derived)"
	}
	if e.Key == "" {
		return label
	}
	return label + " " + finding.OneWord(e.Key)
}

// During says of a mark in one line when it was, and what is told of it.
func During(m *finding.Mark) string {
	line := "During " + m.Name + ", " + m.Start
	if m.End == "" {
		line += ", which had not ended"
	} else {
		line += " to " + m.End
	}
	if m.Text != "" {
		line += ": " + m.Text
	}
	return line
}
