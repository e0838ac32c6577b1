package window

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/solve"
)

// orderLive finds an order of the first live nodes of the i-th view in which the due nodes fit. It
// gives the order to that view and to the views that follow from it. If there is no order, whatever the
// frozen part is, that is reported. An order that does not fit the frozen part is not better than the
// present one, unless the present one has misfits.
//
// Only the live nodes about the due ones are ordered, twice as many as are looked at. So the
// work is in proportion to the nodes that freeze, and not to the window. Nodes behind stay
// there. If that fails, all live nodes are ordered.
func (o *choices) orderLive(i, due int, misfits bool) {
	relaxed := refuted(o.reports.verdicts.certain, o.views[i])
	if part := lookedAt(lookedAt(due)); part < o.graph.Nodes(i) {
		c := o.live(i, o.graph.First(i, part), lookedAt(due), relaxed, false)
		if c == nil || !c.unread && o.adoptGuessed(i, c) {
			return
		}
	}
	nodes := o.graph.Order(i)
	for n := 0; n < maxHunt; n++ {
		c := o.live(i, nodes, 0, relaxed, false)
		if c == nil || o.adoptGuessed(i, c) || o.views[i].Family == isolation.Plain && o.adoptOf(i, c, &c.problem) {
			return
		}
		if c.rows {
			o.adoptOf(i, c, &c.problem)
			return
		}
		if c.duplicates {
			c = o.live(i, nodes, 0, relaxed, true)
		} else {
			c.problem.Edges = c.problem.Edges[:len(c.problem.Edges)-c.assumed]
		}
		r := o.solve(i, c)
		switch r.Verdict {
		case solve.Satisfiable:
			if misfits {
				o.adopt(i, c, r.Order)
			}
			return
		case solve.Unknown:
			return
		}
		if relaxed && !o.another(i, c, &r.Core) || !relaxed && !o.cannotOrder(i, c, &r.Core) || !o.hunted(i) || len(r.Core.Pairs)+len(r.Core.Reads) == 0 {
			return
		}
		relaxed = true
	}
}

// adoptGuessed takes an order that has real time and session order, or session order.
func (o *choices) adoptGuessed(i int, c *constraints) bool {
	return !o.untimed && o.adoptOf(i, c, o.guessedInTime(i, c)) || o.adoptOf(i, c, o.inSessions(i, c))
}

// readBudget bounds the search for an order with reads of repeated values, to about 0.1 s. Due
// nodes cannot wait. If there is no order, the reads are counted.
const readBudget = solve.DefaultBudget / 40

// adoptOf takes the order of the problem, if it has one.
func (o *choices) adoptOf(i int, c *constraints, p *solve.Problem) bool {
	if len(p.Reads) > 0 {
		p.Budget = readBudget
	}
	r := solve.Solve(p)
	return r.Verdict == solve.Satisfiable && o.adopt(i, c, r.Order)
}

// lookedAt is how many live nodes are looked at before the first of them freeze. There are some
// more than freeze, since transactions that overlap in time may have come in another order.
func lookedAt(due int) int { return due + max(due/4, 512) }

