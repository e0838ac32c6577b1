package oracle

// acyclic says by depth-first search whether a graph of n nodes has no cycle.
func acyclic(n int, edges [][2]int) bool {
	out := make([][]int, n)
	for _, e := range edges {
		out[e[0]] = append(out[e[0]], e[1])
	}
	const (
		unseen = iota
		onPath
		done
	)
	state := make([]int, n)
	var visit func(int) bool
	visit = func(v int) bool {
		state[v] = onPath
		for _, w := range out[v] {
			if state[w] == onPath || state[w] == unseen && !visit(w) {
				return false
			}
		}
		state[v] = done
		return true
	}
	for v := range n {
		if state[v] == unseen && !visit(v) {
			return false
		}
	}
	return true
}

// holds says whether g's dependencies alone allow the level: the serialization
// graph is acyclic (Adya, PL-3), or for snapshot isolation the BC graph (Viper,
// definition 2 and theorem 4), with a begin node 2i and a commit node 2i+1 for
// transaction i.
func (g *Graph) holds(l Level) bool {
	n := len(g.History)
	var edges [][2]int
	for _, e := range g.Edges {
		switch {
		case e.Type == SO && !l.sessions():
		case !l.snapshot():
			edges = append(edges, [2]int{e.From, e.To})
		case e.Type == RW:
			edges = append(edges, [2]int{2 * e.From, 2*e.To + 1})
		default:
			edges = append(edges, [2]int{2*e.From + 1, 2 * e.To})
		}
	}
	if !l.snapshot() {
		return acyclic(n, edges)
	}
	for i := range n {
		edges = append(edges, [2]int{2 * i, 2*i + 1})
	}
	return acyclic(2*n, edges)
}
