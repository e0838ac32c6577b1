package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/solve"
)

// cannotOrder reports what package solve says cannot be ordered in the i-th view:
// known edges and pairs of writers, in terms of operations. It returns false when
// the verifier does not accept that.
func (o *choices) cannotOrder(i int, c *constraints, core *solve.Core) bool {
	inTime, ok := o.stepsInTime(i, c, core)
	if !ok || o.isMaybe(c, core) || len(core.Reads) > 0 && len(core.Pairs)+len(core.Reads) > maxReadCore {
		var keys []uint32
		for _, p := range core.Pairs {
			keys = append(keys, o.infer.KeyOfVersion(c.chains[p.A].Versions[0]))
		}
		for _, r := range core.Reads {
			keys = append(keys, o.infer.KeyOfVersion(c.reads[r].version))
		}
		o.unsureWriter = o.unsureWriter || o.isMaybe(c, core)
		o.giveUp(keys)
		return false
	}
	if len(core.Pairs)+len(core.Reads) == 0 {
		return o.finder.closedCycle(i, c, core.Edges, inTime)
	}
	var w finding.Witness
	o.given(&w)
	f := &openFinding{level: o.views[i]}
	var beside []missed
	for _, e := range core.Edges {
		if at := slices.IndexFunc(c.missed, func(x missed) bool { return x.edge == e }); at >= 0 {
			beside = append(beside, c.missed[at])
			continue
		}
		if id := o.edgeBetween(i, c.nodes[e.From], c.nodes[e.To]); id != 0 {
			f.edges = append(f.edges, id)
		}
	}
	var steps []solve.Edge // in real time, that no stored edge makes
	for _, e := range inTime {
		if o.edgeBetween(i, c.nodes[e.From], c.nodes[e.To]) == 0 {
			steps = append(steps, e)
		}
	}
	type pair struct{ a, b, version uint32 }
	var pairs []pair
	add := func(a, b, version uint32) {
		if p := (pair{a, b, version}); !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	for _, p := range core.Pairs {
		x, y := &c.chains[p.A], &c.chains[p.B]
		f.edges = o.chainEdges(o.chainEdges(f.edges, x), y)
		f.versions = append(append(f.versions, x.Versions...), y.Versions...)
		// In any order of these, a chain keeps together as a whole. A version between two of a
		// chain closes a cycle with the transaction that read the one and wrote the other.
		for _, t := range x.Txns {
			add(t, y.Txns[0], x.Versions[0])
		}
		for _, t := range y.Txns[1:] {
			add(x.Txns[0], t, x.Versions[0])
		}
	}
	index := func(n uint32) int {
		n = o.current(n)
		if at := slices.Index(f.members, n); at >= 0 {
			return at
		}
		f.members, w.Txns = append(f.members, n), append(w.Txns, o.record(n))
		return len(f.members) - 1
	}
	for _, p := range pairs {
		w.Choices = append(w.Choices, finding.Choice{Key: o.infer.Key(p.version), A: index(p.a), B: index(p.b)})
	}
	o.writersOf(f, &w, c, core, index)
	for _, id := range f.edges {
		e := o.graph.Edge(id)
		w.Edges = append(w.Edges, o.witnessEdge(e, index(uint32(e.From)), index(uint32(e.To))))
	}
	for j, id := range f.edges {
		if shown := o.graph.Edge(id).Note[1]; shown != 0 {
			w.Edges[j].Shown = index(shown)
		}
	}
	for j, id := range f.edges {
		o.shownByVisits(&w.Edges[j], inferred(o.graph.Edge(id)), index)
	}
	for _, e := range steps {
		w.Edges = append(w.Edges, finding.Dependency{
			From: index(o.txnAt(i, c, e.From)), To: index(o.txnAt(i, c, e.To)), Label: infer.Realtime, Shown: -1,
		})
	}
	for _, x := range beside {
		w.Edges = append(w.Edges, finding.Dependency{
			From: index(x.reader), To: index(x.writer), Label: infer.RW, Shown: -1,
			Key: o.infer.Key(x.version), Value: o.infer.Value(x.version, &o.scratch),
		})
	}
	w.Level = o.views[i].String()
	o.sayNothing(&w, f.members)
	if err := o.verify(&w); err != nil {
		o.Counters.Unverified++
		o.finder.unverified = err
		return false
	}
	name := isolation.NameChoices(&w)
	if len(name.Weakest) == 0 {
		o.Counters.Unverified++
		return false
	}
	name.Weakest = o.asking.promisedToAll(name.Weakest)
	w.Level = isolation.ChoiceLevel(&w, name.Weakest).String()
	f.Finding.Certain = true
	f.Finding.AtLeast = !core.Minimal
	o.finder.publish(f, name, &w)
	o.setCoreAside(c, core)
	return true
}

// current is the record that replaced n's record, n if none did. The record that shows the
// order of a list may be a transaction's first one.
func (o *core) current(n uint32) uint32 {
	if o.infer.Counts(n) {
		return n
	}
	r := o.record(n)
	if x := o.infer.WithID(r.ID, r.Epoch); x != 0 && o.infer.Counts(x) {
		return x
	}
	return n
}

// closedCycle reports a cycle of known edges when the graph lacks some of them.
func (h *finder) closedCycle(i int, c *constraints, es, inTime []solve.Edge) bool {
	w := finding.Witness{}
	h.given(&w)
	f := &openFinding{level: h.views[i]}
	var tos []uint32
	for e, left := es[0], len(es); left > 0; left-- {
		if at := slices.IndexFunc(c.missed, func(x missed) bool { return x.edge == e }); at >= 0 {
			x := c.missed[at]
			f.members, tos = append(f.members, x.reader), append(tos, x.writer)
			w.Edges = append(w.Edges, finding.Dependency{
				Label: infer.RW, Shown: -1, Key: h.infer.Key(x.version), Value: h.infer.Value(x.version, &h.scratch),
			})
		} else if id := h.edgeBetween(i, c.nodes[e.From], c.nodes[e.To]); id != 0 {
			x := h.graph.Edge(id)
			f.edges = append(f.edges, id)
			f.members, tos = append(f.members, uint32(x.From)), append(tos, uint32(x.To))
			w.Edges = append(w.Edges, h.witnessEdge(x, 0, 0))
		} else if slices.Contains(inTime, e) {
			f.members, tos = append(f.members, h.txnAt(i, c, e.From)), append(tos, h.txnAt(i, c, e.To))
			w.Edges = append(w.Edges, finding.Dependency{Label: infer.Realtime, Shown: -1})
		}
		if next := slices.IndexFunc(es, func(x solve.Edge) bool { return x.From == e.To }); next >= 0 {
			e = es[next]
		}
	}
	for j := range w.Edges {
		w.Edges[j].From, w.Edges[j].To = j, (j+1)%len(w.Edges)
		w.Txns = append(w.Txns, h.record(f.members[j]))
	}
	index := func(n uint32) int {
		n = h.current(n)
		if at := slices.Index(slices.Concat(f.members, f.shown), n); at >= 0 {
			return at
		}
		h.show(f, []uint32{n})
		w.Txns = append(w.Txns, h.record(n))
		return len(w.Txns) - 1
	}
	at := 0
	for j := range w.Edges {
		if at < len(f.edges) && h.graph.Edge(f.edges[at]).From == incremental.Vertex(f.members[j]) {
			x := h.graph.Edge(f.edges[at])
			if x.Note[1] != 0 {
				w.Edges[j].Shown = index(x.Note[1])
			}
			h.shownByVisits(&w.Edges[j], inferred(x), index)
			at++
		}
	}
	err := h.verify(&w)
	if n := len(tos); err != nil || n == 0 || tos[n-1] != f.members[0] {
		h.unshow(f)
		h.Counters.Unverified++
		h.unverified = err
		return false
	}
	f.Finding.Certain = true
	h.publish(f, h.reports.weigh(&w), &w)
	return true
}

// txnAt is the transaction of the problem's node.
func (o *core) txnAt(i int, c *constraints, at int32) uint32 {
	return uint32(o.graph.VertexOf(i, c.nodes[at]))
}

// inferred is a stored edge as inference gave it.
func inferred(e *incremental.Edge) *infer.Edge {
	return &infer.Edge{From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0], Witness: e.Note[1]}
}

