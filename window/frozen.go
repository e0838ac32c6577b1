package window

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/solve"
)

// With a window, the frozen order of a view is the order of the writers that nobody
// saw in order. It is run as it freezes: a read of an unordered key must be of what
// the frozen order left there, and under snapshot isolation no writer of a key may
// freeze between the begin and the commit of another. If all fit, the frozen order
// is an execution (docs/semantics.md, section 8). What does not fit is counted, by
// view: the level is unknown then.

// lastFrozen is what the frozen order of a view left in a key.
type lastFrozen struct {
	key   uint64 // infer.KeyHash of the key that the number stands for; 0: nothing is known
	value uint64 // ValueKey of the version
	at    int64  // place of the commit that left it
	seq   uint32
	_     uint32
}

// frozenRun runs nodes of a view over what was frozen before, without changing it
// unless keep is called.
type frozenRun struct {
	m      *Machine
	view   int
	split  bool
	prefix bool
	// news are the keys that it changed; no order of it matters.
	news    map[uint32]lastFrozen
	misfits []uint32 // transactions
}

func (m *Machine) newRun(i int) *frozenRun {
	return &frozenRun{m: m, view: i, split: m.graph.Split(i), prefix: m.views[i].Base == isolation.Prefix, news: map[uint32]lastFrozen{}}
}

func (r *frozenRun) last(k uint32) lastFrozen {
	if x, ok := r.news[k]; ok {
		return x
	}
	return r.m.frozenLast(r.view, k)
}

// frozenLast is what the frozen order of the i-th view left in k.
func (m *Machine) frozenLast(i int, k uint32) lastFrozen {
	if int(k) >= len(m.frozen[i]) || m.frozen[i][k].key != m.infer.KeyHash(k) {
		return lastFrozen{}
	}
	return m.frozen[i][k]
}

func (m *Machine) setFrozen(i int, k uint32, x lastFrozen) {
	f := &m.frozen[i]
	for int(k) >= len(*f) {
		*f = append(*f, lastFrozen{})
	}
	(*f)[k] = x
}

// run takes the nodes in, in their order.
func (r *frozenRun) run(nodes []uint32) {
	for _, n := range nodes {
		t := uint32(r.m.graph.VertexOf(r.view, n))
		fits := true
		if !r.split || n&1 == 0 {
			if !r.m.askedUnder(t, r.m.views[r.view]) {
				r.m.infer.EachBlindRead(t, func(k, v uint32) {
					x := r.last(k)
					fits = fits && (x.key == 0 || x.value == r.m.infer.ValueKey(v))
				})
			}
		}
		if !r.split || n&1 == 1 {
			r.m.infer.EachBlindWrite(t, func(k, v uint32) {
				if x := r.last(k); r.split && !r.prefix && x.key != 0 {
					at, seq := r.m.graph.Place(r.view, n-1)
					fits = fits && (x.at < at || x.at == at && x.seq < seq)
				}
				y := lastFrozen{key: r.m.infer.KeyHash(k), value: r.m.infer.ValueKey(v)}
				y.at, y.seq = r.m.graph.Place(r.view, n)
				r.news[k] = y
			})
		}
		if !fits && !slices.Contains(r.misfits, t) {
			r.misfits = append(r.misfits, t)
		}
	}
}

// keep makes what was run part of what is frozen.
func (r *frozenRun) keep() {
	for k, x := range r.news {
		r.m.setFrozen(r.view, k, x)
	}
}

// askedUnder says whether transaction n asked for less than the level: what it read
// promises nothing there.
func (m *Machine) askedUnder(n uint32, l isolation.Level) bool {
	asked := m.askedBy(n)
	return asked != 0 && asked < l.Underlying()
}

// freezing says whether the order of writers that nobody saw is looked at as it
// freezes.
func (m *Machine) freezing() bool { return m.infer.Counters.Unordered > 0 && !m.cfg.Unbounded }

