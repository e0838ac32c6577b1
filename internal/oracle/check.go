package oracle

import "slices"

// Verdicts holds what a history shows.
type Verdicts struct {
	// Violated says of each level whether the operations contradict it.
	Violated map[Level]bool
	// Anomalies are the contradictions without a cycle, then per strongly
	// connected component one shortest cycle of each name.
	Anomalies []Anomaly
	Graph     *Graph
	Torn      bool // see Graph.Torn

	exact map[Level]bool // where writers of repeated values were tried: an exact way leaves the level
}

// maxSaturated bounds the transactions of a history that forced orders are closed over,
// in cubic time: 300 take a tenth of a second. Beyond it these levels are not exact.
const maxSaturated = 300

// Check decides h at all levels.
func Check(h History) Verdicts { return CheckDrift(h, 0) }

// CheckDrift is Check where two clients' clocks may be that far apart, ns.
func CheckDrift(h History, drift int64) Verdicts {
	return decide(h, func(h History) Verdicts { return checkDrift(h, drift) })
}

// checkDrift is CheckDrift of the values that name their writers: who read others is free.
func checkDrift(h History, drift int64) Verdicts {
	g := Dependencies(h)
	g.Drift = drift
	v := Verdicts{Violated: map[Level]bool{}, Graph: g}
	for _, l := range AllLevels() {
		v.Violated[l] = !g.orderable(l)
		for _, a := range g.Anomalies {
			v.Violated[l] = v.Violated[l] || a.refutes(l)
		}
	}
	if len(h) <= maxSaturated {
		for l, violated := range g.Forces() {
			v.Violated[l] = violated
		}
	}
	v.Torn = g.Torn()
	for _, l := range AllLevels() { // the lattice
		if l.limits() {
			v.Violated[l] = v.Violated[l] || v.Violated[Level(l.family()+"cursor-stability")]
		}
		if l.forbids(string(Causal)) {
			v.Violated[l] = v.Violated[l] || v.Violated[Causal] || l.sessions() && v.Violated["strong-session-"+Causal] ||
				l.realTime() && l != generalized && v.Violated["strong-"+Causal]
		}
	}
	v.Anomalies = append(append(v.Anomalies, g.Anomalies...), g.cycles()...)
	return v
}

// Exact says whether "not violated" means that the level holds: every value
// names its writer, or it was tried which, every key's order is known, and so is every session's where
// the level asks for it.
func (v Verdicts) Exact(l Level) bool {
	if v.exact != nil {
		return v.Violated[l] || v.exact[l]
	}
	if l.limits() && len(v.Graph.openKeys) > 0 {
		return v.Violated[l] // no order of their writers was tried
	}
	if !v.Violated[l] && !l.forbids("prefix") && v.Graph.torn() {
		return false
	}
	if len(v.Graph.History) > maxSaturated && slices.Contains(SaturatedLevels(), l) {
		return false
	}
	for _, a := range v.Graph.Anomalies {
		// What the level allows was not looked into: what a misread showed, and which
		// of two registers' writers that diverged came first.
		if !v.Violated[l] && (a.Name != "lost-update" || !l.forbids("snapshot-isolation") && !v.Graph.lists[a.Key]) {
			return false
		}
	}
	return v.Graph.Ambiguous == 0 && v.Graph.Undecided == 0 &&
		(!l.sessions() || len(v.Graph.NotSequential) == 0)
}

// Names are the names of the anomalies, each once, in the order of report.
func (v Verdicts) Names() []string {
	var names []string
	seen := map[string]bool{}
	for _, a := range v.Anomalies {
		if !seen[a.Name] {
			seen[a.Name] = true
			names = append(names, a.Name)
		}
	}
	return names
}

// torn says whether a list read shows some appends of a transaction and not all
// before them: a lost element, which gives an anti-dependency and nothing else.
func (g *Graph) torn() bool {
	for i := range g.History {
		for key, seen := range g.external[i] {
			for j := range g.History {
				vs := appends(&g.History[j], key)
				for n := 1; n < len(vs); n++ {
					if slices.Contains(seen.list, vs[n]) && !slices.Contains(seen.list, vs[n-1]) {
						return true
					}
				}
			}
		}
	}
	return false
}
