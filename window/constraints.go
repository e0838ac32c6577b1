package window

import (
	"slices"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/solve"
)

// ordering is the state of the unordered keys at one level.
type ordering uint8

const (
	unasked   ordering = iota // not decided so far
	beyond                    // not decided: the search ran out of its budget, or the versions are not chains
	orderable                 // some order of all unordered keys satisfies the level
	opposed                   // no order satisfies it: a finding is told
)

// orderBlind decides at the end of the input whether the keys whose order nobody saw can be ordered
// (PolySI's constraints, Viper's combined writes). The strongest level comes first: if it allows the
// history, the weaker levels do. Otherwise the weakest level comes next, and so on upwards: if one
// forbids the history, the stronger levels do.
func (m *Machine) orderBlind() {
	m.choices.orderings = append(m.choices.orderings[:0], make([]ordering, len(m.views))...)
	m.choices.givenUp, m.choices.unchained, m.choices.unsureWriter = m.choices.givenUp[:0], 0, false
	if !m.cfg.Unbounded {
		m.fitsToTheEnd()
		return
	}
	if len(m.views) > 1 && m.graph.Orders() == 1 && m.graph.Serial(0) && !m.anyUnordered() { // an execution at each of the levels
		for i := range m.choices.orderings {
			m.choices.orderings[i] = orderable
		}
		return
	}
	m.aloneOrdered()
	strongest := -1
	for _, i := range m.weakFirst {
		if m.reports.orders(i) {
			strongest = i
		}
	}
	if strongest >= 0 {
		m.orderAll(strongest)
	}
	m.choices.huntAll()
}

// anyUnordered says whether there is a key whose order is not known by itself, apart from
// appends that no read shows.
func (o *core) anyUnordered() (any bool) {
	note := func(uint32, []infer.Chain) { any = true }
	o.infer.EachUnordered(false, note)
	o.infer.EachVersions(note)
	return any
}

// aloneOrdered looks for an order of the writers in each view by itself.
func (o *core) aloneOrdered() {
	views := incremental.Views(0)
	for i := range o.views {
		if o.needsOrder(i) {
			views |= 1 << i
		}
	}
	o.graph.Alone(views)
}

// orderAll decides the views that are not violated.
func (m *Machine) orderAll(strongest int) {
	c, core := m.orderView(strongest)
	for _, i := range m.weakFirst {
		switch {
		case !m.reports.orders(i) || m.choices.orderings[i] != unasked:
		case i == strongest:
		default:
			if c, core := m.orderView(i); core != nil && !m.choices.cannotOrder(i, c, core) {
				m.choices.orderings[i] = beyond
			}
		}
	}
	if core != nil && m.reports.orders(strongest) && !m.choices.cannotOrder(strongest, c, core) {
		m.choices.orderings[strongest] = beyond
	}
}

// needsOrder says whether the i-th view is of a level that asks for an order of the
// writers. Without anti-dependencies, as in read uncommitted and read committed, any
// order of the transactions orders them.
func (o *core) needsOrder(i int) bool {
	l := o.views[i]
	return l.Underlying().Chooses()
}

// orders says whether an order is looked for in the i-th view: it needs one, and is not violated
// already.
func (s *reports) orders(i int) bool {
	return s.needsOrder(i) && !refuted(s.verdicts.certain, s.views[i])
}

// orderView decides the i-th view, and what follows for weaker ones. It returns the keys that cannot be
// ordered.
func (m *Machine) orderView(i int) (*constraints, *solve.Core) {
	m.cfg.deciding(m.views[i])
	c := m.choices.constraints(i, false)
	if len(c.unchained) > 0 {
		m.choices.orderings[i] = beyond
		m.choices.unchained = max(m.choices.unchained, int64(len(c.unchained)))
		return nil, nil
	}
	if len(c.problem.Keys) == 0 && !c.setAside {
		m.choices.orderings[i] = orderable
		m.sums.fitFound(i, c, nil)
		return nil, nil
	}
	r := m.clock.solveInTime(i, c)
	switch r.Verdict {
	case solve.Satisfiable:
		for j, l := range m.views {
			if m.levelChanges.speaksFor(i, l) {
				m.choices.orderings[j] = orderable
			}
		}
		m.sums.fitFound(i, c, r.Order)
	case solve.Unsatisfiable:
		m.choices.orderings[i] = opposed
		return c, &r.Core
	default:
		m.choices.orderings[i] = beyond
		var keys []uint32
		for _, u := range r.Component {
			keys = append(keys, m.infer.KeyOfVersion(c.chains[u].Versions[0]))
		}
		m.choices.giveUp(keys)
	}
	return nil, nil
}

