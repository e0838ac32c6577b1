package window

import (
	"strings"

	"github.com/isowatch/isowatch/internal/isolation"
)

// reasonKind says where a reason for "unknown" comes from.
type reasonKind uint8

const (
	ofRecords  reasonKind = iota // what came, or which part of it was lost
	ofContract                   // what the operator declared
	ofReads                      // reads that are not decided: openCauses says which of them the contract leaves open
	reasonKinds
)

// reasons are why a level is unknown.
type reasons struct {
	texts []string
	kinds [reasonKinds]int // how many there are of each cause
}

func (r *reasons) add(kind reasonKind, text string) {
	r.texts = append(r.texts, text)
	r.kinds[kind]++
}

func (r *reasons) String() string { return strings.Join(r.texts, "; ") }

// OpenByContract says of a level that is unknown whether only the contract leaves it open. No violation
// was found then, and nothing was lost. The writer of each read without a known writer may be one that
// nobody had to record.
func (m *Machine) OpenByContract(l isolation.Level) bool {
	verdict, why := m.verdictOf(l, m.reports.refutedSurely, nil)
	return !refuted(m.reports.verdicts.certain, l) && m.asking.asksFor(l, m.asking.askedFor) && m.openByContract(l, verdict, &why)
}

func (m *Machine) openByContract(l isolation.Level, verdict string, why *reasons) bool {
	if verdict != Unknown || why.kinds[ofRecords] > 0 {
		return false
	}
	if why.kinds[ofReads] == 0 {
		return why.kinds[ofContract] > 0
	}
	reads, any := m.infer.Reads(), false
	for _, c := range m.openCauses() {
		if c.count(l, &reads) == 0 {
			continue
		}
		if any = true; !c.contract {
			return false
		}
	}
	return any
}
