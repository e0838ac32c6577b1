package oracle

// Verdicts is what a history shows.
type Verdicts struct {
	// Violated says of each level whether the operations contradict it.
	Violated map[Level]bool
	// Anomalies are the contradictions without a cycle, then per strongly
	// connected component one shortest cycle of each name.
	Anomalies []Anomaly
	Graph     *Graph
}

// Check decides h at all four levels.
func Check(h History) Verdicts {
	g := Dependencies(h)
	v := Verdicts{Violated: map[Level]bool{}, Graph: g}
	for _, l := range Levels() {
		v.Violated[l] = len(g.Anomalies) > 0 || !g.holds(l)
	}
	v.Anomalies = append(append(v.Anomalies, g.Anomalies...), g.cycles()...)
	return v
}

// Exact says whether "not violated" means that the level holds: every value
// names its writer, every key's order is known, and so is every session's where
// the level asks for it.
func (v Verdicts) Exact(l Level) bool {
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
