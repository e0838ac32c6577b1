package incremental

import (
	"cmp"
	"math"

	"github.com/isowatch/isowatch/internal/flat"
)

// Vertex is a vertex's number, given by the caller, reusable after [Graph.Free]. 0 does not
// name a vertex.
type Vertex uint32

// EdgeID names a stored edge. 0 does not name an edge.
type EdgeID uint32

// Labels is a set of edge labels; their meaning is the caller's.
type Labels uint8

// Views is a set of views, bit i for the i-th view given to [New].
type Views uint64

// View says how one order sees the graph.
type View struct {
	// Split gives every vertex two nodes, B before C.
	Split bool
	// Dep are the labels followed from C to B when Split, and from node to node
	// otherwise.
	Dep Labels
	// Anti are the labels followed from B to C when Split, and from node to node
	// otherwise. An edge carries labels of Dep or of Anti, not of both.
	Anti Labels
	// Chain are the labels followed from C to C when Split. If an edge carries labels of Dep as
	// well, the arc of Dep is followed, since it implies this one.
	Chain Labels
	// Time says whether the view keeps real time as well; see timed.go.
	Time Time
}

// Follows are the labels of edges that the view is about.
func (v View) Follows() Labels { return v.Dep | v.Anti | v.Chain }

// Edge is an edge as stored in the arena. Callers fill From, To, Labels and
// Note.
type Edge struct {
	From, To        Vertex
	nextOut, nextIn EdgeID
	In              Views     // views whose order the edge constrains
	SetAside        Views     // views that refused it because it closed a cycle
	Note            [2]uint32 // the caller's: what proves the edge
	fromSerial      uint32    // the serial of From when the edge was stored: if From has another one now, the edge is gone
	Labels          Labels
	toGone          bool
}

// Place is where a vertex stood in the order that the caller believes in. Any
// unit will do; two places should differ by much more than 1 where there is room.
type Place struct {
	Begin, Commit int64 // Begin <= Commit
	// Settle is the caller's time until which the vertex must stay live.
	Settle int64
	// NotBefore and NotAfter bound the vertex in real time, for timed views:
	// math.MinInt64 and math.MaxInt64 where nothing is known.
	NotBefore, NotAfter int64
}

// rank is a node's position in a view's order: by at, then by seq. slot is the
// place in the view's queue that owns this rank.
type rank struct {
	at   int64
	seq  uint32
	slot uint32
}

func less(a, b rank) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

type order struct {
	View
	bit      Views  // the views that it is of: see divide.go
	lead     int    // the first of them
	cells    []rank // the cells of the graph: see vertex_layout.go
	stride   uint32 // cells of a vertex
	base     uint32 // the place of the view's first node in them
	split    uint32 // 1 when Split
	slots    []uint32
	free     []uint32
	queue    queue
	frontier rank     // highest retired rank
	live     int      // nodes
	path     []EdgeID // the way back that makes a cycle with the latest refused edge
	low      []int64  // of timed views, by node
	stale    bool     // timed: some of low may be too great
	late     bool     // the latest vertex came behind others in real time: see Late
	gone     int64    // timed: the greatest of low that has retired
}

type vertex struct {
	out, in EdgeID
	settle  int64
	serial  uint32 // 0: not known
	live    uint16 // nodes that are not retired, over all views
	goneOut bool   // an edge out of the vertex led to a vertex that was freed
}

// adjacency is the vertices and the edges between them, whatever their orders are.
type adjacency struct {
	cells    []rank // of the vertices: see vertex_layout.go
	edges    []Edge
	freeEdge flat.Slots
	stride   uint32 // cells of a vertex
	// numVertices is how many numbers there are cells for.
	numVertices int
	numLive     int // vertices with a live node
}

// Graph is a set of orders over one adjacency. Use [New]. Not safe for
// concurrent use.
type Graph struct {
	adjacency
	watched []View
	orders  []order       // by the views that lead them
	at      []uint8       // by view: its order
	implied []Views       // by view: those that follow from it, and itself
	follow  [256]Views    // by labels of an edge: the views that follow one of them
	past    []LevelChange // all changes of the views so far
	plain   *order        // the only view's, when it is not split
	nodes   uint16        // of a vertex, over all orders
	seq     uint32
	serial  uint32 // of the latest vertex; never 0 once one was added
	timed   bool   // some view is
	spans   []span // by vertex, where some view is timed

	// Scratch of the searches; no state.
	seen    []uint32
	stamp   uint32
	fwd     []visit
	bwd     []uint32
	pool    []rank
	sorted  []uint32
	retired []Vertex
	partly  []Vertex // vertices with a node that retired in the latest Retire or Freeze, and one that lives
	walk    []EdgeID
	places  []uint32
	warmed  uint32 // keeps the loads of Warm
}

