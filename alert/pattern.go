package alert

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// Pattern names the findings that one bug makes by source, anomaly, and the names of
// the transactions (Zellag and Kemme, VLDB J. 2014, group anomalies by
// the business methods involved).
type Pattern struct {
	Source  string   `json:"source"`
	Anomaly string   `json:"anomaly"`
	Names   []string `json:"names"` // sorted, each once; none where no transaction has a name
}

// maxNames bounds the names of a pattern: a cycle may be long.
const maxNames = 20

// PatternOf is the finding's pattern. A finding that a replay has confirmed has a
// pattern of its own: it is no longer undecided.
func PatternOf(f *finding.Finding) Pattern {
	p := Pattern{Source: f.Source, Anomaly: f.Anomaly, Names: []string{}}
	if confirmed(f) {
		p.Anomaly = string(f.State)
	}
	for _, txn := range f.Txns {
		if name := f.Names[txn]; name != "" {
			p.Names = append(p.Names, name)
		}
	}
	slices.Sort(p.Names)
	p.Names = slices.Compact(p.Names)
	p.Names = p.Names[:min(len(p.Names), maxNames)]
	return p
}

// Key tells patterns apart: 16 hex digits.
func (p Pattern) Key() string {
	h := sha256.New()
	for _, text := range append([]string{p.Source, p.Anomaly}, p.Names...) {
		h.Write([]byte(text)) // a hash takes everything
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// String is for people.
func (p Pattern) String() string {
	if len(p.Names) == 0 {
		return p.Anomaly
	}
	return p.Anomaly + " of " + strings.Join(p.Names, ", ")
}

// takenBack says whether f says that there was no violation.
func takenBack(f *finding.Finding) bool {
	return f.State == finding.Withdrawn || f.State == finding.ResolvedOK
}

// confirmed says whether f was undecided, and a replay has shown that it is a violation.
func confirmed(f *finding.Finding) bool { return f.State == finding.ResolvedViolated }

// follows says whether f may be about a finding that was delivered before: the first
// revision is 1.
func follows(f *finding.Finding) bool {
	return f.Revision > 1 || f.State == finding.Withdrawn || f.State == finding.ResolvedOK || f.State == finding.ResolvedViolated
}
