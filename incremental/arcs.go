package incremental

// Order lists the live nodes of the i-th view in its order. They are vertices. Where the view
// is split, they are 2*v for B and 2*v+1 for C.
func (g *Graph) Order(i int) []uint32 { return g.First(i, g.Nodes(i)) }

// Nodes bounds how many live nodes the i-th view has.
func (g *Graph) Nodes(i int) int { return g.own(i).queue.n }

// First lists the first k of them, or all if there are fewer.
func (g *Graph) First(i, k int) []uint32 {
	o := g.own(i)
	nodes := make([]uint32, 0, min(k, o.queue.n))
	o.queue.first(k, func(r rank) {
		if n := o.slots[r.slot]; n != 0 {
			nodes = append(nodes, n)
		}
	})
	return nodes
}

// ArcsOf calls fn with every edge out of v that constrains the i-th view or was set
// aside there and joins live nodes, and those nodes. The arcs B->C are left out.
func (g *Graph) ArcsOf(i int, v Vertex, fn func(id EdgeID, from, to uint32)) {
	o := g.own(i)
	for id := g.FirstOut(v); id != 0; id = g.NextOut(id) {
		e := &g.edges[id]
		if (e.In|e.SetAside)&o.bit == 0 {
			continue
		}
		if from, to, ok := o.ends(e); ok && !o.retired(from) && !o.retired(to) {
			fn(id, from, to)
		}
	}
}

// Ends are the nodes that an edge with these labels joins in the i-th view; ok is
// false where the view does not follow them.
func (g *Graph) Ends(i int, from, to Vertex, labels Labels) (x, y uint32, ok bool) {
	return g.watched[i].join(from, to, labels)
}

// Split says whether a vertex is two nodes in the i-th view.
func (g *Graph) Split(i int) bool { return g.watched[i].Split }

// Due lists the nodes that [Graph.Retire] would retire in the i-th view, in order.
func (g *Graph) Due(i int, now int64) []uint32 {
	o := g.own(i)
	for k := 1024; ; k *= 2 {
		nodes := g.First(i, k)
		for at, n := range nodes {
			if g.vertex(o.vertexOf(n)).settle >= now {
				return nodes[:at]
			}
		}
		if k >= o.queue.n {
			return nodes
		}
	}
}

// Excess lists the nodes that [Graph.Freeze] would retire in the i-th view, in
// order.
func (g *Graph) Excess(i int, maxLive int) []uint32 {
	o := g.own(i)
	if o.Split {
		maxLive *= 2
	}
	nodes := g.Order(i)
	return nodes[:max(0, len(nodes)-maxLive)]
}

// Reorder gives the first live nodes of the i-th view, as many as are given, the given
// order. It returns false, and changes nothing, when an edge speaks against it.
func (g *Graph) Reorder(i int, nodes []uint32) bool {
	o := g.own(i)
	ranks := make([]rank, 0, len(nodes))
	for k := len(nodes); len(ranks) < len(nodes); k = 2*k - len(ranks) {
		if ranks = ranks[:0]; k > 2*o.queue.n {
			return false
		}
		o.queue.first(k, func(r rank) {
			if o.slots[r.slot] != 0 && len(ranks) < len(nodes) {
				ranks = append(ranks, r)
			}
		})
	}
	old := make([]rank, len(nodes))
	for k, n := range nodes {
		old[k] = *o.rank(n)
		*o.rank(n) = ranks[k]
	}
	fits := true
	for k, n := range nodes {
		if v := o.vertexOf(n); o.Split && n&1 == 1 && !less(*o.rank(n - 1), ranks[k]) {
			fits = false
		} else if n == o.first(v) || o.retired(o.first(v)) { // its first live node
			fits = g.outFits(o, v)
		}
		if !fits {
			break
		}
	}
	for k, n := range nodes {
		if fits {
			o.slots[ranks[k].slot] = n
		} else {
			*o.rank(n) = old[k]
		}
	}
	return fits
}

// outFits says whether the edges out of v that constrain the view agree with the
// ranks.
func (g *Graph) outFits(o *order, v Vertex) bool {
	for id := g.FirstOut(v); id != 0; id = g.NextOut(id) {
		e := &g.edges[id]
		if e.In&o.bit == 0 {
			continue
		}
		if from, to, ok := o.ends(e); ok && !o.retired(from) && !less(*o.rank(from), *o.rank(to)) {
			return false
		}
	}
	return true
}

// Before says whether node x stands before node y in the i-th view, whether they
// live or have retired.
func (g *Graph) Before(i int, x, y uint32) bool {
	return less(*g.own(i).rank(x), *g.own(i).rank(y))
}

// Place is where node n stands in the i-th view: to be compared by at, then seq.
func (g *Graph) Place(i int, n uint32) (at int64, seq uint32) {
	r := g.own(i).rank(n)
	return r.at, r.seq
}

// VertexOf is the vertex of a node of the i-th view.
func (g *Graph) VertexOf(i int, n uint32) Vertex { return g.watched[i].vertexOf(n) }
