package window

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/internal/verify"
	"github.com/isowatch/isowatch/isolation"
)

// telling names the views whose refusal of an edge open findings tell.
type telling struct {
	views incremental.Views
	by    []*openFinding
}

// cycle reports the edge id, which the given views refused. One witness can
// speak for several views; the others get one of their own.
func (h *finder) cycle(id incremental.EdgeID, refused incremental.Views) (t telling) {
	var spokenFor []isolation.Level
	if f := h.reports.knownDivergence(id); f != nil { // weaker levels allow it, and refuse the edge for another cycle
		spokenFor = slices.Clone(f.weakest)
	}
	for _, i := range h.weakFirst {
		level := h.views[i]
		if refused&(1<<i) == 0 || level.Refuted(spokenFor) {
			continue
		}
		if level.Underlying().Limits() {
			spokenFor = append(spokenFor, h.limitedCycle(i, id)...)
			continue
		}
		path := append([]incremental.EdgeID{}, h.graph.CyclePath(i)...)
		c, _ := h.worst(id, level, path)
		if slices.ContainsFunc(c.Edges, func(e incremental.EdgeID) bool { return h.saturatedElsewhere(e, i) }) {
			c.Edges = append([]incremental.EdgeID{id}, path...)
		}
		h.saturated.refusing = 1 << i
		weakest, by := h.reportCycle(c, id, level)
		spokenFor = append(spokenFor, weakest...)
		if by != nil {
			t.views |= 1 << i
			t.by = append(t.by, by)
		}
	}
	h.saturated.refusing = 0
	return t
}

// saturatedElsewhere says whether the edge is forced in other views than the i-th. There larger
// pasts force it, so a cycle with it does not refute this view's level.
func (h *finder) saturatedElsewhere(id incremental.EdgeID, i int) bool {
	e := h.graph.Edge(id)
	return infer.Label(e.Labels)&infer.Saturated != 0 && (e.In|e.SetAside)&(1<<i) == 0
}

// knownDivergence says whether the edge closes the cycle of two anti-dependencies
// that is a lost update already reported, and notes it there. nil: it does not.
func (s *reports) knownDivergence(id incremental.EdgeID) *openFinding {
	e := s.graph.Edge(id)
	if infer.Label(e.Labels) != infer.RW {
		return nil
	}
	from, to := uint32(e.From), uint32(e.To)
	pred := s.infer.Saw(from, e.Note[0])
	if pred == 0 || s.infer.Saw(to, e.Note[0]) != pred || !s.infer.Overwrote(from, pred) || !s.infer.Overwrote(to, pred) {
		return nil
	}
	for _, n := range []uint32{from, to} {
		for _, f := range s.open.by[n] {
			if !f.closed && slices.Contains(f.versions, pred) {
				f.setAside = append(f.setAside, setAsideOf(s.graph, id))
				return f
			}
		}
	}
	return nil
}

// reportCycle verifies the cycle and reports it. It returns the levels that the cycle refutes, and
// the open finding that tells it, nil if none does.
func (h *finder) reportCycle(c isolation.Cycle, id incremental.EdgeID, level isolation.Level) ([]isolation.Level, *openFinding) {
	h.saturated.pasts = map[pastFor][]pastStep{} // nothing changes until the finding is handed out
	defer func() { h.saturated.pasts = nil }()
	if bad := h.unsupported(c.Edges); bad != 0 {
		h.saturated.void = append(h.saturated.void, setAsideOf(h.graph, bad))
		if bad != id {
			h.retries = append(h.retries, setAsideOf(h.graph, id))
		}
		return nil, nil
	}
	steps, w, all, name, err := h.told(h.steps(c.Edges))
	if err != nil {
		h.Counters.Unverified++
		h.unverified = err
		return nil, nil
	}
	if n := h.unproven(all); n != 0 {
		h.reports.noteUnproven(n, true)
		return nil, nil
	}
	return name.Weakest, h.publishCycle(c, steps, &w, all, name, id, level)
}

// publishCycle hands out a verified cycle that was set aside at the edge id. all are the
// transactions of its witness.
func (h *finder) publishCycle(c isolation.Cycle, steps []step, w *finding.Witness, all []uint32, name isolation.Name, id incremental.EdgeID, level isolation.Level) *openFinding {
	of := all
	members, shown := all[:len(w.Edges)], all[len(w.Edges):]
	rests, versions := h.restsOn(c.Edges)
	if len(rests) > 0 || h.saturated.restsOnTime(c.Edges) || slices.ContainsFunc(steps, derived) { // those that a past leads through are looked up like members
		members, shown = all, nil
	}
	if from := uint32(h.graph.Edge(id).From); !slices.Contains(members, from) {
		members = append(slices.Clip(members), from) // finds that a worse cycle runs through set-aside edges
	}
	f := &openFinding{members: members, edges: append(rests, kept(steps)...), versions: versions, setAside: []setAsideEdge{setAsideOf(h.graph, id)}, level: level}
	if h.cfg.Untold {
		f.untold = of
	}
	f.Finding.AtLeast = c.AtLeast
	f.Finding.Certain = true
	h.show(f, shown)
	h.saturated.pasts = nil
	return h.publish(f, name, w)
}

