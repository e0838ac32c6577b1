package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
)

// An edge may rest on the order in which transactions met a key (sequential-keys, linearizable-keys;
// internal/infer/orders/partial.go). Its evidence is two transactions that ran one after the other.

// shownByVisits adds to the edge who shows that the version of e comes after what
// e.From left or read.
func (o *core) shownByVisits(edge *finding.Dependency, e *infer.Edge, index func(uint32) int) {
	c := &o.cfg.Contract
	if e.Label&(infer.WW|infer.OtherRow|infer.RW) == 0 || e.Label&(infer.WR|infer.Saturated) != 0 || !c.SequentialKeys && !c.LinearizableKeys {
		return
	}
	if a, b, label := o.infer.OrderedBy(*e); a != 0 {
		edge.Past = []finding.Dependency{{From: index(a), To: index(b), Label: label, Key: edge.Key, Shown: -1}}
	}
}

// versionCycle makes f and w about the steps of a cycle of versions.
func (h *finder) versionCycle(a *infer.Anomaly, f *openFinding, w *finding.Witness) {
	f.members, w.Txns = nil, nil
	index := func(n uint32) int {
		if i := slices.Index(f.members, n); i >= 0 {
			return i
		}
		f.members = append(f.members, n)
		w.Txns = append(w.Txns, h.record(n))
		return len(f.members) - 1
	}
	w.Drift = int64(h.cfg.Contract.ClockDrift)
	for _, s := range h.out.Steps[a.OpA : int64(a.OpA)+a.Count] {
		f.versions = append(f.versions, s.Version)
		w.Edges = append(w.Edges, finding.Dependency{From: index(s.From), To: index(s.To), Label: s.Label, Key: w.Key, Shown: -1})
	}
	w.Op = 0
}
