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
	met   met
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
	timed   bool
	freezes bool             // what is run freezes then
	ahead   bool             // most of what is run lives on: who wrote what it read may come before it freezes
	lows    map[uint32]int64 // by node: what the frozen order raises its bound to
	// missed says that somebody behind what was run read a version that was replaced
	// there: a misfit to come.
	missed bool
	absent []absentRead // reads of nothing that do not fit, or will not
}

func (m *Machine) newRun(i int) *frozenRun {
	r := &frozenRun{m: m, view: i, split: m.graph.Split(i), prefix: m.views[i].Base == isolation.Prefix, news: m.spareNews}
	if m.spareNews = nil; r.news == nil {
		r.news = map[uint32]lastFrozen{}
	}
	if r.timed = m.views[i].RealTime(); r.timed {
		r.lows = map[uint32]int64{}
	}
	return r
}

func (r *frozenRun) last(k uint32) lastFrozen {
	if x, ok := r.news[k]; ok {
		return x
	}
	return r.m.frozenLast(r.view, k)
}

// frozenLast is what the frozen order of the i-th view left in k.
func (m *Machine) frozenLast(i int, k uint32) lastFrozen {
	if int(k) >= len(m.frozen[i]) {
		return lastFrozen{}
	}
	x, now := m.frozen[i][k], m.infer.KeyHash(k)
	if x.key != now {
		x = lastFrozen{met: x.met}
	}
	if x.met.key != now {
		x.met = met{}
	}
	return x
}

// knowsFrozen says whether anything is known of k in the frozen order of the i-th view.
func (m *Machine) knowsFrozen(i int, k uint32) bool {
	x := m.frozenLast(i, k)
	return !x.empty()
}

// empty says whether nothing is known.
func (x *lastFrozen) empty() bool { return x.key == 0 && x.met.key == 0 }

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
		fits := !r.timed || r.inTime(n, t)
		if !r.split || n&1 == 0 {
			if !r.m.askedUnder(t, r.m.views[r.view]) {
				r.m.infer.EachBlindRead(t, func(k, v uint32) {
					if (!r.ahead || !r.m.infer.Unwritten(v)) && !r.m.leftThere(r.view, r.last(k), v) {
						fits = false
						r.noteAbsent(t, v)
					}
				})
			}
		}
		if !r.split || n&1 == 1 {
			r.m.infer.EachBlindWrite(t, func(k, v uint32) {
				x := r.last(k)
				at, seq := r.m.graph.Place(r.view, n)
				if r.split && !r.prefix && x.key != 0 {
					began, first := r.m.graph.Place(r.view, n-1)
					fits = fits && (x.at < began || x.at == began && x.seq < first || r.m.anotherRow(x, k, v))
				}
				r.missed = r.missed || r.readBehind(k, x, n)
				r.news[k] = lastFrozen{key: r.m.infer.KeyHash(k), value: r.m.infer.ValueKey(v), at: at, seq: seq, met: x.met}
			})
		}
		if !fits && !slices.Contains(r.misfits, t) {
			r.misfits = append(r.misfits, t)
		}
	}
}

// readBehind says whether a live reader of what x left in k stands behind node n,
// which replaces it, and nobody left it again between the two.
func (r *frozenRun) readBehind(k uint32, x lastFrozen, n uint32) bool {
	if r.missed || x.key == 0 {
		return false
	}
	g, behind := r.m.graph, false
	t := g.VertexOf(r.view, n)
	var again uint32 // node of who leaves it again
	asked, left := false, false
	r.m.infer.EachReaderOf(k, x.value, func(reader, version uint32) {
		v := incremental.Vertex(reader)
		if behind || v == t || !g.Known(v) || g.Retired(r.view, v) {
			return
		}
		node, _, _ := g.Ends(r.view, v, t, incremental.Labels(infer.RW))
		if !g.Before(r.view, n, node) {
			return
		}
		if !asked { // all of them read one version
			again, left = r.leftAgain(version, n)
			asked = true
		}
		if behind = !left || again != n && !g.Before(r.view, again, node); behind {
			r.noteAbsent(reader, version)
		}
	})
	return behind
}

