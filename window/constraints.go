package window

import (
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
	m.givenUp, m.unchained = m.givenUp[:0], 0
	if !m.cfg.Unbounded {
		m.fitsToTheEnd()
		return
	}
	strongest := -1
	for _, i := range m.weakFirst {
		if m.orders(i) {
			strongest = i
		}
	}
	if strongest < 0 {
		return
	}
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

// orders says whether the i-th view is one to find an order in: not violated
// already, and of a level that needs one. Without anti-dependencies, as in read
// uncommitted and read committed, any order of the transactions orders the writers.
func (m *Machine) orders(i int) bool {
	l := m.views[i]
	return l.Underlying() >= isolation.Prefix && !refuted(m.verdicts.certain, l)
}

// orderView decides the i-th view, and what follows for weaker ones. It returns
// what cannot be ordered.
func (m *Machine) orderView(i int) (*constraints, *solve.Core) {
	c := m.constraints(i)
	if len(c.unchained) > 0 {
		m.orderings[i] = beyond
		m.unchained = max(m.unchained, int64(len(c.unchained)))
		return nil, nil
	}
	if len(c.problem.Keys) == 0 && !c.aside {
		m.orderings[i] = orderable
		return nil, nil
	}
	r := solve.Solve(m.inSessions(i, c))
	if r.Verdict != solve.Satisfiable && m.views[i].Family == isolation.Plain {
		r = solve.Solve(&c.problem)
	}
	switch r.Verdict {
	case solve.Satisfiable:
		for j, l := range m.views {
			if m.views[i].Implies(l) {
				m.orderings[j] = orderable
			}
		}
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

// inSessions is the problem of a level without session order, with it: most
// databases keep it, and it leaves little to search. An order that has it is one
// without; if there is none, nothing follows.
func (m *Machine) inSessions(i int, c *constraints) *solve.Problem {
	p := c.problem
	if m.views[i].Family != isolation.Plain {
		return &p
	}
	var lines []solve.Edge
	m.infer.EachSuccessor(func(before, after uint32) {
		from, to, _ := m.graph.Ends(i, incremental.Vertex(before), incremental.Vertex(after), incremental.Labels(infer.WR))
		if x, y := c.nodeAt(from), c.nodeAt(to); x >= 0 && y >= 0 {
			lines = append(lines, solve.Edge{From: x, To: y})
		}
	})
	p.Edges = append(lines, p.Edges...)
	p.Lines += len(lines)
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
	switch m.orderOf(l) {
	case orderable, opposed:
		return ""
	case beyond:
		if !m.cfg.Unbounded {
			return "reads of blind writes do not fit the order in which the window froze"
		}
		if m.unchained > 0 {
			return counted(m.unchained, "key without a known version order", "keys without a known version order")
		}
		return "the order of blind writes was not found within the budget, among others of " + strings.Join(m.givenUp, ", ")
	}
	if n := m.infer.Counters.Unordered; n > 0 {
		return counted(n, "key without a known version order", "keys without a known version order")
	}
	return ""
}

// constraints are a view's graph and its unordered keys in the terms of package
// solve.
type constraints struct {
	problem   solve.Problem
	nodes     []uint32      // of the view, by node of the problem
	at        []int32       // node of the problem, by node of the view
	chains    []infer.Chain // by unit
	missed    []missed
	aside     bool     // an edge was set aside, and not reported
	assumed   int      // the last edges of the problem that follow from what is frozen
	unchained []uint32 // keys whose versions are not chains
}

// missed is an anti-dependency that the graph does not hold: reader saw no value of
// the key that writer wrote. Of several that replaced one version, only neighbours
// are linked there.
type missed struct {
	edge           solve.Edge
	reader, writer uint32
	version        uint32
}

func (m *Machine) constraints(i int) *constraints {
	c := m.graphOf(i)
	p := &c.problem
	take := func(key uint32, chains []infer.Chain) {
		if chains == nil || m.anyAskedLess(chains, m.views[i]) {
			c.unchained = append(c.unchained, key)
			return
		}
		p.Keys = append(p.Keys, int32(len(p.Units)))
		for _, x := range chains {
			p.Units = append(p.Units, m.unit(i, c, &x))
			c.chains = append(c.chains, infer.Chain{
				Txns: slices.Clone(x.Txns), Versions: slices.Clone(x.Versions), Readers: slices.Clone(x.Readers),
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

// graphOf is the graph of the live part of the i-th view.
func (m *Machine) graphOf(i int) *constraints {
	c := &constraints{nodes: m.graph.Order(i)}
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
	var rest []solve.Edge
	m.graph.Arcs(i, func(id incremental.EdgeID, from, to uint32) {
		e := solve.Edge{From: c.at[from], To: c.at[to]}
		c.aside = c.aside || m.graph.Edge(id).Aside&(1<<i) != 0
		if infer.Label(m.graph.Edge(id).Labels)&infer.Process != 0 {
			p.Edges = append(p.Edges, e)
		} else {
			rest = append(rest, e)
		}
	})
	if m.graph.Split(i) {
		for _, n := range c.nodes {
			if n&1 == 0 && c.nodeAt(n+1) >= 0 {
				p.Edges = append(p.Edges, solve.Edge{From: c.at[n], To: c.at[n+1]})
			}
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
	for _, r := range x.Readers {
		from, _, _ := m.graph.Ends(i, incremental.Vertex(r), first, incremental.Labels(infer.RW))
		if at := c.nodeAt(from); at >= 0 {
			u.Readers = append(u.Readers, at)
		}
	}
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

// orderOf says what is known of the unordered keys at the level.
func (m *Machine) orderOf(l isolation.Level) ordering {
	i := slices.Index(m.views, l)
	if !m.closed || i < 0 || i >= len(m.orderings) {
		return unasked
	}
	return m.orderings[i]
}
