package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// CheckAsked is Check where transactions asked for levels of their own, by id: a
// base, or "" for what the level promises. In the graph of a level, one that asked
// for less gives no anti-dependency and forces no order, and one that asked for read
// uncommitted takes no read dependency (Adya, mixing-correct histories). What one
// transaction reads refutes nothing that it did not ask for, nor does a lost update
// if either may have come last. Who asked for a level was promised all weaker ones.
func CheckAsked(h History, asked map[string]string) Verdicts {
	return decide(h, func(h History) Verdicts { return checkAsked(h, asked) })
}

// CheckTracked is CheckAsked where conflicts are found among those that asked for
// serializable, or for nothing, only: in the graph of a serializable level an
// anti-dependency on any other is missing too, and so is one on who replaced a later
// version. PostgreSQL looks at who read the version that is replaced, and at no others.
func CheckTracked(h History, asked map[string]string) Verdicts {
	return decide(h, func(h History) Verdicts { return check(h, asked, true) })
}

func checkAsked(h History, asked map[string]string) Verdicts { return check(h, asked, false) }

func check(h History, asked map[string]string, tracked bool) Verdicts {
	g := Dependencies(h)
	g.asked, g.tracked = asked, tracked
	v := Verdicts{Violated: map[Level]bool{}, Graph: g, Torn: g.Torn()}
	anomalies := g.Anomalies
	g.Anomalies = slices.DeleteFunc(slices.Clone(anomalies), func(a Anomaly) bool { return g.allowed(&a) })
	levels := append(AllLevels(), SaturatedLevels()...)
	for l, violated := range g.Forces() {
		v.Violated[l] = violated && !(v.Torn && l.base() == AtomicView) // which says less than that
	}
	for _, l := range AllLevels() {
		v.Violated[l] = !g.orderable(l)
		for _, a := range g.Anomalies {
			v.Violated[l] = v.Violated[l] || a.refutes(l)
		}
	}
	for _, l := range levels {
		for _, weaker := range levels {
			v.Violated[l] = v.Violated[l] || v.Violated[weaker] && l.implies(weaker)
		}
	}
	v.Anomalies = append(append(v.Anomalies, anomalies...), g.cycles()...)
	return v
}

// implies says whether every history that satisfies l satisfies m.
func (l Level) implies(m Level) bool {
	return l.forbids(m.base()) && (l.sessions() || !m.sessions()) && (l.realTime() || !m.realTime())
}

// asksLess says whether the transaction asked for less than the base.
func (g *Graph) asksLess(id, base string) bool {
	a := g.asked[id]
	return a != "" && !baseImplies(a, base)
}

// leaves says whether the graph of the level goes without the edge.
func (g *Graph) leaves(e Edge, l Level) bool {
	if g.tracked && e.Type == RW && (l.forbids("repeatable-read") || l.base() == "update-serializable") && (g.asksLess(g.History[e.To].ID, l.base()) || g.replacedLater(e)) {
		return true
	}
	return e.Type == RW && g.asksLess(g.History[e.From].ID, l.base()) || e.Type == WR && g.readsAnything(e.To)
}

// replacedLater says whether e.To replaced another version than e.From read, or may have: of a list
// the order of appends that nobody saw is not known.
func (g *Graph) replacedLater(e Edge) bool {
	read, ok := g.external[e.From][e.Key]
	if ok && g.lists[e.Key] {
		return g.mixed() && !g.standsBehind(e.To, e.Key, read.list)
	}
	was, replaced := g.external[e.To][e.Key]
	if !ok || !replaced {
		return false
	}
	return read.absent != was.absent || read.value != was.value
}

// mixed says whether some asked for less than serializable.
func (g *Graph) mixed() bool {
	return slices.ContainsFunc(g.History, func(t workload.Txn) bool {
		return t.Status != event.Aborted && g.asksLess(t.ID, "serializable")
	})
}

// standsBehind says whether an element of i stands right behind these, as the longest read shows.
func (g *Graph) standsBehind(i int, key string, list []int64) bool {
	spine, n := g.spine(key), len(list)
	if len(spine) <= n || !slices.Equal(spine[:n], list) {
		return false
	}
	w, ok := g.installer(version{key, spine[n]})
	return ok && w == i
}

// readsAnything says whether the i-th transaction asked for read uncommitted.
func (g *Graph) readsAnything(i int) bool { return g.asked[g.History[i].ID] == "read-uncommitted" }

// allowed says whether those that the anomaly is about asked for what allows it.
func (g *Graph) allowed(a *Anomaly) bool {
	if a.Name != "lost-update" {
		return g.asksLess(a.Txns[len(a.Txns)-1], a.Refutes) // who read
	}
	kept := 0
	for _, id := range a.Txns {
		if !g.asksLess(id, a.Refutes) {
			kept++
		}
	}
	return kept < 2
}
