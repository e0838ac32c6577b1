package incremental

import (
	"math"
	"slices"
)

// Time says how a view keeps real time.
type Time uint8

const (
	NoTime Time = iota
	// FromBegin: what ended comes before the begin of what began later, T -> U or
	// C -> B.
	FromBegin
	// FromCommit: it comes before the commit of that, C -> C; a begin is free.
	FromCommit
)

// Real time without edges. Each vertex has an interval [NotBefore, NotAfter], and U comes after
// T where NotAfter of T < NotBefore of U. A cycle with several steps in time has one with a
// single such step: of U -> ... -> T', T' before U' in time, U' -> ... -> T and T before U in
// time, either U to T' or U' to T goes back in time. So a timed view has no cycle exactly if
// two things hold. Its edges have no cycle. And no path leads from a U to a T with NotAfter of
// T < NotBefore of U.
//
// That is kept by a lower bound of time for each node, low: the greatest NotBefore of all that
// reach the node, itself included. An edge raises the bounds of what it leads to, and is
// refused if one would pass its vertex's NotAfter. A bound is raised from nodes that lie before
// by start and after by order. These are transactions that ran at one time, so few nodes are
// visited.
//
// After edges were removed a bound may be too great. Then the path that it stands for is not
// found, and the bounds on the way are lowered. Retired nodes raise no bound above gone, so that is
// right unless the limit lies below. Then the edge is refused as behind the frontier: it could not
// be placed. Where nothing has retired all bounds are computed again.

// span is the interval of real time that a vertex lies in.
type span struct{ from, until int64 }

// always is the span of a vertex without a known time.
var always = span{math.MinInt64, math.MaxInt64}

// Span is the interval in real time that v was added with.
func (g *Graph) Span(v Vertex) (notBefore, notAfter int64) {
	if int(v) >= len(g.spans) {
		return always.from, always.until
	}
	return g.spans[v].from, g.spans[v].until
}

// Bounds are the bounds that node n of the i-th view, a timed one, has by itself: math.MinInt64
// and math.MaxInt64 where it has none.
func (g *Graph) Bounds(i int, n uint32) (notBefore, notAfter int64) {
	o := g.own(i)
	return o.own(g, n), o.limit(g, n)
}

// Low is the time bound of node n of the i-th view, a timed one: the greatest
// NotBefore of all that reach it.
func (g *Graph) Low(i int, n uint32) int64 { return g.own(i).low[n] }

// own is the bound that node n has by itself.
func (o *order) own(g *Graph, n uint32) int64 {
	if o.Time == FromCommit && n&1 == 0 {
		return math.MinInt64
	}
	return g.spans[o.vertexOf(n)].from
}

// limit is the value that the bound of node n must not pass.
func (o *order) limit(g *Graph, n uint32) int64 {
	if o.Split && n&1 == 0 {
		return math.MaxInt64
	}
	return g.spans[o.vertexOf(n)].until
}

// Late says whether the vertex that was added last is over before a retired vertex of the i-th
// view began. It is not known whether the retired one had to come after it.
func (g *Graph) Late(i int) bool { return g.of(i).late }

// timeVertex notes the interval of a vertex that was just ranked. An edge from what
// has retired need not be offered (rule (b)): so what is new comes after all that
// has, as its rank does. Only write and anti-dependencies can be such edges, which
// lead to the last node.
func (g *Graph) timeVertex(v Vertex, p *Place) {
	for len(g.spans) < g.numVertices {
		g.spans = append(g.spans, always)
	}
	g.spans[v] = span{p.NotBefore, p.NotAfter}
	for i := range g.orders {
		o := &g.orders[i]
		if o.Time == NoTime {
			continue
		}
		for len(o.low) < g.numVertices<<(o.split&1) {
			o.low = append(o.low, math.MinInt64)
		}
		for n := o.first(v); n <= o.last(v); n++ {
			o.low[n] = o.own(g, n)
		}
		n := o.last(v)
		if o.late = o.limit(g, n) < o.gone; !o.late {
			o.low[n] = max(o.low[n], o.gone)
		}
	}
}

