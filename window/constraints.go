package window

import (
	"cmp"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/solve"
)

// ordering is what is known of the unordered keys at one level.
type ordering uint8

const (
	unasked   ordering = iota // not decided so far
	beyond                    // not decided within the budget, or not by chains
	orderable                 // some order of all unordered keys satisfies the level
	opposed                   // no order does: reported
)

// orderBlind decides at the end of the input whether the keys whose order nobody
// saw can be ordered (PolySI's constraints, Viper's combined writes). The strongest
// level comes first: what it allows, the weaker ones do. Where it does not, the
// weakest one follows, and so on upwards: what that forbids, the stronger ones do.
func (m *Machine) orderBlind() {
	m.orderings = append(m.orderings[:0], make([]ordering, len(m.views))...)
	m.givenUp, m.unchained, m.unsureWriter = m.givenUp[:0], 0, false
	if !m.cfg.Unbounded {
		m.fitsToTheEnd()
		return
	}
	if len(m.views) > 1 && m.graph.Orders() == 1 && m.graph.Serial(0) && !m.anyUnordered() { // an execution at each of the levels
		for i := range m.orderings {
			m.orderings[i] = orderable
		}
		return
	}
	m.aloneOrdered()
	strongest := -1
	for _, i := range m.weakFirst {
		if m.orders(i) {
			strongest = i
		}
	}
	if strongest >= 0 {
		m.orderAll(strongest)
	}
	m.huntAll()
}

// anyUnordered says whether there is a key of which the order is not known by itself,
// appends that no read shows aside.
func (m *Machine) anyUnordered() (any bool) {
	note := func(uint32, []infer.Chain) { any = true }
	m.infer.EachUnordered(false, note)
	m.infer.EachVersions(note)
	return any
}

// aloneOrdered gives each view that asks for an order of the writers one of its own.
func (m *Machine) aloneOrdered() {
	views := incremental.Views(0)
	for i := range m.views {
		if m.needsOrder(i) {
			views |= 1 << i
		}
	}
	m.graph.Alone(views)
}

// orderAll decides the views that are not violated.
func (m *Machine) orderAll(strongest int) {
	c, core := m.orderView(strongest)
	for _, i := range m.weakFirst {
		switch {
		case !m.orders(i) || m.orderings[i] != unasked:
		case i == strongest:
		default:
			if c, core := m.orderView(i); core != nil && !m.cannotOrder(i, c, core) {
				m.orderings[i] = beyond
			}
		}
	}
	if core != nil && m.orders(strongest) && !m.cannotOrder(strongest, c, core) {
		m.orderings[strongest] = beyond
	}
}

// needsOrder says whether the i-th view is of a level that asks for an order of the
// writers. Without anti-dependencies, as in read uncommitted and read committed, any
// order of the transactions orders them.
func (m *Machine) needsOrder(i int) bool {
	l := m.views[i]
	return l.Underlying() >= isolation.Prefix
}

// orders says whether the i-th view is one to find an order in: one that needs it
// and is not violated already.
func (m *Machine) orders(i int) bool {
	return m.needsOrder(i) && !refuted(m.verdicts.certain, m.views[i])
}

// orderView decides the i-th view, and what follows for weaker ones. It returns
// what cannot be ordered.
func (m *Machine) orderView(i int) (*constraints, *solve.Core) {
	c := m.constraints(i, false)
	if len(c.unchained) > 0 {
		m.orderings[i] = beyond
		m.unchained = max(m.unchained, int64(len(c.unchained)))
		return nil, nil
	}
	if len(c.problem.Keys) == 0 && !c.aside {
		m.orderings[i] = orderable
		m.fitFound(i, c, nil)
		return nil, nil
	}
	r := m.solveInTime(i, c)
	switch r.Verdict {
	case solve.Satisfiable:
		for j, l := range m.views {
			if m.speaksFor(i, l) {
				m.orderings[j] = orderable
			}
		}
		m.fitFound(i, c, r.Order)
	case solve.Unsatisfiable:
		m.orderings[i] = opposed
		return c, &r.Core
	default:
		m.orderings[i] = beyond
		var keys []uint32
		for _, u := range r.Component {
			keys = append(keys, m.infer.KeyOfVersion(c.chains[u].Versions[0]))
		}
		m.giveUp(keys)
	}
	return nil, nil
}

