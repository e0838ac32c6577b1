package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
)

// publish gives a new finding its identity and hands it out. An open finding of the same
// transactions that says as much takes it in.
func (m *Machine) publish(f *openFinding, name isolation.Name, w *finding.Witness) {
	if n := m.unproven(f.members); n != 0 && name.Kind == finding.KindViolation {
		m.note("outcome", doubt, m.noted(n))
		return
	}
	f.weakest, f.severity = name.Weakest, name.Severity
	f.Finding.Source = m.cfg.Source
	f.Finding.Epoch = w.Txns[0].Epoch
	f.Finding.State = finding.Provisional
	name.Fill(&f.Finding, w, m.cfg.Expect)
	f.shares = shares(w, f.Finding.Anomaly)
	m.rest(f, w)
	isolation.SetHistory(&f.Finding, m.restingOn(f, w))
	counter := ""
	if w.Anomaly == infer.OutOfBounds || w.Anomaly == infer.WrongTotal {
		counter = w.Key
	}
	id := identified{members: isolation.Members(w), refutes: f.Finding.Refutes, about: counter}
	if len(w.Edges) == 0 {
		id.anomaly = f.Finding.Anomaly
	}
	f.Finding.ID = m.identity(&f.Finding, id)
	if old := m.open.of(f); old != nil {
		if !old.upgraded && old.lessThan(f) {
			old.asides, old.versions = append(old.asides, f.asides...), append(old.versions, f.versions...)
			m.show(old, f.shown)
			m.upgrade(old, name, w, f.members, isolation.Cycle{Edges: f.edges, AtLeast: f.Finding.AtLeast})
		} else {
			m.merge(old, f)
		}
		m.unshow(f)
		return
	}
	if m.open.said(f) {
		m.unshow(f)
		return
	}
	f.Finding.Revision = m.open.revisions[f.Finding.ID] + 1
	m.locate(&f.Finding, f.members)
	for _, n := range f.members {
		m.infer.Keep(n)
	}
	m.prove(f)
	m.open.add(f)
	m.tally(f, +1)
	m.emit(f)
	if !m.closed && !slices.ContainsFunc(f.members, func(n uint32) bool { return m.infer.Pending(n) }) {
		m.settleUnlessAccusing(f) // nothing will come that settles it
	}
}

// merge adds a second cycle of the same members to the finding they have, which says all
// that it does.
func (m *Machine) merge(old, f *openFinding) {
	old.asides = append(old.asides, f.asides...)
	old.values = append(old.values, f.values...)
	old.edges = append(old.edges, f.edges...) // what either rests on, both rest on
	old.versions = append(old.versions, f.versions...)
	m.show(old, f.shown)
	m.prove(old)
	old.due, old.sooner = max(old.due, f.due), max(old.sooner, f.sooner)
}

// covers says whether each of these levels falls with those.
func covers(by, levels []isolation.Level) bool {
	return !slices.ContainsFunc(levels, func(l isolation.Level) bool { return !l.Refuted(by) })
}

// lessThan says whether g, of the same members, may take f's place. It says all that f does of
// levels; and it is of a worse class, or of another anomaly of the class and refutes a weaker
// level too, as a fractured read does beside a lost update. Two cycles of one anomaly of which one
// refutes more stay two findings: which comes first hangs on the levels that are
// watched. What one transaction did by itself does not hang on them.
func (f *openFinding) lessThan(g *openFinding) bool {
	if g.severity > f.severity || !covers(g.weakest, f.weakest) {
		return false
	}
	return g.severity < f.severity ||
		!covers(f.weakest, g.weakest) && (g.Finding.Anomaly != f.Finding.Anomaly || len(g.Finding.Edges) == 0)
}

// upgrade replaces what is said of f by a worse cycle, once.
func (m *Machine) upgrade(f *openFinding, name isolation.Name, w *finding.Witness, members []uint32, c isolation.Cycle) {
	m.tally(f, -1)
	all := slices.Clone(f.members) // what the first witness refuted rests on its own still
	for _, n := range members {
		if !slices.Contains(all, n) {
			m.infer.Keep(n)
			all = append(all, n)
		}
	}
	m.open.move(f, all)
	f.members, f.edges = all, append(slices.Clone(c.Edges), f.edges...)
	f.severity, f.upgraded = name.Severity, true
	m.prove(f)
	f.weakest = slices.Clone(name.Weakest)
	f.Finding.AtLeast = c.AtLeast
	name.Fill(&f.Finding, w, m.cfg.Expect)
	f.shares = shares(w, f.Finding.Anomaly)
	m.rest(f, w)
	isolation.SetHistory(&f.Finding, m.restingOn(f, w))
	isolation.SetRefuted(&f.Finding, f.weakest, m.cfg.Expect)
	f.Finding.State = finding.Provisional
	f.Finding.Revision++
	m.locate(&f.Finding, members)
	m.tally(f, +1)
	m.emit(f)
}

