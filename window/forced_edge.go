package window

import (
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/saturation"
)

// forceEdge offers the edge to the orders of the views, and reports what refuses it.
func (m *Machine) forceEdge(e *saturation.Edge, version uint32, in incremental.Views) {
	if e.To == 0 {
		m.missed(e, version, 0, in)
		return
	}
	from, to := incremental.Vertex(e.From), incremental.Vertex(e.To)
	if !m.graph.Known(from) {
		return // retired: rule (b), or behind the writer in the order that it froze in
	}
	if !m.graph.Known(to) {
		m.behind(&infer.Edge{From: e.From, To: e.To, Label: infer.Forced, Version: version, Witness: e.By}, in)
		return
	}
	if in = m.forcedAlready(from, to, in); in == 0 {
		return
	}
	x := incremental.Edge{From: from, To: to, Labels: incremental.Labels(infer.Forced)}
	x.Note[0], x.Note[1] = version, e.By
	id, ref := m.graph.AddEdgeIn(&x, in)
	if ref.Cycle != 0 && !m.missed(e, version, id, ref.Cycle) {
		m.cycle(id, ref.Cycle)
	}
	if ref.Behind|ref.Past != 0 {
		m.behind(&infer.Edge{From: e.From, To: e.To, Label: infer.Forced, Version: version, Witness: e.By}, ref.Behind|ref.Past)
	}
}

// forcedAlready takes out of in the views that have such an edge. It looks at the
// latest ones only: a second one does no harm.
func (m *Machine) forcedAlready(from, to incremental.Vertex, in incremental.Views) incremental.Views {
	looks := 32
	for id := m.graph.FirstOut(from); id != 0 && looks > 0; id = m.graph.NextOut(id) {
		if e := m.graph.Edge(id); e.To == to && infer.Label(e.Labels)&infer.Forced != 0 {
			in &^= e.In | e.Aside
		}
		looks--
	}
	return in
}

// loseForced notes that a dependency is taken back: pasts may hold more than is
// known now.
func (m *Machine) loseForced(e *incremental.Edge) {
	f := &m.forced
	if f.on && infer.Label(e.Labels)&(infer.WR|infer.Reread|infer.Process) != 0 && f.isTaken(uint32(e.To), m.infer.Generation(uint32(e.To))) {
		f.lost++
	}
}

// dropVoid removes the edges that nothing forces any more. Until then a path that was
// found may lead over them.
func (m *Machine) dropVoid() {
	f := &m.forced
	for _, a := range f.void {
		if e := m.graph.Edge(a.ID); e.From == a.From && e.To == a.To && infer.Label(e.Labels)&infer.Forced != 0 && m.graph.Known(a.From) && m.graph.Known(a.To) {
			m.graph.RemoveEdge(a.ID)
		}
	}
	f.void = f.void[:0]
}

// removeForced takes n, which does not count any more, out of the pasts.
func (m *Machine) removeForced(n uint32) {
	f := &m.forced
	if !f.on || int(n) >= len(f.taken) || f.taken[n].gen == 0 {
		return
	}
	f.lost++
	f.sessions.Drop(n)
	if f.plain != nil {
		f.plain.Drop(n)
	}
	if f.timed.pasts != nil {
		f.timed.pasts.Drop(n)
	}
	f.forgetPassed(n)
	f.taken[n] = takenTxn{}
}