// New returns an empty graph with the given views, at most 64, each with an order of
// its own.
func New(views ...View) *Graph { return NewFollowing(nil, views...) }

// NewFollowing returns an empty graph with the given views. implied says by view which others
// hold where it does. Until an edge is refused, these have no orders of their own (see
// divide.go). A view that implies another one is not less timed, follows all anti-dependencies
// of it and, if both are split, all of its Dep.
func NewFollowing(implied []Views, views ...View) *Graph {
	g := &Graph{adjacency: adjacency{edges: make([]Edge, 1)}, implied: implied}
	g.watch(views)
	for _, p := range g.parts(1<<len(views) - 1) {
		g.orders = append(g.orders, order{
			View: g.shape(p), bit: p.views, lead: p.lead,
			slots:    make([]uint32, 1),
			frontier: rank{at: math.MinInt64}, gone: math.MinInt64,
		})
	}
	g.layOrders()
	return g
}

// watch sets the views, without orders.
func (g *Graph) watch(views []View) {
	g.watched = views
	g.at = make([]uint8, len(views))
	g.timed = anyTimed(views)
	clear(g.follow[:])
	for i := range views {
		for l := Labels(1); l != 0; l <<= 1 {
			if views[i].Follows()&l != 0 {
				g.follow[l] |= 1 << i
			}
		}
	}
	for l := 1; l < len(g.follow); l++ {
		g.follow[l] |= g.follow[l&(l-1)] | g.follow[l&-l]
	}
}

// layOrders is for when the orders have changed.
func (g *Graph) layOrders() {
	g.plain = nil
	for k := range g.orders {
		for i := range g.watched {
			if g.orders[k].bit&(1<<i) != 0 {
				g.at[i] = uint8(k)
			}
		}
	}
	if len(g.watched) == 1 && !g.watched[0].Split && !g.timed {
		g.plain = &g.orders[0]
	}
	g.layVertices()
}

// NumLive is the number of vertices with a live node in some view.
func (g *adjacency) NumLive() int { return g.numLive }

// NumEdges is the number of stored edges.
func (g *adjacency) NumEdges() int { return len(g.edges) - 1 - g.freeEdge.Len() }

// Edge is the stored edge; valid until the next edge is added.
func (g *adjacency) Edge(id EdgeID) *Edge { return &g.edges[id] }

// FirstOut and NextOut walk the edges out of v, latest first; FirstIn and NextIn
// those into v. Edges whose other end was freed are left out.
func (g *adjacency) FirstOut(v Vertex) EdgeID { return g.skipOut(g.vertex(v).out) }

// NextOut continues the walk of [Graph.FirstOut].
func (g *adjacency) NextOut(id EdgeID) EdgeID { return g.skipOut(g.edges[id].nextOut) }

// FirstIn starts the walk over the edges into v.
func (g *adjacency) FirstIn(v Vertex) EdgeID { return g.skipIn(g.vertex(v).in) }

// NextIn continues the walk of [Graph.FirstIn].
func (g *adjacency) NextIn(id EdgeID) EdgeID { return g.skipIn(g.edges[id].nextIn) }

func (g *adjacency) skipOut(id EdgeID) EdgeID {
	for id != 0 && g.edges[id].toGone {
		id = g.edges[id].nextOut
	}
	return id
}

func (g *adjacency) skipIn(id EdgeID) EdgeID {
	for id != 0 && g.gone(&g.edges[id]) {
		id = g.edges[id].nextIn
	}
	return id
}

// gone says whether the tail of e was freed.
func (g *adjacency) gone(e *Edge) bool { return g.vertex(e.From).serial != e.fromSerial }

// Known says whether v was added and not freed.
func (g *adjacency) Known(v Vertex) bool { return int(v) < g.numVertices && g.vertex(v).serial != 0 }

// Settle is the Place.Settle that v was added with.
func (g *adjacency) Settle(v Vertex) int64 { return g.vertex(v).settle }

// Live says whether v has a live node in some view.
func (g *adjacency) Live(v Vertex) bool { return g.Known(v) && g.vertex(v).live > 0 }

