package solve

// clocks answer whether one node reaches another. Tracks, which are paths of known edges, cover
// the nodes. A node's clock has, for each track, the place behind the last node of the track
// that reaches the node.
type clocks struct {
	tracks int
	track  []int32 // of a node
	at     []int32 // place of a node in its track
	rows   []int32 // by node and track
	moved  []int32 // by node: the round in which its clock changed last
	none   []int32 // a clock that nothing reaches
	// The earlier clocks of the nodes that the latest round changed.
	round int32
	old   []int32
	oldAt []int32 // by node: where in old
}

// cover lays tracks: first along the lines, then joining what begins behind the end
// of another one. There are as many as sessions where sessions give edges.
func cover(p *Problem, g *graph) *clocks {
	c := &clocks{track: make([]int32, p.Nodes), at: make([]int32, p.Nodes)}
	before, after := make([]Node, p.Nodes), make([]Node, p.Nodes)
	for i := range before {
		before[i], after[i] = -1, -1
	}
	for _, e := range p.Edges[:p.Lines] {
		if after[e.From] < 0 && before[e.To] < 0 {
			after[e.From], before[e.To] = e.To, e.From
		}
	}
	for _, v := range g.seq {
		if before[v] < 0 {
			best := Node(-1)
			for id := g.in[v]; id >= 0; id = g.arcs[id].nextIn {
				if u := g.arcs[id].from; after[u] < 0 && (best < 0 || g.pos[u] > g.pos[best]) {
					best = u
				}
			}
			if best >= 0 {
				before[v], after[best] = best, v
			}
		}
		if u := before[v]; u >= 0 {
			c.track[v], c.at[v] = c.track[u], c.at[u]+1
		} else {
			c.track[v] = int32(c.tracks)
			c.tracks++
		}
	}
	return c
}

// start makes the clocks of the known edges.
func (c *clocks) start(g *graph) {
	c.rows = make([]int32, g.n*c.tracks)
	c.moved, c.oldAt, c.none = make([]int32, g.n), make([]int32, g.n), make([]int32, c.tracks)
	for _, v := range g.seq {
		row := c.row(v)
		row[c.track[v]] = c.at[v] + 1
		for id := g.in[v]; id >= 0; id = g.arcs[id].nextIn {
			join(row, c.row(g.arcs[id].from))
		}
	}
}

func (c *clocks) row(v Node) []int32 {
	i := int(v) * c.tracks
	return c.rows[i : i+c.tracks : i+c.tracks]
}

// join takes the later of both into row, and says whether that changed it.
func join(row, other []int32) bool {
	changed := false
	other = other[:len(row)]
	for i, x := range other {
		if x > row[i] {
			row[i] = x
			changed = true
		}
	}
	return changed
}

// reaches says whether u reaches v, or is v.
func (c *clocks) reaches(u, v Node) bool {
	return c.rows[int(v)*c.tracks+int(c.track[u])] > c.at[u]
}

// update takes the arcs from first on into the clocks, in the order of g, and
// notes the round for what changed.
func (c *clocks) update(g *graph, first int, round int32) {
	low := int32(g.n)
	for i := first; i < len(g.arcs); i++ {
		low = min(low, g.pos[g.arcs[i].to])
	}
	c.forget(round)
	for _, v := range g.seq[low:] {
		for id := g.in[v]; id >= 0; id = g.arcs[id].nextIn {
			u := g.arcs[id].from
			if int(id) >= first || c.moved[u] == round {
				c.advance(v, u, round)
			}
		}
	}
}

// follow takes the arcs from first on into the clocks, from each node that this changes to its
// successors. It notes the round for the changed nodes. It gives up, and returns false, after
// most nodes. Arcs may close cycles.
func (c *clocks) follow(g *graph, first int, round int32, most int) bool {
	c.forget(round)
	queue := ready[int32]{key: g.pos}
	waits := make([]bool, g.n)
	push := func(v Node) {
		if !waits[v] {
			waits[v] = true
			queue.push(v)
		}
	}
	for _, a := range g.arcs[first:] {
		if c.advance(a.to, a.from, round) {
			push(a.to)
		}
	}
	for ; len(queue.nodes) > 0; most-- {
		if most == 0 {
			return false
		}
		v := queue.pop()
		waits[v] = false
		for id := g.out[v]; id >= 0; id = g.arcs[id].nextOut {
			if to := g.arcs[id].to; c.advance(to, v, round) {
				push(to)
			}
		}
	}
	return true
}

// forget begins a round.
func (c *clocks) forget(round int32) {
	if c.round != round {
		c.round, c.old = round, c.old[:0]
	}
}

// advance takes the clock of u into the clock of v, since u comes before v. It says whether
// that changed v's clock.
func (c *clocks) advance(v, u Node, round int32) bool {
	row, other := c.row(v), c.row(u)
	if c.moved[v] == round {
		return join(row, other)
	}
	for i, x := range other {
		if x > row[i] {
			c.moved[v], c.oldAt[v] = round, int32(len(c.old)/c.tracks)
			c.old = append(c.old, row...)
			return join(row, other)
		}
	}
	return false
}

// before is the clock that the node had before the latest round, nil if it is not
// that round which changed it.
func (c *clocks) before(v Node, round int32) []int32 {
	if round == 0 || c.round != round || c.moved[v] != round {
		return nil
	}
	i := int(c.oldAt[v]) * c.tracks
	return c.old[i : i+c.tracks : i+c.tracks]
}
