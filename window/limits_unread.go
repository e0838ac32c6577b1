package window

import (
	"slices"

	"github.com/isowatch/isowatch/incremental"
)

// Appends that no read has shown have some order, and each pair of them is a write dependency. If a
// level's order holds all edges, it orders the appends as well. The order of a level with a limit lacks
// some edges. The pairs may then close a cycle with one of these edges, which the level forbids. At the
// end of the input the appends of each list take the order of the level. If a cycle closes, another
// order may not close one, so the level is unknown (docs/proofs.md, section 4).

// unreadPairs are neighbours among the writers of unread appends, in the order of a view.
type unreadPairs struct {
	next   map[incremental.Vertex][]incremental.Vertex
	list   [][2]incremental.Vertex
	frozen int64 // pairs that have left the view
}

// limitUnread counts, for each level with a limit, the edges that it goes without and that an order of
// the unread appends turns against it.
func (h *finder) limitUnread() {
	for i, l := range h.views {
		x := h.limits.at(l)
		if x == nil {
			continue
		}
		x.Unread = 0
		if refuted(h.reports.verdicts.certain, l) {
			continue
		}
		h.dropMissed(x, i)
		if len(x.Missed) > 0 || x.Passed {
			x.Unread = h.againstUnread(x, i)
		}
	}
}

// unreadIn gives the pairs of the i-th view.
func (h *finder) unreadIn(i int) *unreadPairs {
	p := &unreadPairs{next: map[incremental.Vertex][]incremental.Vertex{}, frozen: h.limits.pairsOut}
	h.infer.EachUnread(func(writers []uint32) {
		slices.SortFunc(writers, func(a, b uint32) int {
			return h.graph.CompareCommits(i, incremental.Vertex(a), incremental.Vertex(b))
		})
		for j := 1; j < len(writers); j++ {
			a, b := incremental.Vertex(writers[j-1]), incremental.Vertex(writers[j])
			if h.graph.Retired(i, b) {
				p.frozen++
				continue
			}
			p.next[a] = append(p.next[a], b)
			p.list = append(p.list, [2]incremental.Vertex{a, b})
		}
	})
	return p
}

// againstUnread counts what the i-th view goes without and the pairs may close a cycle with. An edge
// that has left the view counts once, if some pair has.
func (h *finder) againstUnread(x *limited, i int) (n int64) {
	p := h.unreadIn(i)
	if x.Passed && p.frozen > 0 {
		n++
	}
	if len(p.list) == 0 {
		return n
	}
	budget := limitedBudget
	for k := range x.Missed {
		m := &x.Missed[k]
		if h.in(i, m.Edge.To, m.ToGen) && !m.there(h.graph, i) {
			continue
		}
		// Real time leads where no edge does, and so do transactions that have left.
		if x.level.RealTime() || !h.in(i, m.Edge.To, m.ToGen) {
			if h.pairBetween(p, i, m) {
				n++
			}
		} else if h.leads(p, x, i, m, &budget) {
			n++
		}
	}
	return n
}

// pairBetween says whether the order of the i-th view has a pair between the head of the edge and its tail.
func (h *finder) pairBetween(p *unreadPairs, i int, m *passedOver) bool {
	behind := h.in(i, m.Edge.To, m.ToGen)
	return !behind && p.frozen > 0 || slices.ContainsFunc(p.list, func(pair [2]incremental.Vertex) bool {
		return h.graph.CompareCommits(i, pair[1], m.Edge.From) <= 0 && !(behind && h.graph.CompareCommits(i, pair[0], m.Edge.To) < 0)
	})
}

// leads says whether there is a way from the head of the edge back to its tail. It may take the pairs, and
// the edges that the i-th view holds and does not limit. Beyond the budget there may be one.
func (h *finder) leads(p *unreadPairs, x *limited, i int, m *passedOver, budget *int) bool {
	b, last := x.level.Underlying(), m.Edge.From
	seen := map[incremental.Vertex]bool{m.Edge.To: true}
	for queue := []incremental.Vertex{m.Edge.To}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		if v == last {
			return true
		}
		if h.graph.CompareCommits(i, v, last) > 0 {
			continue
		}
		note := func(to incremental.Vertex) {
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
		for _, to := range p.next[v] {
			note(to)
		}
		for id := h.graph.FirstOut(v); id != 0; id = h.graph.NextOut(id) {
			if *budget--; *budget < 0 {
				return true
			}
			if e := h.graph.Edge(id); e.In&(1<<i) != 0 && !h.isLimited(e, b) {
				note(e.To)
			}
		}
	}
	return false
}