// AllLive says whether no node of v has retired in any view.
func (g *Graph) AllLive(v Vertex) bool {
	if !g.Known(v) {
		return false
	}
	for k := range g.orders {
		if o := &g.orders[k]; o.retired(o.first(v)) {
			return false
		}
	}
	return true
}

// Retired says whether all nodes of v in the i-th view are retired.
func (g *Graph) Retired(i int, v Vertex) bool {
	o := g.of(i)
	return !less(o.frontier, *o.rank(o.last(v)))
}

// CompareCommits says which of a and b commits first in the i-th view, as slices.SortFunc wants
// it. In a timed view their time bounds come before their ranks. Edges do not lead to lower
// bounds. If one vertex ended before another began, it has the lower bound.
func (g *Graph) CompareCommits(i int, a, b Vertex) int {
	o := g.of(i)
	x, y := *o.rank(o.last(a)), *o.rank(o.last(b))
	if g.watched[i].Time != NoTime {
		if c := cmp.Compare(o.low[o.last(a)], o.low[o.last(b)]); c != 0 {
			return c
		}
	}
	switch {
	case less(x, y):
		return -1
	case less(y, x):
		return 1
	}
	return 0
}

// FrozenBefore says whether e agrees with the frozen order of the i-th view, where both its
// ends have retired. That order goes by ranks, and in a timed view by bounds before (see
// [Graph.CompareCommits]).
func (g *Graph) FrozenBefore(i int, e *Edge) bool {
	o := g.of(i)
	from, to, _ := o.ends(e)
	if g.watched[i].Time != NoTime && o.low[from] != o.low[to] {
		return o.low[from] < o.low[to]
	}
	return less(*o.rank(from), *o.rank(to))
}

// last is the highest node of v in the view, first the lowest.
func (w *View) last(v Vertex) uint32 {
	if w.Split {
		return 2*uint32(v) + 1
	}
	return uint32(v)
}

func (w *View) first(v Vertex) uint32 {
	if w.Split {
		return 2 * uint32(v)
	}
	return uint32(v)
}

func (w *View) vertexOf(n uint32) Vertex {
	if w.Split {
		return Vertex(n / 2)
	}
	return Vertex(n)
}

// ends are the nodes that e's arc joins in the view; ok is false when the view
// does not follow e's labels.
func (o *order) ends(e *Edge) (from, to uint32, ok bool) { return o.join(e.From, e.To, e.Labels) }

// join is ends for the arc between two vertices.
func (w *View) join(from, to Vertex, labels Labels) (x, y uint32, ok bool) {
	switch {
	case !w.Split:
		return uint32(from), uint32(to), labels&(w.Dep|w.Anti) != 0
	case labels&w.Dep != 0:
		return 2*uint32(from) + 1, 2 * uint32(to), true
	case labels&w.Anti != 0:
		return 2 * uint32(from), 2*uint32(to) + 1, true
	case labels&w.Chain != 0:
		return 2*uint32(from) + 1, 2*uint32(to) + 1, true
	}
	return 0, 0, false
}

func (o *order) retired(n uint32) bool { return !less(o.frontier, *o.rank(n)) }

// SetAside adds the edge as one that the views have set aside, if they follow its labels. It does
// not ask whether the edge closes a cycle: [Graph.Retry] does.
func SetAside(g *Graph, e *Edge, views Views) EdgeID {
	return g.newEdge(e, 0, views&g.follow[e.Labels])
}

func (g *adjacency) newEdge(e *Edge, in, aside Views) EdgeID {
	place, ok := g.freeEdge.Take()
	if !ok {
		place = g.growEdges()
	}
	id, x := EdgeID(place), &g.edges[place]
	from, to := g.vertex(e.From), g.vertex(e.To)
	x.From, x.To, x.Labels = e.From, e.To, e.Labels
	x.In, x.SetAside = in, aside
	x.Note[0], x.Note[1] = e.Note[0], e.Note[1]
	x.nextOut, x.nextIn = from.out, to.in
	x.fromSerial, x.toGone = from.serial, false
	from.out, to.in = id, id
	return id
}

// growEdges is not inlined: what seldom happens shall not stand between what does.
//
//go:noinline
func (g *adjacency) growEdges() uint32 {
	g.edges = flat.Push(g.edges, Edge{})
	return uint32(len(g.edges) - 1)
}

func (g *adjacency) recycle(id EdgeID) {
	g.edges[id] = Edge{}
	g.freeEdge.Give(uint32(id))
}