// leftAgain is the first node that leaves v again, from node n on.
func (r *frozenRun) leftAgain(v, n uint32) (first uint32, left bool) {
	if !r.m.infer.IsRepeated(v) {
		return 0, false
	}
	g := r.m.graph
	r.m.infer.EachWriter(v, func(w uint32) {
		x := incremental.Vertex(w)
		if !g.Known(x) || g.Retired(r.view, x) {
			return
		}
		node, _, _ := g.Ends(r.view, x, x, incremental.Labels(infer.WW))
		if node != n && !g.Before(r.view, n, node) || left && !g.Before(r.view, node, first) {
			return
		}
		first, left = node, true
	})
	return first, left
}

// keep makes what was run part of what is frozen, and ends the run.
func (r *frozenRun) keep() {
	for k, x := range r.news {
		r.m.setFrozen(r.view, k, x)
	}
	r.drop()
}

// maxSpareNews bounds the keys of a run whose memory the next one takes over: to clear a map takes
// as long as it once was large.
const maxSpareNews = 4096

// drop ends the run: the next one takes its memory over.
func (r *frozenRun) drop() {
	if len(r.news) <= maxSpareNews {
		clear(r.news)
		r.m.spareNews = r.news
	}
	r.news = nil
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
	clean := m.orderBefore(due)
	for i, l := range m.views {
		if l.Underlying() < isolation.Prefix {
			continue
		}
		r := clean[i]
		if r == nil {
			r = m.newRun(i)
			r.freezes = true
			r.run(due(i))
		}
		r.keep()
		m.misfits[i] += int64(len(r.misfits))
		// Where values are only observed to name their writers, a read that does not fit
		// may be of somebody else's value: it is counted, and the verdict says so.
		if l == m.cfg.Expect && !refuted(m.verdicts.certain, l) && !m.cfg.Contract.Observed {
			for _, n := range r.misfits {
				m.noteGroup("blind writes", "read of blind writes", m.noted(n))
			}
		}
	}
}

// orderLive finds an order of the first live nodes of the i-th view such that what is
// due fits, and gives it to that view and to those that follow from it. What has no
// order whatever was frozen is reported. An order that does not fit what is frozen is
// no better than the present one, unless that has misfits.
//
// Of the live nodes only those about the due ones are ordered, twice as many as are
// looked at: the work is in proportion to what freezes, and not to the window. What
// comes behind stays there. If that fails, all live nodes are.
func (m *Machine) orderLive(i, due int, misfits bool) {
	relaxed := refuted(m.verdicts.certain, m.views[i])
	if part := lookedAt(lookedAt(due)); part < m.graph.Nodes(i) {
		c := m.live(i, m.graph.First(i, part), lookedAt(due), relaxed, false)
		if c == nil || !c.unread && m.adoptGuessed(i, c) {
			return
		}
	}
	nodes := m.graph.Order(i)
	for n := 0; n < maxHunt; n++ {
		c := m.live(i, nodes, 0, relaxed, false)
		if c == nil || m.adoptGuessed(i, c) || m.views[i].Family == isolation.Plain && m.adoptOf(i, c, &c.problem) {
			return
		}
		if c.rows {
			m.adoptOf(i, c, &c.problem)
			return
		}
		if c.repeats {
			c = m.live(i, nodes, 0, relaxed, true)
		} else {
			c.problem.Edges = c.problem.Edges[:len(c.problem.Edges)-c.assumed]
		}
		r := m.solve(i, c)
		switch r.Verdict {
		case solve.Satisfiable:
			if misfits {
				m.adopt(i, c, r.Order)
			}
			return
		case solve.Unknown:
			return
		}
		if relaxed && !m.another(i, c, &r.Core) || !relaxed && !m.cannotOrder(i, c, &r.Core) || !m.hunted(i) || len(r.Core.Pairs)+len(r.Core.Reads) == 0 {
			return
		}
		relaxed = true
	}
}

