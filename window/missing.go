package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// A record may be missing, unreadable, or in contradiction to another one. It may be of a
// delete, or of a writer. So a finding that rests on their absence is not certain beside it
// (docs/proofs.md, section 6).

const restsOnAbsence = "capture=complete" // as rest says it

// mayBeMissing says whether there may be records that this source was not given.
func (o *core) mayBeMissing() bool {
	c := &o.cfg.Contract
	return !c.Complete || c.UnmonitoredWriters || o.infer.Counters.Missing() > 0
}

// retractAbsence makes waiting findings that rest on absence uncertain once a record is known
// to be missing. A finding that has left stays as it was told, since a later loss is only known
// later. In a whole history it takes all findings, since no finding was told yet. O(findings),
// when more is missing than at the last call.
func (m *Machine) retractAbsence() {
	missing := m.infer.Counters.Missing()
	if missing == m.missing {
		return
	}
	m.missing = missing
	mayFall := func(f *finding.Finding) bool {
		return f.Certain && f.State != finding.Withdrawn && f.Kind == finding.KindViolation && slices.Contains(f.RestsOn, restsOnAbsence) &&
			(m.cfg.Unbounded || m.reports.waiting.index(f.ID) >= 0)
	}
	for _, f := range slices.Clone(m.reports.open.list) {
		if f.closed {
			continue
		}
		if mayFall(&f.Finding) && !f.byLists { // else it has to be shown now
			m.reports.makeUncertain(f)
		}
		if m.cfg.Unbounded || m.reports.waiting.index(f.Finding.ID) >= 0 {
			m.reports.mustShow(f)
		}
	}
	for i := range m.reports.open.recent {
		r := &m.reports.open.recent[i]
		if !mayFall(&r.Finding) {
			continue
		}
		weakest, err := parseAll(r.Weakest)
		if err != nil {
			continue // they were written by LevelNames
		}
		f := &openFinding{Finding: r.Finding, weakest: weakest, shares: r.Shares}
		m.reports.makeUncertain(f)
		r.Finding = f.Finding
	}
}

// makeUncertain tells f again, as uncertain.
func (s *reports) makeUncertain(f *openFinding) {
	s.tally(f, -1)
	f.Finding.Certain = false
	s.tally(f, +1)
	f.Finding.Revision++
	s.emit(f)
}
