package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// apply takes over the results of inference. First come edges that no longer hold, then new
// vertices, ranked with their edges known. Then come the edges, then the anomalies that
// inference found by itself. Findings that fall are counted under the cause of w, or a more specific one.
func (m *Machine) apply(w work) {
	m.reports.work = w
	o := &m.out
	m.Counters.OtherRows += o.OtherRows
	if len(o.Edges) > edgeBudgetPerTxn {
		m.keepToEdgeBudget()
	}
	if len(
		o.Gone,
	)|len(
		o.Replaced,
	)|len(
		o.Kills,
	)|len(
		o.Supplied,
	)|len(
		o.Ambiguous,
	)|len(
		o.Parted,
	)|len(
		o.Left,
	)|len(
		o.Deletions,
	)|len(
		o.Anomalies,
	)|len(
		m.finder.doomed,
	)|len(
		m.finder.retries,
	)|len(
		m.finder.diverged,
	)|len(
		m.saturated.void,
	) == 0 &&
		m.infer.Unsigned() {
		if len(o.Nodes) > 0 || len(o.Edges) > 0 { // nothing else, nearly always
			m.grow(o)
			if m.saturated.on {
				m.reports.noteSaturation(o)
			}
			if len(m.finder.retries)|len(m.finder.diverged)|len(m.saturated.void) > 0 {
				m.finder.retrySetAside()
			}
		}
		return
	}
	m.saturated.odd = m.saturated.odd || len(o.Gone)|len(o.Replaced)|len(o.Kills)|len(o.Ambiguous)|len(o.Parted)|len(o.Deletions)|len(o.Anomalies) != 0
	signed := m.infer.Signed(m.noteRepeating)
	switch {
	case signed:
		m.reports.work.cause = finding.Repetition
	case len(o.Replaced) > 0:
		m.reports.work.cause = finding.LateOutcome
	case len(o.Ambiguous) > 0 && w.cause != finding.LateRecord:
		m.reports.work.cause = finding.Repetition
	}
	m.takeBackEdges(o)
	gone := slices.ContainsFunc(o.Gone, m.hasFrozen)
	for _, n := range o.Gone {
		m.finder.removeVertex(n)
	}
	for _, x := range o.Shown {
		m.finder.showAnew(x)
	}
	for _, id := range o.Replaced {
		m.finder.withdrawReplaced(id)
	}
	again := givenAgain(o)
	for _, k := range o.Kills {
		m.finder.kill(k, again)
	}
	if len(again) > 0 {
		o.Edges = slices.DeleteFunc(o.Edges, func(e infer.Edge) bool { return m.finder.stands(&e) })
	}
	for _, x := range o.Left {
		m.finder.leftNothing(x)
	}
	for i := range o.Deletions {
		m.deletedSince(&o.Deletions[i])
	}
	m.finder.countBroken(gone)
	m.finder.withdrawDoomed()
	m.finder.retrySetAside()
	if len(o.Nodes) > 0 || len(o.Edges) > 0 {
		m.grow(o)
		if m.saturated.on {
			m.reports.noteSaturation(o)
		}
	}
	for _, v := range o.Supplied {
		m.finder.supply(v)
	}
	for _, v := range o.Ambiguous {
		m.retract(v, false)
	}
	if m.cfg.Twice {
		for i := range o.Twice {
			m.noteTwice(&o.Twice[i])
		}
	}
	for _, v := range o.Parted {
		m.retract(v, true)
	}
	if signed {
		m.retractRepeating()
	}
	m.finder.retrySetAside()
	for i := range o.Anomalies {
		if a := &o.Anomalies[i]; a.Kind != infer.Divergence {
			m.finder.anomaly(a)
		}
	}
	for _, k := range o.Emptied {
		m.choices.beginEmpty(k)
	}
}

func (m *Machine) grow(o *infer.Out) {
	if len(o.Nodes) == 1 && len(o.Anomalies) == 0 && !m.asking.counts() && m.graph.Plain() {
		n := o.Nodes[0]
		if done := m.graph.AddWith(incremental.Vertex(n), m.reports.enter(n), m.arcs(o.Edges)); done < len(o.Edges) {
			m.insert(m.convert(m.intoFirst(o.Edges[done:], n)))
		}
		return
	}
	if len(o.Nodes) == 1 {
		m.intoFirst(o.Edges, o.Nodes[0])
	}
	edges, arcs := m.convert(o.Edges), m.arcs(o.Edges)
	for _, n := range o.Nodes {
		m.graph.AddVertex(incremental.Vertex(n), m.reports.enter(n), arcs)
		if m.realTime {
			m.reports.noteLate(n)
		}
	}
	for i := range o.Anomalies {
		if a := &o.Anomalies[i]; a.Kind == infer.Divergence {
			m.finder.anomaly(a) // before the edges that close its cycle
		}
	}
	m.insert(edges)
}

