package window

import (
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/saturation"
)

// wrongRead is a version that a transaction read, and where it was told that the read is wrong.
type wrongRead struct {
	version uint32
	telling
}

// addSaturated offers the edge to the orders of the views, and reports what refuses it. It returns the
// views in which that is told.
func (h *finder) addSaturated(e *saturation.Edge, version uint32, in incremental.Views) (t telling) {
	if e.To == 0 {
		h.missed(e, version, 0, in)
		return t
	}
	from, to := incremental.Vertex(e.From), incremental.Vertex(e.To)
	if !h.graph.Known(from) {
		return t // retired: rule (b), or behind the writer in the order that it froze in
	}
	if !h.graph.Known(to) {
		if h.saturated.comparedBefore(e) {
			return t
		}
		h.reports.behind(&infer.Edge{From: e.From, To: e.To, Label: infer.Saturated, Version: version, Witness: e.By}, in)
		return t
	}
	h.offerJoined(e, in)
	if in = h.saturatedAlready(from, to, in); in == 0 {
		return t
	}
	x := saturatedEdge(e, version)
	id, ref := h.graph.AddEdgeIn(&x, in)
	if ref.Cycle != 0 && !h.missed(e, version, id, ref.Cycle) {
		t = h.cycle(id, ref.Cycle)
	}
	if ref.Behind|ref.Past != 0 {
		h.reports.behind(&infer.Edge{From: e.From, To: e.To, Label: infer.Saturated, Version: version, Witness: e.By}, ref.Behind|ref.Past)
	}
	return t
}

// comparedBefore says whether the edge was offered when its reader was taken in, or later. Its head has been let go
// of since. With its tail it was in the reader's past already. Then the orders agree with the edge, or it was told that
// they do not.
func (f *saturated) comparedBefore(e *saturation.Edge) bool {
	if int(e.To) >= len(f.taken) || f.taken[e.To].gen != 0 || int32(f.taken[e.To].drops-f.taken[e.By].drops) <= 0 {
		return false
	}
	return e.Again || e.Rule <= saturation.Atomic && int32(f.infer.Generation(e.By)-f.infer.Generation(e.From)) > 0
}

func saturatedEdge(e *saturation.Edge, version uint32) incremental.Edge {
	x := incremental.Edge{From: incremental.Vertex(e.From), To: incremental.Vertex(e.To), Labels: incremental.Labels(infer.Saturated)}
	x.Note[0], x.Note[1] = version, e.By
	return x
}

// joinTold sets the edge aside in the views without a search for its cycle. Another edge that the
// same read forces is told to close one. A wrong read forces as many edges as writers of the key
// are in the reader's past. When the findings that tell it fall, the edge is offered.
func (h *finder) joinTold(e *saturation.Edge, r *wrongRead, in incremental.Views) {
	x := saturatedEdge(e, r.version)
	if !h.graph.Known(x.From) || !h.graph.Known(x.To) {
		return
	}
	if in = h.saturatedAlready(x.From, x.To, in); in == 0 {
		return
	}
	a := setAsideOf(h.graph, incremental.SetAside(h.graph, &x, in))
	a.Joined = true
	for _, f := range r.by {
		f.setAside = append(f.setAside, a)
	}
}

// offerJoined offers the edges that joinTold has set aside for the read of another transaction than
// e's. That read is told to be wrong, and e's is not. It looks at no more edges than saturatedAlready
// does.
func (h *finder) offerJoined(e *saturation.Edge, in incremental.Views) {
	var joined []setAsideEdge
	looks := 32
	for id := h.graph.FirstOut(incremental.Vertex(e.From)); id != 0 && looks > 0; id = h.graph.NextOut(id) {
		if x := h.graph.Edge(id); x.To == incremental.Vertex(e.To) && x.SetAside&in != 0 && x.Note[1] != e.By && infer.Label(x.Labels)&infer.Saturated != 0 {
			if a := setAsideOf(h.graph, id); h.reports.open.unjoin(x.Note[1], a) {
				joined = append(joined, a)
			}
		}
		looks--
	}
	for _, a := range joined {
		if a.there(h.graph) {
			h.retry(a)
		}
	}
}

// saturatedAlready takes out of in the views that have such an edge. It looks at the
// latest ones only: a second one does no harm.
func (h *finder) saturatedAlready(from, to incremental.Vertex, in incremental.Views) incremental.Views {
	looks := 32
	for id := h.graph.FirstOut(from); id != 0 && looks > 0; id = h.graph.NextOut(id) {
		if e := h.graph.Edge(id); e.To == to && infer.Label(e.Labels)&infer.Saturated != 0 {
			in &^= e.In | e.SetAside
		}
		looks--
	}
	return in
}

// loseEdge notes that a dependency is taken back: pasts may hold more than is
// known now.
func (f *saturated) loseEdge(e *incremental.Edge) {
	if f.on && infer.Label(e.Labels)&(infer.WR|infer.Reread|infer.Process) != 0 && f.isTaken(uint32(e.To), f.infer.Generation(uint32(e.To))) {
		f.lost++
	}
}

// dropVoid removes the edges that nothing forces any more. Until then a path that was
// found may lead over them.
func (f *saturated) dropVoid() {
	for _, a := range f.void {
		if e := f.graph.Edge(a.ID); e.From == a.From && e.To == a.To && infer.Label(e.Labels)&infer.Saturated != 0 && f.graph.Known(a.From) && f.graph.Known(a.To) {
			f.graph.RemoveEdge(a.ID)
		}
	}
	f.void = f.void[:0]
}

// removeEdges takes n, which does not count any more, out of the pasts.
func (f *saturated) removeEdges(n uint32) {
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