// settle makes f final and forgets it, since one of its members is about to leave
// memory.
func (m *Machine) settle(f *openFinding) {
	m.conclude(f)
	m.remember(f)
	m.forget(f)
}

// conclude makes f final: the last chance to find a worse cycle through what it
// set aside.
func (m *Machine) conclude(f *openFinding) {
	if !f.upgraded && len(f.asides) > 0 && f.severity > 1 {
		strongest := isolation.Level{Base: isolation.Serializable, Family: f.level.Family}
		if f.level.RealTime() {
			strongest.Family = isolation.Strong
		}
		for _, a := range f.asides {
			if !a.there(m.graph) {
				continue
			}
			c := m.searcher.Worst(m.graph, a.ID, strongest, nil)
			if c.Edges == nil || m.unforced(c.Edges) != 0 {
				continue
			}
			steps, w, all, name, err := m.told(m.steps(c.Edges))
			if err == nil && (name.Severity < f.severity || !covers(f.weakest, name.Weakest)) && m.unproven(all) == 0 {
				m.publishCycle(c, steps, &w, all, name, a.ID, f.level)
				break
			}
		}
	}
	if f.Finding.State != finding.Final { // it is after the end of an input
		f.Finding.State = finding.Final
		m.emit(f)
	}
}

// remember keeps what a final finding rests on.
func (m *Machine) remember(f *openFinding) {
	m.prove(f)
	r := recentFinding{Finding: f.Finding, Weakest: isolation.LevelNames(f.weakest), Wants: f.values, Proofs: f.proofs, Shares: f.shares}
	r.Rows, r.End = m.rowsOf(f)
	r.Ended = m.endedAt(f)
	for _, n := range slices.Concat(f.members, f.shown) {
		r.IDs = append(r.IDs, m.infer.Info(n).ID)
	}
	for _, version := range f.versions {
		if v := m.infer.ValueKey(version); v != 0 {
			r.Values = append(r.Values, v)
		}
	}
	r.Values = append(r.Values, f.rests...)
	for _, id := range f.edges {
		e := m.graph.Edge(id)
		r.Values = m.infer.RestsOn(r.Values, infer.Edge{
			From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0],
		})
	}
	m.open.recent = append(m.open.recent, r)
	if k := len(m.open.recent); k >= 2*maxRecent {
		m.open.recent = slices.Clone(m.open.recent[k-maxRecent:])
	}
}

// maxAccusations bounds the findings that stay open behind the window because the
// writer that they want may still come.
const maxAccusations = 1024

// settleUnlessAccusing makes f final, unless a record can still supply what it
// says is missing.
func (m *Machine) settleUnlessAccusing(f *openFinding) {
	if len(f.values) == 0 {
		m.settle(f)
		return
	}
	if f.waiting {
		return
	}
	f.waiting = true
	m.open.accusing = append(m.open.accusing, f)
	if len(m.open.accusing) > maxAccusations {
		old := m.open.accusing[0]
		m.open.accusing = append(m.open.accusing[:0], m.open.accusing[1:]...)
		if !old.closed {
			m.settle(old)
		}
	}
}

func (m *Machine) forget(f *openFinding) {
	m.open.close(f)
	for _, n := range f.members {
		m.infer.LetGo(n)
	}
	m.unshow(f)
}

// finalise makes all open findings final. Those that a further input can still
// speak against stay open.
func (m *Machine) finalise() {
	for _, f := range slices.Clone(m.open.list) {
		if f.closed {
			continue
		}
		m.conclude(f)
		if !slices.ContainsFunc(f.members, func(n uint32) bool { return m.infer.Pending(n) }) {
			m.settleUnlessAccusing(f)
		}
	}
	m.flushHorizon()
}
