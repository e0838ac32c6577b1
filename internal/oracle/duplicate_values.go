package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// A read of a register's value that several transactions wrote is of one of them. Which
// one is tried: for each way to choose, the history is written down anew with a value of
// its own for each writer, and is then one like any other. A level is contradicted if it
// is in every way.

// maxWays bounds the ways that are tried: 12 transactions take about 0.2 ms each.
const maxWays = 512

// choice is a read of a repeated value, with repeats of it directly behind.
type choice struct {
	txn     int
	ops     []int
	writers []int
}

// decide returns what check says of h, with the writers of repeated values tried.
func decide(h History, check func(History) Verdicts) Verdicts {
	v := check(h)
	choices, unique := v.Graph.choices()
	ways := 1
	for i := range choices {
		if ways *= len(choices[i].writers); ways > maxWays {
			return v
		}
	}
	if len(choices) == 0 {
		return v
	}
	violated := map[Level]bool{}
	for l := range v.Violated {
		violated[l] = true
	}
	v.exact = map[Level]bool{}
	for way := range ways {
		for i := range choices {
			c := &choices[i]
			for _, at := range c.ops {
				read, writer := &unique[c.txn].Ops[at], c.writers[way%len(c.writers)]
				read.Value = named(v.Graph.History[c.txn].Ops[at].Value, writer)
			}
			way /= len(c.writers)
		}
		one := check(unique)
		for l := range violated {
			violated[l] = violated[l] && one.Violated[l]
			v.exact[l] = v.exact[l] || !one.Violated[l] && one.Exact(l)
		}
	}
	v.Violated = violated
	return v
}

// Beside returns what two histories show of which nothing in the one meets what is in the
// other. The graph stays that of v.
func (v Verdicts) Beside(w Verdicts) Verdicts {
	both := Verdicts{
		Violated: map[Level]bool{}, Anomalies: slices.Concat(v.Anomalies, w.Anomalies),
		Graph: v.Graph, Torn: v.Torn || w.Torn, exact: map[Level]bool{},
	}
	for l := range v.Violated {
		both.Violated[l] = v.Violated[l] || w.Violated[l]
		both.exact[l] = v.Exact(l) && w.Exact(l)
	}
	return both
}

// named is a value of its own for the i-th transaction, which wrote v as others did.
// Values of histories are small.
func named(v int64, i int) int64 { return v + int64(i+1)<<40 }

// choices are the reads of repeated values before an own write of the key, by transactions
// that may have committed, and the history with these values told apart where it is known
// whose they are: where they are written, and read behind an own write.
func (g *Graph) choices() (all []choice, unique History) {
	unique = g.History.Clone()
	for i := range unique {
		t := &unique[i]
		if t.Status == event.Aborted {
			continue
		}
		own := map[string]bool{}
		last := map[string]int{} // by key: the choice that its latest read is
		for at := range t.Ops {
			o := &t.Ops[at]
			if g.lists[o.Key] || o.Absent {
				delete(last, o.Key)
				continue
			}
			was := version{o.Key, g.History[i].Ops[at].Value}
			switch writers := g.writersOf(was); {
			case o.Kind == event.Write:
				own[o.Key] = true
				fallthrough
			case own[o.Key]:
				if len(writers) > 1 {
					o.Value = named(was.value, i)
				}
			case len(writers) < 2:
				delete(last, o.Key)
			default:
				k, again := last[o.Key]
				if again && g.History[i].Ops[all[k].ops[0]].Value == was.value {
					all[k].ops = append(all[k].ops, at)
					continue
				}
				last[o.Key] = len(all)
				c := choice{txn: i, ops: []int{at}}
				for _, w := range writers {
					if w != i { // nobody reads what he has not written yet
						c.writers = append(c.writers, w)
					}
				}
				all = append(all, c)
			}
		}
	}
	return all, unique
}

// writersOf are the transactions that wrote v and did not abort.
func (g *Graph) writersOf(v version) (txns []int) {
	for _, w := range g.notAborted(v) {
		if n := len(txns); n == 0 || txns[n-1] != w.txn {
			txns = append(txns, w.txn)
		}
	}
	return txns
}

// Forces says of each of [SaturatedLevels] whether h contradicts it, with the writers of
// repeated values tried.
func Forces(h History, drift int64) map[Level]bool {
	return decide(h, func(h History) Verdicts {
		g := Dependencies(h)
		g.Drift = drift
		return Verdicts{Graph: g, Violated: g.Forces()}
	}).Violated
}
