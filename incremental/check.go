package incremental

import "fmt"

// Check audits the whole structure and names the first broken invariant:
//   - every edge that constrains a view agrees with its order, unless its tail
//     is retired there (rule (b))
//   - no live node is ranked at or below the frontier
//   - B stands before C; of what retired before its view began both may have one rank
//   - the time bounds of a timed view grow along its edges, and pass no limit
//   - the slot of a live node's rank leads back to the node, and the queue holds
//     exactly the occupied and abandoned slots
//
// O(vertices + edges) a view.
func (g *Graph) Check() error {
	for i := range g.orders {
		if err := g.checkView(&g.orders[i]); err != nil {
			return fmt.Errorf("view %d: %w", i, err)
		}
	}
	live := 0
	for v := range g.numVertices {
		if g.vertex(Vertex(v)).live > 0 {
			live++
		}
	}
	if len(g.orders) > 0 && live != g.numLive { // without a view nothing has a node
		return fmt.Errorf("%d live vertices, counted %d", live, g.numLive)
	}
	return nil
}

func (g *Graph) checkView(o *order) error {
	occupied, broken := 0, error(nil)
	o.queue.each(func(r rank) {
		n := o.slots[r.slot]
		if n == 0 {
			return
		}
		occupied++
		if *o.rank(n) != r {
			broken = fmt.Errorf("node %d has rank %v, its slot holds %v", n, *o.rank(n), r)
		}
		if !less(o.frontier, r) {
			broken = fmt.Errorf("live node %d at %v, frontier %v", n, r, o.frontier)
		}
	})
	if broken != nil {
		return broken
	}
	if occupied != o.live {
		return fmt.Errorf("%d queued nodes, counted %d live", occupied, o.live)
	}
	for v := range g.numVertices {
		if g.vertex(Vertex(v)).serial == 0 {
			continue
		}
		if b, c := *o.rank(o.first(Vertex(v))), *o.rank(o.last(Vertex(v))); o.Split && !less(b, c) && (b != c || !o.retired(o.last(Vertex(v)))) {
			return fmt.Errorf("vertex %d: B at %v, C at %v", v, b, c)
		}
		if o.Time != NoTime {
			if b, c := o.first(Vertex(v)), o.last(Vertex(v)); o.low[b] > o.low[c] || o.low[c] > o.limit(g, c) || o.low[c] < o.own(g, c) {
				return fmt.Errorf("vertex %d in %v: B not before %d, C not before %d", v, g.spans[v], o.low[b], o.low[c])
			}
		}
		for id := g.FirstOut(Vertex(v)); id != 0; id = g.NextOut(id) {
			e := &g.edges[id]
			if e.In&o.bit == 0 {
				continue
			}
			from, to, ok := o.ends(e)
			if !ok {
				return fmt.Errorf("edge %d is in a view that does not follow its labels", id)
			}
			if o.Time != NoTime && o.low[from] > o.low[to] {
				return fmt.Errorf("edge %d: %d not before %d -> %d not before %d", id, from, o.low[from], to, o.low[to])
			}
			if !o.retired(from) && !less(*o.rank(from), *o.rank(to)) {
				return fmt.Errorf("edge %d: %d at %v -> %d at %v", id, from, *o.rank(from), to, *o.rank(to))
			}
		}
	}
	return nil
}
