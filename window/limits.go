package window

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// A level with a limit forbids a cycle with at most one anti-dependency of some readers, the limited
// ones (isolation.Base.Limited). Its order holds all other edges, and as many of the limited
// anti-dependencies as fit. If a cycle with two of these would close, one of them is set aside, and
// nothing is reported. Then a later edge may lead from its head back to its tail. So each edge that the
// order takes is followed to the tails of what was set aside (docs/proofs.md, section 4).

// passedOver is a limited anti-dependency that the order of a level went without: a transaction missed
// what another one wrote, which the order has before it.
type passedOver struct {
	Edge           setAsideEdge
	FromGen, ToGen uint32 // infer.Generation
}

// limited holds what a level with a limit went without.
type limited struct {
	level  isolation.Level
	Missed []passedOver
	Passed bool  // of some, both transactions have left the order
	Open   int64 // cycles that the level allows, or edges, for which it is not known whether they hide a violation
	// Unread counts cycles that the level allows, and for which an order of unread appends is not known
	// to leave them allowed. Close counts them.
	Unread int64 `json:",omitempty"`
}

// limits are the levels with a limit.
type limits struct {
	of []*limited
	// pairsOut are neighbours among the writers of unread appends, of lists that are out. All have retired.
	pairsOut int64
}

// maxMissed bounds what is kept of one level.
const maxMissed = 1 << 16

// at is the entry of the level; nil: nothing was passed over there.
func (x *limits) at(l isolation.Level) *limited {
	for _, y := range x.of {
		if y.level == l {
			return y
		}
	}
	return nil
}

func (x *limits) make(l isolation.Level) *limited {
	y := x.at(l)
	if y == nil {
		y = &limited{level: l}
		x.of = append(x.of, y)
	}
	return y
}

// isLimited says whether e is an anti-dependency that the base limits.
func (o *core) isLimited(e *incremental.Edge, b isolation.Base) bool {
	if infer.Label(e.Labels)&infer.RW == 0 {
		return false
	}
	n := uint32(e.From)
	if int(n) >= len(o.readers) {
		o.readers = append(o.readers, make([]reader, int(n)+1-len(o.readers)+int(n)/2)...)
	}
	x := &o.readers[n]
	if gen := o.infer.Generation(n); x.gen != gen {
		*x = reader{gen: gen}
	}
	if x.asked&(1<<b) == 0 {
		x.asked |= 1 << b
		if t := o.record(n); b.Limited(&t) {
			x.limited |= 1 << b
		}
	}
	return x.limited&(1<<b) != 0
}

// reader has a bit for each base: asked, if it was asked whether the base limits anti-dependencies
// from the transaction, and limited, if it does. Another record has another generation.
type reader struct{ gen, asked, limited uint32 }

// numLimited counts the limited anti-dependencies among the edges.
func (o *core) numLimited(ids []incremental.EdgeID, b isolation.Base) (n int) {
	for _, id := range ids {
		if o.isLimited(o.graph.Edge(id), b) {
			n++
		}
	}
	return n
}

// limitedBudget is how many edges a search looks at in a whole history, until the level has fallen.
const limitedBudget = 1 << 22

// lone looks for a cycle through the edge that the level of the i-th view forbids. Without real
// time it looks no further than the order leads.
func (h *finder) lone(i int, id incremental.EdgeID) isolation.Cycle {
	last := h.graph.Edge(id).From
	bounds := isolation.Bounds{
		Budget: h.cfg.SearchBudget,
		Within: func(v incremental.Vertex) bool { return h.graph.CompareCommits(i, v, last) <= 0 },
	}
	if h.cfg.Unbounded && !refuted(h.reports.verdicts.certain, h.views[i]) {
		bounds.Budget = limitedBudget
	}
	return h.searcher.Worst(h.graph, id, h.views[i], nil, bounds)
}

