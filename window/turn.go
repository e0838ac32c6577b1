package window

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
)

// The watched levels can change between two steps (docs/proofs.md, section 8, Levels
// that begin later). A level that goes takes its order with it, and what was found stays. One that
// comes begins with the frozen order of a level that was there: as a copy, to which the
// edges among live transactions are offered, where that level's order has them all, and
// otherwise with all that had come frozen.

// begun is a level that was not watched from the beginning on.
type begun struct {
	level isolation.Level
	// Tick is that of the step in which it began. Nothing that had come by then ended at
	// Reached or later.
	Tick, Reached int64
	// Latest is the generation of the transaction that had come last.
	Latest uint32
	// Partly says that not all that came before is known as it would have been: the
	// level is never said to hold.
	Partly bool
	// Horizon and Undecided count what Counters does, as far as only levels are
	// concerned that began later.
	Horizon, Undecided int64
}

// ended is what a level that is no longer watched had come to.
type ended struct {
	level isolation.Level
	Ended
}

// Ended is the verdict on a level when it was watched last.
type Ended struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	Until   int64  `json:"until,omitempty"` // tick of the first step without it
}

// levelTurn is a change of the levels that have orders.
type levelTurn struct {
	before, after []isolation.Level
	from          []incremental.Origin // by level of after
}

// views are the orders of the levels that have one, and those levels.
func views(levels []isolation.Level) (vs []incremental.View, ls []isolation.Level) {
	for _, l := range levels {
		if v, ok := l.View(); ok {
			vs, ls = append(vs, v), append(ls, l)
		}
	}
	return vs, ls
}

// setViews notes which levels have orders.
func (m *Machine) setViews(levels []isolation.Level) (vs []incremental.View) {
	vs, m.views = views(levels)
	m.follows, m.weakFirst = 0, nil
	for i, v := range vs {
		m.follows |= infer.Label(v.Follows())
		m.weakFirst = append(m.weakFirst, i)
	}
	m.realTime = slices.ContainsFunc(m.views, isolation.Level.RealTime)
	slices.SortStableFunc(m.weakFirst, func(a, b int) int {
		x, y := m.views[a], m.views[b]
		return cmp.Or(cmp.Compare(x.Underlying(), y.Underlying()), cmp.Compare(x.Family, y.Family))
	})
	return vs
}

// implied says by view which views' levels hold where its own does.
func (m *Machine) implied() []incremental.Views {
	of := make([]incremental.Views, len(m.views))
	for i, l := range m.views {
		for j, weaker := range m.views {
			if l.Implies(weaker) {
				of[i] |= 1 << j
			}
		}
	}
	return of
}

// turnLevels lets the levels of the configuration take effect.
func (m *Machine) turnLevels() {
	m.turning = false
	before, after := m.watched, m.cfg.Levels
	m.watched = after
	reached, was := m.reached(), slices.Clone(m.begun)
	for _, l := range before {
		if slices.Contains(after, l) {
			continue
		}
		v, why := m.Verdict(l)
		m.ended = slices.DeleteFunc(m.ended, func(x ended) bool { return x.level == l })
		if v != "" {
			m.ended = append(m.ended, ended{l, Ended{v, why, m.tick}})
		}
	}
	// What one that ends is known to hold for may rest on when another one began.
	m.begun = slices.DeleteFunc(m.begun, func(x begun) bool { return !slices.Contains(after, x.level) })
	for _, l := range after {
		if !slices.Contains(before, l) {
			_, ordered := l.View()
			m.begun = append(m.begun, begun{level: l, Tick: m.tick, Reached: reached, Latest: m.infer.Latest(), Partly: !ordered || isForced(l)})
		}
	}
	if _, next := views(after); !slices.Equal(next, m.views) {
		m.turnViews(was)
	}
	m.infer.SetOptions(m.inferOptions())
}

// reached is the end of the latest pane that anything has come into: nothing that has
// come ended later.
func (m *Machine) reached() int64 {
	at := int64(math.MinInt64)
	for _, list := range [][]*Pane{m.panes.list, m.panes.closed} {
		if k := len(list); k > 0 {
			at = max(at, list[k-1].End)
		}
	}
	return at
}