// live returns the constraints of the first live nodes of the i-th view. Their last edges are
// assumed. Some hold because the nodes up to until come before the others, and some because of the
// frozen part. live returns nil where versions are not chains. A read of a repeated value is included if
// a writer of it is among the nodes. With known, all of its writers have to be.
func (o *choices) live(i int, nodes []uint32, until int, relaxed, known bool) *constraints {
	c := o.graphOf(i, nodes, relaxed)
	var txns []uint32
	for _, n := range c.nodes {
		if !o.graph.Split(i) || n&1 == 1 {
			txns = append(txns, uint32(o.graph.VertexOf(i, n)))
		}
	}
	pieces := make([]piece, 0, 4*len(txns))
	var begun []solve.Edge
	asked := false
	live := func(n uint32) bool {
		out, _, _ := o.graph.Ends(i, incremental.Vertex(n), incremental.Vertex(n), incremental.Labels(infer.WW))
		return c.nodeAt(out) >= 0
	}
	elements := !known && !o.graph.Split(i) // to add what is there is no conflict, and a witness does not tell elements apart
	ok := o.infer.EachPiece(txns, live, elements, func(p *infer.Piece) {
		c.rows = c.rows || p.Rows
		c.duplicates = c.duplicates || o.infer.OfElement(p.Versions[0]) // what cannot be ordered is asked again without them
		asked = asked || o.asking.anyAskedLess([]infer.Chain{p.Chain}, o.views[i])
		x := piece{at: -1, key: p.Key, hash: o.infer.KeyHash(p.Key), unit: o.unit(i, c, &p.Chain), chain: p.Chain, closed: p.Closed}
		x.closed = x.closed || x.unit.In < 0 || x.unit.InAnti < 0
		x.later = until > 0 && slices.ContainsFunc(p.Readers, func(n uint32) bool {
			node, _, _ := o.graph.Ends(i, incremental.Vertex(n), incremental.Vertex(n), incremental.Labels(infer.RW))
			return c.nodeAt(node) < 0 && o.graph.Known(incremental.Vertex(n)) && !o.graph.Retired(i, incremental.Vertex(n))
		})
		x.later = x.later || until > 0 && p.Duplicate && o.readFurtherBack(i, c, p.Versions[len(p.Versions)-1])
		if p.Duplicate && x.unit.In < 0 && x.unit.InAnti >= 0 && x.unit.Out >= 0 && !known {
			x.unit.In = c.begun()
			begun = append(begun, solve.Edge{From: x.unit.In, To: x.unit.InAnti})
		}
		x.duplicate = p.Duplicate && x.unit.In >= 0 && x.unit.InAnti >= 0
		if x.unit.Out >= 0 && !(relaxed && o.isSetAside(i, p.Key, &p.Chain)) {
			pieces = append(pieces, x)
		}
	})
	if !ok || asked || o.views[i].Base == isolation.Prefix {
		return nil
	}
	pieces = sortedPieces(pieces)
	p := &c.problem
	p.Units, c.chains = make([]solve.Unit, 0, len(pieces)), make([]infer.Chain, 0, len(pieces))
	reads := o.liveDuplicates(i, c, pieces, elements)
	var later, assumed []solve.Edge
	for from := 0; from < len(pieces); {
		to := from + 1
		for to < len(pieces) && pieces[to].key == pieces[from].key {
			to++
		}
		p.Keys = append(p.Keys, int32(len(p.Units)))
		for a := from; a < to; a++ {
			x := &pieces[a]
			x.later = x.later && !(x.duplicate && leftLater(pieces[from:to], x))
			for b := from; b < to && x.later; b++ { // the readers of the value must then find it there
				if y := &pieces[b]; b != a && int(y.unit.Out) < until {
					later = append(later, solve.Edge{From: y.unit.Out, To: x.unit.Out})
				}
			}
			if !x.closed || x.duplicate {
				x.at = int32(len(p.Units))
				p.Units = append(p.Units, x.unit)
				c.chains = append(c.chains, x.chain)
			}
			if !x.closed {
				continue
			}
			for b := from; b < to; b++ { // x comes before the pieces that are not closed
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
	assumed = append(o.readersOfFrozen(i, c, txns, pieces, assumed), begun...)
	if c.past > 0 {
		assumed = append(assumed, solve.Edge{From: c.past, To: c.past + 1})
	}
	c.assumed = len(later) + len(assumed)
	p.Edges = append(append(p.Edges, later...), assumed...)
	return c
}

// sortedPieces are the pieces key by key, by a property that does not change when a key comes
// back. The pieces of a key go by node. Their places are sorted, since a piece has 150 bytes.
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
// writers of the key, also those that have begun in what is frozen.
func (o *choices) readersOfFrozen(i int, c *constraints, txns []uint32, pieces []piece, dst []solve.Edge) []solve.Edge {
	p := &c.problem
	byKey := map[uint32]int{}
	for k := range p.Keys {
		if from, _ := p.Range(k); int(from) < len(p.Units) {
			byKey[o.infer.KeyOfVersion(c.chains[from].Versions[0])] = k
		}
	}
	begun := map[uint32][]solve.Node{} // commits by key
	for x := range pieces {
		if x := &pieces[x]; x.at < 0 && x.unit.In < 0 && x.unit.InAnti >= 0 {
			begun[x.key] = append(begun[x.key], x.unit.InAnti)
		}
	}
	for _, t := range txns {
		o.infer.EachBlindRead(t, func(key, v uint32) {
			k, ok := byKey[key]
			if !ok && begun[key] == nil || o.liveVersion(i, v) || o.infer.IsDuplicate(v) || o.infer.Unwritten(v) {
				return
			}
			node, _, _ := o.graph.Ends(i, incremental.Vertex(t), incremental.Vertex(t), incremental.Labels(infer.RW))
			r := c.nodeAt(node)
			if r < 0 {
				return
			}
			for _, commit := range begun[key] {
				dst = append(dst, solve.Edge{From: r, To: commit})
			}
			if !ok {
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
func (o *choices) liveVersion(i int, v uint32) bool {
	w := o.infer.WriterOf(v)
	return w != 0 && o.graph.Known(incremental.Vertex(w)) && !o.graph.Retired(i, incremental.Vertex(w))
}

// adopt gives the order to the i-th view, and to the views of weaker levels. It
// returns false when the i-th view does not take it.
func (o *choices) adopt(i int, c *constraints, order []int32) bool {
	place := func(j int, n uint32) (at int64, known bool) {
		v := uint32(o.graph.VertexOf(j, n))
		node := v
		if o.graph.Split(i) {
			if node = 2*v + 1; o.graph.Split(j) {
				node = n
			}
		}
		if at := c.nodeAt(node); at >= 0 {
			return 2*int64(order[at]) + int64(n&1), true
		}
		// Nodes that have retired in the i-th view come first.
		return -1, o.graph.Retired(i, incremental.Vertex(v)) || o.graph.Split(i) && node&1 == 0 && c.nodeAt(node+1) >= 0
	}
	taken := false
	for j, l := range o.views {
		if j != i && (c.relaxed || !o.levelChanges.speaksFor(i, l)) || !l.Underlying().Chooses() {
			continue
		}
		taken = o.graph.Reorder(j, o.arranged(j, c, place)) && j == i || taken
	}
	return taken
}

// arranged are the live nodes of the j-th view by their new places, as far as these are known. These
// nodes take the places that they had together before, in the new order. All other nodes stay where
// they are.
func (o *choices) arranged(j int, c *constraints, place func(j int, n uint32) (int64, bool)) []uint32 {
	type placed struct {
		n  uint32
		at int64
	}
	last := o.graph.Nodes(j)
	if k := 3*len(c.nodes) + 1024; k < last { // whole views where they differ by more than that
		last = k
	}
	nodes := o.graph.First(j, last)
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
