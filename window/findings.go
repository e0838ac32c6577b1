package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// publish gives a new finding its identity and hands it out. An open finding of the same
// transactions that says as much takes it in. publish returns the open finding that tells it,
// nil if none does.
func (h *finder) publish(f *openFinding, name isolation.Name, w *finding.Witness) *openFinding {
	if n := h.unproven(f.members); n != 0 && name.Kind == finding.KindViolation {
		h.reports.noteUnproven(n, f.Finding.Certain)
		return nil
	}
	f.weakest, f.severity = name.Weakest, name.Severity
	f.Finding.Source = h.cfg.Source
	f.Finding.Epoch = w.Txns[0].Epoch
	f.Finding.State = finding.Provisional
	h.fill(f, name, w)
	f.shares = shares(w, &f.Finding)
	h.rest(f, w)
	h.reports.boundUnshown(f)
	if f.untold == nil {
		h.setHistory(f, w)
	}
	counter := ""
	if w.Anomaly == infer.OutOfBounds || w.Anomaly == infer.WrongTotal {
		counter = w.Key
	}
	id := identified{members: isolation.Members(w), refutes: isolation.LevelNames(isolation.InChain(name.Weakest)), about: counter}
	if len(w.Edges) == 0 {
		id.anomaly = f.Finding.Anomaly
	}
	f.Finding.ID = h.identity(&f.Finding, id)
	if old := h.reports.open.of(f); old != nil {
		surer := len(f.lacked) == 0 && len(old.lacked) > 0 && covers(f.weakest, old.weakest)
		if !old.upgraded && (surer || old.lessThan(f) && (len(f.lacked) == 0 || len(old.lacked) > 0)) {
			old.setAside, old.versions = append(old.setAside, f.setAside...), append(old.versions, f.versions...)
			h.show(old, f.shown)
			old.untold = f.untold
			h.reports.upgrade(old, name, w, f.members, isolation.Cycle{Edges: f.edges, AtLeast: f.Finding.AtLeast})
		} else {
			if len(f.lacked) == 0 || len(old.lacked) > 0 {
				h.reports.refutesMore(old, f.weakest)
			}
			h.merge(old, f)
		}
		h.unshow(f)
		return old
	}
	if h.reports.open.said(f) {
		h.unshow(f)
		return nil
	}
	f.Finding.Revision = h.reports.open.revisions[f.Finding.ID] + 1
	h.clock.locate(&f.Finding, f.members)
	for _, n := range f.members {
		h.infer.Keep(n)
	}
	h.prove(f)
	h.leaveUntold(f, name, w)
	h.reports.open.add(f)
	h.reports.tally(f, +1)
	h.reports.emit(f)
	if !h.closed && !slices.ContainsFunc(f.members, func(n uint32) bool { return h.infer.Pending(n) }) {
		h.settleUnlessAccusing(f) // no record will come that settles it
	}
	return f
}

// merge adds a second cycle of the same members to the finding they have, which says all
// that it does.
func (h *finder) merge(old, f *openFinding) {
	old.setAside = append(old.setAside, f.setAside...)
	old.values = append(old.values, f.values...)
	old.edges = append(old.edges, f.edges...) // the merged finding rests on the edges of both
	old.versions = append(old.versions, f.versions...)
	h.show(old, f.shown)
	h.prove(old)
	old.due, old.sooner = max(old.due, f.due), max(old.sooner, f.sooner)
	old.solid = old.solid && f.solid
	if len(old.lacked) > 0 {
		old.lacked = append(old.lacked, f.lacked...)
	}
	if len(old.mayLack) > 0 {
		old.mayLack = append(old.mayLack, f.mayLack...)
	}
}

// refutesMore adds to f the levels that another witness of it refutes, and f does not.
func (s *reports) refutesMore(f *openFinding, weakest []isolation.Level) {
	more := slices.DeleteFunc(slices.Clone(weakest), func(l isolation.Level) bool { return l.Refuted(f.weakest) })
	if len(more) == 0 || !slices.Equal(isolation.InChain(append(slices.Clone(f.weakest), more...)), isolation.InChain(f.weakest)) {
		return // the witness stands in f's place, or says of the chain what f says
	}
	s.tally(f, -1)
	f.weakest = append(slices.DeleteFunc(slices.Clone(f.weakest), func(l isolation.Level) bool { return l.Refuted(more) }), more...)
	isolation.SetRefuted(&f.Finding, f.weakest, s.cfg.Expect)
	f.Finding.Revision++
	s.tally(f, +1)
	s.emit(f)
}

// covers says whether each of the levels falls with one of by.
func covers(by, levels []isolation.Level) bool {
	return !slices.ContainsFunc(levels, func(l isolation.Level) bool { return !l.Refuted(by) })
}

// lessThan says whether g, of the same members, may take f's place. The other finding must refute all
// levels that f refutes. And it must be of a worse class. Or it is another anomaly of the class that
// refutes a weaker level too, as a fractured read does beside a lost update. Two cycles of one anomaly
// stay two findings if one refutes more: their order depends on the watched levels. The acts of one
// transaction by itself do not depend on them.
func (f *openFinding) lessThan(g *openFinding) bool {
	if g.severity > f.severity || !covers(g.weakest, f.weakest) {
		return false
	}
	return g.severity < f.severity ||
		!covers(f.weakest, g.weakest) && (g.Finding.Anomaly != f.Finding.Anomaly || len(g.Finding.Edges) == 0)
}