// witnessEdge is a stored edge in terms of operations.
func (o *core) witnessEdge(e *incremental.Edge, from, to int) finding.Dependency {
	x := finding.Dependency{From: from, To: to, Label: infer.Label(e.Labels), Shown: -1}
	if v := e.Note[0]; v != 0 {
		x.Key = o.infer.Key(v)
		x.Value = o.infer.Value(v, &o.scratch)
	}
	return x
}

// edgeBetween is a stored edge that joins these nodes of the i-th view, 0 for the
// arc from B to C.
func (o *core) edgeBetween(i int, from, to uint32) incremental.EdgeID {
	v := incremental.Vertex(from)
	if o.graph.Split(i) {
		v = incremental.Vertex(from / 2)
	}
	for id := o.graph.FirstOut(v); id != 0; id = o.graph.NextOut(id) {
		e := o.graph.Edge(id)
		if x, y, ok := o.graph.Ends(i, e.From, e.To, e.Labels); ok && x == from && y == to && (e.In|e.SetAside)&(1<<i) != 0 {
			return id
		}
	}
	return 0
}

// chainEdges appends the edges along a chain to dst.
func (o *choices) chainEdges(dst []incremental.EdgeID, c *infer.Chain) []incremental.EdgeID {
	for j := 1; j < len(c.Txns); j++ {
		for id := o.graph.FirstOut(incremental.Vertex(c.Txns[j-1])); id != 0; id = o.graph.NextOut(id) {
			e := o.graph.Edge(id)
			if uint32(e.To) == c.Txns[j] && e.Note[0] == c.Versions[j-1] && infer.Label(e.Labels)&infer.WR != 0 && !slices.Contains(dst, id) {
				dst = append(dst, id)
			}
		}
	}
	return dst
}
