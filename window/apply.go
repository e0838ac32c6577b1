package window

import (
	"slices"
	"unsafe"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
)

// apply takes over what inference gave: first what no longer holds, then new
// vertices, ranked with their edges known, then the edges, then what inference
// found by itself.
func (m *Machine) apply() {
	o := &m.out
	m.Counters.OtherRows += o.OtherRows
	if len(o.Edges) > crowdPerTxn {
		m.crowdOut()
	}
	if len(o.Gone)|len(o.Replaced)|len(o.Kills)|len(o.Supplied)|len(o.Doubted)|len(o.Left)|len(o.Deletions)|len(o.Anomalies)|len(m.doomed)|len(m.retries)|len(m.diverged)|len(m.forced.void) == 0 {
		if len(o.Nodes) > 0 || len(o.Edges) > 0 { // nothing else, nearly always
			m.grow(o)
			if m.forced.on {
				m.noteForced(o)
			}
			if len(m.retries)|len(m.diverged)|len(m.forced.void) > 0 {
				m.retryAsides()
			}
		}
		return
	}
	m.forced.odd = m.forced.odd || len(o.Gone)|len(o.Replaced)|len(o.Kills)|len(o.Doubted)|len(o.Deletions)|len(o.Anomalies) != 0
	switch m.cause = causeRecord; {
	case m.infer.Signed(m.noteRepeating):
		m.cause = causeRepetition
	case len(o.Replaced) > 0:
		m.cause = causeOutcome
	}
	gone := slices.ContainsFunc(o.Gone, m.hasFrozen)
	for _, n := range o.Gone {
		m.removeVertex(n)
	}
	for _, x := range o.Shown {
		m.showAnew(x)
	}
	for _, id := range o.Replaced {
		m.withdrawReplaced(id)
	}
	for _, k := range o.Kills {
		m.kill(k)
	}
	for _, x := range o.Left {
		m.leftNothing(x)
	}
	for i := range o.Deletions {
		m.deletedSince(&o.Deletions[i])
	}
	m.countBroken(gone)
	for _, f := range m.doomed {
		m.withdraw(f)
	}
	m.doomed = m.doomed[:0]
	m.retryAsides()
	if len(o.Nodes) > 0 || len(o.Edges) > 0 {
		m.grow(o)
		if m.forced.on {
			m.noteForced(o)
		}
	}
	for _, v := range o.Supplied {
		m.supply(v)
	}
	for _, v := range o.Doubted {
		m.doubt(v)
	}
	m.retryAsides()
	for i := range o.Anomalies {
		if a := &o.Anomalies[i]; a.Kind != infer.Divergence {
			m.anomaly(a)
		}
	}
	for _, k := range o.Emptied {
		m.beginEmpty(k)
	}
}

func (m *Machine) grow(o *infer.Out) {
	if len(o.Nodes) == 1 && len(o.Anomalies) == 0 && len(m.asked) == 0 && m.graph.Plain() {
		n := o.Nodes[0]
		if done := m.graph.AddWith(incremental.Vertex(n), m.enter(n), arcs(o.Edges)); done < len(o.Edges) {
			m.convert(o.Edges[done:])
			m.insert()
		}
		return
	}
	m.convert(o.Edges)
	for _, n := range o.Nodes {
		m.graph.AddVertex(incremental.Vertex(n), m.enter(n), arcs(o.Edges))
		if m.realTime {
			m.noteLate(n)
		}
	}
	for i := range o.Anomalies {
		if a := &o.Anomalies[i]; a.Kind == infer.Divergence {
			m.anomaly(a) // before the edges that close its cycle
		}
	}
	m.insert()
}

// arcs are es as the orders take them: the two are laid out alike.
func arcs(es []infer.Edge) []incremental.Arc {
	return unsafe.Slice((*incremental.Arc)(unsafe.Pointer(unsafe.SliceData(es))), len(es))
}