// runFrozen runs what is about to freeze, by view: due gives the nodes. Before that
// the live part is ordered anew where it would not fit.
func (m *Machine) runFrozen(due func(i int) []uint32) {
	m.orderBefore(due)
	for i, l := range m.views {
		if l.Underlying() < isolation.Prefix {
			continue
		}
		r := m.newRun(i)
		r.run(due(i))
		r.keep()
		m.misfits[i] += int64(len(r.misfits))
		if l == m.cfg.Expect && !refuted(m.verdicts.certain, l) {
			for _, n := range r.misfits {
				m.noteGroup("blind writes", "read of blind writes", m.noted(n))
			}
		}
	}
}

// strongestOpen is the strongest view that is not refuted and has no misfits, -1 if
// there is none.
func (m *Machine) strongestOpen() int {
	strongest := -1
	for _, i := range m.weakFirst {
		if m.orders(i) && m.misfits[i] == 0 {
			strongest = i
		}
	}
	return strongest
}

// orderLive finds an order of the live transactions at the strongest level that
// has one, and gives it to that view and to those that follow from it. What has none
// whatever was frozen is reported.
func (m *Machine) orderLive() {
	for j := range m.weakFirst {
		i := m.weakFirst[len(m.weakFirst)-1-j]
		if !m.orders(i) {
			continue
		}
		c := m.live(i)
		if c == nil {
			return
		}
		known := len(c.problem.Edges) - c.assumed
		r := solve.Solve(&c.problem)
		if r.Verdict == solve.Unsatisfiable && c.assumed > 0 {
			c.problem.Edges = c.problem.Edges[:known]
			r = solve.Solve(&c.problem)
		}
		switch r.Verdict {
		case solve.Satisfiable:
			m.adopt(i, c, r.Order)
			return
		case solve.Unsatisfiable:
			m.cannotOrder(i, c, &r.Core)
		}
	}
}

// live are the constraints of the live part of the i-th view. The last edges are
// assumed: they follow from what is frozen. nil where versions are no chains.
func (m *Machine) live(i int) *constraints {
	c := m.graphOf(i)
	var txns []uint32
	for _, n := range c.nodes {
		if !m.graph.Split(i) || n&1 == 1 {
			txns = append(txns, uint32(m.graph.VertexOf(i, n)))
		}
	}
	type piece struct {
		key    uint32
		unit   solve.Unit
		chain  infer.Chain
		closed bool
	}
	var pieces []piece
	asked := false
	live := func(n uint32) bool {
		out, _, _ := m.graph.Ends(i, incremental.Vertex(n), incremental.Vertex(n), incremental.Labels(infer.WW))
		return c.nodeAt(out) >= 0
	}
	ok := m.infer.EachPiece(txns, live, func(p *infer.Piece) {
		asked = asked || m.anyAskedLess([]infer.Chain{p.Chain}, m.views[i])
		x := piece{key: p.Key, unit: m.unit(i, c, &p.Chain), chain: p.Chain, closed: p.Closed}
		x.closed = x.closed || x.unit.In < 0 || x.unit.InAnti < 0
		if x.unit.Out >= 0 {
			pieces = append(pieces, x)
		}
	})
	if !ok || asked || m.views[i].Base == isolation.Prefix {
		return nil
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { // by what does not change when a key comes back
		return cmp.Or(cmp.Compare(m.infer.KeyHash(a.key), m.infer.KeyHash(b.key)), cmp.Compare(a.key, b.key))
	})
	p := &c.problem
	var assumed []solve.Edge
	for from := 0; from < len(pieces); {
		to := from + 1
		for to < len(pieces) && pieces[to].key == pieces[from].key {
			to++
		}
		p.Keys = append(p.Keys, int32(len(p.Units)))
		for a := from; a < to; a++ {
			x := &pieces[a]
			if !x.closed {
				p.Units = append(p.Units, x.unit)
				c.chains = append(c.chains, x.chain)
				continue
			}
			for b := from; b < to; b++ { // it comes before those that are not closed
				if y := &pieces[b]; !y.closed {
					assumed = append(assumed, solve.Edge{From: x.unit.Out, To: y.unit.In})
					for _, r := range x.unit.Readers {
						assumed = append(assumed, solve.Edge{From: r, To: y.unit.InAnti})
					}
				}
			}
		}
		from = to
	}
	assumed = m.readersOfFrozen(i, c, txns, assumed)
	c.assumed = len(assumed)
	p.Edges = append(p.Edges, assumed...)
	return c
}

