package solve

// reachable says which node reaches which, with a bit for each pair of nodes: n*n/8 bytes. Edges
// are added to it and taken from it, the latest first.
type reachable struct {
	words   int
	rows    []uint64 // by node: what it reaches, itself too
	low     []int32  // by node: the words of its row before it are 0
	in      []int32  // by node: the latest of the edges to it, -1 for none
	edges   []reachEdge
	was     []uint64   // the words before they changed
	wasAt   []uint32   // and where they are
	changed []reaching // by the latest edge
	steps   int64
}

// reachEdge is an edge through which its tail reaches nodes that it did not reach before.
type reachEdge struct {
	from   Node
	to     Node
	nextIn int32
}

// reaching is a node that reaches more, and the words of its row that changed, modulo 64.
type reaching struct {
	node  Node
	words uint64
}

// mark is a state of reach that the search can come back to.
type mark struct{ edges, undo int }

func newReachable(n int) *reachable {
	c := &reachable{words: (n + 63) / 64, low: make([]int32, n), in: make([]int32, n)}
	c.rows = make([]uint64, n*c.words)
	for v := range n {
		c.rows[v*c.words+v/64] |= 1 << (v % 64)
		c.low[v], c.in[v] = int32(v/64), -1
	}
	return c
}

// has says whether u reaches v, or is v.
func (c *reachable) has(u, v Node) bool {
	return c.rows[int(u)*c.words+int(v)/64]>>(uint32(v)%64)&1 != 0
}

// add puts an edge in that closes no cycle. The nodes that reach more by it are in changed.
func (c *reachable) add(u, v Node) {
	c.changed = c.changed[:0]
	if c.has(u, v) {
		return
	}
	id := int32(len(c.edges))
	c.edges = append(c.edges, reachEdge{u, v, c.in[v]})
	c.in[v] = id
	c.take(u, v)
	for i := 0; i < len(c.changed); i++ {
		for id := c.in[c.changed[i].node]; id >= 0; id = c.edges[id].nextIn {
			if w := c.edges[id].from; !c.has(w, v) {
				c.take(w, v)
			}
		}
	}
}

// take gives x all that v reaches.
func (c *reachable) take(x, v Node) {
	low := c.low[v]
	c.low[x] = min(c.low[x], low)
	from := c.rows[int(v)*c.words+int(low) : int(v+1)*c.words]
	at := int(x)*c.words + int(low)
	to := c.rows[at : at+len(from)]
	words := uint64(0)
	for i, w := range from {
		if old := to[i]; w&^old != 0 {
			c.wasAt, c.was = append(c.wasAt, uint32(at+i)), append(c.was, old)
			to[i] = old | w
			words |= 1 << (uint32(int(low)+i) % 64)
		}
	}
	c.changed = append(c.changed, reaching{x, words})
	c.steps += int64(len(from)/64 + 1)
}

// keep makes the present state one that is not left any more.
func (c *reachable) keep() { c.was, c.wasAt = c.was[:0], c.wasAt[:0] }

func (c *reachable) mark() mark { return mark{len(c.edges), len(c.was)} }

// cut goes back to the mark.
func (c *reachable) cut(m mark) {
	for i := len(c.was) - 1; i >= m.undo; i-- {
		c.rows[c.wasAt[i]] = c.was[i]
	}
	for i := len(c.edges) - 1; i >= m.edges; i-- {
		e := &c.edges[i]
		c.in[e.to] = e.nextIn
	}
	c.was, c.wasAt, c.edges = c.was[:m.undo], c.wasAt[:m.undo], c.edges[:m.edges]
}