// witnessOf is the cycle in terms of operations. all are the transactions of the witness:
// those on the cycle, one a step, then those whose reads show an order.
func (h *finder) witnessOf(steps []step) (w finding.Witness, all []uint32) {
	h.given(&w)
	h.contradictOwn(steps)
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
	for i := range steps {
		e := &steps[i].Edge
		edge := finding.Dependency{From: i, To: (i + 1) % len(steps), Label: e.Label, Shown: -1}
		if e.Version != 0 {
			edge.Key = h.infer.Key(e.Version)
			edge.Value = h.infer.Value(e.Version, &h.scratch)
		}
		if e.Witness != 0 {
			edge.Shown = index(e.Witness)
		}
		if edge.Label&infer.Reread != 0 {
			edge.Label = infer.WR
		}
		h.shownByVisits(&edge, e, index)
		if edge.Label&infer.Saturated != 0 {
			h.evidence(&edge, h.saturated.edgeAs(e), index)
		}
		if len(steps[i].chain) > 0 {
			edge.Past = h.chainOf(steps[i].chain, index)
		}
		w.Edges = append(w.Edges, edge)
	}
	for _, n := range all {
		w.Txns = append(w.Txns, h.record(n))
	}
	return w, all
}

// chainOf are the edges that show a derived one, in terms of operations.
func (h *finder) chainOf(ids []incremental.EdgeID, index func(uint32) int) (past []finding.Dependency) {
	for _, id := range ids {
		e := h.graph.Edge(id)
		x := h.witnessEdge(e, index(uint32(e.From)), index(uint32(e.To)))
		if e.Note[1] != 0 {
			x.Shown = index(e.Note[1])
		}
		past = append(past, x)
	}
	return past
}

// edgeAs is a copy of the edge as the orders hold it. Several may be alike except for the read
// that forces them in their views. Then the copy is of the edge in the view that refuses an
// edge.
func (f *saturated) edgeAs(e *infer.Edge) *incremental.Edge {
	var other *incremental.Edge
	for id := f.graph.FirstOut(incremental.Vertex(e.From)); id != 0; id = f.graph.NextOut(id) {
		x := *f.graph.Edge(id)
		if uint32(x.To) == e.To && infer.Label(x.Labels) == e.Label && x.Note == [2]uint32{e.Version, e.Witness} {
			if (x.In|x.SetAside)&f.refusing != 0 {
				return &x
			}
			other = &x
		}
	}
	if other != nil {
		return other
	}
	return &incremental.Edge{
		From: incremental.Vertex(e.From), To: incremental.Vertex(e.To), Labels: incremental.Labels(e.Label), Note: [2]uint32{e.Version, e.Witness},
	}
}

func (o *core) record(n uint32) event.Record {
	if o.decoded == nil {
		o.decoded = &decodedRecords{}
	}
	r, err := o.decoded.read(n, o.infer.Record(n))
	if err != nil {
		return event.Record{ID: fmt.Sprintf("transaction %d, no longer in memory", n)}
	}
	return r
}

// verify says why w is not a contradiction. Its code shares nothing with the code that found w.
func (o *core) verify(w *finding.Witness) error {
	if o.cfg.Verify != nil {
		return o.cfg.Verify(o.withKinds(w))
	}
	return verify.Verify(o.withKinds(w))
}

// withKinds is w. It tells which arrays that were read beside a range are values of registers: the records
// of others may show that. A range shows no list.
func (o *core) withKinds(w *finding.Witness) *finding.Witness {
	told := w
	for i := range w.Txns {
		t := &w.Txns[i]
		if !slices.ContainsFunc(t.Ops, func(x event.RecordOp) bool { return x.Kind == event.Range }) {
			continue
		}
		for j := range t.Ops {
			x := &t.Ops[j]
			if x.Kind != event.Read || x.Data != event.AnyKind || x.Flags&event.IsArray == 0 || !o.infer.IsRegister(x.Key, t.Epoch) {
				continue
			}
			if told == w {
				clone := *w
				told, clone.Txns = &clone, slices.Clone(w.Txns)
			}
			if &told.Txns[i].Ops[0] == &t.Ops[0] {
				told.Txns[i].Ops = slices.Clone(t.Ops)
			}
			told.Txns[i].Ops[j].Data = event.Register
		}
	}
	return told
}