// giveUp notes keys that were not ordered, for the reason of the verdict.
func (o *choices) giveUp(keys []uint32) {
	for _, k := range keys {
		if name := o.infer.KeyName(k); len(o.givenUp) < maxExamples && !slices.Contains(o.givenUp, name) {
			o.givenUp = append(o.givenUp, name)
		}
	}
}

// unorderedReason is why the level's verdict is unknown for keys whose order nobody
// saw, "" if it is not.
func (o *choices) unorderedReason(l isolation.Level) string {
	if l.Underlying().Selects() {
		return o.unchosenReason()
	}
	if l.Special == isolation.Linearizable || l.Special == 0 && !l.Base.Chooses() {
		return "" // any order of the transactions orders the writers, with what is forced
	}
	if !o.closed && !o.cfg.Unbounded && o.watches(l) {
		return o.misfitReason(l)
	}
	switch o.orderOf(l) {
	case orderable, opposed:
		return ""
	case beyond:
		if !o.cfg.Unbounded {
			return "no order of the keys without a known version order was found in which every read fits"
		}
		if o.unchained > 0 {
			return finding.Counted(o.unchained, "key without a known version order", "keys without a known version order")
		}
		if len(o.givenUp) == 0 { // it was not begun: see solve.Solve
			return "there are too many blind writes without a known order to search for one"
		}
		if o.unsureWriter {
			return "a transaction of unknown outcome, or without a record, may have written what was read, among others of " + strings.Join(o.givenUp, ", ")
		}
		return "the order of blind writes was not found within the budget, among others of " + strings.Join(o.givenUp, ", ")
	}
	if reason := o.misfitReason(l); reason != "" && !o.cfg.Unbounded {
		return reason
	}
	if n := o.infer.Counters.Unordered; n > 0 {
		return finding.Counted(n, "key without a known version order", "keys without a known version order")
	}
	return ""
}

// leastMisfits is how many transactions do not fit the frozen order at the level, or at
// one that is not violated and speaks for it.
func (o *choices) leastMisfits(l isolation.Level) int64 {
	least := int64(-1)
	for i := range o.views {
		if i < len(o.misfits) && o.levelChanges.speaksFor(i, l) && (o.views[i] == l || !refuted(o.reports.verdicts.certain, o.views[i])) && (least < 0 || o.misfits[i] < least) {
			least = o.misfits[i]
		}
	}
	return max(least, 0)
}

// unchosenReason is the reason of a level that has anti-dependencies and no search for an order. Such a
// level holds if a level that implies it holds.
func (o *choices) unchosenReason() string {
	n := o.infer.Counters.Unordered
	if n == 0 {
		return ""
	}
	return finding.Counted(
		n,
		"key without a known version order, which only serializable and snapshot-isolation look for",
		"keys without a known version order, which only serializable and snapshot-isolation look for",
	)
}

// misfitReason is why the level's verdict is unknown while a stream runs. The frozen part of
// unordered keys is not an execution at the level, as far as is known. The live part is not
// decided yet.
func (o *choices) misfitReason(l isolation.Level) string {
	least := o.leastMisfits(l)
	if least == 0 {
		return ""
	}
	return finding.Counted(
		least,
		"read of blind writes that does not fit the order of what left the window",
		"reads of blind writes that do not fit the order of what left the window",
	)
}

