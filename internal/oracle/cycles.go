package oracle

import "slices"

// shape is a family of cycles to look for: only edges of these types, starting
// with an edge of the first type.
type shape struct {
	start  EdgeType
	types  []EdgeType
	maxRW  int  // anti-dependencies allowed
	spaced bool // no two anti-dependencies in a row
}

const anyRW = 1 << 30

// shapes are Elle's cycle families, the most serious first: data edges only,
// then with the session order.
func shapes() []shape {
	data := []EdgeType{WW, WR, RW}
	all := []EdgeType{WW, WR, RW, SO}
	return []shape{
		{WW, []EdgeType{WW}, 0, false},         // G0
		{WR, []EdgeType{WW, WR}, 0, false},     // G1c
		{RW, data, 1, false},                   // G-single-item
		{RW, data, anyRW, true},                // G-nonadjacent-item
		{RW, data, anyRW, false},               // G2-item
		{SO, []EdgeType{WW, SO}, 0, false},     // G0-process
		{SO, []EdgeType{WW, WR, SO}, 0, false}, // G1c-process
		{SO, all, 1, false},                    // G-single-item-process
		{SO, all, anyRW, true},                 // G-nonadjacent-item-process
		{SO, all, anyRW, false},                // G2-item-process
	}
}

// classify names a cycle as Elle does.
func classify(cycle []Edge) string {
	rw, wr, adjacent, suffix := 0, 0, false, ""
	for n, e := range cycle {
		switch e.Type {
		case WR:
			wr++
		case RW:
			rw++
			adjacent = adjacent || cycle[(n+1)%len(cycle)].Type == RW && len(cycle) > 1
		case SO:
			suffix = "-process"
		}
	}
	switch {
	case rw == 0 && wr == 0:
		return "G0" + suffix
	case rw == 0:
		return "G1c" + suffix
	case rw == 1:
		return "G-single-item" + suffix
	case !adjacent:
		return "G-nonadjacent-item" + suffix
	default:
		return "G2-item" + suffix
	}
}

// cycles lists, for each strongly connected component, a shortest cycle of each
// family that it holds; a name that a component has shown is not repeated.
func (g *Graph) cycles() []Anomaly {
	whole := components(len(g.History), g.Edges)
	found := map[int][]Anomaly{} // by component
	var order []int
	for _, s := range shapes() {
		starts, out := s.candidates(len(g.History), g.Edges)
		for _, e := range starts {
			if c := whole[e.From]; found[c] == nil {
				found[c] = []Anomaly{}
				order = append(order, c)
			}
		}
		for _, c := range order {
			cycle := s.shortest(starts, out, whole, c)
			if cycle == nil {
				continue
			}
			a := Anomaly{Name: classify(cycle), Cycle: cycle}
			if slices.ContainsFunc(found[c], func(b Anomaly) bool { return b.Name == a.Name }) {
				continue
			}
			for _, e := range cycle {
				a.Txns = append(a.Txns, g.History[e.From].ID)
			}
			found[c] = append(found[c], a)
		}
	}
	var all []Anomaly
	for _, c := range order {
		all = append(all, found[c]...)
	}
	return all
}

// candidates are the edges that can be on a cycle of shape s, and those of them
// that may start one: both ends in one component of the edges that s allows.
func (s shape) candidates(n int, edges []Edge) (starts []Edge, out [][]Edge) {
	allowed := slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool { return !slices.Contains(s.types, e.Type) })
	component := components(n, allowed)
	out = make([][]Edge, n)
	for _, e := range allowed {
		if component[e.From] != component[e.To] {
			continue
		}
		out[e.From] = append(out[e.From], e)
		if e.Type == s.start {
			starts = append(starts, e)
		}
	}
	return starts, out
}

// shortest is the shortest cycle of shape s in component c of whole.
func (s shape) shortest(starts []Edge, out [][]Edge, whole []int, c int) []Edge {
	var best []Edge
	limit := len(out) + len(out) // a transaction is passed at most twice
	for _, e := range starts {
		if whole[e.From] != c || len(best) == 2 {
			continue
		}
		if cycle := s.close(e, out, limit); cycle != nil {
			best, limit = cycle, len(cycle)-1
		}
	}
	return best
}

// place is a state of the search: where it is, and what it has used.
type place struct {
	txn    int
	rw     int // anti-dependencies used, at most 2
	lastRW bool
}

// arrival is how the search got to a place.
type arrival struct {
	edge   Edge
	from   place
	length int // edges of the path so far, the first one included
}

// close finds by breadth-first search a shortest path that completes e to a
// cycle of shape s of at most limit edges. With s.spaced it may pass a
// transaction twice, once through its begin and once through its commit, which
// is a simple cycle of the BC graph.
func (s shape) close(e Edge, out [][]Edge, limit int) []Edge {
	first := place{e.To, 0, e.Type == RW}
	if first.lastRW {
		first.rw = 1
	}
	came := map[place]arrival{first: {length: 1}}
	for queue := []place{first}; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		length := came[p].length + 1
		if length > limit {
			return nil
		}
		for _, o := range out[p.txn] {
			n := place{o.To, p.rw, o.Type == RW}
			if n.lastRW {
				n.rw = min(n.rw+1, 2)
			}
			tooMany := n.rw > s.maxRW
			touching := s.spaced && n.lastRW && (p.lastRW || o.To == e.From && e.Type == RW)
			if _, seen := came[n]; seen || tooMany || touching {
				continue
			}
			came[n] = arrival{o, p, length}
			if o.To == e.From {
				return append([]Edge{e}, pathTo(n, first, came)...)
			}
			queue = append(queue, n)
		}
	}
	return nil
}

// pathTo is the path by which the search came from first to end.
func pathTo(end, first place, came map[place]arrival) []Edge {
	var path []Edge
	for at := end; at != first; at = came[at].from {
		path = append(path, came[at].edge)
	}
	slices.Reverse(path)
	return path
}