// Both sides of arcs must have each field at the same place.
var (
	_ [unsafe.Sizeof(infer.Edge{})]byte           = [unsafe.Sizeof(incremental.Arc{})]byte{}
	_ [unsafe.Offsetof(infer.Edge{}.To)]byte      = [unsafe.Offsetof(incremental.Arc{}.To)]byte{}
	_ [unsafe.Offsetof(infer.Edge{}.Label)]byte   = [unsafe.Offsetof(incremental.Arc{}.Labels)]byte{}
	_ [unsafe.Offsetof(infer.Edge{}.Version)]byte = [unsafe.Offsetof(incremental.Arc{}.Note)]byte{}
	_ [unsafe.Offsetof(infer.Edge{}.Witness)]byte = [unsafe.Offsetof(incremental.Arc{}.Note) + 4]byte{}
)

// convert makes m.edges of those of es that some view follows.
func (m *Machine) convert(es []infer.Edge) {
	if cap(m.edges) < len(es) {
		m.edges = make([]incremental.Edge, 2*len(es))
	}
	into, k := m.edges[:len(es)], 0
	for i := range es {
		e := &es[i]
		label := e.Label
		if label&infer.Reread != 0 && len(m.asked) > 0 {
			label = m.rereadAs(e)
		}
		if label&m.follows == 0 {
			continue
		}
		x := &into[k]
		x.From, x.To, x.Labels = incremental.Vertex(e.From), incremental.Vertex(e.To), incremental.Labels(label)
		x.Note[0], x.Note[1] = e.Version, e.Witness
		k++
	}
	m.edges = into[:k]
}

// rereadAs is the label of what a transaction saw of a key when it had seen another version
// of it. One that asked for less than read atomic may, so that the levels from there on do
// not fall with it, and need it as any other read.
func (m *Machine) rereadAs(e *infer.Edge) infer.Label {
	switch asked := m.askedBy(e.To); {
	case asked == isolation.ReadUncommitted:
		return 0
	case asked != 0 && asked < isolation.ReadAtomic:
		return infer.WR
	}
	return e.Label
}

// enter counts n in its pane, and gives its place in the orders.
func (m *Machine) enter(n uint32) incremental.Place {
	p := m.spanOf(n)
	m.panes.enter(p.Settle)
	if m.realTime {
		m.timePlace(n, &p)
	}
	return p
}

// spanOf is the place of n without real time.
func (m *Machine) spanOf(n uint32) incremental.Place {
	start, end, unknown := m.infer.Span(n)
	p := incremental.Place{Begin: start, Commit: end, Settle: end}
	if unknown {
		p.Commit = start // it may have taken effect at any time from here on
	}
	return p
}

// insert puts the edges into the orders.
func (m *Machine) insert() {
	all := incremental.Views(1)<<len(m.views) - 1
	for i := range m.edges {
		e, in := &m.edges[i], all
		if len(m.asked) > 0 {
			in = m.viewsOf(e)
		}
		id, ref := m.graph.AddEdgeIn(e, in)
		if ref.Cycle != 0 {
			m.cycle(id, ref.Cycle)
		}
		if ref.Past|ref.Behind != 0 {
			x := infer.Edge{From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0], Witness: e.Note[1]}
			if ref.Past != 0 {
				m.backInTime(&x, ref.Past)
			}
			if ref.Behind != 0 {
				m.behind(&x, ref.Behind)
			}
		}
	}
}

// viewsOf are the views in which e constrains: in the encoding of a level, a
// transaction that asked for less gives no anti-dependency, and one that asked
// for read-uncommitted takes no read dependency in (Adya's mixing-correct
// histories). Where conflicts are tracked among serializable transactions only, nobody is
// promised to come before one that asked for less.
func (m *Machine) viewsOf(e *incremental.Edge) incremental.Views {
	all := incremental.Views(1)<<len(m.views) - 1
	switch l := infer.Label(e.Labels); {
	case l&infer.RW != 0:
		if asked := m.askedBy(uint32(e.To)); m.cfg.Rules.Tracked && asked != 0 && asked < isolation.Serializable {
			for i, level := range m.views {
				if level.Underlying() == isolation.Serializable {
					all &^= 1 << i
				}
			}
		}
		if asked := m.askedBy(uint32(e.From)); asked != 0 {
			for i, level := range m.views {
				if asked < level.Underlying() {
					all &^= 1 << i
				}
			}
		}
	case l&infer.WR != 0:
		if m.askedBy(uint32(e.To)) == isolation.ReadUncommitted {
			if l == infer.WR {
				return 0
			}
			e.Labels = incremental.Labels(infer.WW) // it overwrote what it read
		}
	}
	return all
}