// turnViews gives the graph the orders of the configuration's levels. was says which of
// those before had begun late.
func (m *Machine) turnViews(was []begun) {
	if m.forced.idle {
		m.forced.odd = true
		m.force()
	}
	t := levelTurn{before: m.views}
	_, next := views(m.cfg.Levels)
	t.after = next
	for _, l := range next {
		t.from = append(t.from, m.origin(l))
	}
	unordered := m.infer.Counters.Unordered > 0 && !m.cfg.Unbounded
	frozen, misfits, out := m.frozen, m.misfits, m.unreadOut
	m.frozen, m.misfits, m.unreadOut = nil, nil, make([]int64, len(next))
	if len(frozen) > 0 {
		m.frozen, m.misfits = make([][]lastFrozen, len(next)), make([]int64, len(next))
	}
	for i, from := range t.from {
		switch {
		case from.Start == incremental.Kept:
			m.unreadOut[i] = out[from.View]
			if len(frozen) > 0 {
				m.frozen[i], m.misfits[i] = frozen[from.View], misfits[from.View]
			}
		case from.Start == incremental.Copied && len(frozen) > 0 && t.before[from.View].Underlying() >= isolation.Prefix:
			m.frozen[i] = slices.Clone(frozen[from.View])
		case unordered && next[i].Underlying() >= isolation.Prefix:
			// What the frozen order left in the unordered keys was not kept.
			if len(m.frozen) == 0 {
				m.frozen, m.misfits = make([][]lastFrozen, len(next)), make([]int64, len(next))
			}
			m.misfits[i] = 1
		}
	}
	m.orderings = nil
	gone := slices.Clone(m.graph.Turn(t.turn(), m.pastStart(), m.placeOf))
	m.setViews(m.cfg.Levels)
	m.turns = append(m.turns, t)
	m.turnForced()
	m.forced.turnPassed(t.from)
	for i, from := range t.from {
		if from.Start != incremental.Copied {
			continue
		}
		for _, b := range was { // what could not be placed there was told of that level only
			if x := m.begunOf(m.views[i]); b.level == t.before[from.View] {
				x.Horizon, x.Partly = b.Horizon, x.Partly || b.Partly
			}
		}
		m.offerLive(i)
	}
	m.takeForcedAnew()
	m.retryAsides()
	m.release(gone)
}

// turn is the change as the orders know it.
func (t *levelTurn) turn() *incremental.Turn {
	x := incremental.Turn{From: t.from}
	x.Before, _ = views(t.before)
	x.After, _ = views(t.after)
	return &x
}

// origin is how the order of a level begins.
func (m *Machine) origin(l isolation.Level) incremental.Origin {
	if i := slices.Index(m.views, l); i >= 0 {
		return incremental.Origin{View: i}
	}
	v, _ := l.View()
	best := incremental.Origin{Start: incremental.Frozen}
	for i, p := range m.views {
		if !m.hasAllOf(p, l) {
			continue
		}
		if w, _ := p.View(); best.Start == incremental.Frozen || w.Split == v.Split && m.graph.Split(best.View) != v.Split {
			best = incremental.Origin{View: i, Start: incremental.Copied}
		}
	}
	return best
}

// hasAllOf says whether the order of p, which is watched, has met every known edge
// among its live transactions that l is about. Orders in real time refuse edges
// without a cycle, and a transaction that asked for less than p gives fewer edges.
func (m *Machine) hasAllOf(p, l isolation.Level) bool {
	v, _ := l.View()
	w, _ := p.View()
	if v.Time != incremental.NoTime || w.Time != incremental.NoTime || len(m.asked) > 0 && p.Underlying() > l.Underlying() {
		return false
	}
	missing := infer.Label(v.Follows()&^w.Follows()) &^ infer.Forced
	return missing == 0 || missing == infer.Reread && m.neverReread()
}

// neverReread says whether no transaction is known to have seen two versions of a key.
func (m *Machine) neverReread() bool {
	return m.found[isolation.NameOf(infer.Nonrepeatable).Anomaly] == [2]int64{} && m.Counters.Unverified == 0 && m.Counters.Horizon == 0 && len(m.asked) == 0
}

