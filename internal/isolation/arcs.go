package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// arcGraph is the witness in the encoding of a level: one node a transaction, or B
// and C of it.
type arcGraph struct {
	split, chain bool // B and C; write dependencies lead from C to C
	commits      bool // so does real time
	lost         bool // updates may be lost
	// follows says which anti-dependencies the base follows; nil: all.
	follows func(*finding.Dependency) bool
	out     [][]arc
	taken   []taken
}

type arc struct {
	to   int
	edge *finding.Dependency // nil for B -> C
}

func (w *witness) graphOf(l Level) *arcGraph {
	b := l.Underlying()
	g := &arcGraph{split: bases[b].view.Split, chain: b == Prefix, commits: l.Special == GeneralizedSI, lost: !b.Implies(SnapshotIsolation) && b != RepeatableRead}
	if b.Selects() {
		g.follows = func(e *finding.Dependency) bool { return b.Follows(&w.recorded()[e.From], e.Key) }
	}
	g.out = make([][]arc, 2*len(w.Txns))
	if g.split {
		for t := range w.Txns {
			g.out[2*t] = append(g.out[2*t], arc{2*t + 1, nil})
		}
	}
	for i := range w.Edges {
		e := &w.Edges[i]
		if e.Label&finding.Process != 0 && l.Family == Plain || e.Label&finding.Realtime != 0 && !l.RealTime() {
			continue
		}
		g.add(e)
	}
	return g
}

// ends are the nodes that e joins.
func (g *arcGraph) ends(e *finding.Dependency) (from, to int) {
	switch {
	case !g.split:
		return 2 * e.From, 2 * e.To
	case e.Label&finding.RW != 0:
		return 2 * e.From, 2*e.To + 1
	case g.chain && e.Label == finding.WW, e.Label == finding.OtherRow, g.commits && e.Label == finding.Realtime:
		return 2*e.From + 1, 2*e.To + 1
	}
	return 2*e.From + 1, 2 * e.To
}

func (g *arcGraph) add(e *finding.Dependency) {
	if g.passes(e) {
		return
	}
	from, to := g.ends(e)
	g.out[from] = append(g.out[from], arc{to, e})
}

// passes says whether the graph goes without the edge.
func (g *arcGraph) passes(e *finding.Dependency) bool {
	return g.follows != nil && e.Label&finding.RW != 0 && !g.follows(e)
}

// path is a shortest way from one node to another, as edges; ok is false when
// there is none.
func (g *arcGraph) path(from, to int) (way []*finding.Dependency, ok bool) {
	if from == to {
		return nil, true
	}
	type step struct {
		node, parent int
		edge         *finding.Dependency
	}
	seen := make([]bool, len(g.out))
	seen[from] = true
	queue := []step{{from, -1, nil}}
	for i := 0; i < len(queue); i++ {
		for _, a := range g.out[queue[i].node] {
			if seen[a.to] {
				continue
			}
			seen[a.to] = true
			queue = append(queue, step{a.to, i, a.edge})
			if a.to != to {
				continue
			}
			for j := len(queue) - 1; j > 0; j = queue[j].parent {
				if queue[j].edge != nil {
					way = append(way, queue[j].edge)
				}
			}
			slices.Reverse(way)
			return way, true
		}
	}
	return nil, false
}

// cycle is a cycle that one of the edges would close, that edge first.
func (g *arcGraph) cycle(es []finding.Dependency) []*finding.Dependency {
	for i := range es {
		if g.passes(&es[i]) {
			continue
		}
		from, to := g.ends(&es[i])
		if way, ok := g.path(to, from); ok {
			return append([]*finding.Dependency{&es[i]}, way...)
		}
	}
	return nil
}

// clone copies g, for one way out of a choice.
func (g *arcGraph) clone() *arcGraph {
	c := *g
	c.out = make([][]arc, len(g.out))
	for i := range g.out {
		c.out[i] = slices.Clone(g.out[i])
	}
	c.taken = slices.Clone(g.taken)
	return &c
}