// outcome of offering an edge to a view.
type outcome uint8

const (
	nothing outcome = iota // rules (b) and (c)
	taken
	cycle
	behind
	past // as cycle, at a vertex that was freed
)

// offerTimed offers the edge from x to y to a timed view, by rules (a) to (d). A path that goes
// back in time is found for retired vertices too, and for freed ones. Their intervals and
// bounds are left, as their ranks are.
func (g *Graph) offerTimed(o *order, x, y uint32) outcome {
	if !less(o.frontier, *o.rank(y)) {
		late := less(o.frontier, *o.rank(x)) || less(*o.rank(y), *o.rank(x))
		switch {
		case !late && o.low[x] <= o.low[y]:
			return nothing
		case o.low[x] > o.limit(g, y) && g.backInTime(o, x, o.limit(g, y)):
			return g.refused(o, x, y) // what x comes after began when y was over
		}
		return behind
	}
	retired := !less(o.frontier, *o.rank(x))
	if !retired && !g.insert(o, x, y) {
		return cycle
	}
	for o.low[x] > o.low[y] && !g.raise(o, o.low[x], y) {
		if o.stale && o.frontier.at == math.MinInt64 {
			g.relax(o)
			continue
		}
		z := g.fwd[len(g.fwd)-1].node
		forward, limit := g.pathTo(len(g.fwd)-1), o.limit(g, z)
		if g.backInTime(o, x, limit) {
			o.path = append(forward, o.path...)
			return g.refused(o, x, y)
		}
		if o.gone > limit {
			return behind
		}
		o.lower(g.fwd, limit)
	}
	if retired {
		return nothing
	}
	return taken
}

func (g *Graph) refused(o *order, x, y uint32) outcome {
	if g.Known(o.vertexOf(x)) && g.Known(o.vertexOf(y)) {
		return cycle
	}
	return past
}

// Raise raises the bound of live node n of the i-th view, a timed one, to at least low, as an
// edge into it would. It also raises the bounds of all that n reaches. When one would pass its
// limit, it changes nothing and returns false.
func (g *Graph) Raise(i int, n uint32, low int64) bool {
	o := g.own(i)
	return o.low[n] >= low || g.raise(o, low, n)
}

// Limit is the value that the bound of node n of the i-th view, a timed one, must not pass.
func (g *Graph) Limit(i int, n uint32) int64 { return g.own(i).limit(g, n) }

// raise makes the bounds of y, and of what it reaches, at least low. It changes nothing
// and returns false when one would pass its limit; the last of g.fwd is then that node.
func (g *Graph) raise(o *order, low int64, y uint32) bool {
	g.nextStamp()
	g.fwd = append(g.fwd[:0], visit{y, -1, 0})
	g.seen[y] = g.stamp
	if o.limit(g, y) < low {
		return false
	}
	reach := func(n uint32, parent int, id EdgeID) bool {
		if g.seen[n] == g.stamp || o.low[n] >= low {
			return true
		}
		g.seen[n] = g.stamp
		g.fwd = append(g.fwd, visit{n, int32(parent), id})
		return o.limit(g, n) >= low
	}
	for i := 0; i < len(g.fwd); i++ {
		n := g.fwd[i].node
		if o.Split && n&1 == 0 && !reach(n+1, i, 0) {
			return false
		}
		for id := g.vertex(o.vertexOf(n)).out; id != 0; id = g.edges[id].nextOut {
			e := &g.edges[id]
			if e.In&o.bit == 0 || e.toGone {
				continue
			}
			if from, to, _ := o.ends(e); from == n && !reach(to, i, id) {
				return false
			}
		}
	}
	for i := range g.fwd {
		o.low[g.fwd[i].node] = low
	}
	return true
}

