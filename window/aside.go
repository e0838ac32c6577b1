package window

import (
	"slices"

	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/solve"
)

// A level that is violated can be violated several times. Of every violation whose
// core has writers that nobody saw in order, the version of one of them is set aside:
// it takes no part in the order of its key any more, with its readers. What is left
// is ordered again. That takes constraints away and adds none, so that what cannot
// be ordered then is a violation as well; one that rests on a version set aside is
// not looked for.

// setAside is what a transaction wrote to a key.
type setAside struct {
	key uint64 // infer.KeyHash
	txn uint32
	gen uint32 // infer.Generation
}

const (
	// maxHunt bounds the violations of a level that are looked for at once.
	maxHunt = 16
	// maxAside bounds what is set aside; beyond it no more are looked for.
	maxAside = 256
)

// huntAll looks for more violations of the levels that are violated, the weakest first.
// Where a level has too many, so have those that imply it: they are not looked at.
func (m *Machine) huntAll() {
	var full []isolation.Level
	for _, i := range m.weakFirst {
		if !slices.ContainsFunc(full, m.views[i].Implies) && m.hunt(i) {
			full = append(full, m.views[i])
		}
	}
}

// hunt looks for more violations of the i-th view, if it is violated; full says that it
// ended before all were found.
func (m *Machine) hunt(i int) (full bool) {
	if !m.hunted(i) {
		return false
	}
	c := m.constraints(i, true)
	for range maxHunt {
		if len(c.problem.Keys) == 0 {
			return false
		}
		r := m.solve(i, c)
		if r.Verdict != solve.Unsatisfiable || len(r.Core.Pairs)+len(r.Core.Reads) == 0 {
			return false
		}
		if !m.another(i, c, &r.Core) {
			return true
		}
		m.leaveOut(c)
	}
	return true
}

// leaveOut takes what was set aside last out of the constraints.
func (m *Machine) leaveOut(c *constraints) {
	x := m.aside[len(m.aside)-1]
	p := &c.problem
	units, chains := p.Units[:0], c.chains[:0]
	left := make([]int32, len(p.Units)) // the new number of a unit, -1 for none
	for k := range p.Keys {
		from, to := p.Range(k)
		p.Keys[k] = int32(len(units))
		for u := from; u < to; u++ {
			left[u] = -1
			if chain := &c.chains[u]; !slices.Contains(chain.Txns, x.txn) || m.infer.KeyHash(m.infer.KeyOfVersion(chain.Versions[0])) != x.key {
				left[u] = int32(len(units))
				units, chains = append(units, p.Units[u]), append(chains, *chain)
			}
		}
	}
	p.Units, c.chains = units, chains
	c.renumberReads(left)
}

// another reports one more violation of the i-th view, and sets a version of it aside.
// One that the verifier does not accept, say because a transaction saw two versions
// of a key, is left out and counted as such: the level is violated either way.
func (m *Machine) another(i int, c *constraints, core *solve.Core) bool {
	if len(core.Pairs)+len(core.Reads) == 0 {
		return false
	}
	n, err := m.Counters.Unverified, m.Unverified
	if !m.cannotOrder(i, c, core) {
		m.Counters.LeftOut += m.Counters.Unverified - n
		m.Counters.Unverified, m.Unverified = n, err
		m.putAsideOf(c, core)
	}
	return m.hunted(i)
}

// hunted says whether more violations of the i-th view are looked for.
func (m *Machine) hunted(i int) bool {
	return m.needsOrder(i) && refuted(m.verdicts.certain, m.views[i]) && len(m.aside) < maxAside
}

// putAsideOf sets a version of the core aside.
func (m *Machine) putAsideOf(c *constraints, core *solve.Core) {
	if len(core.Pairs) > 0 {
		m.putAside(&c.chains[core.Pairs[0].B])
	} else {
		m.putAside(&c.chains[c.problem.Reads[core.Reads[0]].Candidates[0]])
	}
}

// putAside sets what the first writer of the chain wrote aside.
func (m *Machine) putAside(c *infer.Chain) {
	n := c.Txns[0]
	m.aside = append(m.aside, setAside{m.infer.KeyHash(m.infer.KeyOfVersion(c.Versions[0])), n, m.infer.Generation(n)})
}

// isAside says whether a version of the chain is set aside, or an edge along it in
// the i-th view.
func (m *Machine) isAside(i int, key uint32, c *infer.Chain) bool {
	for _, id := range m.chainEdges(nil, c) {
		if m.graph.Edge(id).In&(1<<i) == 0 {
			return true
		}
	}
	if len(m.aside) == 0 {
		return false
	}
	hash := m.infer.KeyHash(key)
	return slices.ContainsFunc(m.aside, func(x setAside) bool {
		return x.key == hash && slices.Contains(c.Txns, x.txn) && m.infer.Generation(x.txn) == x.gen
	})
}

// dropAside forgets what has left memory.
func (m *Machine) dropAside() {
	m.aside = slices.DeleteFunc(m.aside, func(x setAside) bool { return m.infer.Generation(x.txn) != x.gen })
}
