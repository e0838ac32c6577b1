package window

import (
	"fmt"
	"slices"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
	"github.com/zeebo/xxh3"
)

// cycle reports the edge id, which the given views refused. One witness can
// speak for several views; the others get one of their own.
func (m *Machine) cycle(id incremental.EdgeID, refused incremental.Views) {
	var spokenFor []isolation.Level
	if m.knownDivergence(id) { // weaker levels allow it, and refuse the edge for another cycle
		spokenFor = []isolation.Level{{Base: isolation.SnapshotIsolation}}
	}
	for _, i := range m.weakFirst {
		level := m.views[i]
		if refused&(1<<i) == 0 || level.Refuted(spokenFor) {
			continue
		}
		c := m.searcher.Worst(m.graph, id, level, append([]incremental.EdgeID{}, m.graph.CyclePath(i)...))
		spokenFor = append(spokenFor, m.reportCycle(c, id, level)...)
	}
}

// knownDivergence says whether the edge closes the cycle of two anti-dependencies
// that is a lost update already reported, and notes it there.
func (m *Machine) knownDivergence(id incremental.EdgeID) bool {
	e := m.graph.Edge(id)
	if infer.Label(e.Labels) != infer.RW {
		return false
	}
	from, to := uint32(e.From), uint32(e.To)
	pred := m.infer.Saw(from, e.Note[0])
	if pred == 0 || m.infer.Saw(to, e.Note[0]) != pred || !m.infer.Overwrote(from, pred) || !m.infer.Overwrote(to, pred) {
		return false
	}
	for _, n := range []uint32{from, to} {
		for _, f := range m.open.by[n] {
			if !f.closed && slices.Contains(f.versions, pred) {
				f.asides = append(f.asides, asideOf(m.graph, id))
				return true
			}
		}
	}
	return false
}

// reportCycle verifies the cycle and reports it: as an upgrade when it is worse
// than the open finding whose set-aside edge it runs through, otherwise as a
// finding of its own. It returns the levels that the cycle refutes.
func (m *Machine) reportCycle(c isolation.Cycle, id incremental.EdgeID, level isolation.Level) []isolation.Level {
	if bad := m.unforced(c.Edges); bad != 0 {
		m.forced.void = append(m.forced.void, asideOf(m.graph, bad))
		if bad != id {
			m.retries = append(m.retries, asideOf(m.graph, id))
		}
		return nil
	}
	w, all := m.witness(c.Edges)
	if err := isolation.Verify(&w); err != nil {
		m.Counters.Unverified++
		m.Unverified = err
		return nil
	}
	if n := m.unproven(all); n != 0 {
		m.note("outcome", doubt, m.noted(n))
		return nil
	}
	members, shown := all[:len(w.Edges)], all[len(w.Edges):]
	rests, versions := m.restsOn(c.Edges)
	if len(rests) > 0 { // those that a past leads through are looked up like members
		members, shown = all, nil
	}
	name := m.weigh(&w)
	for _, e := range c.Edges {
		f := m.open.reporting(m.graph, e)
		if f == nil || f.upgraded || !f.lessThan(&name) {
			continue
		}
		f.asides = append(f.asides, asideOf(m.graph, id))
		f.edges, f.versions = append(f.edges, rests...), append(f.versions, versions...)
		m.show(f, shown)
		m.upgrade(f, name, &w, members, c)
		return name.Weakest
	}
	f := &openFinding{members: members, edges: append(rests, c.Edges...), versions: versions, asides: []aside{asideOf(m.graph, id)}, level: level}
	f.Finding.AtLeast = c.AtLeast
	f.Finding.Certain = true
	m.show(f, shown)
	m.publish(f, name, &w)
	return name.Weakest
}

// witness is the cycle in terms of operations: the closing edge last, so that it
// is the contradiction. all are the transactions of the witness: those on the
// cycle, one an edge, then those whose reads show an order.
func (m *Machine) witness(ids []incremental.EdgeID) (w isolation.Witness, all []uint32) {
	var es []infer.Edge
	for _, id := range append(slices.Clone(ids[1:]), ids[0]) {
		e := m.graph.Edge(id)
		es = append(es, infer.Edge{From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0], Witness: e.Note[1]})
	}
	return m.witnessOf(es)
}