// many transactions make it worth while to insert the edges into a new one first.
const many = 1000

// manyCame says whether many transactions were taken in. How many live at a time depends on how the clock goes on
// beside the records. Then two monitors on one stream would tell a cycle from different transactions on.
func (o *core) manyCame() bool { return o.Counters.Committed+o.Counters.Unknown >= many }

// intoFirst puts the edges into n, which is new, before the others, and keeps the order otherwise. n
// stands behind all that leads to it. If an edge out of n came first, n would go far back in the order.
// The transaction that the edge leads to would then go behind n. Then the edges into n would be
// refused, in place of the one that is wrong. With few transactions that costs little, and the edges
// stay as they are.
func (m *Machine) intoFirst(es []infer.Edge, n uint32) []infer.Edge {
	if !m.manyCame() {
		return es
	}
	slices.SortStableFunc(es, func(a, b infer.Edge) int {
		switch {
		case (a.To == n) == (b.To == n):
			return 0
		case a.To == n:
			return -1
		}
		return 1
	})
	return es
}

// arcs are es as the orders take them, until the next call.
func (m *Machine) arcs(es []infer.Edge) []incremental.Arc {
	if cap(m.offered) < len(es) {
		m.offered = make([]incremental.Arc, 2*len(es))
	}
	into := m.offered[:len(es)]
	for i := range es {
		e, x := &es[i], &into[i]
		x.From, x.To, x.Labels = incremental.Vertex(e.From), incremental.Vertex(e.To), incremental.Labels(e.Label)
		x.Note[0], x.Note[1] = e.Version, e.Witness
	}
	return into
}

// convert returns the edges of es that some view follows, as the orders take them, until the next call.
func (m *Machine) convert(es []infer.Edge) []incremental.Edge {
	if cap(m.edges) < len(es) {
		m.edges = make([]incremental.Edge, 2*len(es))
	}
	into, k := m.edges[:len(es)], 0
	for i := range es {
		e := &es[i]
		label := e.Label
		if label&infer.Reread != 0 && len(m.asking.asked) > 0 {
			label = m.asking.rereadAs(e)
		}
		if label&m.follows == 0 {
			continue
		}
		x := &into[k]
		x.From, x.To, x.Labels = incremental.Vertex(e.From), incremental.Vertex(e.To), incremental.Labels(label)
		x.Note[0], x.Note[1] = e.Version, e.Witness
		k++
	}
	return into[:k]
}

// rereadAs is the label of a second read: a transaction saw a key when it had seen another version of
// it. A transaction that asked for less than read atomic may do that. So its second read does not
// refute read atomic and stronger levels. For these it is like any other read.
func (a *asking) rereadAs(e *infer.Edge) infer.Label {
	switch asked := a.askedBy(e.To); {
	case asked == isolation.ReadUncommitted:
		return 0
	case asked.Lacks(isolation.ReadAtomic):
		return infer.WR
	}
	return e.Label
}

// enter counts n in its pane, and gives its place in the orders.
func (s *reports) enter(n uint32) incremental.Place {
	p := s.spanOf(n)
	s.panes.enter(p.Settle)
	if s.realTime {
		s.timePlace(n, &p)
	}
	return p
}

// spanOf is the place of n without real time.
func (o *core) spanOf(n uint32) incremental.Place {
	start, end, unknown := o.infer.Span(n)
	p := incremental.Place{Begin: start, Commit: end, Settle: end}
	if unknown {
		p.Commit = start // it may have taken effect at any time from here on
	}
	return p
}

// insert puts the edges into the orders.
func (m *Machine) insert(edges []incremental.Edge) {
	all := incremental.Views(1)<<len(m.views) - 1
	m.finder.alike = m.finder.alike[:0]
	for i := range edges {
		e, in := &edges[i], all
		if m.asking.counts() {
			in = m.asking.viewsOf(e)
		}
		m.finder.insert(e, in)
	}
}

// insert puts the edge into the orders of the views, and tells what refuses it.
func (h *finder) insert(e *incremental.Edge, in incremental.Views) {
	id, ref := h.graph.AddEdgeIn(e, in)
	h.earnSearch()
	if ref.Cycle != 0 {
		h.insertAlike(id, ref.Cycle)
	}
	if h.limiting != 0 {
		h.followLimits(id, e, in&^(ref.Cycle|ref.Past|ref.Behind))
	}
	if ref.Past|ref.Behind != 0 {
		x := infer.Edge{From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0], Witness: e.Note[1]}
		if ref.Past != 0 {
			h.backInTime(&x, ref.Past)
		}
		if ref.Behind != 0 {
			h.reports.behind(&x, ref.Behind)
		}
	}
}

