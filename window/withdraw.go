package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// retract takes back findings that rest on the value having no writer. It also takes back final
// findings that rest on v having one writer. Open findings need nothing here, since their edges are
// killed. If somebody deleted a list, it only takes back what a delete explains.
func (m *Machine) retract(v uint64, deleted bool) {
	for i := range m.reports.open.recent {
		r := &m.reports.open.recent[i]
		if r.Finding.State == finding.Withdrawn || deleted && r.Solid {
			continue
		}
		if void := disprove(r.Proofs, v); void || slices.Contains(r.Values, v) {
			m.countVoid()
		} else if !slices.Contains(r.Wants, v) {
			continue
		} else if r.Wants = without(r.Wants, v); len(r.Wants) > 0 {
			continue
		}
		m.reports.withdrawFinal(r)
	}
	for _, f := range slices.Clone(m.reports.open.list) {
		if deleted && f.solid {
			continue
		}
		about := func(version uint32) bool { return m.infer.ValueKey(version) == v }
		if !f.closed && (slices.Contains(f.rests, v) || deleted && slices.ContainsFunc(f.versions, about)) {
			m.finder.withdraw(f)
			continue
		}
		if !f.closed && disprove(f.proofs, v) && !m.prove(f) {
			m.countVoid()
			m.finder.withdraw(f)
		}
	}
	m.finder.supplyOpen(v)
}

// retractRepeating takes back final findings that rest on plain values of patterns which have turned out
// to repeat. These values may have left memory since.
func (m *Machine) retractRepeating() {
	for i := range m.reports.open.recent {
		r := &m.reports.open.recent[i]
		if r.Finding.State != finding.Withdrawn && m.infer.SomeRepeat(r.Observed) {
			m.countVoid()
			m.reports.withdrawFinal(r)
		}
	}
}

func (s *reports) withdrawFinal(r *recentFinding) {
	weakest, err := parseAll(r.Weakest)
	if err != nil {
		return // they were written by LevelNames
	}
	r.Finding.State = finding.Withdrawn
	r.Finding.Revision++
	s.open.revisions[r.Finding.ID] = r.Finding.Revision
	f := &openFinding{Finding: r.Finding, weakest: weakest}
	s.tally(f, -1)
	s.emit(f)
}

// withdrawReplaced takes back findings about a transaction whose record was
// replaced by another one.
func (h *finder) withdrawReplaced(id uint64) {
	for i := range h.reports.open.recent {
		if r := &h.reports.open.recent[i]; r.Finding.State != finding.Withdrawn && slices.Contains(r.IDs, id) {
			if r.Finding.Anomaly == incompatibleOrder {
				h.infer.ConclusionFell() // others may have shown the order as well
			}
			h.reports.withdrawFinal(r)
		}
	}
	for _, f := range slices.Clone(h.reports.open.list) { // findings that accuse stay open when their members have retired
		if !f.closed && slices.ContainsFunc(f.members, func(n uint32) bool { return h.infer.Info(n).ID == id }) {
			h.withdraw(f)
		}
	}
}

// withdraw takes f back: what it rested on no longer holds. Its set-aside edges go back into
// the orders, or are reported again, once all that fell with it is out of them: see
// retrySetAside.
func (h *finder) withdraw(f *openFinding) {
	if f.closed {
		return
	}
	h.reports.tally(f, -1)
	f.Finding.State = finding.Withdrawn
	f.Finding.Revision++
	h.reports.open.revisions[f.Finding.ID] = f.Finding.Revision
	h.reports.emit(f)
	h.divergedStill(f)
	h.intermediateStill(f)
	h.contradictedStill(f)
	h.reports.forget(f)
	for _, a := range f.setAside {
		a.Unshown = len(f.lacked) > 0 || !f.Finding.Certain
		h.retries = append(h.retries, a)
	}
}

// divergedStill notes the lost updates of f that still hold. They had been told as a worse cycle of the same
// transactions, and that cycle does not hold any more.
func (h *finder) divergedStill(f *openFinding) {
	for _, pred := range f.versions {
		if !h.infer.SureRegister(pred) {
			continue
		}
		for i, a := range f.members {
			for _, b := range f.members[i+1:] {
				if !h.infer.Overwrote(a, pred) || !h.infer.Overwrote(b, pred) || !h.infer.Pending(a) || !h.infer.Pending(b) {
					continue
				}
				if h.infer.Info(a).Gen < h.infer.Info(b).Gen {
					a, b = b, a
				}
				if x := (infer.Anomaly{Kind: infer.Divergence, A: a, B: b, Version: pred, Certain: true}); !slices.Contains(h.diverged, x) {
					h.diverged = append(h.diverged, x)
				}
			}
		}
	}
}