// witnessOf is the cycle of these edges, with a step in real time where one does
// not begin at the end of the one before it.
func (m *Machine) witnessOf(es []infer.Edge) (w isolation.Witness, all []uint32) {
	m.given(&w)
	var steps []infer.Edge
	for i := range es {
		steps = append(steps, es[i])
		if next := es[(i+1)%len(es)].From; next != es[i].To {
			steps = append(steps, infer.Edge{From: es[i].To, To: next, Label: infer.Realtime})
		}
	}
	for i := range steps {
		all = append(all, steps[i].From)
	}
	index := func(n uint32) int {
		if i := slices.Index(all, n); i >= 0 {
			return i
		}
		all = append(all, n)
		return len(all) - 1
	}
	for i, e := range steps {
		edge := isolation.Edge{From: i, To: (i + 1) % len(steps), Label: e.Label, Shown: -1}
		if e.Version != 0 {
			edge.Key = m.infer.Key(e.Version)
			edge.Value = m.infer.Value(e.Version, &m.scratch)
		}
		if e.Witness != 0 {
			edge.Shown = index(e.Witness)
		}
		if edge.Label&infer.Reread != 0 {
			edge.Label = infer.WR
		}
		m.shownByVisits(&edge, &e, index)
		if edge.Label&infer.Forced != 0 {
			m.evidence(&edge, m.edgeAs(&e), index)
		}
		w.Edges = append(w.Edges, edge)
	}
	for _, n := range all {
		w.Txns = append(w.Txns, m.record(n))
	}
	return w, all
}

// edgeAs is a copy of the edge as the orders hold it.
func (m *Machine) edgeAs(e *infer.Edge) *incremental.Edge {
	for id := m.graph.FirstOut(incremental.Vertex(e.From)); id != 0; id = m.graph.NextOut(id) {
		x := *m.graph.Edge(id)
		if uint32(x.To) == e.To && infer.Label(x.Labels) == e.Label && x.Note == [2]uint32{e.Version, e.Witness} {
			return &x
		}
	}
	return &incremental.Edge{
		From: incremental.Vertex(e.From), To: incremental.Vertex(e.To), Labels: incremental.Labels(e.Label), Note: [2]uint32{e.Version, e.Witness},
	}
}

func (m *Machine) record(n uint32) event.Record {
	r, err := event.ReadRecord(m.infer.Record(n))
	if err != nil {
		return event.Record{ID: fmt.Sprintf("transaction %d, no longer in memory", n)}
	}
	return r
}

// publish gives a new finding its identity and hands it out. A finding of the
// same members and kind that is open takes it in.
func (m *Machine) publish(f *openFinding, name isolation.Name, w *isolation.Witness) {
	if n := m.unproven(f.members); n != 0 && name.Kind == isolation.KindViolation {
		m.note("outcome", doubt, m.noted(n))
		return
	}
	f.weakest, f.severity = name.Weakest, name.Severity
	f.Finding.Source = m.cfg.Source
	f.Finding.Epoch = w.Txns[0].Epoch
	f.Finding.State = isolation.Provisional
	name.Fill(&f.Finding, w, m.cfg.Expect)
	f.Finding.SetHistory(m.restingOn(f, w))
	f.Finding.ID = m.identity(&f.Finding, len(w.Edges) > 0)
	if old := m.open.ids[f.Finding.ID]; old != nil {
		if len(w.Edges) > 0 && f.severity < old.severity && !old.upgraded {
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
	m.verdicts.add(f, +1)
	m.panes.found(m, f.members, f.Finding.Anomaly, f.weakest)
	m.emit(f)
	if !m.closed && !slices.ContainsFunc(f.members, func(n uint32) bool { return m.infer.Pending(n) }) {
		m.settleUnlessAccusing(f) // nothing will come that settles it
	}
}

// merge adds a second cycle of the same members to the finding they have.
func (m *Machine) merge(old, f *openFinding) {
	old.asides = append(old.asides, f.asides...)
	old.values = append(old.values, f.values...)
	old.edges = append(old.edges, f.edges...) // what either rests on, both rest on
	old.versions = append(old.versions, f.versions...)
	m.show(old, f.shown)
	m.prove(old)
	changed := false
	for _, l := range f.weakest {
		if !l.Refuted(old.weakest) {
			m.verdicts.add(old, -1)
			old.weakest = append(old.weakest, l)
			m.verdicts.add(old, +1)
			changed = true
		}
	}
	if changed {
		old.Finding.SetRefuted(old.weakest, m.cfg.Expect)
		old.Finding.State = isolation.Provisional
		old.Finding.Revision++
		m.emit(old)
	}
}

// lessThan says whether what was found says less than a cycle of this name: one of a
// worse class, or of the same which refutes a weaker level, as a fractured read does
// beside a lost update.
func (f *openFinding) lessThan(name *isolation.Name) bool {
	if name.Severity != f.severity {
		return name.Severity < f.severity
	}
	all := func(by, of []isolation.Level) bool {
		return !slices.ContainsFunc(of, func(l isolation.Level) bool { return !l.Refuted(by) })
	}
	return all(name.Weakest, f.weakest) && !all(f.weakest, name.Weakest)
}

// upgrade replaces what is said of f by a worse cycle, once.
func (m *Machine) upgrade(f *openFinding, name isolation.Name, w *isolation.Witness, members []uint32, c isolation.Cycle) {
	m.verdicts.add(f, -1)
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
	old := f.weakest
	f.weakest = slices.Clone(name.Weakest)
	f.Finding.AtLeast = c.AtLeast
	name.Fill(&f.Finding, w, m.cfg.Expect)
	f.Finding.SetHistory(m.restingOn(f, w))
	for _, l := range old { // what the first witness refutes stays refuted
		if !l.Refuted(f.weakest) {
			f.weakest = append(f.weakest, l)
		}
	}
	f.Finding.SetRefuted(f.weakest, m.cfg.Expect)
	f.Finding.State = isolation.Provisional
	f.Finding.Revision++
	m.locate(&f.Finding, members)
	m.verdicts.add(f, +1)
	m.panes.found(m, members, f.Finding.Anomaly, f.weakest)
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
			if c.Edges == nil {
				continue
			}
			w, all := m.witness(c.Edges)
			name := m.weigh(&w)
			if f.lessThan(&name) && isolation.Verify(&w) == nil && m.unproven(all) == 0 {
				rests, versions := m.restsOn(c.Edges)
				f.edges, f.versions = append(f.edges, rests...), append(f.versions, versions...)
				m.show(f, all[len(w.Edges):])
				m.upgrade(f, name, &w, all[:len(w.Edges)], c)
				break
			}
		}
	}
	if f.Finding.State != isolation.Final { // it is after the end of an input
		f.Finding.State = isolation.Final
		m.emit(f)
	}
}

