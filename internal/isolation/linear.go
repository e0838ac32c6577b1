package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// NameLinear names what refutes linearizability: the operations on one key have no
// order in which each takes effect between its call and its return.
func NameLinear() Name {
	n := NameOf(finding.Nonlinearizable)
	n.Severity = severity(classG2, Strong)
	return n
}

// RefuteLinear adds linearizability to the levels that fall with a finding about one key. There
// a transaction's work on the key is one operation. It takes effect as a whole or not at all.
// kind is 0 for a cycle.
func (n *Name) RefuteLinear(kind finding.AnomalyKind, w *finding.Witness) {
	if kind != 0 && !rowOf(kind).oneKey {
		return
	}
	if kind == 0 {
		for i := range w.Edges {
			e := &w.Edges[i]
			if e.Key != w.Edges[0].Key && e.Label&finding.Realtime == 0 || e.Label&(finding.Process|finding.Saturated) != 0 {
				return
			}
		}
	}
	if l := (Level{Special: Linearizable}); !l.Refuted(n.Weakest) {
		n.Weakest = append(slices.Clone(n.Weakest), l)
	}
}