// intermediateStill notes the intermediate reads of f that still hold. Another read of the same two
// transactions was told with them, and that read does not count any more.
func (h *finder) intermediateStill(f *openFinding) {
	if len(f.members) < 2 {
		return
	}
	for _, v := range f.versions {
		h.infer.EachIntermediateRead(v, func(a infer.Anomaly) {
			if slices.Contains(f.members, a.A) && slices.Contains(f.members, a.B) && h.infer.Pending(a.A) && h.infer.Pending(a.B) && !slices.Contains(h.diverged, a) {
				h.diverged = append(h.diverged, a)
			}
		})
	}
}

// incompatibleOrder is how a list read that contradicts another one is told.
var incompatibleOrder = isolation.NameOf(infer.IncompatibleOrder).Anomaly

// contradictedStill notes f's contradictions of lists. A read that does not count any more had
// shown the order, and another read shows it too.
func (h *finder) contradictedStill(f *openFinding) {
	if f.Finding.Anomaly != incompatibleOrder || len(f.members) < 2 || len(f.versions)%2 != 0 {
		return
	}
	for i := 0; i < len(f.versions); i += 2 {
		a := infer.Anomaly{Kind: infer.IncompatibleOrder, A: f.members[0], B: f.members[1], Version: f.versions[i], Other: f.versions[i+1], Certain: true}
		now := h.infer.ShownBy(a.Version)
		kept, was := a.A, &a.B
		if a.Other != 0 { // two appends of the second one
			kept, was = a.B, &a.A
		}
		if now != 0 && now != *was && now != kept && h.infer.Pending(kept) {
			*was = now
			h.diverged = append(h.diverged, a)
		}
	}
}

// divergeAgain tells the anomalies again that divergedStill, intermediateStill and contradictedStill have noted.
func (h *finder) divergeAgain() {
	for len(h.diverged) > 0 {
		a := h.diverged[0]
		h.diverged = append(h.diverged[:0], h.diverged[1:]...)
		n, apart := h.Counters.Diverged, h.Counters.NamedApart
		h.anomaly(&a)
		h.Counters.Diverged, h.Counters.NamedApart = n, apart // counted before
	}
}

// retrySetAside puts what withdrawn findings had set aside back into the orders.
func (h *finder) retrySetAside() {
	h.saturated.dropVoid()
	h.divergeAgain()
	for len(h.retries) > 0 {
		h.saturated.dropVoid()
		a := h.retries[0]
		h.retries = append(h.retries[:0], h.retries[1:]...)
		if a.there(h.graph) {
			h.retry(a)
		}
	}
}

// retry puts a set-aside edge back into the orders, and reports what refuses it.
// Where members of the finding have retired, their order may rest on an edge that an unseen delete
// or add explains. A dependency that contradicts it is counted.
func (h *finder) retry(a setAsideEdge) {
	id, e := a.ID, *h.graph.Edge(a.ID)
	ref := h.graph.Retry(id)
	if ref.Cycle != 0 {
		h.cycle(id, ref.Cycle)
	}
	h.followLimits(id, &e, e.SetAside&^ref.Cycle)
	again := infer.Edge{From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0], Witness: e.Note[1]}
	if ref.Past != 0 {
		h.backInTime(&again, ref.Past)
	}
	if ref.Behind != 0 && a.Unshown {
		h.reports.behindGuess(&again, ref.Behind)
	} else if ref.Behind != 0 {
		h.reports.behind(&again, ref.Behind)
	}
}

// supply takes back the findings whose only evidence is that the value has no writer: it has got one.
func (h *finder) supply(v uint64) {
	for i := range h.reports.open.recent {
		r := &h.reports.open.recent[i]
		if r.Finding.State == finding.Withdrawn || !slices.Contains(r.Wants, v) {
			continue
		}
		if r.Wants = without(r.Wants, v); len(r.Wants) == 0 {
			h.reports.withdrawFinal(r)
		}
	}
	h.supplyOpen(v)
}

func (h *finder) supplyOpen(v uint64) {
	for _, f := range slices.Clone(h.reports.open.list) {
		if !f.closed && slices.Contains(f.values, v) {
			f.values = without(f.values, v)
			if len(f.values) == 0 {
				h.withdraw(f)
			}
		}
	}
}