// upgrade replaces what is said of f by a worse cycle, once.
func (s *reports) upgrade(f *openFinding, name isolation.Name, w *finding.Witness, members []uint32, c isolation.Cycle) {
	s.tally(f, -1)
	all := slices.Clone(f.members) // what the first witness refuted rests on its own still
	for _, n := range members {
		if !slices.Contains(all, n) {
			s.infer.Keep(n)
			all = append(all, n)
		}
	}
	s.open.move(f, all)
	f.members, f.edges = all, append(slices.Clone(c.Edges), f.edges...)
	f.severity, f.upgraded = name.Severity, true
	s.prove(f)
	f.weakest = slices.Clone(name.Weakest)
	f.Finding.AtLeast = c.AtLeast
	s.fill(f, name, w)
	f.shares = shares(w, &f.Finding)
	s.rest(f, w)
	if s.leaveUntold(f, name, w); f.untold == nil {
		s.setHistory(f, w)
	}
	isolation.SetRefuted(&f.Finding, f.weakest, s.cfg.Expect)
	f.Finding.State = finding.Provisional
	f.Finding.Revision++
	s.clock.locate(&f.Finding, members)
	s.tally(f, +1)
	s.emit(f)
}

// settle makes f final and forgets it, since one of its members is about to leave
// memory.
func (h *finder) settle(f *openFinding) {
	h.conclude(f)
	h.reports.remember(f)
	h.reports.forget(f)
}

// conclude makes f final: the last chance to find a worse cycle through what it
// set aside.
func (h *finder) conclude(f *openFinding) {
	if !f.upgraded && len(f.setAside) > 0 && f.severity > 1 {
		strongest := isolation.Level{Base: isolation.Serializable, Family: f.level.Family}
		if f.level.RealTime() {
			strongest.Family = isolation.Strong
		}
		for i, a := range f.setAside {
			if !a.there(h.graph) || slices.ContainsFunc(f.setAside[:i], func(b setAsideEdge) bool { return h.heard(f, b, a) }) {
				continue
			}
			c, brief := h.worse(f, a.ID, strongest)
			f.Finding.AtLeast = f.Finding.AtLeast || brief
			k := h.witnessing(0)
			if c.Edges == nil {
				continue
			}
			if bad, err := k.unsupported(c.Edges); bad != 0 || err != nil {
				continue
			}
			x, err := k.told(h.steps(c.Edges))
			if err == nil && (x.name.Severity < f.severity || !covers(f.weakest, x.name.Weakest)) && h.unproven(x.all) == 0 {
				k.publish(c, x, a.ID, f.level)
				break
			}
		}
	}
	h.reports.decideShown(f)
	h.addSources(f)
	if f.Finding.State != finding.Final { // it is after the end of an input
		f.Finding.State = finding.Final
		h.reports.emit(f)
	}
}

// remember keeps what a final finding rests on.
func (s *reports) remember(f *openFinding) {
	s.prove(f)
	r := recentFinding{Finding: f.Finding, Weakest: isolation.LevelNames(f.weakest), Wants: f.values, Proofs: f.proofs, Shares: f.shares, Solid: f.solid}
	r.Rows, r.End = s.rowsOf(f)
	r.Unshown = f.Finding.About != nil && s.unshown(f, f.Finding.About.Key)
	r.Ended = s.endedAt(f)
	for _, n := range slices.Concat(f.members, f.shown) {
		r.IDs = append(r.IDs, s.infer.Info(n).ID)
	}
	for _, version := range f.versions {
		if v := s.infer.ValueKey(version); v != 0 {
			r.Values = append(r.Values, v)
		}
		r.Observed = s.infer.ObservedAt(r.Observed, version)
	}
	r.Values = append(r.Values, f.rests...)
	for _, id := range f.edges {
		e := asInferred(s.graph.Edge(id))
		r.Values, r.Observed = s.infer.RestsOn(r.Values, e), s.infer.Observed(r.Observed, e)
	}
	s.open.recent = append(s.open.recent, r)
	if k := len(s.open.recent); k >= 2*maxRecent {
		s.open.recent = slices.Clone(s.open.recent[k-maxRecent:])
	}
}

// maxAccusations bounds the findings that stay open behind the window because the
// writer that they want may still come.
const maxAccusations = 1024

// settleUnlessAccusing makes f final, unless a record can still supply what it
// says is missing.
func (h *finder) settleUnlessAccusing(f *openFinding) {
	if len(f.values) == 0 {
		h.settle(f)
		return
	}
	if f.waiting {
		return
	}
	f.waiting = true
	h.reports.open.accusing = append(h.reports.open.accusing, f)
	if len(h.reports.open.accusing) > maxAccusations {
		old := h.reports.open.accusing[0]
		h.reports.open.accusing = append(h.reports.open.accusing[:0], h.reports.open.accusing[1:]...)
		if !old.closed {
			h.settle(old)
		}
	}
}

func (s *reports) forget(f *openFinding) {
	s.open.close(f)
	for _, n := range f.members {
		s.infer.LetGo(n)
	}
	s.unshow(f)
}

// finalise makes all open findings final. Those that a further input can still
// speak against stay open.
func (h *finder) finalise() {
	for _, f := range slices.Clone(h.reports.open.list) {
		if f.closed {
			continue
		}
		h.conclude(f)
		if !slices.ContainsFunc(f.members, func(n uint32) bool { return h.infer.Pending(n) }) {
			h.settleUnlessAccusing(f)
		}
	}
	h.flushHorizon()
}
