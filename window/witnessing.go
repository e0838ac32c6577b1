package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// witnessing makes the witness of one cycle. Nothing of the machine changes meanwhile, so it finds
// each past once.
type witnessing struct {
	*finder
	refusing incremental.Views // the view that refuses the edge; 0: the cycle is not of one view
	pasts    map[pastFor]searchedPast
}

// witnessing begins with a cycle that this view refuses.
func (h *finder) witnessing(refusing incremental.Views) *witnessing {
	return &witnessing{h, refusing, map[pastFor]searchedPast{}}
}

// toldCycle is a verified cycle.
type toldCycle struct {
	steps []step
	w     finding.Witness
	all   []uint32 // the transactions of the witness
	name  isolation.Name
}

// told is the shortest form of the cycle that the verifier accepts.
func (k *witnessing) told(steps []step) (*toldCycle, error) {
	x := &toldCycle{steps: steps}
	x.w, x.all = k.witnessOf(steps)
	if err := k.verify(&x.w); err != nil {
		return nil, err
	}
	x.name = k.reports.weigh(&x.w)
	short := &toldCycle{steps: k.shortened(steps)}
	if slices.EqualFunc(short.steps, steps, func(a, b step) bool { return a.From == b.From && a.To == b.To && a.Label == b.Label }) {
		return x, nil
	}
	short.w, short.all = k.witnessOf(short.steps)
	if k.verify(&short.w) != nil || k.unproven(short.all) != 0 {
		return x, nil
	}
	short.name = k.reports.weigh(&short.w)
	if slices.ContainsFunc(x.name.Weakest, func(l isolation.Level) bool { return !l.Refuted(short.name.Weakest) }) || short.name.Severity > x.name.Severity {
		return x, nil
	}
	if slices.ContainsFunc(steps, isSaturated) { // levels force orders one by one: a finding in their place would say no more
		several := len(short.name.Weakest) > 1
		short.name.Weakest = slices.DeleteFunc(short.name.Weakest, func(l isolation.Level) bool {
			return l.Special == isolation.GeneralizedSI && several && !l.Refuted(x.name.Weakest)
		})
	}
	return short, nil
}

// publish hands out a verified cycle that was set aside at the edge id, as the cycle of c.
func (k *witnessing) publish(c isolation.Cycle, x *toldCycle, id incremental.EdgeID, level isolation.Level) *openFinding {
	members, shown := x.all[:len(x.w.Edges)], x.all[len(x.w.Edges):]
	rests, versions := k.restsOn(c.Edges)
	if len(rests) > 0 || k.restsOnTime(c.Edges) || slices.ContainsFunc(x.steps, derived) { // those that a past leads through are looked up like members
		members, shown = x.all, nil
	}
	if from := uint32(k.graph.Edge(id).From); !slices.Contains(members, from) {
		members = append(slices.Clip(members), from) // finds that a worse cycle runs through set-aside edges
	}
	f := &openFinding{members: members, edges: append(rests, kept(x.steps)...), versions: versions, setAside: []setAsideEdge{setAsideOf(k.graph, id)}, level: level}
	if k.cfg.Untold {
		f.untold = x.all
	}
	f.Finding.AtLeast = c.AtLeast
	f.Finding.Certain = true
	k.show(f, shown)
	return k.finder.publish(f, x.name, &x.w)
}

// witnessOf is the cycle in terms of operations. all are the transactions of the witness:
// those on the cycle, one a step, then those whose reads show an order.
func (k *witnessing) witnessOf(steps []step) (w finding.Witness, all []uint32) {
	k.given(&w)
	k.contradictOwn(steps)
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
			edge.Key = k.infer.Key(e.Version)
			edge.Value = k.infer.Value(e.Version, &k.scratch)
		}
		if e.Witness != 0 {
			edge.Shown = index(e.Witness)
		}
		if edge.Label&infer.Reread != 0 {
			edge.Label = infer.WR
		}
		k.shownByVisits(&edge, e, index)
		if edge.Label&infer.Saturated != 0 {
			k.evidence(&edge, k.edgeAs(e), index)
		}
		if len(steps[i].chain) > 0 {
			edge.Past = k.chainOf(steps[i].chain, index)
		}
		w.Edges = append(w.Edges, edge)
	}
	for _, n := range all {
		w.Txns = append(w.Txns, k.record(n))
	}
	return w, all
}

// chainOf are the edges that show a derived one, in terms of operations.
func (k *witnessing) chainOf(ids []incremental.EdgeID, index func(uint32) int) (past []finding.Dependency) {
	for _, id := range ids {
		e := k.graph.Edge(id)
		x := k.witnessEdge(e, index(uint32(e.From)), index(uint32(e.To)))
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
func (k *witnessing) edgeAs(e *infer.Edge) *incremental.Edge {
	var other *incremental.Edge
	for id := k.graph.FirstOut(incremental.Vertex(e.From)); id != 0; id = k.graph.NextOut(id) {
		x := *k.graph.Edge(id)
		if uint32(x.To) == e.To && infer.Label(x.Labels) == e.Label && x.Note == [2]uint32{e.Version, e.Witness} {
			if (x.In|x.SetAside)&k.refusing != 0 {
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
