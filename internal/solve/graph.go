package solve

// arc is an edge in the adjacency. why is the derivation that added it, -1 for a
// known one.
type arc struct {
	from, to        Node
	nextOut, nextIn int32
	why             int32
}

// graph holds the known and the derived edges with a topological order of them.
type graph struct {
	n       int
	arcs    []arc
	out, in []int32 // first arc of a node, -1 for none
	pos     []int32 // place of a node in the order
	seq     []Node  // the nodes in that order
}

func newGraph(p *Problem) *graph {
	g := &graph{n: p.Nodes, out: make([]int32, p.Nodes), in: make([]int32, p.Nodes), pos: make([]int32, p.Nodes), seq: make([]Node, 0, p.Nodes)}
	for i := range g.out {
		g.out[i], g.in[i] = -1, -1
	}
	g.arcs = make([]arc, 0, len(p.Edges)+len(p.Units))
	for _, e := range p.Edges {
		g.add(e.From, e.To, -1)
	}
	return g
}

func (g *graph) add(from, to Node, why int32) {
	id := int32(len(g.arcs))
	g.arcs = append(g.arcs, arc{from, to, g.out[from], g.in[to], why})
	g.out[from], g.in[to] = id, id
}

// sort finds a topological order, among several the one that is least by key. It
// returns false if there is a cycle.
func (g *graph) sort(key []int64) bool {
	missing := make([]int32, g.n)
	for i := range g.arcs {
		missing[g.arcs[i].to]++
	}
	h := &ready[int64]{key: key}
	for v := range missing {
		if missing[v] == 0 {
			h.push(Node(v))
		}
	}
	g.seq = g.seq[:0]
	for len(h.nodes) > 0 {
		v := h.pop()
		g.pos[v] = int32(len(g.seq))
		g.seq = append(g.seq, v)
		for id := g.out[v]; id >= 0; id = g.arcs[id].nextOut {
			to := g.arcs[id].to
			if missing[to]--; missing[to] == 0 {
				h.push(to)
			}
		}
	}
	return len(g.seq) == g.n
}

// ready is a heap of nodes, the least key first.
type ready[K int32 | int64] struct {
	key   []K
	nodes []Node
}

func (r *ready[K]) less(a, b Node) bool {
	return r.key[a] < r.key[b] || r.key[a] == r.key[b] && a < b
}

func (r *ready[K]) push(v Node) {
	r.nodes = append(r.nodes, v)
	i := len(r.nodes) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !r.less(v, r.nodes[up]) {
			break
		}
		r.nodes[i] = r.nodes[up]
		i = up
	}
	r.nodes[i] = v
}

func (r *ready[K]) pop() Node {
	top := r.nodes[0]
	n := len(r.nodes) - 1
	v := r.nodes[n]
	r.nodes = r.nodes[:n]
	for i := 0; n > 0; {
		c := 2*i + 1
		if c+1 < n && r.less(r.nodes[c+1], r.nodes[c]) {
			c++
		}
		if c >= n || !r.less(r.nodes[c], v) {
			r.nodes[i] = v
			break
		}
		r.nodes[i] = r.nodes[c]
		i = c
	}
	return top
}

// cycle returns the arcs of a cycle; there must be one.
func (g *graph) cycle() []int32 {
	const open, done = 1, 2
	state := make([]uint8, g.n)
	next := make([]int32, g.n)
	var via []int32 // arcs of the path
	for root := range g.n {
		if state[root] != 0 {
			continue
		}
		stack := []Node{Node(root)}
		state[root], next[root] = open, g.out[root]
		via = via[:0]
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			id := next[v]
			if id < 0 {
				state[v] = done
				stack = stack[:len(stack)-1]
				if len(via) > 0 {
					via = via[:len(via)-1]
				}
				continue
			}
			next[v] = g.arcs[id].nextOut
			switch to := g.arcs[id].to; state[to] {
			case open:
				via = append(via, id)
				for i := range via {
					if g.arcs[via[i]].from == to {
						return via[i:]
					}
				}
			case 0:
				state[to], next[to] = open, g.out[to]
				stack, via = append(stack, to), append(via, id)
			}
		}
	}
	return nil
}