// constraints are a view's graph and its unordered keys in the terms of package
// solve.
type constraints struct {
	problem solve.Problem
	nodes   []uint32      // of the view, by node of the problem
	at      []int32       // node of the problem, by node of the view
	chains  []infer.Chain // by unit
	held    held[uint32]  // the memory of the chains' lists
	readers held[solve.Node]
	some    []solve.Node    // scratch
	reads   []duplicateRead // by read of the problem
	// candidates are the possible writers of all reads together.
	candidates int
	missed     []missed
	relaxed    bool     // versions that are set aside are left out
	setAside   bool     // an edge was set aside, and no finding tells it
	assumed    int      // how many of the problem's last edges are guesses
	unchained  []uint32 // keys whose versions are not chains
	duplicates bool     // there are reads of repeated values, or writers of such
	unread     bool     // a read of a repeated value has no writer among the nodes
	// rows says that a key may have held several rows. Its writers must not overlap here, though writers of two
	// rows may. So an order that is found is right, and the lack of one shows nothing.
	rows bool
	// past is the node of the frozen commits, behind the others. The next one is the node of
	// the frozen begins. 0 stands for no node.
	past int32
}

// missed is an anti-dependency that the graph does not hold: reader saw no value of the key
// that writer wrote. If several replaced one version, only neighbours are linked there.
type missed struct {
	edge           solve.Edge
	reader, writer uint32
	version        uint32
}

// duplicateRead is a read of a value that several wrote.
type duplicateRead struct {
	reader, version uint32
	maybe           bool // one of unknown outcome may have written it too, and taken effect
}

// constraints are the constraints of the i-th view of a whole history; relaxed: without
// versions that are set aside.
func (o *choices) constraints(i int, relaxed bool) *constraints {
	o.graph.Alone(1 << i)
	c := o.graphOf(i, o.graph.Order(i), relaxed)
	p := &c.problem
	repeated := o.infer.DuplicateVersions()
	take := func(key uint32, chains []infer.Chain) {
		if chains == nil || o.asking.anyAskedLess(chains, o.views[i]) || !o.readsOf(i, c, repeated[key], chains, int32(len(p.Units)), relaxed) {
			c.unchained = append(c.unchained, key)
			return
		}
		p.Keys = append(p.Keys, int32(len(p.Units)))
		p.Units, c.chains = roomFor(p.Units, len(chains)), roomFor(c.chains, len(chains))
		for _, x := range chains {
			if relaxed && o.isSetAside(i, key, &x) {
				continue
			}
			p.Units = append(p.Units, o.unit(i, c, &x))
			c.chains = append(c.chains, infer.Chain{
				Txns: c.held.keep(x.Txns), Versions: c.held.keep(x.Versions), Readers: c.held.keep(x.Readers),
			})
		}
	}
	if o.views[i].Base == isolation.Prefix {
		o.infer.EachVersions(func(key uint32, chains []infer.Chain) {
			take(key, chains)
			o.missInitial(i, c, key, chains)
		})
	} else {
		o.infer.EachUnordered(o.graph.Split(i), take)
	}
	return c
}

// roomFor makes room for n more, and for as many again as there are: slices that get
// large would else be copied several times.
func roomFor[T any](s []T, n int) []T {
	if len(s)+n > cap(s) {
		s = slices.Grow(s, max(n, len(s)))
	}
	return s
}

// held are short lists, which take their memory together.
type held[T any] struct{ free []T }

// keep copies the list into the common memory.
func (h *held[T]) keep(list []T) []T {
	n := len(list)
	if n > len(h.free) {
		h.free = make([]T, max(n, 1<<14))
	}
	copied := h.free[:n:n]
	h.free = h.free[n:]
	copy(copied, list)
	return copied
}