// guessBudget is what the search may take under a guess: what is guessed rightly leaves
// little to search.
const guessBudget = solve.DefaultBudget / 10

// solve decides a problem of the i-th view.
func (m *Machine) solve(i int, c *constraints) solve.Result {
	r := solve.Solve(m.inSessions(i, c))
	if r.Verdict != solve.Satisfiable && m.views[i].Family == isolation.Plain {
		r = solve.Solve(&c.problem)
	}
	return r
}

// solveInTime is solve, and tries real time before where there are times.
func (m *Machine) solveInTime(i int, c *constraints) solve.Result {
	if m.timed && !m.untimed && !m.views[i].RealTime() {
		p := m.guessedInTime(i, c)
		p.Budget = guessBudget
		if r := solve.Solve(p); r.Verdict == solve.Satisfiable {
			return r
		}
	}
	return m.solve(i, c)
}

// inSessions is the problem of a level without session order, with it: most
// databases keep it, and it leaves little to search. An order that has it is one
// without; if there is none, nothing follows.
func (m *Machine) inSessions(i int, c *constraints) *solve.Problem {
	p := c.problem
	if m.views[i].Family != isolation.Plain {
		return &p
	}
	var lines []solve.Edge
	for _, n := range c.nodes {
		if m.graph.Split(i) && n&1 == 0 {
			continue
		}
		before := m.graph.VertexOf(i, n)
		after := m.infer.Successor(uint32(before))
		if after == 0 {
			continue
		}
		_, to, _ := m.graph.Ends(i, before, incremental.Vertex(after), incremental.Labels(infer.WR))
		if y := c.nodeAt(to); y >= 0 {
			lines = append(lines, solve.Edge{From: c.nodeAt(n), To: y})
		}
	}
	p.Edges = append(lines, p.Edges...)
	p.Lines += len(lines)
	return &p
}

