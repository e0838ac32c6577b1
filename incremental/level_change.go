package incremental

import (
	"cmp"
	"math"
	"slices"
)

// Start says how a view of a [Turn] begins.
type Start uint8

const (
	// Kept is for a view that was there before, and stays as it is.
	Kept Start = iota
	// Copied begins with the frozen order of another view. Vertices that live there live in it
	// too, ranked by their places, and with no edge: see [Graph.Offer]. Where two nodes become
	// one, it lives if both did.
	Copied
	// Frozen begins with all that is known frozen, in the order of another view.
	Frozen
	// Divided stands for some of the views of an order, and begins as that order: see
	// divide.go.
	Divided
)

// Origin is where the order of a view of a [Turn] comes from.
type Origin struct {
	View  int // of those before
	Start Start
}

// LevelChange is a change of the orders of a graph, mostly since its views change. No timed view
// is Copied.
type LevelChange struct {
	Before, After []View   // of the orders
	From          []Origin // by order of After
}

func anyTimed(views []View) bool {
	return slices.ContainsFunc(views, func(v View) bool { return v.Time != NoTime })
}

// pair holds a value for each node of a vertex in a view: at 0. Where the view is split, it is
// at 0 (B) and 1 (C).
type pair[T any] [2]T

// as is the pair in a view that is split or not. One node stands for both; of two
// the last one counts.
func (p pair[T]) as(before, after *View) pair[T] {
	switch {
	case before.Split == after.Split:
		return p
	case after.Split:
		return pair[T]{p[0], p[0]}
	}
	return pair[T]{p[1], p[1]}
}

// ChangeLevels changes the views. Each has an order of its own then. A new view begins between
// two steps, with the frozen order of another view. So all that it will be judged by is final.
// past is for timed views that begin: it bounds from above the begins of transactions that have
// left the graph. place gives the intervals of vertices, and the places of live ones.
//
// It returns the vertices that no view holds any more, in the order of the first view.
// O(vertices + edges).
func (g *Graph) ChangeLevels(t *LevelChange, past int64, place func(Vertex) Place) []Vertex {
	g.Alone(^Views(0))
	old, stride := g.orders, g.stride
	from := g.cells
	g.orders = make([]order, len(t.After))
	for i, v := range t.After {
		g.orders[i] = begin(&old[t.From[i].View], v, t.From[i].Start)
		g.orders[i].bit, g.orders[i].lead = 1<<i, i
	}
	wasTimed := g.timed
	g.watch(t.After)
	g.implied = nil
	g.relay(t, old, from, stride)
	g.past = append(g.past, *t)
	g.changeEdges(t)
	g.changeTime(t, wasTimed, past, place)
	for i := range g.orders {
		if t.From[i].Start == Copied {
			g.copyLive(&g.orders[i], &old[t.From[i].View], place)
		}
	}
	return g.recount()
}

// begin is a view that begins as another one, without its ranks.
func begin(p *order, v View, s Start) order {
	if s == Kept {
		return *p
	}
	o := order{View: v, slots: make([]uint32, 1), frontier: p.frontier, gone: math.MinInt64}
	switch {
	case s == Frozen:
		p.queue.each(func(r rank) { o.frontier = r })
	case p.Split && !v.Split:
		// A retired begin may have anti-dependencies to retired commits, although its own
		// commit lives. In one node, all of it is frozen.
		p.queue.each(func(r rank) {
			if n := p.slots[r.slot]; n&1 == 1 && p.retired(n-1) {
				o.frontier = r
			}
		})
	}
	o.frontier.slot = 0
	return o
}

// copyRanks gives v in o the ranks that it has in p.
func copyRanks(o, p *order, v uint32) {
	var at pair[rank]
	for n := p.first(Vertex(v)); n <= p.last(Vertex(v)); n++ {
		at[n&p.split] = *p.rank(n)
	}
	at = at.as(&p.View, &o.View)
	for n := o.first(Vertex(v)); n <= o.last(Vertex(v)); n++ {
		*o.rank(n) = at[n&o.split]
	}
}

// changeEdges numbers the views of the edges again. Views that begin have no edges.
func (g *Graph) changeEdges(t *LevelChange) {
	for id := 1; id < len(g.edges); id++ {
		e := &g.edges[id]
		in, aside := e.In, e.SetAside
		e.In, e.SetAside = 0, 0
		for i, x := range t.From {
			if x.Start == Kept {
				e.In |= in >> x.View & 1 << i
				e.SetAside |= aside >> x.View & 1 << i
			}
		}
	}
}

// changeTime gives timed views their bounds.
func (g *Graph) changeTime(t *LevelChange, wasTimed bool, past int64, place func(Vertex) Place) {
	if !g.timed {
		g.spans = nil
		return
	}
	if !wasTimed {
		g.spans = make([]span, g.numVertices)
		for v := range g.spans {
			p := place(Vertex(v))
			g.spans[v] = span{p.NotBefore, p.NotAfter}
		}
	}
	for len(g.spans) < g.numVertices {
		g.spans = append(g.spans, always)
	}
	for i := range g.orders {
		o := &g.orders[i]
		if o.Time == NoTime || t.From[i].Start == Kept {
			continue
		}
		o.gone = past
		o.low = make([]int64, g.numVertices<<(o.split&1))
		for n := range o.low {
			o.low[n] = o.own(g, uint32(n))
			if g.Known(o.vertexOf(uint32(n))) {
				o.gone = max(o.gone, o.low[n])
			}
		}
	}
}

// copyLive ranks in o what lives in p, by its place.
func (g *Graph) copyLive(o, p *order, place func(Vertex) Place) {
	var vs []Vertex
	p.queue.each(func(r rank) {
		n := p.slots[r.slot]
		if v := p.vertexOf(n); n != 0 && n == p.last(v) && (o.Split || !p.retired(p.first(v))) {
			vs = append(vs, v)
		}
	})
	for _, v := range vs {
		g.seq++
		at := place(v)
		var b bounds
		if first := o.first(v); o.Split && (!p.Split || !p.retired(first)) {
			r := g.choose(o, at.Begin, &b)
			o.push(first, r)
			b.above(r)
		}
		o.push(o.last(v), g.choose(o, at.Commit, &b))
	}
}

// recount counts the live nodes again, and returns the vertices that have none any more.
func (g *Graph) recount() []Vertex {
	g.retired, g.numLive = g.retired[:0], 0
	for v := range Vertex(g.numVertices) {
		x := g.vertex(v)
		if x.serial == 0 || x.live == 0 {
			continue
		}
		x.live = g.liveNodes(v)
		if x.live > 0 {
			g.numLive++
		} else {
			g.retired = append(g.retired, v)
		}
	}
	o := &g.orders[0]
	slices.SortFunc(g.retired, func(a, b Vertex) int {
		x, y := o.rank(o.last(a)), o.rank(o.last(b))
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.seq, y.seq))
	})
	return g.retired
}

// Offer offers a stored edge to the i-th view, which began after the edge came, by
// rules (a) to (d).
func (g *Graph) Offer(id EdgeID, i int) (ref Refusal) {
	o := &g.orders[i]
	if _, _, ok := o.ends(&g.edges[id]); ok {
		g.offer(o, id, &ref)
		g.edges[id].SetAside |= ref.Cycle
	}
	return ref
}
