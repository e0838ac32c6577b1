package solve

import "slices"

// link is an edge in the search, with the literal that put it there, -1 for none. Where it
// follows from two literals, it has both.
type link struct {
	from, to        Node
	nextOut, nextIn int32
	lit, other      int32
	arc             int32 // of the solver's graph; of an edge with literals: the derivation that it rests on, -1 for none
}

// order is a topological order. Edges are added to it and taken from it, the latest first.
// Taking edges away leaves it valid. See Pearce and Kelly, A Dynamic Topological Sort Algorithm
// for Directed Acyclic Graphs, JEA 11, 2006.
type order struct {
	rank    []int32
	out, in []int32
	links   []link
	steps   int64

	// Scratch of the searches.
	seen   []int32
	stamp  int32
	fwd    []Node
	via    []int32 // by index of fwd: the link that led there
	parent []int32
	bwd    []Node
	pool   []int32
	path   []int32 // links of the cycle that the last refused edge would have closed, without that edge
}

func newOrder(rank []int32) *order {
	o := &order{rank: rank, out: make([]int32, len(rank)), in: make([]int32, len(rank)), seen: make([]int32, len(rank))}
	for i := range o.out {
		o.out[i], o.in[i] = -1, -1
	}
	return o
}

// add puts the edge in; false when it closes a cycle, whose other links are in path.
func (o *order) add(from, to Node, lit, other, arc int32) bool {
	if o.rank[from] >= o.rank[to] && !o.shift(from, to) {
		return false
	}
	id := int32(len(o.links))
	o.links = append(o.links, link{from, to, o.out[from], o.in[to], lit, other, arc})
	o.out[from], o.in[to] = id, id
	return true
}

// cut takes the links from n on away.
func (o *order) cut(n int) {
	for i := len(o.links) - 1; i >= n; i-- {
		l := &o.links[i]
		o.out[l.from], o.in[l.to] = l.nextOut, l.nextIn
	}
	o.links = o.links[:n]
}

func (o *order) shift(x, y Node) bool {
	if x == y {
		o.path = o.path[:0]
		return false
	}
	o.stamp++
	low, high := o.rank[y], o.rank[x]
	o.fwd, o.via, o.parent = append(o.fwd[:0], y), append(o.via[:0], -1), append(o.parent[:0], -1)
	o.seen[y] = o.stamp
	for i := 0; i < len(o.fwd); i++ {
		for id := o.out[o.fwd[i]]; id >= 0; id = o.links[id].nextOut {
			to := o.links[id].to
			o.steps++
			if to == x {
				o.trace(int32(i), id)
				return false
			}
			if o.rank[to] < high && o.seen[to] != o.stamp {
				o.seen[to] = o.stamp
				o.fwd, o.via, o.parent = append(o.fwd, to), append(o.via, id), append(o.parent, int32(i))
			}
		}
	}
	o.stamp++
	o.bwd = append(o.bwd[:0], x)
	o.seen[x] = o.stamp
	for i := 0; i < len(o.bwd); i++ {
		for id := o.in[o.bwd[i]]; id >= 0; id = o.links[id].nextIn {
			from := o.links[id].from
			o.steps++
			if o.rank[from] > low && o.seen[from] != o.stamp {
				o.seen[from] = o.stamp
				o.bwd = append(o.bwd, from)
			}
		}
	}
	o.deal()
	return true
}

// deal hands out the ranks of both searches again. The nodes that reach x come first, then
// those that y reaches, each in its old order.
func (o *order) deal() {
	byRank := func(a, b Node) int { return int(o.rank[a] - o.rank[b]) }
	slices.SortFunc(o.bwd, byRank)
	slices.SortFunc(o.fwd, byRank)
	o.pool = o.pool[:0]
	for _, v := range o.bwd {
		o.pool = append(o.pool, o.rank[v])
	}
	for _, v := range o.fwd {
		o.pool = append(o.pool, o.rank[v])
	}
	slices.Sort(o.pool)
	for i, v := range o.bwd {
		o.rank[v] = o.pool[i]
	}
	for i, v := range o.fwd {
		o.rank[v] = o.pool[len(o.bwd)+i]
	}
	o.steps += int64(len(o.pool))
}

func (o *order) trace(i int32, last int32) {
	o.path = append(o.path[:0], last)
	for ; o.via[i] >= 0; i = o.parent[i] {
		o.path = append(o.path, o.via[i])
	}
}
