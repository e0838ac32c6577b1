package window

import (
	"slices"

	"github.com/isowatch/isowatch/infer"
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

// hunt looks for more violations of the i-th view, if it is violated.
func (m *Machine) hunt(i int) {
	for n := 0; n < maxHunt && m.hunted(i); n++ {
		c := m.constraints(i, true)
		if len(c.problem.Keys) == 0 {
			return
		}
		r := m.solve(i, c)
		if r.Verdict != solve.Unsatisfiable || !m.another(i, c, &r.Core) {
			return
		}
	}
}

// another reports one more violation of the i-th view, and sets a version of it aside.
// One that the verifier does not accept, say because a transaction saw two versions
// of a key, is left out: the level is violated either way.
func (m *Machine) another(i int, c *constraints, core *solve.Core) bool {
	if len(core.Pairs) == 0 {
		return false
	}
	n, err := m.Counters.Unverified, m.Unverified
	if !m.cannotOrder(i, c, core) {
		m.Counters.Unverified, m.Unverified = n, err
		m.putAside(&c.chains[core.Pairs[0].B])
	}
	return m.hunted(i)
}

// hunted says whether more violations of the i-th view are looked for.
func (m *Machine) hunted(i int) bool {
	return m.needsOrder(i) && refuted(m.verdicts.certain, m.views[i]) && len(m.aside) < maxAside
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