// placeOf is the place of transaction n, or of one that has left memory.
func (m *Machine) placeOf(v incremental.Vertex) incremental.Place {
	n := uint32(v)
	if !m.infer.Holds(n) {
		return incremental.Place{NotBefore: math.MinInt64, NotAfter: math.MaxInt64}
	}
	p := m.spanOf(n)
	p.NotBefore, p.NotAfter, _ = m.timesOf(n)
	return p
}

// pastStart bounds from above when what has retired began.
func (m *Machine) pastStart() int64 {
	if m.Counters.Frozen > 0 {
		return m.reached()
	}
	return m.watermark
}

// offerLive offers the edges among live transactions to the i-th view, which was
// copied: by the head's place in its order, and for one head in the order in which
// they came; and those from live ones to what has retired in it.
func (m *Machine) offerLive(i int) {
	var ids []incremental.EdgeID
	for _, n := range m.graph.Order(i) {
		v := m.graph.VertexOf(i, n)
		if m.graph.Split(i) && n&1 == 0 {
			continue
		}
		at := len(ids)
		for id := m.graph.FirstIn(v); id != 0; id = m.graph.NextIn(id) {
			if e := *m.graph.Edge(id); infer.Label(e.Labels)&infer.Forced == 0 && (len(m.asked) == 0 || m.viewsOf(&e)&(1<<i) != 0) {
				ids = append(ids, id)
			}
		}
		slices.Reverse(ids[at:])
		for id := m.graph.FirstOut(v); id != 0; id = m.graph.NextOut(id) {
			if e := *m.graph.Edge(id); m.graph.Known(e.To) && m.graph.Retired(i, e.To) && infer.Label(e.Labels)&infer.Forced == 0 &&
				(len(m.asked) == 0 || m.viewsOf(&e)&(1<<i) != 0) {
				ids = append(ids, id) // into what has retired here: behind
			}
		}
	}
	for _, id := range ids {
		if !m.graph.Known(m.graph.Edge(id).From) {
			continue
		}
		ref := m.graph.Offer(id, i)
		if ref.Cycle != 0 {
			m.cycle(id, ref.Cycle)
		}
		if ref.Behind != 0 { // its head has retired here, and in the other order it had not, or it was set aside
			m.behind(inferred(m.graph.Edge(id)), ref.Behind)
		}
	}
}

// begunOf is when l began, nil if it was watched from the beginning on.
func (m *Machine) begunOf(l isolation.Level) *begun {
	for i := range m.begun {
		if m.begun[i].level == l {
			return &m.begun[i]
		}
	}
	return nil
}

// speaksFor says whether the order of the i-th view, where all reads fit it, shows that l
// holds: l is its level or follows from it, and it has met all that l's own order has.
func (m *Machine) speaksFor(i int, l isolation.Level) bool {
	return m.views[i] == l || m.stands(m.views[i], l) && m.begunOf(m.views[i]) == nil
}

// missedBefore is why l is not known to hold, in the pane or, if x is nil, over all that
// was seen: it was not watched from the beginning on, and no level that was, and that
// implies it, holds.
func (m *Machine) missedBefore(l isolation.Level, violated func(isolation.Level) bool, x *Pane) string {
	b := m.begunOf(l)
	if b == nil || x != nil && !b.Partly && x.Start >= b.Reached {
		return ""
	}
	for _, p := range m.views {
		if p != l && m.stands(p, l) && m.begunOf(p) == nil {
			if verdict, _ := m.verdictOf(p, violated, x); verdict == OK {
				return ""
			}
		}
	}
	if b.Tick == 0 {
		return "not watched from the beginning on"
	}
	return "watched since " + time.Unix(0, b.Tick).UTC().Format(time.RFC3339)
}

// Since is the tick from which on the level is watched, 0 if it always was.
func (m *Machine) Since(l isolation.Level) int64 {
	if b := m.begunOf(l); b != nil {
		return b.Tick
	}
	return 0
}

// EachEnded calls fn for the levels that are no longer watched, in the order in which
// they ended.
func (m *Machine) EachEnded(fn func(isolation.Level, Ended)) {
	for _, x := range m.ended {
		if !slices.Contains(m.watched, x.level) {
			fn(x.level, x.Ended)
		}
	}
}