func (m *Machine) askedBy(n uint32) isolation.Base {
	if int(n) >= len(m.asked) {
		return 0
	}
	return m.asked[n]
}

func (m *Machine) askedOf(v incremental.Vertex) isolation.Base { return m.askedBy(uint32(v)) }

// removeVertex takes back a transaction that a later record replaced.
func (m *Machine) removeVertex(n uint32) {
	v := incremental.Vertex(n)
	if !m.graph.Known(v) {
		return
	}
	for id := m.graph.FirstOut(v); id != 0; id = m.graph.NextOut(id) {
		m.removeEdge(id)
	}
	for id := m.graph.FirstIn(v); id != 0; id = m.graph.NextIn(id) {
		m.removeEdge(id)
	}
	m.open.forEach(n, func(f *openFinding) { m.doomed = append(m.doomed, f) })
	m.removeForced(n)
	m.panes.leave(m.graph.Settle(v))
	m.graph.Free(v)
}

// showAnew lets the read of another transaction show the orders that one did which does
// not count any more. What was told with that one's record is told again.
func (m *Machine) showAnew(x infer.Shown) {
	v := incremental.Vertex(x.Writer)
	if !m.graph.Known(v) {
		return
	}
	for id := m.graph.FirstIn(v); id != 0; id = m.graph.NextIn(id) {
		if e := m.graph.Edge(id); infer.Label(e.Labels)&infer.WW != 0 && e.Note[1] == x.Was {
			e.Note[1] = x.Now
		}
	}
	for _, f := range m.open.list {
		if !f.closed && slices.Contains(f.shown, x.Was) && !slices.Contains(m.doomed, f) {
			m.doomed = append(m.doomed, f)
		}
	}
}

func (m *Machine) kill(k infer.Kill) {
	value := m.infer.ValueKey(k.Version)
	for _, f := range slices.Clone(m.open.list) {
		if k.Order || f.closed {
			continue
		}
		if value != 0 && slices.Contains(f.rests, value) {
			m.doomed = append(m.doomed, f)
		} else if slices.Contains(f.versions, k.Version) {
			f.versions = slices.DeleteFunc(f.versions, func(v uint32) bool { return v == k.Version }) // the rest may still hold
			m.doomed = append(m.doomed, f)
		}
	}
	v := incremental.Vertex(k.Writer)
	if !m.graph.Known(v) {
		return
	}
	hit := func(id incremental.EdgeID) {
		if e := m.graph.Edge(id); k.Kills(uint32(e.From), uint32(e.To), infer.Label(e.Labels), e.Note[0]) {
			m.removeEdge(id)
		}
	}
	for id := m.graph.FirstOut(v); id != 0; id = m.graph.NextOut(id) {
		hit(id)
	}
	for id := m.graph.FirstIn(v); id != 0; id = m.graph.NextIn(id) {
		hit(id)
	}
}

// removeEdge takes an edge that no longer holds out of the orders, and back what
// was reported because of it.
func (m *Machine) removeEdge(id incremental.EdgeID) {
	from := uint32(m.graph.Edge(id).From)
	m.loseForced(m.graph.Edge(id))
	m.graph.RemoveEdge(id)
	m.open.forEach(from, func(f *openFinding) {
		for _, e := range f.edges {
			if e == id {
				m.doomed = append(m.doomed, f)
				return
			}
		}
	})
}

// release lets go of transactions that have left every order.
func (m *Machine) release(retired []incremental.Vertex) {
	if m.forced.on {
		m.dropForced(retired)
	}
	if len(m.open.by) > 0 {
		for _, v := range retired {
			for made := -1; made != m.open.made; { // what settles may show a worse cycle
				made = m.open.made
				m.open.forEach(uint32(v), m.settleUnlessAccusing)
			}
		}
	}
	for i, v := range retired {
		if i%warmAhead == 0 {
			m.warmRetired(retired[i:min(i+warmAhead, len(retired))])
		}
		n := uint32(v)
		m.panes.leave(m.graph.Settle(v))
		m.graph.Free(v)
		if m.forced.on && !m.forced.idle {
			m.freezeBehind(n)
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