// limitedCycle is for the edge id, which the i-th view refused. It is reported if the level forbids
// a cycle through it. Otherwise a limited edge gives way.
func (h *finder) limitedCycle(i int, id incremental.EdgeID) []isolation.Level {
	level := h.views[i]
	b := level.Underlying()
	path := append([]incremental.EdgeID{id}, h.graph.CyclePath(i)...)
	c := h.lone(i, id)
	if c.Edges == nil && h.numLimited(path, b) < 2 {
		c.Edges = path
	}
	if c.Edges != nil {
		weakest, _ := h.reportCycle(c, id, level, 0)
		return weakest
	}
	x := h.limits.make(level)
	if c.AtLeast || level.RealTime() && !h.cfg.Unbounded {
		x.Open++
	}
	if level.RealTime() && !h.cfg.Unbounded {
		return nil // bounds do not go back where edges go
	}
	for !h.isLimited(h.graph.Edge(id), b) {
		k := slices.IndexFunc(path[1:], func(e incremental.EdgeID) bool { return h.isLimited(h.graph.Edge(e), b) })
		by := path[1+k]
		h.miss(x, i, by)
		if ref := incremental.Yield(h.graph, i, by, id); ref.Cycle == 0 {
			h.followLimits(id, h.graph.Edge(id), 1<<i)
			return nil
		}
		path = append(path[:1], h.graph.CyclePath(i)...)
		if h.numLimited(path, b) < 2 {
			weakest, _ := h.reportCycle(isolation.Cycle{Edges: path}, id, level, 0)
			return weakest
		}
	}
	h.miss(x, i, id)
	return nil
}

// miss notes that the i-th view goes without the edge.
func (h *finder) miss(x *limited, i int, id incremental.EdgeID) {
	e := setAsideOf(h.graph, id)
	if n := len(x.Missed); n >= 64 && n&(n-1) == 0 {
		h.dropMissed(x, i)
	}
	if len(x.Missed) >= maxMissed {
		x.Missed, x.Open = x.Missed[1:], x.Open+1
	}
	x.Missed = append(x.Missed, passedOver{e, h.infer.Generation(uint32(e.From)), h.infer.Generation(uint32(e.To))})
}

// in says whether the vertex is the one of that generation, and live in the i-th view.
func (h *finder) in(i int, v incremental.Vertex, gen uint32) bool {
	return h.graph.Known(v) && h.infer.Generation(uint32(v)) == gen && !h.graph.Retired(i, v)
}

// dropMissed forgets those whose reader has left the order, and edges that are gone.
func (h *finder) dropMissed(x *limited, i int) {
	x.Missed = slices.DeleteFunc(x.Missed, func(m passedOver) bool {
		if !h.in(i, m.Edge.From, m.FromGen) {
			x.Passed = true
			return true
		}
		return h.in(i, m.Edge.To, m.ToGen) && !m.there(h.graph, i)
	})
}

// there says whether the i-th view still goes without the edge.
func (m *passedOver) there(g *incremental.Graph, i int) bool {
	return m.Edge.there(g) && g.Edge(m.Edge.ID).SetAside&(1<<i) != 0
}

// followLimits follows an edge that was offered to these views. It may close a cycle with an edge that
// one of the views has set aside.
func (h *finder) followLimits(id incremental.EdgeID, e *incremental.Edge, views incremental.Views) {
	if views &= h.limiting; views == 0 || len(h.limits.of) == 0 {
		return
	}
	edge := *e
	for i, l := range h.views {
		x := h.limits.at(l)
		if x == nil || views&(1<<i) == 0 || len(x.Missed) == 0 && !x.Passed || l.RealTime() || h.isLimited(&edge, l.Underlying()) {
			continue
		}
		if v, _ := l.View(); v.Follows()&edge.Labels == 0 {
			continue
		}
		switch {
		case !h.graph.Retired(i, edge.To):
			h.followTo(x, i, edge.To)
		case x.Passed && h.graph.Retired(i, edge.From):
			x.Open++
		}
	}
}

