package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Text is made for what is shown. A whole history may have thousands of cycles, and a person is
// shown twenty of them: see [Config.Untold]. Texts and records are made from a cycle's witness,
// which nothing changes. So its edges are kept, and the numbers of its transactions.

// untold has all that the texts of a finding follow from.
type untold struct {
	name    isolation.Name
	witness finding.Witness // without its transactions
	txns    []uint32
}

// fill writes the name and witness into f, and the records that it rests on. Texts and records
// of a cycle may come later.
func (o *core) fill(f *openFinding, name isolation.Name, w *finding.Witness) {
	if o.mayStayUntold(f, w) {
		name.FillFacts(&f.Finding, w, o.cfg.Expect)
		return
	}
	f.untold = nil
	o.cfg.fill(name, &f.Finding, w)
}

// mayStayUntold says whether the texts of f can be made later. The records of its transactions
// stay in memory, and nothing else is told of them.
func (o *core) mayStayUntold(f *openFinding, w *finding.Witness) bool {
	return o.cfg.Untold && o.cfg.Unbounded && o.cfg.Hide == "" && len(f.untold) == len(w.Txns) && w.Anomaly == 0 && len(w.Choices) == 0 &&
		!slices.ContainsFunc(slices.Concat(f.members, f.shown), func(n uint32) bool { return o.infer.Info(n).Unknown })
}

// leaveUntold notes what the texts of f are made from, if they were not made.
func (o *core) leaveUntold(f *openFinding, name isolation.Name, w *finding.Witness) {
	if f.untold == nil {
		delete(o.untold, f.Finding.ID)
		return
	}
	if o.untold == nil {
		o.untold = map[string]untold{}
	}
	of := *w
	of.Txns = nil
	o.untold[f.Finding.ID] = untold{name, of, f.untold}
}

// Tell makes the texts of f, which the machine of a whole history has handed out, if they were
// not made yet.
func (o *core) Tell(f *finding.Finding) {
	of, ok := o.untold[f.ID]
	if !ok {
		return
	}
	w := of.witness
	for _, n := range of.txns {
		w.Txns = append(w.Txns, o.record(n))
	}
	of.name.FillTexts(f, &w)
	isolation.SetHistory(f, slices.Clone(w.Txns), o.sourcesOf(of.txns), o.decoded.text)
	isolation.Bound(f)
}
