package window

import (
	"slices"

	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/solve"
)

// A level that is violated can be violated several times. A violation's core may have writers
// that nobody saw in order. Then the version of one of them is set aside: with its readers, it
// takes no further part in the order of its key. The rest is ordered again. That takes
// constraints away and adds none. So if the rest cannot be ordered, that is a violation as
// well. A violation that rests on a version set aside is not looked for.

// setAsideVersion is the version that a transaction wrote to a key.
type setAsideVersion struct {
	key uint64 // infer.KeyHash
	txn uint32
	gen uint32 // infer.Generation
}

const (
	// maxHunt bounds how many violations of one level a hunt looks for.
	maxHunt = 16
	// maxHuntWork bounds what a hunt spends on telling them: choices times edges, summed.
	maxHuntWork = 1 << 17
	// maxSetAside bounds the versions that are set aside. Beyond it no more violations are looked for.
	maxSetAside = 256
)

// huntAll looks for more violations of the levels that are violated, the weakest first. If a level has
// too many, the levels that imply it have too many as well, and are not looked at.
func (o *choices) huntAll() {
	var full []isolation.Level
	for _, i := range o.weakFirst {
		if !slices.ContainsFunc(full, o.views[i].Implies) && o.hunt(i) {
			full = append(full, o.views[i])
		}
	}
}

// hunt looks for more violations of the i-th view, if it is violated; full says that it
// ended before all were found.
func (o *choices) hunt(i int) (full bool) {
	if !o.hunted(i) {
		return false
	}
	c, work := o.constraints(i, true), 0
	for range maxHunt {
		if len(c.problem.Keys) == 0 {
			return false
		}
		r := o.solve(i, c)
		if r.Verdict != solve.Unsatisfiable || len(r.Core.Pairs)+len(r.Core.Reads) == 0 {
			return false
		}
		if !o.another(i, c, &r.Core) {
			return true
		}
		choices := len(r.Core.Pairs) + len(r.Core.Reads)
		if work += choices * (choices + len(r.Core.Edges)); work > maxHuntWork {
			return true
		}
		o.leaveOut(c)
	}
	return true
}

// leaveOut takes what was set aside last out of the constraints.
func (o *choices) leaveOut(c *constraints) {
	x := o.setAside[len(o.setAside)-1]
	p := &c.problem
	units, chains := p.Units[:0], c.chains[:0]
	left := make([]int32, len(p.Units)) // the new number of a unit, -1 for none
	for k := range p.Keys {
		from, to := p.Range(k)
		p.Keys[k] = int32(len(units))
		for u := from; u < to; u++ {
			left[u] = -1
			if chain := &c.chains[u]; !slices.Contains(chain.Txns, x.txn) || o.infer.KeyHash(o.infer.KeyOfVersion(chain.Versions[0])) != x.key {
				left[u] = int32(len(units))
				units, chains = append(units, p.Units[u]), append(chains, *chain)
			}
		}
	}
	p.Units, c.chains = units, chains
	c.renumberReads(left)
}

// another reports one more violation of the i-th view, and sets a version of it aside. The verifier may
// refuse the violation, say because a transaction saw two versions of a key. Then no finding tells of
// the edge, and it is counted as refused. The level is violated all the same.
func (o *choices) another(i int, c *constraints, core *solve.Core) bool {
	if len(core.Pairs)+len(core.Reads) == 0 {
		return false
	}
	n, err := o.Counters.Unverified, o.finder.unverified
	if !o.cannotOrder(i, c, core) {
		o.Counters.LeftOut += o.Counters.Unverified - n
		o.Counters.Unverified, o.finder.unverified = n, err
		o.setCoreAside(c, core)
	}
	return o.hunted(i)
}

// hunted says whether more violations of the i-th view are looked for.
func (o *choices) hunted(i int) bool {
	return o.needsOrder(i) && refuted(o.reports.verdicts.certain, o.views[i]) && len(o.setAside) < maxSetAside
}

// setCoreAside sets a version of the core aside.
func (o *choices) setCoreAside(c *constraints, core *solve.Core) {
	if len(core.Pairs) > 0 {
		o.setVersionAside(&c.chains[core.Pairs[0].B])
	} else {
		o.setVersionAside(&c.chains[c.problem.Reads[core.Reads[0]].Candidates[0]])
	}
}

// setVersionAside sets what the first writer of the chain wrote aside.
func (o *choices) setVersionAside(c *infer.Chain) {
	n := c.Txns[0]
	o.setAside = append(o.setAside, setAsideVersion{o.infer.KeyHash(o.infer.KeyOfVersion(c.Versions[0])), n, o.infer.Generation(n)})
}

// isSetAside says whether a version of the chain is set aside, or an edge along it in
// the i-th view.
func (o *choices) isSetAside(i int, key uint32, c *infer.Chain) bool {
	for _, id := range o.chainEdges(nil, c) {
		if o.graph.Edge(id).In&(1<<i) == 0 {
			return true
		}
	}
	if len(o.setAside) == 0 {
		return false
	}
	hash := o.infer.KeyHash(key)
	return slices.ContainsFunc(o.setAside, func(x setAsideVersion) bool {
		return x.key == hash && slices.Contains(c.Txns, x.txn) && o.infer.Generation(x.txn) == x.gen
	})
}

// dropSetAside forgets what has left memory.
func (o *choices) dropSetAside() {
	o.setAside = slices.DeleteFunc(o.setAside, func(x setAsideVersion) bool { return o.infer.Generation(x.txn) != x.gen })
}
