package window

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/solve"
)

// guessBudget bounds the search under a guess: a right guess leaves little to search.
const guessBudget = solve.DefaultBudget / 20

// solve decides a problem of the i-th view. Where transactions have a begin and a commit, it
// looks for a serial order first: that is an order of any such level. A core of the
// problem with session order is one of the problem without, unless it rests on that order.
func (o *core) solve(i int, c *constraints) solve.Result {
	p := o.inSessions(i, c)
	if o.graph.Split(i) {
		if r := solve.Serial(p, o.whole(i, c)); r.Verdict == solve.Satisfiable {
			return r
		}
	}
	r := solve.Solve(p)
	if r.Verdict == solve.Satisfiable || o.views[i].Family != isolation.Plain || r.Verdict == solve.Unsatisfiable && !restsOn(&r.Core, p, c) {
		return r
	}
	return solve.Solve(&c.problem)
}

// restsOn says whether a core of p needs an edge that p has before the edges of c.
func restsOn(core *solve.Core, p *solve.Problem, c *constraints) bool {
	guessed := map[solve.Edge]bool{}
	for _, e := range p.Edges[:len(p.Edges)-len(c.problem.Edges)] {
		guessed[e] = true
	}
	for _, e := range c.problem.Edges {
		delete(guessed, e)
	}
	return slices.ContainsFunc(core.Edges, func(e solve.Edge) bool { return guessed[e] })
}

// whole numbers the transactions of a problem's nodes. Other nodes have numbers of their own.
func (o *core) whole(i int, c *constraints) []solve.Node {
	same := make([]solve.Node, c.problem.Nodes)
	n := solve.Node(0)
	for at := range same {
		if same[at] = n; at < len(c.nodes) && c.nodes[at]&1 == 1 {
			if b := c.nodeAt(c.nodes[at] - 1); b >= 0 {
				same[at] = same[b]
				continue
			}
		}
		n++
	}
	return same
}

// solveInTime is solve, and tries real time before where there are times.
func (k *clock) solveInTime(i int, c *constraints) solve.Result {
	if k.timed && !k.untimed && !k.views[i].RealTime() {
		p := k.guessedInTime(i, c)
		p.Budget = guessBudget
		if r := solve.Solve(p); r.Verdict == solve.Satisfiable {
			return r
		}
	}
	return k.solve(i, c)
}

// inSessions is the problem of a level without session order, with it: most databases keep it, and it
// leaves little to search. An order that keeps session order is also an order of the problem without
// it. If there is no such order, nothing follows.
func (o *core) inSessions(i int, c *constraints) *solve.Problem {
	p := c.problem
	if o.views[i].Family != isolation.Plain {
		return &p
	}
	var lines []solve.Edge
	for _, n := range c.nodes {
		if o.graph.Split(i) && n&1 == 0 {
			continue
		}
		before := o.graph.VertexOf(i, n)
		after := o.infer.Successor(uint32(before))
		if after == 0 {
			continue
		}
		_, to, _ := o.graph.Ends(i, before, incremental.Vertex(after), incremental.Labels(infer.WR))
		if y := c.nodeAt(to); y >= 0 {
			lines = append(lines, solve.Edge{From: c.nodeAt(n), To: y})
		}
	}
	p.Edges = append(lines, p.Edges...)
	p.Lines += len(lines)
	return &p
}

// guessedInTime is inSessions with real time: a transaction that ended before another one began comes
// before it. Most databases keep that order as well. It leaves next to nothing to search, and the order
// that is found is about the order of time.
//
// A line of nodes stands for time. A transaction that has ended leads to the next node. Each
// node leads to the transactions that begin behind it. That is two edges a transaction.
func (o *core) guessedInTime(i int, c *constraints) *solve.Problem {
	if o.views[i].RealTime() {
		return o.inSessions(i, c) // it is known
	}
	p := *o.inSessions(i, c)
	split := o.graph.Split(i)
	type instant struct {
		at   int64
		node solve.Node
		ends bool
	}
	var all []instant
	for at, n := range c.nodes {
		start, end, unknown := o.infer.Span(uint32(o.graph.VertexOf(i, n)))
		if !split || n&1 == 0 {
			all = append(all, instant{start, solve.Node(at), false})
		}
		if (!split || n&1 == 1) && !unknown {
			all = append(all, instant{end, solve.Node(at), true})
		}
	}
	slices.SortFunc(all, func(a, b instant) int { // who begins at the instant of an end is not behind it
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.ends == b.ends:
			return cmp.Compare(a.node, b.node)
		case b.ends:
			return -1
		}
		return 1
	})
	p.Place = make([]int64, p.Nodes, 2*p.Nodes)
	for v := range p.Place {
		p.Place[v] = 2 * int64(v)
	}
	if c.past > 0 {
		p.Place[c.past], p.Place[c.past+1] = -2, -1
	}
	var line, rest []solve.Edge
	tick, open := solve.Node(-1), false // the latest node of time; it may take ends
	for _, x := range all {
		if !x.ends {
			if open = false; tick >= 0 {
				rest = append(rest, solve.Edge{From: tick, To: x.node})
			}
			continue
		}
		if !open {
			next := solve.Node(p.Nodes)
			p.Nodes++
			p.Place = append(p.Place, 2*int64(x.node)+1)
			if tick >= 0 {
				line = append(line, solve.Edge{From: tick, To: next})
			}
			tick, open = next, true
		}
		p.Place[tick] = max(p.Place[tick], 2*int64(x.node)+1)
		rest = append(rest, solve.Edge{From: x.node, To: tick})
	}
	p.Edges = slices.Concat(line, p.Edges, rest)
	p.Lines += len(line)
	return &p
}
