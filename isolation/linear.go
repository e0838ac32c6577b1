package isolation

import (
	"errors"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/infer"
)

// verifyLine: the edges are about one key, but for the last one, which may be in real
// time. That each follows is for the others of this package to say.
func verifyLine(w *Witness) error {
	for i := range w.Edges {
		e, last := &w.Edges[i], i == len(w.Edges)-1
		switch {
		case !last && e.Label&infer.Realtime != 0:
			return errors.New("real time is the last step, or none")
		case e.Label&infer.Realtime == 0 && e.Key != w.Key:
			return fmt.Errorf("a step is about %s and not about %s", e.Key, w.Key)
		}
	}
	return nil
}

// NameLinear names what refutes linearizability: the operations on one key have no
// order in which each takes effect between its call and its return.
func NameLinear() Name {
	return Name{
		Anomaly: "nonlinearizable", Title: anomalies["nonlinearizable"].title, Kind: KindViolation,
		Weakest: []Level{{Special: Linearizable}}, Severity: severity(classG2, Strong),
	}
}

// RefuteLinear adds linearizability to what falls with a finding that is about one key:
// what a transaction did to the key is one operation there, and takes effect as a whole
// or not at all. kind is 0 for a cycle.
func (n *Name) RefuteLinear(kind infer.AnomalyKind, w *Witness) {
	switch kind {
	case infer.Internal, infer.Nonrepeatable, infer.Divergence, infer.G1a, infer.G1b, infer.DirtyUpdate,
		infer.IncompatibleOrder, infer.DuplicateElements, infer.FutureRead, infer.GarbageRead:
	case 0:
		for i := range w.Edges {
			e := &w.Edges[i]
			if e.Key != w.Edges[0].Key && e.Label&infer.Realtime == 0 || e.Label&(infer.Process|infer.Forced) != 0 {
				return
			}
		}
	default:
		return
	}
	if l := (Level{Special: Linearizable}); !l.Refuted(n.Weakest) {
		n.Weakest = append(slices.Clone(n.Weakest), l)
	}
}
