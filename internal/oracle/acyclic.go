package oracle

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

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

// holds says whether g's dependencies alone allow the level: its graph is acyclic.
func (g *Graph) holds(l Level) bool {
	if l.limits() {
		return g.holdsLimited(l)
	}
	return acyclic(g.arcs(l))
}

// arcs is the graph of the level, and the number of its nodes: write dependencies
// (Adya, PL-1), write and read dependencies (PL-2) or all (PL-3); for snapshot isolation
// the BC graph (Viper, definition 2 and theorem 4), with a begin node 2i and a commit
// node 2i+1 for transaction i; for prefix consistency the same with write dependencies
// between commits. Real time leads to the begin of what began later, for generalized
// snapshot isolation to its commit.
func (g *Graph) arcs(l Level) (int, [][2]int) {
	n := len(g.History)
	var edges [][2]int
	begin, commit := nodes(l)
	if l.split() {
		for i := range n {
			edges = append(edges, [2]int{begin(i), commit(i)})
		}
		n *= 2
	}
	for _, e := range g.Edges {
		edges = append(edges, g.arcsOf(l, e)...)
	}
	if l.realTime() {
		n, edges = g.clock(n, edges, commit, func(i int) int {
			if l == generalized {
				return commit(i)
			}
			return begin(i)
		})
	}
	return n, edges
}

// nodes are the nodes of a transaction in the graph of the level.
func nodes(l Level) (begin, commit func(i int) int) {
	if l.split() {
		return func(i int) int { return 2 * i }, func(i int) int { return 2*i + 1 }
	}
	return func(i int) int { return i }, func(i int) int { return i }
}

// arcsOf is the arc of a dependency in the graph of the level, if it has one there.
func (g *Graph) arcsOf(l Level, e Edge) [][2]int {
	begin, commit := nodes(l)
	switch {
	case e.From == e.To, g.leaves(e, l):
		return nil
	case !l.forbids("read-committed") && (e.Type == WR || g.contradicted(e.Key)):
		return nil
	case e.Type == SO && !l.sessions(), e.Type == RW && !l.chooses(), e.Type == RW && l.base() == "cursor-stability" && !g.updates(e.From, e.Key):
		return nil
	case e.Type == RW:
		return [][2]int{{begin(e.From), commit(e.To)}}
	case e.Type == WW && l.base() == "prefix":
		return [][2]int{{commit(e.From), commit(e.To)}}
	}
	return [][2]int{{commit(e.From), begin(e.To)}}
}

// clock adds a node for each start and each end, in a chain in the order of time:
// what was over leads to the node of its end, and from that of its start a
// transaction is led to. At one time starts come first: one that begins as the
// other ends does not come after it.
func (g *Graph) clock(n int, edges [][2]int, over, begun func(int) int) (int, [][2]int) {
	type moment struct {
		at   int64
		end  bool
		node int
	}
	var moments []moment
	for i := range g.History {
		t := &g.History[i]
		if !g.Counts[i] || t.End == 0 {
			continue
		}
		moments = append(moments, moment{t.Start, false, begun(i)})
		if t.Status == event.Committed {
			moments = append(moments, moment{t.End + g.Drift, true, over(i)})
		}
	}
	slices.SortFunc(moments, func(a, b moment) int {
		if a.at == b.at && a.end != b.end {
			if b.end {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	for i, e := range moments {
		if i > 0 {
			edges = append(edges, [2]int{n + i - 1, n + i})
		}
		if e.end {
			edges = append(edges, [2]int{e.node, n + i})
		} else {
			edges = append(edges, [2]int{n + i, e.node})
		}
	}
	return n + len(moments), edges
}

// ended says whether a is known to have been over when b began: an unknown outcome
// may take effect at any later time.
func ended(a, b *workload.Txn, drift int64) bool {
	return a.Status == event.Committed && a.End != 0 && b.End != 0 && a.End+drift < b.Start
}

// contradicted says whether two reads of the key exclude each other. One of them
// saw what was never committed, and it is not known which.
func (g *Graph) contradicted(key string) bool {
	for _, a := range g.Anomalies {
		if a.Name == "incompatible-order" && a.Key == key {
			return true
		}
	}
	return false
}