// adoptGuessed takes an order that has real time and session order, or session order.
func (m *Machine) adoptGuessed(i int, c *constraints) bool {
	return !m.untimed && m.adoptOf(i, c, m.guessedInTime(i, c)) || m.adoptOf(i, c, m.inSessions(i, c))
}

// readBudget is what the search may take for an order with reads of repeated values, about
// 0.1 s: what is due cannot wait, and if there is none they are counted.
const readBudget = solve.DefaultBudget / 20

// adoptOf takes the order of the problem, if it has one.
func (m *Machine) adoptOf(i int, c *constraints, p *solve.Problem) bool {
	if len(p.Reads) > 0 {
		p.Budget = readBudget
	}
	r := solve.Solve(p)
	return r.Verdict == solve.Satisfiable && m.adopt(i, c, r.Order)
}

// lookedAt is how many live nodes are looked at before the first of them freeze: some
// more, since transactions that overlap in time may have come in another order.
func lookedAt(due int) int { return due + max(due/4, 512) }

// live are the constraints of the first live nodes of the i-th view. The last edges
// are assumed: they follow from that nodes which are not among these come behind the
// first of these, up to until; and from what is frozen. nil where versions are no
// chains. Reads of repeated values are among them as far as a writer is; if all has to be
// known, as far as all writers are.
func (m *Machine) live(i int, nodes []uint32, until int, relaxed, known bool) *constraints {
	c := m.graphOf(i, nodes, relaxed)
	var txns []uint32
	for _, n := range c.nodes {
		if !m.graph.Split(i) || n&1 == 1 {
			txns = append(txns, uint32(m.graph.VertexOf(i, n)))
		}
	}
	pieces := make([]piece, 0, 4*len(txns))
	var begun []solve.Edge
	asked := false
	live := func(n uint32) bool {
		out, _, _ := m.graph.Ends(i, incremental.Vertex(n), incremental.Vertex(n), incremental.Labels(infer.WW))
		return c.nodeAt(out) >= 0
	}
	elements := !known && !m.graph.Split(i) // to add what is there is no conflict, and a witness does not tell elements apart
	ok := m.infer.EachPiece(txns, live, elements, func(p *infer.Piece) {
		c.rows = c.rows || p.Rows
		c.repeats = c.repeats || m.infer.OfElement(p.Versions[0]) // what cannot be ordered is asked again without them
		asked = asked || m.anyAskedLess([]infer.Chain{p.Chain}, m.views[i])
		x := piece{at: -1, key: p.Key, hash: m.infer.KeyHash(p.Key), unit: m.unit(i, c, &p.Chain), chain: p.Chain, closed: p.Closed}
		x.closed = x.closed || x.unit.In < 0 || x.unit.InAnti < 0
		x.later = until > 0 && slices.ContainsFunc(p.Readers, func(n uint32) bool {
			node, _, _ := m.graph.Ends(i, incremental.Vertex(n), incremental.Vertex(n), incremental.Labels(infer.RW))
			return c.nodeAt(node) < 0 && m.graph.Known(incremental.Vertex(n)) && !m.graph.Retired(i, incremental.Vertex(n))
		})
		x.later = x.later || until > 0 && p.Repeated && m.readFurtherBack(i, c, p.Versions[len(p.Versions)-1])
		if p.Repeated && x.unit.In < 0 && x.unit.InAnti >= 0 && x.unit.Out >= 0 && !known {
			x.unit.In = c.begun()
			begun = append(begun, solve.Edge{From: x.unit.In, To: x.unit.InAnti})
		}
		x.repeated = p.Repeated && x.unit.In >= 0 && x.unit.InAnti >= 0
		if x.unit.Out >= 0 && !(relaxed && m.isAside(i, p.Key, &p.Chain)) {
			pieces = append(pieces, x)
		}
	})
	if !ok || asked || m.views[i].Base == isolation.Prefix {
		return nil
	}
	pieces = sortedPieces(pieces)
	p := &c.problem
	p.Units, c.chains = make([]solve.Unit, 0, len(pieces)), make([]infer.Chain, 0, len(pieces))
	reads := m.openReads(i, c, pieces, elements)
	var later, assumed []solve.Edge
	for from := 0; from < len(pieces); {
		to := from + 1
		for to < len(pieces) && pieces[to].key == pieces[from].key {
			to++
		}
		p.Keys = append(p.Keys, int32(len(p.Units)))
		for a := from; a < to; a++ {
			x := &pieces[a]
			x.later = x.later && !(x.repeated && leftLater(pieces[from:to], x))
			for b := from; b < to && x.later; b++ { // who reads it then must find it
				if y := &pieces[b]; b != a && int(y.unit.Out) < until {
					later = append(later, solve.Edge{From: y.unit.Out, To: x.unit.Out})
				}
			}
			if !x.closed || x.repeated {
				x.at = int32(len(p.Units))
				p.Units = append(p.Units, x.unit)
				c.chains = append(c.chains, x.chain)
			}
			if !x.closed {
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
		if !known {
			assumed = leftBefore(c, reads, pieces[from:to], assumed)
		}
		from = to
	}
	c.chooseWriters(reads, pieces, known)
	if known {
		return c
	}
	assumed = append(m.readersOfFrozen(i, c, txns, assumed), begun...)
	if c.past > 0 {
		assumed = append(assumed, solve.Edge{From: c.past, To: c.past + 1})
	}
	c.assumed = len(later) + len(assumed)
	p.Edges = append(append(p.Edges, later...), assumed...)
	return c
}

// sortedPieces are the pieces key by key, by what does not change when a key comes back,
// those of a key by node. What is sorted are their places: a piece has 150 bytes.
func sortedPieces(pieces []piece) []piece {
	type place struct {
		hash uint64
		key  uint32
		node solve.Node
		at   int32
	}
	places := make([]place, len(pieces))
	for i := range pieces {
		x := &pieces[i]
		places[i] = place{x.hash, x.key, x.unit.Out, int32(i)}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node))
	})
	sorted := make([]piece, len(pieces))
	for i := range places {
		sorted[i] = pieces[places[i].at]
	}
	return sorted
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
			if !ok || m.liveVersion(i, v) || m.infer.IsRepeated(v) || m.infer.Unwritten(v) {
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

// leftThere says whether v is what the frozen order of the i-th view left in its key, which
// is x. Before the first of those who write it froze that were run, nothing of known order
// need be looked at.
func (m *Machine) leftThere(i int, x lastFrozen, v uint32) bool {
	if x.key != 0 {
		return x.value == m.infer.ValueKey(v)
	}
	return !m.infer.IsRepeated(v) || !m.infer.IsNothing(v) && m.infer.LeftAlone(v, func(n uint32) bool {
		return !m.graph.Known(incremental.Vertex(n)) || m.graph.Retired(i, incremental.Vertex(n))
	})
}

// liveVersion says whether the writer of v is live in the i-th view.
func (m *Machine) liveVersion(i int, v uint32) bool {
	w := m.infer.WriterOf(v)
	return w != 0 && m.graph.Known(incremental.Vertex(w)) && !m.graph.Retired(i, incremental.Vertex(w))
}

// adopt gives the order to the i-th view, and to the views of weaker levels. It
// returns false when the i-th view does not take it.
func (m *Machine) adopt(i int, c *constraints, order []int32) bool {
	place := func(j int, n uint32) (at int64, known bool) {
		v := uint32(m.graph.VertexOf(j, n))
		node := v
		if m.graph.Split(i) {
			if node = 2*v + 1; m.graph.Split(j) {
				node = n
			}
		}
		if at := c.nodeAt(node); at >= 0 {
			return 2*int64(order[at]) + int64(n&1), true
		}
		// What has retired in the i-th view comes first.
		return -1, m.graph.Retired(i, incremental.Vertex(v)) || m.graph.Split(i) && node&1 == 0 && c.nodeAt(node+1) >= 0
	}
	taken := false
	for j, l := range m.views {
		if j != i && (c.relaxed || !m.speaksFor(i, l)) || l.Underlying() < isolation.Prefix {
			continue
		}
		taken = m.graph.Reorder(j, m.arranged(j, c, place)) && j == i || taken
	}
	return taken
}

// arranged are the live nodes of the j-th view by their new places, as far as those
// are known: they stand where such nodes stood before, the others stay where they are.
func (m *Machine) arranged(j int, c *constraints, place func(j int, n uint32) (int64, bool)) []uint32 {
	type placed struct {
		n  uint32
		at int64
	}
	last := m.graph.Nodes(j)
	if k := 3*len(c.nodes) + 1024; k < last { // whole views where they differ by more than that
		last = k
	}
	nodes := m.graph.First(j, last)
	var slots []int
	var moved []placed
	for k, n := range nodes {
		if at, known := place(j, n); known {
			slots, moved = append(slots, k), append(moved, placed{n, at})
		}
	}
	slices.SortStableFunc(moved, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	end := 0
	for k := range moved {
		nodes[slots[k]] = moved[k].n
		end = slots[k] + 1
	}
	return nodes[:end]
}

// fitsToTheEnd says by view whether all that is live would fit if it froze now.
func (m *Machine) fitsToTheEnd() {
	if m.infer.Counters.Unordered == 0 {
		return
	}
	m.orderBefore(m.graph.Order)
	for i := range m.views {
		if !m.orders(i) || m.misfits[i] > 0 {
			continue
		}
		if !m.fitsNow(i) {
			m.decideAbsent(i, m.graph.Nodes(i))
			m.orderings[i] = beyond
			continue
		}
		for j, weaker := range m.views {
			if m.speaksFor(i, weaker) {
				m.orderings[j] = orderable
			}
		}
	}
}

func (m *Machine) initFrozen() {
	if len(m.frozen) == 0 {
		m.aloneOrdered()
		m.frozen, m.misfits = make([][]lastFrozen, len(m.views)), make([]int64, len(m.views))
	}
}

// orderBefore orders the live part where what is due would not fit, at each level that is not
// violated, and at those that the expected one forbids to violate: the strongest first, whose order
// those that it implies take over, as far as they can. A stronger level can have no order where a
// weaker one has, or be violated later, and then says nothing of it any more. It returns the runs of what is due
// that need not be run again.
func (m *Machine) orderBefore(due func(i int) []uint32) (clean []*frozenRun) {
	m.initFrozen()
	m.dropAside()
	var fitting []int
	clean = make([]*frozenRun, len(m.views))
	for at := range m.weakFirst {
		i := m.weakFirst[len(m.weakFirst)-1-at]
		if !m.orders(i) && !(m.hunted(i) && m.cfg.Expect.Implies(m.views[i])) {
			continue
		}
		nodes := due(i)
		n := len(nodes)
		if n == 0 {
			continue
		}
		// Where a stronger level's order fits, which this one mostly has too, it is enough to look
		// at what is due.
		r := m.newRun(i)
		spoken := slices.ContainsFunc(fitting, func(j int) bool { return m.speaksFor(j, m.views[i]) })
		if r.freezes = spoken && !r.timed; !spoken {
			r.ahead, nodes = true, m.graph.First(i, lookedAt(n))
		}
		switch r.run(nodes); {
		case len(r.misfits) > 0 || r.missed:
			r.drop()
			m.orderLive(i, n, len(r.misfits) > 0)
			m.decideAbsent(i, n)
			clear(clean) // others may have been given another order
		case spoken && !r.timed: // bounds are raised when it freezes
			clean[i] = r
		case spoken:
			r.drop()
		default:
			r.drop()
			fitting = append(fitting, i)
		}
	}
	return clean
}
