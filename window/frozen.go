package window

import (
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// With a window, the frozen order of a view is the order of the writers that nobody saw in order. Each
// transaction is run when it freezes. Its read of an unordered key must be of the version that the
// frozen order left there. Under snapshot isolation no writer of a key may freeze between the begin and
// the commit of another. If all fit, the frozen order is an execution (docs/proofs.md, section 8).
// Transactions that do not fit are counted, by view. The level is unknown then.

// lastFrozen is the version that the frozen order of a view left in a key.
type lastFrozen struct {
	key   uint64 // infer.KeyHash of the key that the number stands for; 0: nothing is known
	value uint64 // ValueKey of the version
	at    int64  // place of the commit that left it
	seq   uint32
	_     uint32
	met   met
}

// frozenRun runs nodes of a view over what was frozen before, without changing it
// unless keep is called.
type frozenRun struct {
	m      *choices
	view   int
	split  bool
	prefix bool
	// news are the keys that it changed; no order of it matters.
	news    map[uint32]lastFrozen
	misfits []uint32 // transactions
	timed   bool
	freezes bool             // the nodes of the run freeze behind it
	ahead   bool             // most nodes of the run stay live: the writer of a value that they read may still come
	lows    map[uint32]int64 // by node: the lower bound in time that the frozen order gives it
	// missed says that a transaction behind the run read a version that was replaced within the run: a
	// misfit to come.
	missed bool
	absent []absentRead // empty reads that cannot fit now, or later
}

func (o *choices) newRun(i int) *frozenRun {
	r := &frozenRun{m: o, view: i, split: o.graph.Split(i), prefix: o.views[i].Base == isolation.Prefix, news: o.spareNews}
	if o.spareNews = nil; r.news == nil {
		r.news = map[uint32]lastFrozen{}
	}
	if r.timed = o.views[i].RealTime(); r.timed {
		r.lows = map[uint32]int64{}
	}
	return r
}

func (r *frozenRun) last(k uint32) lastFrozen {
	if x, ok := r.news[k]; ok {
		return x
	}
	return r.m.frozenLast(r.view, k)
}

// frozenLast is the version that the frozen order of the i-th view left in k.
func (o *choices) frozenLast(i int, k uint32) lastFrozen {
	if int(k) >= len(o.frozen[i]) {
		return lastFrozen{}
	}
	x, now := o.frozen[i][k], o.infer.KeyHash(k)
	if x.key != now {
		x = lastFrozen{met: x.met}
	}
	if x.met.key != now {
		x.met = met{}
	}
	return x
}

// knowsFrozen says whether anything is known of k in the frozen order of the i-th view.
func (o *choices) knowsFrozen(i int, k uint32) bool {
	x := o.frozenLast(i, k)
	return !x.empty()
}

// empty says whether nothing is known of the key.
func (x *lastFrozen) empty() bool { return x.key == 0 && x.met.key == 0 }

func (o *choices) setFrozen(i int, k uint32, x lastFrozen) {
	f := &o.frozen[i]
	for int(k) >= len(*f) {
		*f = append(*f, lastFrozen{})
	}
	(*f)[k] = x
}

// run goes through the nodes in their order, and notes what each reads and leaves.
func (r *frozenRun) run(nodes []uint32) {
	for _, n := range nodes {
		t := uint32(r.m.graph.VertexOf(r.view, n))
		fits := !r.timed || r.inTime(n, t)
		if !r.split || n&1 == 0 {
			if !r.m.askedUnder(t, r.m.views[r.view]) {
				r.m.infer.EachBlindRead(t, func(k, v uint32) {
					if (!r.ahead || !r.m.infer.Unwritten(v)) && !r.m.leftThere(r.view, r.last(k), v) {
						fits = fits && r.m.infer.Unsearched(v) // counted as ambiguous: no order decides it
						r.noteAbsent(t, v)
					}
				})
			}
		}
		if !r.split || n&1 == 1 {
			r.m.infer.EachBlindWrite(t, func(k, v uint32) {
				x := r.last(k)
				at, seq := r.m.graph.Place(r.view, n)
				if r.split && !r.prefix && x.key != 0 {
					began, first := r.m.graph.Place(r.view, n-1)
					fits = fits && (x.at < began || x.at == began && x.seq < first || r.m.anotherRow(x, k, v))
				}
				r.missed = r.missed || r.readBehind(k, x, n)
				r.news[k] = lastFrozen{key: r.m.infer.KeyHash(k), value: r.m.infer.ValueKey(v), at: at, seq: seq, met: x.met}
			})
		}
		if !fits && !slices.Contains(r.misfits, t) {
			r.misfits = append(r.misfits, t)
		}
	}
}

// readBehind says whether a live reader of the value that x left in k stands behind node n,
// which replaces it. Nobody may have left it again between the two.
func (r *frozenRun) readBehind(k uint32, x lastFrozen, n uint32) bool {
	if r.missed || x.key == 0 {
		return false
	}
	g, behind := r.m.graph, false
	t := g.VertexOf(r.view, n)
	var again uint32 // node of the transaction that leaves it again
	asked, left := false, false
	r.m.infer.EachReaderOf(k, x.value, func(reader, version uint32) {
		v := incremental.Vertex(reader)
		if behind || v == t || !g.Known(v) || g.Retired(r.view, v) {
			return
		}
		node, _, _ := g.Ends(r.view, v, t, incremental.Labels(infer.RW))
		if !g.Before(r.view, n, node) {
			return
		}
		if !asked { // all records read one version
			again, left = r.leftAgain(version, n)
			asked = true
		}
		if behind = !left || again != n && !g.Before(r.view, again, node); behind {
			r.noteAbsent(reader, version)
		}
	})
	return behind
}

// leftAgain is the first node that leaves v again, from node n on.
func (r *frozenRun) leftAgain(v, n uint32) (first uint32, left bool) {
	if !r.m.infer.IsDuplicate(v) {
		return 0, false
	}
	g := r.m.graph
	r.m.infer.EachWriter(v, func(w uint32) {
		x := incremental.Vertex(w)
		if !g.Known(x) || g.Retired(r.view, x) {
			return
		}
		node, _, _ := g.Ends(r.view, x, x, incremental.Labels(infer.WW))
		if node != n && !g.Before(r.view, n, node) || left && !g.Before(r.view, node, first) {
			return
		}
		first, left = node, true
	})
	return first, left
}

// keep makes what was run part of what is frozen, and ends the run.
func (r *frozenRun) keep() {
	for k, x := range r.news {
		r.m.setFrozen(r.view, k, x)
	}
	r.drop()
}

// maxSpareNews bounds the keys of a run whose memory the next one takes over: to clear a map takes
// as long as it once was large.
const maxSpareNews = 4096

// drop ends the run. The next run uses its memory.
func (r *frozenRun) drop() {
	if len(r.news) <= maxSpareNews {
		clear(r.news)
		r.m.spareNews = r.news
	}
	r.news = nil
}

// askedUnder says whether transaction n asked for less than the level: what it read
// promises nothing there.
func (o *choices) askedUnder(n uint32, l isolation.Level) bool {
	return o.asking.askedBy(n).Lacks(l.Underlying())
}

// freezing says whether the order of writers that nobody saw is looked at as it
// freezes.
func (o *core) freezing() bool { return o.infer.Counters.Unordered > 0 && !o.cfg.Unbounded }

// runFrozen runs the nodes that are about to freeze, by view: due gives them. Before that the
// live part is ordered again where it would not fit.
func (m *Machine) runFrozen(due func(i int) []uint32) {
	clean := m.orderBefore(due)
	for i, l := range m.views {
		if !l.Underlying().Chooses() {
			if !m.triesWeak(i) {
				continue
			}
			m.graph.Alone(1 << i)
			if nodes := due(i); len(nodes) > 0 {
				m.decideAbsent(i, len(nodes))
				r := m.choices.newRun(i)
				r.timed = false
				r.run(nodes)
				r.keep()
			}
			continue
		}
		r := clean[i]
		if r == nil {
			r = m.choices.newRun(i)
			r.freezes = true
			r.run(due(i))
		}
		r.keep()
		m.choices.misfits[i] += int64(len(r.misfits))
		// If one order does not fit, another may (docs/proofs.md, section 8). So a misfit is
		// undecided, and not a finding.
		if l == m.cfg.Expect && !refuted(m.reports.verdicts.certain, l) {
			for _, n := range r.misfits {
				m.reports.panes.horizon(m.infer.Info(n).End)
			}
		}
	}
}

// leftThere says whether the frozen order of the i-th view left v in its key: it left x. A
// version of known order need not be looked at before the first writer of the key that was run
// froze.
func (o *choices) leftThere(i int, x lastFrozen, v uint32) bool {
	if x.key != 0 {
		return x.value == o.infer.ValueKey(v)
	}
	return !o.infer.IsDuplicate(v) || !o.infer.IsNothing(v) && o.infer.LeftAlone(v, func(n uint32) bool {
		return !o.graph.Known(incremental.Vertex(n)) || o.graph.Retired(i, incremental.Vertex(n))
	})
}

// fitsToTheEnd says by view whether all that is live would fit if it froze now.
func (m *Machine) fitsToTheEnd() {
	if m.infer.Counters.Unordered == 0 {
		return
	}
	m.orderBefore(m.graph.Order)
	for i := range m.views {
		if m.triesWeak(i) {
			m.graph.Alone(1 << i)
			m.decideAbsent(i, m.graph.Nodes(i))
		}
		if !m.reports.orders(i) || m.choices.misfits[i] > 0 {
			continue
		}
		if !m.choices.fitsNow(i) {
			m.decideAbsent(i, m.graph.Nodes(i))
			m.choices.orderings[i] = beyond
			continue
		}
		for j, weaker := range m.views {
			if m.levelChanges.speaksFor(i, weaker) {
				m.choices.orderings[j] = orderable
			}
		}
	}
}

func (o *choices) initFrozen() {
	if len(o.frozen) == 0 {
		o.aloneOrdered()
		o.frozen, o.misfits = make([][]lastFrozen, len(o.views)), make([]int64, len(o.views))
	}
}

// orderBefore orders the live part where the due nodes would not fit. It does so at each level that is
// not violated, and at the levels that the expected one implies. The strongest level comes first. The
// levels that it implies take over its order, as far as they can. A stronger level can have no order
// where a weaker one has. Or it can be violated later, and then shows nothing about the weaker one any
// more. orderBefore returns the runs of due nodes that need not be run again.
func (m *Machine) orderBefore(due func(i int) []uint32) (clean []*frozenRun) {
	m.choices.initFrozen()
	m.choices.dropSetAside()
	var fitting []int
	clean = make([]*frozenRun, len(m.views))
	for at := range m.weakFirst {
		i := m.weakFirst[len(m.weakFirst)-1-at]
		if !m.reports.orders(i) && !(m.choices.hunted(i) && m.cfg.Expect.Implies(m.views[i])) {
			continue
		}
		nodes := due(i)
		n := len(nodes)
		if n == 0 {
			continue
		}
		// Where a stronger level's order fits, which this one mostly has too, it is enough to look
		// at what is due.
		r := m.choices.newRun(i)
		spoken := slices.ContainsFunc(fitting, func(j int) bool { return m.levelChanges.speaksFor(j, m.views[i]) })
		if r.freezes = spoken && !r.timed; !spoken {
			r.ahead, nodes = true, m.graph.First(i, lookedAt(n))
		}
		r.run(nodes)
		r.missed = r.missed || spoken && m.choices.overtaken(i, nodes)
		switch {
		case len(r.misfits) > 0 || r.missed:
			r.drop()
			m.choices.orderLive(i, n, len(r.misfits) > 0)
			m.decideAbsent(i, n)
			clear(clean) // others may have been given another order
		case spoken && !r.timed: // bounds are raised when it freezes
			clean[i] = r
		case spoken:
			r.drop()
		default:
			r.drop()
			fitting = append(fitting, i)
		}
	}
	return clean
}

// overtaken looks at a transaction that begins among the nodes and commits behind them. It says whether
// that transaction writes a key blindly, and another one commits a write of that key between the two.
// Once its begin has frozen, they overlap in every order. nodes are the first ones of the i-th view.
func (o *choices) overtaken(i int, nodes []uint32) (found bool) {
	if !o.graph.Split(i) || o.views[i].Base == isolation.Prefix {
		return false
	}
	last := nodes[len(nodes)-1]
	open := map[uint32]uint32{} // node of the commit, by key
	look := func(n uint32) {
		o.infer.EachBlindWrite(uint32(o.graph.VertexOf(i, n)), func(k, v uint32) {
			commit, ok := open[k]
			switch {
			case n&1 == 1:
				found = found || ok && n != commit && o.graph.Before(i, n, commit)
			case o.graph.Before(i, last, n+1):
				open[k], found = n+1, found || ok && commit != n+1 // one of the two is behind the other
			}
		})
	}
	for _, n := range nodes {
		look(n)
	}
	if len(open) == 0 || found {
		return found
	}
	for _, n := range o.graph.First(i, lookedAt(len(nodes)))[len(nodes):] {
		if n&1 == 1 {
			look(n)
		}
	}
	return found
}