// remember keeps what a final finding rests on.
func (m *Machine) remember(f *openFinding) {
	m.prove(f)
	r := recentFinding{Finding: f.Finding, Weakest: isolation.LevelNames(f.weakest), Wants: f.values, Proofs: f.proofs}
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

// doubt takes back what rests on the value having no writer, and of the final
// findings what rests on its having one: edges of open ones are killed.
func (m *Machine) doubt(v uint64) {
	for i := range m.open.recent {
		r := &m.open.recent[i]
		if r.Finding.State == isolation.Withdrawn {
			continue
		}
		if void := disprove(r.Proofs, v); void || slices.Contains(r.Values, v) {
			m.countVoid()
		} else if !slices.Contains(r.Wants, v) {
			continue
		} else if r.Wants = without(r.Wants, v); len(r.Wants) > 0 {
			continue
		}
		m.withdrawFinal(r)
	}
	for _, f := range slices.Clone(m.open.list) {
		if !f.closed && disprove(f.proofs, v) && !m.prove(f) {
			m.countVoid()
			m.withdraw(f)
		}
	}
	m.supplyOpen(v)
}

func (m *Machine) withdrawFinal(r *recentFinding) {
	weakest, err := parseAll(r.Weakest)
	if err != nil {
		return // they were written by LevelNames
	}
	r.Finding.State = isolation.Withdrawn
	r.Finding.Revision++
	m.open.revisions[r.Finding.ID] = r.Finding.Revision
	f := &openFinding{Finding: r.Finding, weakest: weakest}
	m.verdicts.add(f, -1)
	m.emit(f)
}

// withdrawReplaced takes back findings about a transaction whose record was
// replaced by another one.
func (m *Machine) withdrawReplaced(id uint64) {
	for i := range m.open.recent {
		if r := &m.open.recent[i]; r.Finding.State != isolation.Withdrawn && slices.Contains(r.IDs, id) {
			m.withdrawFinal(r)
		}
	}
	for _, f := range slices.Clone(m.open.list) { // those that accuse stay open when their members have retired
		if !f.closed && slices.ContainsFunc(f.members, func(n uint32) bool { return m.infer.Info(n).ID == id }) {
			m.withdraw(f)
		}
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

// withdraw takes f back: what it rested on no longer holds. What it had set
// aside goes back into the orders, or is reported anew, once all that fell with
// it is out of them: see retryAsides.
func (m *Machine) withdraw(f *openFinding) {
	if f.closed {
		return
	}
	m.verdicts.add(f, -1)
	f.Finding.State = isolation.Withdrawn
	f.Finding.Revision++
	m.open.revisions[f.Finding.ID] = f.Finding.Revision
	m.emit(f)
	m.divergedStill(f)
	m.forget(f)
	m.retries = append(m.retries, f.asides...)
}

// divergedStill notes the lost updates that f told which still hold: a worse cycle of
// the same transactions, which does not, took their place.
func (m *Machine) divergedStill(f *openFinding) {
	for _, pred := range f.versions {
		if !m.infer.SureRegister(pred) {
			continue
		}
		for i, a := range f.members {
			for _, b := range f.members[i+1:] {
				if !m.infer.Overwrote(a, pred) || !m.infer.Overwrote(b, pred) || !m.infer.Pending(a) || !m.infer.Pending(b) {
					continue
				}
				if m.infer.Info(a).Gen < m.infer.Info(b).Gen {
					a, b = b, a
				}
				if x := (infer.Anomaly{Kind: infer.Divergence, A: a, B: b, Version: pred, Certain: true}); !slices.Contains(m.diverged, x) {
					m.diverged = append(m.diverged, x)
				}
			}
		}
	}
}

// divergeAgain tells them again.
func (m *Machine) divergeAgain() {
	for len(m.diverged) > 0 {
		a := m.diverged[0]
		m.diverged = append(m.diverged[:0], m.diverged[1:]...)
		n := m.Counters.Diverged
		m.anomaly(&a)
		m.Counters.Diverged = n // counted before
	}
}

// retryAsides puts what withdrawn findings had set aside back into the orders.
func (m *Machine) retryAsides() {
	m.dropVoid()
	m.divergeAgain()
	for len(m.retries) > 0 {
		m.dropVoid()
		a := m.retries[0]
		m.retries = append(m.retries[:0], m.retries[1:]...)
		if a.there(m.graph) {
			m.retry(a.ID)
		}
	}
}

// retry puts a set-aside edge back into the orders, and reports what refuses it.
func (m *Machine) retry(id incremental.EdgeID) {
	e := *m.graph.Edge(id)
	ref := m.graph.Retry(id)
	if ref.Cycle != 0 {
		m.cycle(id, ref.Cycle)
	}
	again := infer.Edge{From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0], Witness: e.Note[1]}
	if ref.Past != 0 {
		m.backInTime(&again, ref.Past)
	}
	if ref.Behind != 0 {
		m.behind(&again, ref.Behind)
	}
}

// supply takes back the findings that want of nothing but a writer of the value.
func (m *Machine) supply(v uint64) {
	for i := range m.open.recent {
		r := &m.open.recent[i]
		if r.Finding.State == isolation.Withdrawn || !slices.Contains(r.Wants, v) {
			continue
		}
		if r.Wants = without(r.Wants, v); len(r.Wants) == 0 {
			m.withdrawFinal(r)
		}
	}
	m.supplyOpen(v)
}

func (m *Machine) supplyOpen(v uint64) {
	for _, f := range slices.Clone(m.open.list) {
		if !f.closed && slices.Contains(f.values, v) {
			f.values = without(f.values, v)
			if len(f.values) == 0 {
				m.withdraw(f)
			}
		}
	}
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

// countFound counts a finding that is new.
func (m *Machine) countFound(f *isolation.Finding) {
	n := m.found[f.Anomaly]
	if f.Expected {
		n[1]++
	} else {
		n[0]++
	}
	m.found[f.Anomaly] = n
}

func (m *Machine) emit(f *openFinding) {
	if f.Finding.Revision == 1 && f.Finding.State == isolation.Provisional {
		m.countFound(&f.Finding)
	}
	f.Finding.DetectedAt = m.detectedAt()
	m.effects.Findings = append(m.effects.Findings, f.Finding)
}

// detectedAt is the tick, or nothing where no clock is given.
func (m *Machine) detectedAt() string {
	if m.tick == 0 {
		return ""
	}
	return time.Unix(0, m.tick).UTC().Format(time.RFC3339Nano)
}

// identity is the stable id: source, epoch, kind and sorted members as first
// reported. Findings that are not cycles differ by their anomaly as well.
func (m *Machine) identity(f *isolation.Finding, cycle bool) string {
	kind := string(f.Kind)
	if !cycle {
		kind += " " + f.Anomaly
	}
	txns := slices.Clone(f.Txns)
	slices.Sort(txns)
	h := xxh3.HashString128(fmt.Sprintf("%q %q %q %q", f.Source, f.Epoch, kind, txns))
	return fmt.Sprintf("%016x%08x", h.Hi, uint32(h.Lo))
}

// locate sets the positions of the first and the last member in input order.
func (m *Machine) locate(f *isolation.Finding, members []uint32) {
	first, last := "", ""
	var lo, hi uint32
	for _, n := range members {
		x := m.infer.Info(n)
		if first == "" || x.Gen < lo {
			first, lo = m.position(x), x.Gen
		}
		if last == "" || x.Gen > hi {
			last, hi = m.position(x), x.Gen
		}
	}
	f.FirstPosition, f.LastPosition = first, last
}

func (m *Machine) position(x infer.Info) string {
	if int(x.Partition) >= len(m.partitions) {
		return ""
	}
	return positionText(m.partitions[x.Partition].Name, x.Offset)
}
