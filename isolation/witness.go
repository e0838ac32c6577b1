package isolation

import "github.com/isowatch/isowatch/finding"

// witness is one with what its operations show, once that was asked.
type witness struct {
	*finding.Witness
	shown *shown // of Txns, while a witness with choices is named; else nil
}

// members is how many of the transactions the finding is about, the first ones.
func (w *witness) members() int {
	if w.Anomaly == finding.Internal {
		return 1
	}
	if len(w.Edges) == 0 || len(w.Choices) > 0 || w.Anomaly == finding.CyclicVersions {
		return len(w.Txns)
	}
	return len(w.Edges)
}

// labels are those of the witness's edges, in order.
func (w *witness) labels() []finding.Label {
	ls := make([]finding.Label, len(w.Edges))
	for i := range w.Edges {
		ls[i] = w.Edges[i].Label
	}
	return ls
}

// level is that at which choices are argued, the zero one for none.
func (w *witness) level() Level {
	l, _ := parseName(w.Level)
	return l
}
