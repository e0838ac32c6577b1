package isolation

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// witness is one with what its operations show, once that was asked.
type witness struct {
	*finding.Witness
	shown *shown // of Txns, while a witness with choices is named; else nil
	// placed has, by transaction, the recorded operation that each plain one is a part of; nil
	// where these are the same.
	placed [][]int
	raw    []event.Record  // its records before they were told plainly; nil where these are the same
	plain  bool            // operations are reads and writes of registers and lists, as is known by now
	byID   bool            // transactions are called by their ids: a headline stands alone
	naming map[keyed][]int // by key and value: see namers
	about  int             // how many of the transactions the finding is about, where that is not one an edge
	why    []string        // by edge: see reason
}

// recorded are the transactions as they were recorded.
func (w *witness) recorded() []event.Record {
	if w.raw != nil {
		return w.raw
	}
	return w.Txns
}

// place is the recorded operation that the transaction's plain one at is a part of.
func (w *witness) place(txn, at int) int {
	if w.placed == nil || at < 0 {
		return at
	}
	return w.placed[txn][at]
}

// members is how many of the transactions the finding is about, the first ones.
func (w *witness) members() int {
	if w.Anomaly == finding.Internal {
		return 1
	}
	if len(w.Edges) == 0 || len(w.Choices) > 0 || w.Anomaly == finding.CyclicVersions {
		return len(w.Txns)
	}
	if w.about > 0 {
		return w.about
	}
	return len(w.Edges)
}

// labels are the labels of the witness's edges, in order.
func (w *witness) labels() []finding.Label {
	ls := make([]finding.Label, len(w.Edges))
	for i := range w.Edges {
		ls[i] = w.Edges[i].Label
	}
	return ls
}

// level is that at which choices are argued, the zero one for none.
func (w *witness) level() Level {
	l, _ := named(w.Level)
	return l
}