// graphOf is the graph of these nodes of the i-th view, which are in its order.
func (o *choices) graphOf(i int, nodes []uint32, relaxed bool) *constraints {
	c := &constraints{nodes: nodes, relaxed: relaxed}
	most := uint32(0)
	for _, n := range c.nodes {
		most = max(most, n)
	}
	c.at = make([]int32, most+1)
	for n := range c.at {
		c.at[n] = -1
	}
	for at, n := range c.nodes {
		c.at[n] = int32(at)
	}
	p := &c.problem
	p.Nodes = len(c.nodes)
	split := o.graph.Split(i)
	if split {
		for _, n := range c.nodes {
			if n&1 == 0 && c.nodeAt(n+1) >= 0 {
				p.Edges = append(p.Edges, solve.Edge{From: c.at[n], To: c.at[n+1]})
			}
		}
	}
	var rest []solve.Edge
	take := func(id incremental.EdgeID, from, to uint32) {
		e := solve.Edge{From: c.nodeAt(from), To: c.nodeAt(to)}
		x := o.graph.Edge(id)
		aside := x.In&(1<<i) == 0
		if e.From < 0 || e.To < 0 || aside && relaxed {
			return
		}
		c.setAside = c.setAside || aside
		if infer.Label(x.Labels)&infer.Process != 0 {
			p.Edges = append(p.Edges, e)
		} else {
			rest = append(rest, e)
		}
	}
	for _, n := range c.nodes {
		// A vertex comes once, whether only C is left of it or both nodes are.
		if !split || n&1 == 0 || c.nodeAt(n-1) < 0 {
			o.graph.ArcsOf(i, o.graph.VertexOf(i, n), take)
		}
	}
	if o.views[i].RealTime() {
		rest = o.moments(i, c, rest)
	}
	p.Lines = len(p.Edges)
	p.Edges = append(p.Edges, rest...)
	return c
}

// missInitial adds the edges from each reader that found nothing in the key to all writers of the key.
func (o *choices) missInitial(i int, c *constraints, key uint32, chains []infer.Chain) {
	for _, r := range o.infer.InitialReaders(nil, key) {
		if o.askedUnder(r, o.views[i]) {
			continue
		}
		for _, x := range chains {
			w := x.Txns[0]
			if w == r {
				continue
			}
			from, to, _ := o.graph.Ends(i, incremental.Vertex(r), incremental.Vertex(w), incremental.Labels(infer.RW))
			e := solve.Edge{From: c.at[from], To: c.at[to]}
			c.problem.Edges = append(c.problem.Edges, e)
			c.missed = append(c.missed, missed{e, r, w, x.Versions[0]})
		}
	}
}

// unit is a chain in the terms of the i-th view.
func (o *choices) unit(i int, c *constraints, x *infer.Chain) solve.Unit {
	first, last := incremental.Vertex(x.Txns[0]), incremental.Vertex(x.Txns[len(x.Txns)-1])
	out, in, _ := o.graph.Ends(i, last, first, incremental.Labels(infer.WW))
	_, anti, _ := o.graph.Ends(i, last, first, incremental.Labels(infer.RW))
	u := solve.Unit{In: c.nodeAt(in), InAnti: c.nodeAt(anti), Out: c.nodeAt(out)}
	c.some = c.some[:0]
	for _, r := range x.Readers {
		from, _, _ := o.graph.Ends(i, incremental.Vertex(r), first, incremental.Labels(infer.RW))
		if at := c.nodeAt(from); at >= 0 {
			c.some = append(c.some, at)
		}
	}
	u.Readers = c.readers.keep(c.some)
	return u
}

// nodeAt is the problem's node for a node of the view, -1 where it does not live.
func (c *constraints) nodeAt(n uint32) int32 {
	if int(n) >= len(c.at) {
		return -1
	}
	return c.at[n]
}

// anyAskedLess says whether a transaction of a chain asked for less than the level:
// its reads promise nothing there, and chains need not be closed.
func (a *asking) anyAskedLess(chains []infer.Chain, l isolation.Level) bool {
	if len(a.asked) == 0 {
		return false
	}
	less := func(n uint32) bool {
		return a.askedBy(n).Lacks(l.Underlying())
	}
	for i := range chains {
		if slices.ContainsFunc(chains[i].Txns, less) || slices.ContainsFunc(chains[i].Readers, less) {
			return true
		}
	}
	return false
}

// stands says whether an order at the level v is one at l. Where a transaction asked for less
// than v, and not for less than l, the encoding of l holds more of what it read.
func (a *asking) stands(v, l isolation.Level) bool {
	if v == l || !v.Implies(l) {
		return v == l
	}
	for b, n := range a.askedFor {
		if b := isolation.Base(b); n > 0 && b.Lacks(v.Underlying()) && !b.Lacks(l.Underlying()) {
			return false
		}
	}
	return true
}

// orderOf says what is known of the unordered keys at the level.
func (o *choices) orderOf(l isolation.Level) ordering {
	i := slices.Index(o.views, l)
	if !o.closed || i < 0 || i >= len(o.orderings) {
		return unasked
	}
	return o.orderings[i]
}
