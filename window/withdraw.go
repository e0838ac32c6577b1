package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
)

// doubt takes back what rests on the value having no writer, and of the final
// findings what rests on its having one: edges of open ones are killed.
func (m *Machine) doubt(v uint64) {
	for i := range m.open.recent {
		r := &m.open.recent[i]
		if r.Finding.State == finding.Withdrawn {
			continue
		}
		if void := disprove(r.Proofs, v); void || slices.Contains(r.Values, v) {
			m.countVoid()
		} else if !slices.Contains(r.Wants, v) {
			continue
		} else if r.Wants = without(r.Wants, v); len(r.Wants) > 0 {
			continue
		}
		m.withdrawFinal(r)
	}
	for _, f := range slices.Clone(m.open.list) {
		if !f.closed && slices.Contains(f.rests, v) {
			m.withdraw(f)
			continue
		}
		if !f.closed && disprove(f.proofs, v) && !m.prove(f) {
			m.countVoid()
			m.withdraw(f)
		}
	}
	m.supplyOpen(v)
}

func (m *Machine) withdrawFinal(r *recentFinding) {
	weakest, err := parseAll(r.Weakest)
	if err != nil {
		return // they were written by LevelNames
	}
	r.Finding.State = finding.Withdrawn
	r.Finding.Revision++
	m.open.revisions[r.Finding.ID] = r.Finding.Revision
	f := &openFinding{Finding: r.Finding, weakest: weakest}
	m.tally(f, -1)
	m.emit(f)
}

// withdrawReplaced takes back findings about a transaction whose record was
// replaced by another one.
func (m *Machine) withdrawReplaced(id uint64) {
	for i := range m.open.recent {
		if r := &m.open.recent[i]; r.Finding.State != finding.Withdrawn && slices.Contains(r.IDs, id) {
			if r.Finding.Anomaly == incompatibleOrder {
				m.infer.Counters.Ambiguous++ // others may have shown the order as well
			}
			m.withdrawFinal(r)
		}
	}
	for _, f := range slices.Clone(m.open.list) { // those that accuse stay open when their members have retired
		if !f.closed && slices.ContainsFunc(f.members, func(n uint32) bool { return m.infer.Info(n).ID == id }) {
			m.withdraw(f)
		}
	}
}

// withdraw takes f back: what it rested on no longer holds. What it had set
// aside goes back into the orders, or is reported anew, once all that fell with
// it is out of them: see retryAsides.
func (m *Machine) withdraw(f *openFinding) {
	if f.closed {
		return
	}
	m.tally(f, -1)
	f.Finding.State = finding.Withdrawn
	f.Finding.Revision++
	m.open.revisions[f.Finding.ID] = f.Finding.Revision
	m.emit(f)
	m.divergedStill(f)
	m.intermediateStill(f)
	m.contradictedStill(f)
	m.forget(f)
	m.retries = append(m.retries, f.asides...)
}

// divergedStill notes the lost updates that f told which still hold: a worse cycle of
// the same transactions, which does not, took their place.
func (m *Machine) divergedStill(f *openFinding) {
	for _, pred := range f.versions {
		if !m.infer.SureRegister(pred) {
			continue
		}
		for i, a := range f.members {
			for _, b := range f.members[i+1:] {
				if !m.infer.Overwrote(a, pred) || !m.infer.Overwrote(b, pred) || !m.infer.Pending(a) || !m.infer.Pending(b) {
					continue
				}
				if m.infer.Info(a).Gen < m.infer.Info(b).Gen {
					a, b = b, a
				}
				if x := (infer.Anomaly{Kind: infer.Divergence, A: a, B: b, Version: pred, Certain: true}); !slices.Contains(m.diverged, x) {
					m.diverged = append(m.diverged, x)
				}
			}
		}
	}
}

// intermediateStill notes the intermediate reads that f told which still hold: another one
// of the same two transactions, which does not, was told with them.
func (m *Machine) intermediateStill(f *openFinding) {
	if len(f.members) < 2 {
		return
	}
	for _, v := range f.versions {
		m.infer.EachIntermediateRead(v, func(a infer.Anomaly) {
			if slices.Contains(f.members, a.A) && slices.Contains(f.members, a.B) && m.infer.Pending(a.A) && m.infer.Pending(a.B) && !slices.Contains(m.diverged, a) {
				m.diverged = append(m.diverged, a)
			}
		})
	}
}

// incompatibleOrder is how a list read that contradicts another one is told.
var incompatibleOrder = isolation.NameOf(infer.IncompatibleOrder).Anomaly

// contradictedStill notes what f told of lists of which the order was shown by a read that
// does not count any more, where another one shows it.
func (m *Machine) contradictedStill(f *openFinding) {
	if f.Finding.Anomaly != incompatibleOrder || len(f.members) < 2 || len(f.versions)%2 != 0 {
		return
	}
	for i := 0; i < len(f.versions); i += 2 {
		a := infer.Anomaly{Kind: infer.IncompatibleOrder, A: f.members[0], B: f.members[1], Version: f.versions[i], Other: f.versions[i+1], Certain: true}
		now := m.infer.ShownBy(a.Version)
		kept, was := a.A, &a.B
		if a.Other != 0 { // two appends of the second one
			kept, was = a.B, &a.A
		}
		if now != 0 && now != *was && now != kept && m.infer.Pending(kept) {
			*was = now
			m.diverged = append(m.diverged, a)
		}
	}
}

// divergeAgain tells them again.
func (m *Machine) divergeAgain() {
	for len(m.diverged) > 0 {
		a := m.diverged[0]
		m.diverged = append(m.diverged[:0], m.diverged[1:]...)
		n := m.Counters.Diverged
		m.anomaly(&a)
		m.Counters.Diverged = n // counted before
	}
}

// retryAsides puts what withdrawn findings had set aside back into the orders.
func (m *Machine) retryAsides() {
	m.dropVoid()
	m.divergeAgain()
	for len(m.retries) > 0 {
		m.dropVoid()
		a := m.retries[0]
		m.retries = append(m.retries[:0], m.retries[1:]...)
		if a.there(m.graph) {
			m.retry(a.ID)
		}
	}
}

// retry puts a set-aside edge back into the orders, and reports what refuses it.
func (m *Machine) retry(id incremental.EdgeID) {
	e := *m.graph.Edge(id)
	ref := m.graph.Retry(id)
	if ref.Cycle != 0 {
		m.cycle(id, ref.Cycle)
	}
	again := infer.Edge{From: uint32(e.From), To: uint32(e.To), Label: infer.Label(e.Labels), Version: e.Note[0], Witness: e.Note[1]}
	if ref.Past != 0 {
		m.backInTime(&again, ref.Past)
	}
	if ref.Behind != 0 {
		m.behind(&again, ref.Behind)
	}
}

// supply takes back the findings that want of nothing but a writer of the value.
func (m *Machine) supply(v uint64) {
	for i := range m.open.recent {
		r := &m.open.recent[i]
		if r.Finding.State == finding.Withdrawn || !slices.Contains(r.Wants, v) {
			continue
		}
		if r.Wants = without(r.Wants, v); len(r.Wants) == 0 {
			m.withdrawFinal(r)
		}
	}
	m.supplyOpen(v)
}

func (m *Machine) supplyOpen(v uint64) {
	for _, f := range slices.Clone(m.open.list) {
		if !f.closed && slices.Contains(f.values, v) {
			f.values = without(f.values, v)
			if len(f.values) == 0 {
				m.withdraw(f)
			}
		}
	}
}