// followTo looks for cycles through edges that the i-th view goes without, and whose tails v leads to.
func (h *finder) followTo(x *limited, i int, v incremental.Vertex) {
	tails := h.tailsBehind(x, i, v)
	for _, m := range tails {
		if !h.in(i, m.Edge.To, m.ToGen) {
			x.Open++ // the way there may lead through what has left the order
			continue
		}
		if !m.there(h.graph, i) {
			continue
		}
		c := h.lone(i, m.Edge.ID)
		if c.AtLeast && c.Edges == nil {
			x.Open++
		}
		if c.Edges == nil {
			continue
		}
		x.Missed = slices.DeleteFunc(x.Missed, func(y passedOver) bool { return y == m })
		h.reportCycle(c, m.Edge.ID, x.level, 0)
	}
}

// tailsBehind finds what was passed over at transactions that v leads to, by edges that the i-th view
// takes and does not limit.
func (h *finder) tailsBehind(x *limited, i int, v incremental.Vertex) (found []passedOver) {
	var last incremental.Vertex
	for _, m := range x.Missed {
		if h.in(i, m.Edge.From, m.FromGen) && (last == 0 || h.graph.CompareCommits(i, last, m.Edge.From) < 0) {
			last = m.Edge.From
		}
	}
	missed := map[incremental.Vertex][]passedOver{}
	for _, m := range x.Missed {
		if h.in(i, m.Edge.From, m.FromGen) {
			missed[m.Edge.From] = append(missed[m.Edge.From], m)
		}
	}
	seen := map[incremental.Vertex]bool{v: true}
	budget := limitedBudget
	if !h.cfg.Unbounded {
		budget = cmp.Or(h.cfg.SearchBudget, isolation.DefaultBudget)
	}
	b := x.level.Underlying()
	for queue := []incremental.Vertex{v}; last != 0 && len(queue) > 0; queue = queue[1:] {
		if h.graph.CompareCommits(i, queue[0], last) > 0 {
			continue
		}
		found = append(found, missed[queue[0]]...)
		for id := h.graph.FirstOut(queue[0]); id != 0; id = h.graph.NextOut(id) {
			if budget--; budget < 0 {
				x.Open++
				return found
			}
			if e := h.graph.Edge(id); e.In&(1<<i) != 0 && !seen[e.To] && !h.isLimited(e, b) {
				seen[e.To] = true
				queue = append(queue, e.To)
			}
		}
	}
	return found
}

// closeLimits looks once more, at the end of a whole history, behind what levels with real time went
// without.
func (h *finder) closeLimits() {
	for i, l := range h.views {
		x := h.limits.at(l)
		if x == nil || !l.RealTime() || !h.cfg.Unbounded {
			continue
		}
		for _, m := range slices.Clone(x.Missed) {
			if !h.in(i, m.Edge.From, m.FromGen) || !m.there(h.graph, i) {
				continue
			}
			if c := h.lone(i, m.Edge.ID); c.Edges != nil {
				h.reportCycle(c, m.Edge.ID, l, 0)
			} else if c.AtLeast {
				x.Open++
			}
		}
	}
}

// limitReason is why a level with a limit is not decided, "" if it is.
func (h *finder) limitReason(l isolation.Level) string {
	x := h.limits.at(l)
	switch {
	case x == nil || x.Open+x.Unread == 0:
		return ""
	case x.Open == 0:
		return finding.Counted(
			x.Unread,
			"cycle that this level may not allow in any order of the appends that nobody read",
			"cycles that this level may not allow in any order of the appends that nobody read",
		)
	}
	return finding.Counted(x.Open, "cycle that this level allows, and that may hide one that it does not", "cycles that this level allows, and that may hide some that it does not")
}

// savedLimited is limited in a snapshot.
type savedLimited struct {
	Level string
	limited
}

func (x *limits) save() (saved []savedLimited) {
	for _, y := range x.of {
		saved = append(saved, savedLimited{y.level.String(), *y})
	}
	return saved
}

func (x *limits) restore(saved []savedLimited) error {
	x.of = nil
	for _, y := range saved {
		l, err := isolation.ParseLevel(y.Level)
		if err != nil {
			return err
		}
		one := y.limited
		one.level = l
		x.of = append(x.of, &one)
	}
	return nil
}