// viewsOf are the views in which e constrains. In the encoding of a level, a transaction that
// asked for less gives no anti-dependency. One that asked for read-uncommitted takes no read
// dependency in (Adya's mixing-correct histories). Conflicts may be tracked among serializable
// transactions only. Then nobody is promised to come before a transaction that asked for less,
// or that did not replace what was read.
//
// The question is asked where the edge counts: see counts.
func (a *asking) viewsOf(e *incremental.Edge) incremental.Views {
	all := incremental.Views(1)<<len(a.views) - 1
	switch l := infer.Label(e.Labels); {
	case l&infer.RW != 0:
		untracked := a.untracked(e)
		for i, level := range a.views {
			if untracked && level.Underlying().Tracks() || a.selecting&(1<<i) != 0 && !a.followed(e, level.Underlying()) {
				all &^= 1 << i
			}
		}
		if asked := a.askedBy(uint32(e.From)); asked != 0 {
			for i, level := range a.views {
				if asked.Lacks(level.Underlying()) {
					all &^= 1 << i
				}
			}
		}
	case l&infer.WR != 0:
		if a.askedBy(uint32(e.To)) == isolation.ReadUncommitted {
			if l == infer.WR {
				return 0
			}
			e.Labels = incremental.Labels(infer.WW) // it overwrote what it read
		}
	}
	return all
}

// followed says whether a base that selects readers follows the anti-dependency e.
func (a *asking) followed(e *incremental.Edge, b isolation.Base) bool {
	if a.apartAt(b) || b.Limits() {
		return !a.apartAt(b)
	}
	t := a.record(uint32(e.From))
	return b.Follows(&t, a.infer.Key(e.Note[0]))
}

// apartAt says whether rows are told apart, and the base is about lost updates and not about an
// order of all rows of a key. Then only a divergence shows a lost update, and snapshot isolation
// decides the rest.
func (a *asking) apartAt(b isolation.Base) bool {
	return a.cfg.Rules.Rows && (b == isolation.CursorStability || b == isolation.ConsistentView)
}

// counts says whether some edge may not be in all views.
func (a *asking) counts() bool {
	return len(a.asked) > 0 || a.selecting != 0 || a.cfg.Rules.Tracked && a.cfg.Contract.UnmonitoredWriters
}

func (a *asking) askedBy(n uint32) isolation.Base {
	if int(n) >= len(a.asked) {
		return 0
	}
	return a.asked[n]
}

func (a *asking) askedOf(v incremental.Vertex) isolation.Base { return a.askedBy(uint32(v)) }

// removeVertex takes back a transaction that a later record replaced.
func (h *finder) removeVertex(n uint32) {
	v := incremental.Vertex(n)
	if !h.graph.Known(v) {
		return
	}
	for id := h.graph.FirstOut(v); id != 0; id = h.graph.NextOut(id) {
		h.removeEdge(id)
	}
	for id := h.graph.FirstIn(v); id != 0; id = h.graph.NextIn(id) {
		h.removeEdge(id)
	}
	h.reports.open.forEach(n, func(f *openFinding) { h.doomed = append(h.doomed, f) })
	h.saturated.removeEdges(n)
	h.reports.panes.leave(h.graph.Settle(v))
	h.graph.Free(v)
}

// showAnew lets the read of another transaction show the orders that a transaction showed which
// does not count any more. Findings told with its record are told again.
func (h *finder) showAnew(x infer.Shown) {
	v := incremental.Vertex(x.Writer)
	if !h.graph.Known(v) {
		return
	}
	for id := h.graph.FirstIn(v); id != 0; id = h.graph.NextIn(id) {
		if e := h.graph.Edge(id); infer.Label(e.Labels)&infer.WW != 0 && e.Note[1] == x.Was {
			e.Note[1] = x.Now
		}
	}
	for _, f := range h.reports.open.list {
		if !f.closed && slices.Contains(f.shown, x.Was) && !slices.Contains(h.doomed, f) {
			h.doomed = append(h.doomed, f)
		}
	}
}

// givenAgain are the edges of a step that takes back orders and concludes them again. An edge that the
// step gives again, unchanged, stays. A second one like it might be refused, since the window has
// passed its head.
func givenAgain(o *infer.Out) map[infer.Edge]bool {
	if !slices.ContainsFunc(o.Kills, func(k infer.Kill) bool { return k.Order }) {
		return nil
	}
	again := make(map[infer.Edge]bool, len(o.Edges))
	for _, e := range o.Edges {
		again[e] = true
	}
	return again
}