// readersOfFrozen appends that live readers of what is frozen come before the live
// writers of the key.
func (m *Machine) readersOfFrozen(i int, c *constraints, txns []uint32, dst []solve.Edge) []solve.Edge {
	p := &c.problem
	byKey := map[uint32]int{}
	for k := range p.Keys {
		if from, _ := p.Range(k); int(from) < len(p.Units) {
			byKey[m.infer.KeyOfVersion(c.chains[from].Versions[0])] = k
		}
	}
	for _, t := range txns {
		m.infer.EachBlindRead(t, func(key, v uint32) {
			k, ok := byKey[key]
			if !ok || m.liveVersion(i, v) {
				return
			}
			node, _, _ := m.graph.Ends(i, incremental.Vertex(t), incremental.Vertex(t), incremental.Labels(infer.RW))
			r := c.nodeAt(node)
			if r < 0 {
				return
			}
			from, to := p.Range(k)
			for u := from; u < to; u++ {
				if p.Units[u].InAnti != r {
					dst = append(dst, solve.Edge{From: r, To: p.Units[u].InAnti})
				}
			}
		})
	}
	return dst
}

// liveVersion says whether the writer of v is live in the i-th view.
func (m *Machine) liveVersion(i int, v uint32) bool {
	w := m.infer.WriterOf(v)
	return w != 0 && m.graph.Known(incremental.Vertex(w)) && !m.graph.Retired(i, incremental.Vertex(w))
}

// adopt gives the order to the i-th view, and to the views of weaker levels.
func (m *Machine) adopt(i int, c *constraints, order []int32) {
	place := func(j int, n uint32) int64 {
		v := uint32(m.graph.VertexOf(j, n))
		node := v
		if m.graph.Split(i) {
			if node = 2*v + 1; m.graph.Split(j) {
				node = n
			}
		}
		at := c.nodeAt(node)
		if at < 0 {
			return -1
		}
		return 2*int64(order[at]) + int64(n&1)
	}
	for j, l := range m.views {
		if !m.views[i].Implies(l) || l.Underlying() < isolation.Prefix {
			continue
		}
		nodes := m.graph.Order(j)
		slices.SortStableFunc(nodes, func(a, b uint32) int {
			x, y := place(j, a), place(j, b)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		m.graph.Reorder(j, nodes)
	}
}

// fitsToTheEnd says by view whether all that is live would fit if it froze now.
func (m *Machine) fitsToTheEnd() {
	if m.infer.Counters.Unordered == 0 || m.cfg.KeyCap > 0 {
		return
	}
	m.orderBefore(m.graph.Order)
	for i, l := range m.views {
		if !m.orders(i) || m.misfits[i] > 0 {
			continue
		}
		r := m.newRun(i)
		if r.run(m.graph.Order(i)); len(r.misfits) > 0 {
			m.orderings[i] = beyond
			continue
		}
		for j, weaker := range m.views {
			if l.Implies(weaker) {
				m.orderings[j] = orderable
			}
		}
	}
}

func (m *Machine) initFrozen() {
	if len(m.frozen) == 0 {
		m.frozen, m.misfits = make([][]lastFrozen, len(m.views)), make([]int64, len(m.views))
	}
}

// orderBefore orders the live part where what is due would not fit.
func (m *Machine) orderBefore(due func(i int) []uint32) {
	m.initFrozen()
	if i := m.strongestOpen(); i >= 0 {
		r := m.newRun(i)
		if r.run(due(i)); len(r.misfits) > 0 {
			m.orderLive()
		}
	}
}