// pathTo are the edges by which the forward search came to its i-th visit.
func (g *Graph) pathTo(i int) []EdgeID {
	var path []EdgeID
	for p := int32(i); p >= 0; p = g.fwd[p].parent {
		if g.fwd[p].edge != 0 {
			path = append(path, g.fwd[p].edge)
		}
	}
	slices.Reverse(path)
	return path
}

// backInTime finds what reaches x, or x itself, and began after the limit, and
// leaves the way from there to x in o.path.
func (g *Graph) backInTime(o *order, x uint32, limit int64) bool {
	g.nextStamp()
	g.fwd = append(g.fwd[:0], visit{x, -1, 0})
	g.seen[x] = g.stamp
	reach := func(n uint32, parent int, id EdgeID) {
		if g.seen[n] != g.stamp && o.low[n] > limit {
			g.seen[n] = g.stamp
			g.fwd = append(g.fwd, visit{n, int32(parent), id})
		}
	}
	for i := 0; i < len(g.fwd); i++ {
		n := g.fwd[i].node
		if o.own(g, n) > limit {
			o.path = o.path[:0]
			for p := int32(i); p >= 0; p = g.fwd[p].parent {
				if g.fwd[p].edge != 0 {
					o.path = append(o.path, g.fwd[p].edge)
				}
			}
			return true
		}
		if o.Split && n&1 == 1 {
			reach(n-1, i, 0)
		}
		for id := g.vertex(o.vertexOf(n)).in; id != 0; id = g.edges[id].nextIn {
			e := &g.edges[id]
			if e.In&o.bit == 0 || g.gone(e) {
				continue
			}
			if from, to, _ := o.ends(e); to == n {
				reach(from, i, id)
			}
		}
	}
	return false
}

// lower lowers the bounds of what backInTime has visited, and found nothing, to its limit. Nothing
// that reaches these nodes has a greater bound by itself, and nothing that has retired.
func (o *order) lower(visited []visit, limit int64) {
	for i := range visited {
		o.low[visited[i].node] = limit
	}
}

// settleBegin gives a begin that retires the least bound of the nodes that it leads to. They
// are all live. The begin has no bound by itself. Otherwise an edge into it that is met when
// both ends have retired would seem to raise it.
func (g *Graph) settleBegin(o *order, b uint32) {
	low := o.low[b+1]
	for id := g.vertex(o.vertexOf(b)).out; id != 0; id = g.edges[id].nextOut {
		e := &g.edges[id]
		if e.In&o.bit == 0 || e.toGone {
			continue
		}
		if from, to, _ := o.ends(e); from == b {
			low = min(low, o.low[to])
		}
	}
	o.low[b] = max(o.low[b], low)
}

// relax computes the bounds of a view again, where nothing has retired.
func (g *Graph) relax(o *order) {
	o.stale = false
	o.queue.each(func(r rank) {
		if n := o.slots[r.slot]; n != 0 {
			o.low[n] = o.own(g, n)
		}
	})
	g.carryOn(o)
}

// carryOn raises the bounds of live nodes along the edges.
func (g *Graph) carryOn(o *order) {
	o.queue.each(func(r rank) { // in the order of ranks: what comes before is final
		n := o.slots[r.slot]
		if n == 0 {
			return
		}
		if o.Split && n&1 == 0 {
			o.low[n+1] = max(o.low[n+1], o.low[n])
		}
		for id := g.vertex(o.vertexOf(n)).out; id != 0; id = g.edges[id].nextOut {
			e := &g.edges[id]
			if e.In&o.bit == 0 || e.toGone {
				continue
			}
			if from, to, _ := o.ends(e); from == n {
				o.low[to] = max(o.low[to], o.low[n])
			}
		}
	})
}

// loosen notes that edges have gone: bounds may be too great from now on.
func (g *Graph) loosen() {
	for i := range g.orders {
		g.orders[i].stale = g.timed
	}
}