// stands says whether e is in the graph.
func (h *finder) stands(e *infer.Edge) bool {
	v := incremental.Vertex(e.From)
	if !h.graph.Known(v) {
		return false
	}
	for id := h.graph.FirstOut(v); id != 0; id = h.graph.NextOut(id) {
		if asInferred(h.graph.Edge(id)) == *e {
			return true
		}
	}
	return false
}

// asInferred is the edge e as inference gave it.
func asInferred(e *incremental.Edge) infer.Edge {
	return infer.Edge{From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0], Witness: e.Note[1]}
}

func (h *finder) kill(k infer.Kill, again map[infer.Edge]bool) {
	value := h.infer.ValueKey(k.Version)
	for _, f := range slices.Clone(h.reports.open.list) {
		if k.Order || f.closed || k.Deleted && f.solid {
			continue
		}
		if value != 0 && slices.Contains(f.rests, value) {
			h.doomed = append(h.doomed, f)
		} else if slices.Contains(f.versions, k.Version) {
			f.versions = slices.DeleteFunc(f.versions, func(v uint32) bool { return v == k.Version }) // the rest may still hold
			h.doomed = append(h.doomed, f)
		}
	}
	v := incremental.Vertex(k.Writer)
	if !h.graph.Known(v) {
		return
	}
	hit := func(id incremental.EdgeID) {
		if e := asInferred(h.graph.Edge(id)); k.Kills(&e) && !(k.Order && again[e]) {
			if k.Deleted {
				h.spare(id)
			}
			h.removeEdge(id)
		}
	}
	for id := h.graph.FirstOut(v); id != 0; id = h.graph.NextOut(id) {
		hit(id)
	}
	for id := h.graph.FirstIn(v); id != 0; id = h.graph.NextIn(id) {
		hit(id)
	}
}

// spare takes the edge from findings that stand whoever deletes, and lets them stay. They rest on
// its values still: an append may turn out to be a retry.
func (h *finder) spare(id incremental.EdgeID) {
	e := h.graph.Edge(id)
	h.reports.open.forEach(uint32(e.From), func(f *openFinding) {
		if f.solid && slices.Contains(f.edges, id) {
			f.rests = h.infer.RestsOn(f.rests, infer.Edge{From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0]})
			f.edges = slices.DeleteFunc(f.edges, func(e incremental.EdgeID) bool { return e == id })
		}
	})
}

// withdrawDoomed takes back findings with an edge that no longer holds.
func (h *finder) withdrawDoomed() {
	for _, f := range h.doomed {
		h.withdraw(f)
	}
	h.doomed = h.doomed[:0]
}

// removeEdge takes an edge that no longer holds out of the orders, and back what
// was reported because of it.
func (h *finder) removeEdge(id incremental.EdgeID) {
	from := uint32(h.graph.Edge(id).From)
	h.saturated.loseEdge(h.graph.Edge(id))
	h.graph.RemoveEdge(id)
	h.reports.open.forEach(from, func(f *openFinding) {
		for _, e := range f.edges {
			if e == id {
				h.doomed = append(h.doomed, f)
				return
			}
		}
	})
}

// release lets go of transactions that have left every order.
func (m *Machine) release(retired []incremental.Vertex) {
	if m.saturated.on {
		m.finder.dropSaturated(retired)
	}
	if len(m.reports.open.by) > 0 {
		for _, v := range retired {
			for made := -1; made != m.reports.open.made; { // what settles may show a worse cycle
				made = m.reports.open.made
				m.reports.open.forEach(uint32(v), m.finder.settleUnlessAccusing)
			}
		}
	}
	for i, v := range retired {
		if i%warmAhead == 0 {
			m.warmRetired(retired[i:min(i+warmAhead, len(retired))])
		}
		n := uint32(v)
		m.reports.panes.leave(m.graph.Settle(v))
		m.graph.Free(v)
		if m.saturated.on && !m.saturated.idle {
			m.saturated.freezeBehind(n)
		}
		m.out.Reset()
		m.infer.Retire(n, &m.out)
	}
}

// warmRetired touches what retiring these transactions will need, so that the
// waits for memory overlap.
func (m *Machine) warmRetired(vs []incremental.Vertex) {
	m.graph.Warm(vs)
	for i := range vs {
		m.warm[i] = uint32(vs[i])
	}
	m.infer.WarmRetire(m.warm[:len(vs)])
}
