package window

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// The watched levels can change between two steps (docs/proofs.md, section 8, Levels that begin
// later). A level that goes takes its order with it, and its findings stay. One that comes
// begins with the frozen order of a level that was there. If that level's order has all edges
// among live transactions, it begins as a copy, and these edges are offered to it. Otherwise it
// begins with all earlier transactions frozen.

// begun is a level that was not watched from the beginning on.
type begun struct {
	level isolation.Level
	// Tick is the tick of the step in which it began. No transaction that had come by then
	// ended at Reached or later.
	Tick, Reached int64
	// Latest is the generation of the transaction that had come last.
	Latest uint32
	// Partly says that the level knows less of the earlier transactions than it would have known
	// from the beginning on. So it is never ok.
	Partly bool
	// Horizon and Undecided count what Counters does, as far as only levels are
	// concerned that began later.
	Horizon, Undecided int64
}

// ended is the verdict of a level that is no longer watched.
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

// levelChange is a change of the levels that have orders.
type levelChange struct {
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
func (o *core) setViews(levels []isolation.Level) (vs []incremental.View) {
	vs, o.views = views(levels)
	o.follows, o.weakFirst, o.selecting, o.limiting = 0, nil, 0, 0
	for i, v := range vs {
		if o.views[i].Underlying().Selects() {
			o.selecting |= 1 << i
		}
		if o.views[i].Underlying().Limits() {
			o.limiting |= 1 << i
		}
		o.follows |= infer.Label(v.Follows())
		o.weakFirst = append(o.weakFirst, i)
	}
	o.realTime = slices.ContainsFunc(o.views, isolation.Level.RealTime)
	slices.SortStableFunc(o.weakFirst, func(a, b int) int {
		x, y := o.views[a], o.views[b]
		return cmp.Or(cmp.Compare(x.Underlying().Strength(), y.Underlying().Strength()), cmp.Compare(x.Family, y.Family))
	})
	return vs
}

// implied says by view whose orders its own order is. Their levels hold if its own level holds. In a
// split order an anti-dependency leads from a begin to a commit. Such an order does not order the two
// transactions as a whole.
func (o *core) implied() []incremental.Views {
	of := make([]incremental.Views, len(o.views))
	for i, l := range o.views {
		for j, weaker := range o.views {
			if l.Implies(weaker) && (!isSplit(l) || !weaker.Underlying().Selects()) {
				of[i] |= 1 << j
			}
		}
	}
	return of
}

func isSplit(l isolation.Level) bool {
	v, _ := l.View()
	return v.Split
}

// changeLevels lets the levels of the configuration take effect.
func (m *Machine) changeLevels() {
	m.levelChanges.due = false
	before, after := m.levelChanges.watched, m.cfg.Levels
	m.levelChanges.watched = after
	reached, was := m.reports.reached(), slices.Clone(m.levelChanges.begun)
	for _, l := range before {
		if slices.Contains(after, l) {
			continue
		}
		v, why := m.Verdict(l)
		m.levelChanges.ended = slices.DeleteFunc(m.levelChanges.ended, func(x ended) bool { return x.level == l })
		if v != "" {
			m.levelChanges.ended = append(m.levelChanges.ended, ended{l, Ended{v, why, m.clock.tick}})
		}
	}
	// The panes for which an ending level is known to hold may depend on the begin of another
	// one.
	m.levelChanges.begun = slices.DeleteFunc(m.levelChanges.begun, func(x begun) bool { return !slices.Contains(after, x.level) })
	for _, l := range after {
		if !slices.Contains(before, l) {
			_, ordered := l.View()
			m.levelChanges.begun = append(
				m.levelChanges.begun,
				begun{level: l, Tick: m.clock.tick, Reached: reached, Latest: m.infer.Latest(), Partly: !ordered || bySaturation(l)},
			)
		}
	}
	if _, next := views(after); !slices.Equal(next, m.views) {
		m.changeViews(was)
	}
	m.infer.SetOptions(m.saturated.inferOptions())
}

// reached is the end of the latest pane that has a record. No record so far ended later.
func (s *reports) reached() int64 {
	at := int64(math.MinInt64)
	for _, list := range [][]*Pane{s.panes.list, s.panes.closed} {
		if k := len(list); k > 0 {
			at = max(at, list[k-1].End)
		}
	}
	return at
}

// changeViews gives the graph the orders of the configuration's levels. was says which of
// those before had begun late.
func (m *Machine) changeViews(was []begun) {
	if m.saturated.idle {
		m.saturated.odd = true
		m.finder.saturate()
	}
	t := levelChange{before: m.views}
	_, next := views(m.cfg.Levels)
	t.after = next
	for _, l := range next {
		t.from = append(t.from, m.reports.origin(l))
	}
	unordered := m.infer.Counters.Unordered > 0 && !m.cfg.Unbounded
	frozen, misfits, out := m.choices.frozen, m.choices.misfits, m.choices.unreadOut
	m.choices.frozen, m.choices.misfits, m.choices.unreadOut = nil, nil, make([]int64, len(next))
	if len(frozen) > 0 {
		m.choices.frozen, m.choices.misfits = make([][]lastFrozen, len(next)), make([]int64, len(next))
	}
	for i, from := range t.from {
		switch {
		case from.Start == incremental.Kept:
			m.choices.unreadOut[i] = out[from.View]
			if len(frozen) > 0 {
				m.choices.frozen[i], m.choices.misfits[i] = frozen[from.View], misfits[from.View]
			}
		case from.Start == incremental.Copied && len(frozen) > 0 && t.before[from.View].Underlying().Chooses():
			m.choices.frozen[i] = slices.Clone(frozen[from.View])
		case unordered && next[i].Underlying().Chooses():
			// The versions that the frozen order left in the unordered keys were not kept.
			if len(m.choices.frozen) == 0 {
				m.choices.frozen, m.choices.misfits = make([][]lastFrozen, len(next)), make([]int64, len(next))
			}
			m.choices.misfits[i] = 1
		}
	}
	m.choices.orderings = nil
	gone := slices.Clone(m.graph.ChangeLevels(t.inOrders(), m.reports.pastStart(), m.placeOf))
	m.setViews(m.cfg.Levels)
	m.levelChanges.changes = append(m.levelChanges.changes, t)
	m.saturated.changeLevels()
	m.saturated.passedAfterChange(t.from)
	for i, from := range t.from {
		if from.Start != incremental.Copied {
			continue
		}
		for _, b := range was { // what could not be placed there was told of that level only
			if x := m.levelChanges.begunOf(m.views[i]); b.level == t.before[from.View] {
				x.Horizon, x.Partly = b.Horizon, x.Partly || b.Partly
			}
		}
		m.finder.offerLive(i)
	}
	m.finder.retakeSaturated()
	m.finder.retrySetAside()
	m.release(gone)
}

// inOrders is the change as the orders know it.
func (t *levelChange) inOrders() *incremental.LevelChange {
	x := incremental.LevelChange{From: t.from}
	x.Before, _ = views(t.before)
	x.After, _ = views(t.after)
	return &x
}

// origin says how the order of a new level begins: kept, as a copy, or with all earlier
// transactions frozen.
func (s *reports) origin(l isolation.Level) incremental.Origin {
	if i := slices.Index(s.views, l); i >= 0 {
		return incremental.Origin{View: i}
	}
	v, _ := l.View()
	best := incremental.Origin{Start: incremental.Frozen}
	for i, p := range s.views {
		if !s.hasAllOf(p, l) {
			continue
		}
		if w, _ := p.View(); best.Start == incremental.Frozen || w.Split == v.Split && s.graph.Split(best.View) != v.Split {
			best = incremental.Origin{View: i, Start: incremental.Copied}
		}
	}
	return best
}

// hasAllOf says whether the order of p, which is watched, has met every known edge
// among its live transactions that l is about. Orders in real time refuse edges
// without a cycle, and a transaction that asked for less than p gives fewer edges.
func (s *reports) hasAllOf(p, l isolation.Level) bool {
	v, _ := l.View()
	w, _ := p.View()
	if v.Time != incremental.NoTime || w.Time != incremental.NoTime || len(s.asking.asked) > 0 && p.Underlying() > l.Underlying() {
		return false
	}
	missing := infer.Label(v.Follows()&^w.Follows()) &^ infer.Saturated
	return missing == 0 || missing == infer.Reread && s.neverReread()
}

// neverReread says whether no transaction is known to have seen two versions of a key.
func (s *reports) neverReread() bool {
	return s.found[isolation.NameOf(infer.Nonrepeatable).Anomaly] == [3]int64{} && s.Counters.Unverified == 0 && s.Counters.Horizon == 0 && len(s.asking.asked) == 0
}

// placeOf is the place of transaction n, or of one that has left memory.
func (o *core) placeOf(v incremental.Vertex) incremental.Place {
	n := uint32(v)
	if !o.infer.Holds(n) {
		return incremental.Place{NotBefore: math.MinInt64, NotAfter: math.MaxInt64}
	}
	p := o.spanOf(n)
	p.NotBefore, p.NotAfter, _ = o.timesOf(n)
	return p
}

// pastStart bounds from above when what has retired began.
func (s *reports) pastStart() int64 {
	if s.Counters.Frozen > 0 {
		return s.reached()
	}
	return s.clock.watermark
}

// offerLive offers the edges among live transactions to the i-th view, which was copied. They go by the
// place of their head in the view's order. Edges with one head go in the order in which they came. It
// also offers the edges from live transactions to transactions that have retired in the view.
func (h *finder) offerLive(i int) {
	var ids []incremental.EdgeID
	for _, n := range h.graph.Order(i) {
		v := h.graph.VertexOf(i, n)
		if h.graph.Split(i) && n&1 == 0 {
			continue
		}
		at := len(ids)
		for id := h.graph.FirstIn(v); id != 0; id = h.graph.NextIn(id) {
			if e := *h.graph.Edge(id); infer.Label(e.Labels)&infer.Saturated == 0 && (!h.asking.counts() || h.asking.viewsOf(&e)&(1<<i) != 0) {
				ids = append(ids, id)
			}
		}
		slices.Reverse(ids[at:])
		for id := h.graph.FirstOut(v); id != 0; id = h.graph.NextOut(id) {
			if e := *h.graph.Edge(id); h.graph.Known(e.To) && h.graph.Retired(i, e.To) && infer.Label(e.Labels)&infer.Saturated == 0 &&
				(!h.asking.counts() || h.asking.viewsOf(&e)&(1<<i) != 0) {
				ids = append(ids, id) // into what has retired here: behind
			}
		}
	}
	for _, id := range ids {
		if !h.graph.Known(h.graph.Edge(id).From) {
			continue
		}
		ref := h.graph.Offer(id, i)
		if ref.Cycle != 0 {
			h.cycle(id, ref.Cycle)
		}
		h.followLimits(id, h.graph.Edge(id), 1<<i&^ref.Cycle)
		if ref.Behind != 0 { // its head has retired here, and in the other order it had not, or it was set aside
			h.reports.behind(inferred(h.graph.Edge(id)), ref.Behind)
		}
	}
}

// begunOf is when l began, nil if it was watched from the beginning on.
func (t *levelChanges) begunOf(l isolation.Level) *begun {
	for i := range t.begun {
		if t.begun[i].level == l {
			return &t.begun[i]
		}
	}
	return nil
}

// speaksFor says whether the order of the i-th view shows that l holds, if all reads fit the order.
// Then l is its level or follows from it, and it has met all edges that l's own order has.
func (t *levelChanges) speaksFor(i int, l isolation.Level) bool {
	return t.views[i] == l || t.asking.stands(t.views[i], l) && t.begunOf(t.views[i]) == nil
}

// missedBefore is why l is not known to hold, in the pane or, if x is nil, over all that was seen. l
// was not watched from the beginning on. Other levels were, and imply l, but each of them is unknown or
// violated.
func (m *Machine) missedBefore(l isolation.Level, violated func(isolation.Level) bool, x *Pane) string {
	b := m.levelChanges.begunOf(l)
	if b == nil || x != nil && !b.Partly && x.Start >= b.Reached {
		return ""
	}
	for _, p := range m.views {
		if p != l && m.asking.stands(p, l) && m.levelChanges.begunOf(p) == nil {
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
	if b := m.levelChanges.begunOf(l); b != nil {
		return b.Tick
	}
	return 0
}

// EachEnded calls fn for the levels that are no longer watched, in the order in which
// they ended.
func (m *Machine) EachEnded(fn func(isolation.Level, Ended)) {
	for _, x := range m.levelChanges.ended {
		if !slices.Contains(m.levelChanges.watched, x.level) {
			fn(x.level, x.Ended)
		}
	}
}
