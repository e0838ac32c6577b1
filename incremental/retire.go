package incremental

// Retire retires nodes from the low end of every view's order while their vertices have
// settled, that is Place.Settle < now. It returns the vertices whose last node retired, in the
// order of the views and of their ranks. The slice is valid until the next call. The vertices
// stay known, with their final ranks, until [Graph.Free].
func (g *Graph) Retire(now int64) []Vertex {
	g.retired, g.partly = g.retired[:0], g.partly[:0]
	for i := range g.orders {
		o := &g.orders[i]
		for o.queue.n > 0 {
			n := o.slots[o.queue.top().slot]
			if n != 0 && g.vertex(o.vertexOf(n)).settle >= now {
				break
			}
			g.retireLowest(o)
		}
	}
	return g.whole()
}

// Freeze retires the lowest nodes of every view, settled or not, until at most
// maxLive vertices' worth of nodes are live in it. It bounds memory: vertices
// that freeze early can only turn later edges into refusals by rule (d).
func (g *Graph) Freeze(maxLive int) []Vertex {
	g.retired, g.partly = g.retired[:0], g.partly[:0]
	for i := range g.orders {
		o := &g.orders[i]
		limit := maxLive
		if o.Split {
			limit *= 2
		}
		for o.live > limit {
			g.retireLowest(o)
		}
	}
	return g.whole()
}

// whole are the vertices that Retire and Freeze return. It keeps apart those that have left one
// order and live on in another.
func (g *Graph) whole() []Vertex {
	left := g.partly[:0]
	for _, v := range g.partly {
		if g.vertex(v).live > 0 {
			left = append(left, v)
		}
	}
	g.partly = left
	return g.retired
}

// Partly are the vertices with a node that retired in the latest [Graph.Retire] or
// [Graph.Freeze], and one that lives. Some are there more than once.
func (g *Graph) Partly() []Vertex { return g.partly }

func (g *Graph) retireLowest(o *order) {
	r := o.queue.pop()
	n := o.slots[r.slot]
	o.slots[r.slot] = 0
	o.free = append(o.free, r.slot)
	o.frontier = r
	if n == 0 {
		return // the vertex was removed while live
	}
	o.live--
	if o.Time != NoTime {
		if o.Time == FromCommit && n&1 == 0 {
			g.settleBegin(o, n)
		}
		o.gone = max(o.gone, o.low[n])
	}
	v := o.vertexOf(n)
	g.vertex(v).live--
	if g.vertex(v).live == 0 {
		g.numLive--
		g.retired = append(g.retired, v)
	} else if len(g.orders) > 1 {
		g.partly = append(g.partly, v)
	}
}

// Free forgets v and its edges. A live vertex is taken out of the orders first;
// its ranks stay behind as gaps. O(edges into v): edges out of v are recycled by
// their heads, which mostly go later.
func (g *Graph) Free(v Vertex) {
	x := g.vertex(v)
	if x.serial == 0 {
		return
	}
	// In the one order of a single view the tails have gone before their head. Where it is
	// split, the begin of a tail has, and its commit may still live.
	alone := len(g.orders) == 1 && g.orders[0].split == 0 && x.live == 0
	if x.live > 0 {
		g.unrank(v)
		g.loosen()
	}
	for id := x.in; id != 0; {
		e := &g.edges[id]
		next := e.nextIn
		if alone && e.In != 0 || g.gone(e) {
			g.recycle(id)
		} else { // the tail's list still leads through it
			e.toGone, e.In, e.SetAside = true, 0, 0
			g.vertex(e.From).goneOut = true
		}
		id = next
	}
	if x.goneOut {
		for id := x.out; id != 0; {
			next := g.edges[id].nextOut
			if g.edges[id].toGone {
				g.recycle(id)
			}
			id = next
		}
	}
	*x = vertex{}
}

func (g *Graph) unrank(v Vertex) {
	for i := range g.orders {
		o := &g.orders[i]
		for n := o.first(v); n <= o.last(v); n++ {
			if !o.retired(n) {
				o.slots[o.rank(n).slot] = 0
				o.live--
			}
		}
	}
	g.vertex(v).live = 0
	g.numLive--
}

// RemoveEdge takes the edge out of every view. It stays stored, without effect,
// until its ends are freed. A valid order stays valid when an edge goes.
func (g *Graph) RemoveEdge(id EdgeID) {
	g.edges[id].In, g.edges[id].SetAside, g.edges[id].Labels = 0, 0, 0
	g.loosen()
}