// guessedInTime is inSessions with real time: a transaction that ended before another one
// began comes before it. Databases keep that as well, mostly, it leaves next to
// nothing to search, and the order that is found is about that of time.
//
// A line of nodes stands for time: who has ended leads to the next of them, and each
// leads to those who begin behind it. Two edges a transaction.
func (m *Machine) guessedInTime(i int, c *constraints) *solve.Problem {
	if m.views[i].RealTime() {
		return m.inSessions(i, c) // it is known
	}
	p := *m.inSessions(i, c)
	split := m.graph.Split(i)
	type instant struct {
		at   int64
		node solve.Node
		ends bool
	}
	var all []instant
	for at, n := range c.nodes {
		start, end, unknown := m.infer.Span(uint32(m.graph.VertexOf(i, n)))
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

// giveUp notes keys that were not ordered, for the reason of the verdict.
func (m *Machine) giveUp(keys []uint32) {
	for _, k := range keys {
		if name := m.infer.KeyName(k); len(m.givenUp) < maxExamples && !slices.Contains(m.givenUp, name) {
			m.givenUp = append(m.givenUp, name)
		}
	}
}

// unorderedReason is why the level's verdict is unknown for keys whose order nobody
// saw, "" if it is not.
func (m *Machine) unorderedReason(l isolation.Level) string {
	if l.Special == isolation.Linearizable || l.Special == 0 && l.Base <= isolation.Causal {
		return "" // any order of the transactions orders the writers, with what is forced
	}
	if !m.closed && !m.cfg.Unbounded && m.watches(l) {
		return m.misfitReason(l)
	}
	switch m.orderOf(l) {
	case orderable, opposed:
		return ""
	case beyond:
		if !m.cfg.Unbounded {
			return "no order of the keys without a known version order was found in which every read fits"
		}
		if m.unchained > 0 {
			return counted(m.unchained, "key without a known version order", "keys without a known version order")
		}
		if len(m.givenUp) == 0 { // it was not begun: see solve.Solve
			return "there are too many blind writes without a known order to search for one"
		}
		if m.unsureWriter {
			return "a transaction of unknown outcome, or without a record, may have written what was read, among others of " + strings.Join(m.givenUp, ", ")
		}
		return "the order of blind writes was not found within the budget, among others of " + strings.Join(m.givenUp, ", ")
	}
	if reason := m.misfitReason(l); reason != "" && !m.cfg.Unbounded {
		return reason
	}
	if n := m.infer.Counters.Unordered; n > 0 {
		return counted(n, "key without a known version order", "keys without a known version order")
	}
	return ""
}

// leastMisfits is how many transactions do not fit the frozen order at the level, or at
// one that is not violated and speaks for it.
func (m *Machine) leastMisfits(l isolation.Level) int64 {
	least := int64(-1)
	for i := range m.views {
		if i < len(m.misfits) && m.speaksFor(i, l) && (m.views[i] == l || !refuted(m.verdicts.certain, m.views[i])) && (least < 0 || m.misfits[i] < least) {
			least = m.misfits[i]
		}
	}
	return max(least, 0)
}

// misfitReason is why the level's verdict is unknown while a stream runs: what has
// frozen of keys whose order nobody saw is no execution at the level, as far as is
// known. What is live is not decided yet.
func (m *Machine) misfitReason(l isolation.Level) string {
	least := m.leastMisfits(l)
	if least == 0 {
		return ""
	}
	return counted(least, "read of blind writes that does not fit the order of what left the window", "reads of blind writes that do not fit the order of what left the window")
}

// constraints are a view's graph and its unordered keys in the terms of package
// solve.
type constraints struct {
	problem solve.Problem
	nodes   []uint32      // of the view, by node of the problem
	at      []int32       // node of the problem, by node of the view
	chains  []infer.Chain // by unit
	held    held[uint32]  // what they list
	readers held[solve.Node]
	some    []solve.Node   // scratch
	reads   []repeatedRead // by read of the problem
	// candidates are the possible writers of all reads together.
	candidates int
	missed     []missed
	relaxed    bool     // what is set aside is left out
	aside      bool     // an edge was set aside, and not reported
	assumed    int      // the last edges of the problem, which are not known
	unchained  []uint32 // keys whose versions are not chains
	repeats    bool     // there are reads of repeated values, or writers of such
	unread     bool     // one of them has no writer among the nodes
	// rows: of a key where a row is not its key, writers are not to overlap here, which they may.
	// An order is one all the same; that there is none says nothing.
	rows bool
	// past is the node of what is frozen, behind the others, and the next one that of begins which
	// are; 0 for none.
	past int32
}

// missed is an anti-dependency that the graph does not hold: reader saw no value of
// the key that writer wrote. Of several that replaced one version, only neighbours
// are linked there.
type missed struct {
	edge           solve.Edge
	reader, writer uint32
	version        uint32
}

// repeatedRead is a read of a value that several wrote.
type repeatedRead struct {
	reader, version uint32
	maybe           bool // one of unknown outcome may have written it too, and taken effect
}

// constraints are those of the i-th view of a whole history; relaxed: without what is
// set aside.
func (m *Machine) constraints(i int, relaxed bool) *constraints {
	m.graph.Alone(1 << i)
	c := m.graphOf(i, m.graph.Order(i), relaxed)
	p := &c.problem
	repeated := m.infer.RepeatedVersions()
	take := func(key uint32, chains []infer.Chain) {
		if chains == nil || m.anyAskedLess(chains, m.views[i]) || !m.readsOf(i, c, repeated[key], chains, int32(len(p.Units)), relaxed) {
			c.unchained = append(c.unchained, key)
			return
		}
		p.Keys = append(p.Keys, int32(len(p.Units)))
		p.Units, c.chains = roomFor(p.Units, len(chains)), roomFor(c.chains, len(chains))
		for _, x := range chains {
			if relaxed && m.isAside(i, key, &x) {
				continue
			}
			p.Units = append(p.Units, m.unit(i, c, &x))
			c.chains = append(c.chains, infer.Chain{
				Txns: c.held.keep(x.Txns), Versions: c.held.keep(x.Versions), Readers: c.held.keep(x.Readers),
			})
		}
	}
	if m.views[i].Base == isolation.Prefix {
		m.infer.EachVersions(func(key uint32, chains []infer.Chain) {
			take(key, chains)
			m.missInitial(i, c, key, chains)
		})
	} else {
		m.infer.EachUnordered(m.graph.Split(i), take)
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

// keep copies the list.
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
func (m *Machine) graphOf(i int, nodes []uint32, relaxed bool) *constraints {
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
	split := m.graph.Split(i)
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
		x := m.graph.Edge(id)
		aside := x.In&(1<<i) == 0
		if e.From < 0 || e.To < 0 || aside && relaxed {
			return
		}
		c.aside = c.aside || aside
		if infer.Label(x.Labels)&infer.Process != 0 {
			p.Edges = append(p.Edges, e)
		} else {
			rest = append(rest, e)
		}
	}
	for _, n := range c.nodes {
		// A vertex of which only C is left comes once, and so does one with both nodes.
		if !split || n&1 == 0 || c.nodeAt(n-1) < 0 {
			m.graph.ArcsOf(i, m.graph.VertexOf(i, n), take)
		}
	}
	if m.views[i].RealTime() {
		rest = m.moments(i, c, rest)
	}
	p.Lines = len(p.Edges)
	p.Edges = append(p.Edges, rest...)
	return c
}

// missInitial adds that who saw no value of the key comes before all its writers.
func (m *Machine) missInitial(i int, c *constraints, key uint32, chains []infer.Chain) {
	for _, r := range m.infer.InitialReaders(nil, key) {
		if m.askedUnder(r, m.views[i]) {
			continue
		}
		for _, x := range chains {
			w := x.Txns[0]
			if w == r {
				continue
			}
			from, to, _ := m.graph.Ends(i, incremental.Vertex(r), incremental.Vertex(w), incremental.Labels(infer.RW))
			e := solve.Edge{From: c.at[from], To: c.at[to]}
			c.problem.Edges = append(c.problem.Edges, e)
			c.missed = append(c.missed, missed{e, r, w, x.Versions[0]})
		}
	}
}

// unit is a chain in the terms of the i-th view.
func (m *Machine) unit(i int, c *constraints, x *infer.Chain) solve.Unit {
	first, last := incremental.Vertex(x.Txns[0]), incremental.Vertex(x.Txns[len(x.Txns)-1])
	out, in, _ := m.graph.Ends(i, last, first, incremental.Labels(infer.WW))
	_, anti, _ := m.graph.Ends(i, last, first, incremental.Labels(infer.RW))
	u := solve.Unit{In: c.nodeAt(in), InAnti: c.nodeAt(anti), Out: c.nodeAt(out)}
	c.some = c.some[:0]
	for _, r := range x.Readers {
		from, _, _ := m.graph.Ends(i, incremental.Vertex(r), first, incremental.Labels(infer.RW))
		if at := c.nodeAt(from); at >= 0 {
			c.some = append(c.some, at)
		}
	}
	u.Readers = c.readers.keep(c.some)
	return u
}

// nodeAt is the problem's node for that of the view, -1 where it does not live.
func (c *constraints) nodeAt(n uint32) int32 {
	if int(n) >= len(c.at) {
		return -1
	}
	return c.at[n]
}

// anyAskedLess says whether a transaction of a chain asked for less than the level:
// its reads promise nothing there, and chains need not be closed.
func (m *Machine) anyAskedLess(chains []infer.Chain, l isolation.Level) bool {
	if len(m.asked) == 0 {
		return false
	}
	less := func(n uint32) bool {
		asked := m.askedBy(n)
		return asked != 0 && asked < l.Underlying()
	}
	for i := range chains {
		if slices.ContainsFunc(chains[i].Txns, less) || slices.ContainsFunc(chains[i].Readers, less) {
			return true
		}
	}
	return false
}

// stands says whether an order at the level v is one at l. Where transactions asked for
// levels of their own, the encoding of a weaker one holds more of what they read.
func (m *Machine) stands(v, l isolation.Level) bool {
	return v == l || len(m.asked) == 0 && v.Implies(l)
}

// orderOf says what is known of the unordered keys at the level.
func (m *Machine) orderOf(l isolation.Level) ordering {
	i := slices.Index(m.views, l)
	if !m.closed || i < 0 || i >= len(m.orderings) {
		return unasked
	}
	return m.orderings[i]
}
