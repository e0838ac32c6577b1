package solve

// components numbers the strongly connected components of the arcs and of all edges that may
// follow from pairs and reads. A node that is a component by itself has -1 (Tarjan, Depth-First
// Search and Linear Graph Algorithms, 1972, with explicit stacks).
func (s *solver) components(vars []variable) (of []int32, n int) {
	first, heads := s.successors(vars)
	num := s.g.n
	of = make([]int32, num)
	index, low, next := make([]int32, num), make([]int32, num), make([]int32, num)
	onStack := make([]bool, num)
	for v := range of {
		of[v] = -1
	}
	var stack, walk []Node
	count := int32(0)
	enter := func(v Node) {
		count++
		index[v], low[v], next[v] = count, count, first[v]
		stack, walk = append(stack, v), append(walk, v)
		onStack[v] = true
	}
	for root := range num {
		if index[root] != 0 {
			continue
		}
		enter(Node(root))
		for len(walk) > 0 {
			v := walk[len(walk)-1]
			if next[v] < first[v+1] {
				to := heads[next[v]]
				next[v]++
				if index[to] == 0 {
					enter(to)
				} else if onStack[to] {
					low[v] = min(low[v], index[to])
				}
				continue
			}
			walk = walk[:len(walk)-1]
			if len(walk) > 0 {
				up := walk[len(walk)-1]
				low[up] = min(low[up], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			from := len(stack) - 1
			for stack[from] != v {
				from--
			}
			for _, x := range stack[from:] {
				onStack[x] = false
				if len(stack)-from > 1 {
					of[x] = int32(n)
				}
			}
			if len(stack)-from > 1 {
				n++
			}
			stack = stack[:from]
		}
	}
	return of, n
}

// successors are the heads of all arcs and candidate edges. Node v has
// heads[first[v]:first[v+1]].
func (s *solver) successors(vars []variable) (first []int32, heads []Node) {
	var mayRead *candidates
	if s.behind != nil {
		mayRead = candidatesOf(s.p.Reads, vars, nil)
	}
	each := func(fn func(from, to Node)) {
		for i := range s.g.arcs {
			fn(s.g.arcs[i].from, s.g.arcs[i].to)
		}
		for i := range vars {
			p := &vars[i]
			if p.read() >= 0 {
				r := &s.p.Reads[p.read()]
				fn(s.units[p.A].Out, r.Node)
				for _, b := range s.behind[p.A] {
					if b.unit != r.Own {
						fn(r.Node, s.units[b.unit].InAnti)
					}
				}
				continue
			}
			for _, side := range [][2]int32{{p.A, p.B}, {p.B, p.A}} {
				a, b := &s.units[side[0]], &s.units[side[1]]
				fn(a.Out, b.In)
				for j, r := range a.Readers {
					if !s.passes(side[0], j, side[1]) {
						fn(r, b.InAnti)
					}
				}
				if mayRead == nil {
					continue
				}
				for _, v := range mayRead.picks[side[0]] {
					if r := &s.p.Reads[vars[v].read()]; r.Own != side[1] {
						fn(r.Node, b.InAnti)
					}
				}
			}
		}
	}
	first = make([]int32, s.g.n+1)
	each(func(from, _ Node) { first[from+1]++ })
	for v := range s.g.n {
		first[v+1] += first[v]
	}
	heads = make([]Node, first[s.g.n])
	at := append([]int32(nil), first...)
	each(func(from, to Node) {
		heads[at[from]] = to
		at[from]++
	})
	return first, heads
}

// component is one of them with what lies within.
type component struct {
	nodes []Node
	arcs  []int32
	vars  []variable
}

// divide hands out the components; false where a unit's nodes are not connected, so
// that it is in none as a whole.
func (s *solver) divide(vars []variable) ([]component, bool) {
	of, n := s.components(vars)
	cs := make([]component, n)
	for _, v := range s.g.seq {
		if c := of[v]; c >= 0 {
			cs[c].nodes = append(cs[c].nodes, v)
		}
	}
	for i := range s.g.arcs {
		a := &s.g.arcs[i]
		if c := of[a.from]; c >= 0 && c == of[a.to] {
			cs[c].arcs = append(cs[c].arcs, int32(i))
		}
	}
	for _, p := range vars {
		if p.read() >= 0 { // what is outside of the component can be in no cycle
			c := of[s.p.Reads[p.read()].Node]
			if c < 0 {
				return nil, false
			}
			cs[c].vars = append(cs[c].vars, p)
			continue
		}
		c := of[s.p.Units[p.A].In]
		for _, u := range []int32{p.A, p.B} {
			if x := &s.p.Units[u]; c < 0 || of[x.In] != c || of[x.InAnti] != c || of[x.Out] != c {
				return nil, false
			}
		}
		cs[c].vars = append(cs[c].vars, p)
	}
	return cs, true
}
