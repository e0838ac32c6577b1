package window

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/trial"
	"github.com/isowatch/isowatch/internal/verify"
)

// Some reads give no dependency, such as one that found nothing of a deleted key, or one of a counter.
// At the end of a whole history they are decided by trying orders (package trial), at the levels that
// are not decided otherwise. An order that explains everything shows that the level holds, and with it
// all levels that it implies. If there is no order, the finding names the transactions that have none,
// when the verifier has tried all their orders.

// maxTried bounds the transactions whose orders are tried. Sessions and time are looked at in
// pairs of transactions.
const maxTried = 4096

// mayTry says whether the records are all that there is to explain: nothing is missing, and
// values name their writers.
func (a *asking) mayTry() bool {
	return a.cfg.Unbounded && a.allTold() && a.Counters.Unverified == 0 && a.Counters.LeftOutEdges == 0
}

// allTold says whether the contract leaves nobody else, values are unique, and no record is missing.
func (a *asking) allTold() bool {
	return a.allRecorded() && !a.cfg.Contract.Observed && a.infer.Counters.Repeating == 0
}

// allRecorded is allTold, whether values name their writers or not.
func (a *asking) allRecorded() bool {
	c := &a.cfg.Contract
	declared := c.Complete && !c.Existing && !c.UnmonitoredWriters && !c.DeletesUnseen &&
		!c.ByVersion && !(c.NumericVersions && c.TrustCommitTS) && !c.SequentialKeys && !c.LinearizableKeys
	return declared && a.infer.Counters.Missing() == 0
}

// untold is why not all is told.
func (a *asking) untold() string {
	if a.infer.Counters.Missing() > 0 {
		return offMissing
	}
	return offContract
}

// mayTryAt says whether orders are tried at the level.
func (o *core) mayTryAt(l isolation.Level) bool {
	return o.watches(l) && o.isTriable(l)
}

// isTriable says whether what the records tell of sessions and times is enough for the level.
func (o *core) isTriable(l isolation.Level) bool {
	return l.Special != isolation.Linearizable &&
		(l.Family == isolation.Plain || o.infer.Counters.Overlapping == 0) && (!l.RealTime() || o.Counters.Clamped == 0)
}

// tryOrders decides the levels that are still unknown, strong levels first: if one holds, the levels
// that it implies hold too.
func (m *Machine) tryOrders() {
	m.tried, m.triedAsked = nil, nil
	if !m.asking.mayTry() {
		return
	}
	var h *trial.History
	var txns []uint32
	guess := guesses{core: &m.core}
	for at := len(m.weakFirst) - 1; at >= 0; at-- {
		l := m.views[m.weakFirst[at]]
		if !m.mayTryAt(l) || !m.isOpen(l) {
			continue
		}
		if found := guess.atLeast(l); found != (isolation.Level{}) {
			m.tried = append(m.tried, found)
			continue
		}
		if h == nil {
			if h, txns = m.asking.history(); h == nil {
				continue
			}
		}
		m.cfg.deciding(l)
		switch verdict, core := h.Decide(triedLevel(l)); verdict {
		case trial.Possible:
			m.tried = append(m.tried, l)
			continue
		case trial.AsAsked:
			if isTried(l) {
				m.triedAsked = append(m.triedAsked, l)
			}
		case trial.Impossible:
			if m.asking.untrackedAt(l) {
				continue // an order may exist once all conflicts are tracked
			}
			if isTried(l) {
				m.hasNoOrder(h, core, txns, &openFinding{level: l})
				continue
			}
			for _, x := range triedUnder(l) { // it may hold where serializable does not
				if verdict, core := h.Decide(triedLevel(x)); verdict == trial.Impossible && !m.asking.untrackedAt(x) {
					m.hasNoOrder(h, core, txns, &openFinding{level: x})
				}
			}
			continue
		}
		for _, weaker := range m.asking.askedBelow(l) {
			if verdict, core := h.Decide(triedLevel(weaker)); verdict == trial.Impossible && m.isOpen(l) {
				m.hasNoOrder(h, core, txns, &openFinding{level: weaker})
			}
		}
	}
	if h != nil {
		m.finder.finalise()
	}
}

// isOpen says whether the level's verdict is unknown for what orders decide.
func (m *Machine) isOpen(l isolation.Level) bool {
	if m.foundByTrial(l) || refuted(m.reports.verdicts.certain, l) {
		return false
	}
	verdict, _ := m.VerdictAsAsked(l)
	return verdict == Unknown
}

// foundByTrial says whether an order was found at l, or at a level that implies it.
func (m *Machine) foundByTrial(l isolation.Level) bool {
	return m.timing.stands(l) || slices.ContainsFunc(m.tried, func(t isolation.Level) bool { return t.Implies(l) })
}

// history is the history to explain, with its transactions. It is nil if it is not tried.
func (a *asking) history() (*trial.History, []uint32) {
	txns, _ := a.infer.MayCount(nil)
	if len(txns) == 0 || len(txns) > maxTried {
		return nil, nil
	}
	in := trial.Input{Numbers: a.numbers(), Drift: int64(a.cfg.Contract.ClockDrift), Rows: a.cfg.Rules.Rows, Lacks: a.lacking(txns)}
	for _, n := range txns {
		r := a.forTrial(n)
		in.Records, in.Maybe = append(in.Records, r), append(in.Maybe, r.Status == event.Unknown)
	}
	h, err := trial.Read(&in)
	if err != nil {
		return nil, nil
	}
	return h, txns
}

// lacking says which of txns asked for a level that does not promise all of a base; nil if none
// asked for a level.
func (a *asking) lacking(txns []uint32) func(record int, b trial.Base) bool {
	if len(a.asked) == 0 {
		return nil
	}
	return func(record int, b trial.Base) bool { return a.askedBy(txns[record]).Lacks(isolation.Base(b)) }
}

// askedBelow are levels that l implies, and that are promised to transactions that asked for
// less. Watched ones are decided by themselves.
func (a *asking) askedBelow(l isolation.Level) (below []isolation.Level) {
	for b, n := range a.askedFor {
		x := isolation.Level{Base: isolation.Base(b), Family: l.Family}
		if n > 0 && x.Base != l.Underlying() && l.Implies(x) && isTried(x) && !a.watches(x) && !a.untrackedAt(x) {
			below = append(below, x)
		}
	}
	return below
}

// untrackedAt says whether conflicts may have been left out that an order at the level counts.
func (a *asking) untrackedAt(l isolation.Level) bool {
	return l.Underlying().Tracks() && a.losesTrack()
}

// numbers says which numbers order the versions of a key.
func (o *core) numbers() trial.Numbers {
	switch c := &o.cfg.Contract; {
	case c.TrustCommitTS:
		return trial.ByCommitTS
	case c.NumericVersions:
		return trial.ByVersion
	}
	return trial.NoNumbers
}

// isTried says whether orders are tried at l itself. For a level that selects readers, orders are tried
// at serializable, which implies it.
func isTried(l isolation.Level) bool { return !l.Underlying().Selects() }

// triedUnder is l if orders are tried at l. Otherwise triedUnder is the strongest of the levels that l
// implies, and at which orders are tried.
func triedUnder(l isolation.Level) (all []isolation.Level) {
	if isTried(l) {
		return []isolation.Level{l}
	}
	levels := isolation.Encoded()
	for at := len(levels) - 1; at >= 0; at-- {
		x := levels[at]
		if l.Implies(x) && isTried(x) && !slices.ContainsFunc(all, func(stronger isolation.Level) bool { return stronger.Implies(x) }) {
			all = append(all, x)
		}
	}
	return all
}

func triedLevel(l isolation.Level) trial.Level {
	if !isTried(l) {
		l.Base = isolation.Serializable
	}
	t := trial.Level{Base: trial.Base(l.Underlying()), Session: l.Family != isolation.Plain, Time: l.Family == isolation.Strong}
	if l.Special == isolation.GeneralizedSI {
		t.Time, t.Commits = true, true
	}
	return t
}

// takeTrialsBack withdraws what was found by trying a whole history: a record that comes now may
// explain it.
func (m *Machine) takeTrialsBack() {
	if m.tried, m.triedAsked = nil, nil; !m.cfg.Unbounded {
		return
	}
	for i := range m.reports.open.recent {
		if r := &m.reports.open.recent[i]; r.Finding.State != finding.Withdrawn && isolation.IsTried(r.Finding.Title) {
			m.reports.withdrawFinal(r)
		}
	}
	for _, f := range slices.Clone(m.reports.open.list) {
		if isolation.IsTried(f.Finding.Title) {
			m.finder.withdraw(f)
		}
	}
}

// hasNoOrder reports the core, and what is refuted by it: f's level and perhaps others.
func (m *Machine) hasNoOrder(h *trial.History, core *trial.Core, txns []uint32, f *openFinding) {
	if len(core.Txns) > verify.MaxTried {
		return // nobody could follow it
	}
	w := finding.Witness{Anomaly: infer.NoOrder}
	m.given(&w)
	for _, i := range core.Txns {
		if n := txns[i]; m.infer.Counts(n) {
			f.members = append(f.members, n)
		}
		w.Txns = append(w.Txns, m.record(txns[i]))
	}
	for _, s := range core.Silent {
		r := finding.DuplicateRead{Txn: slices.Index(core.Txns, s.Txn), Key: s.Key}
		if s.Elem != "" {
			r.Key += "\xff" + s.Elem // as an element of a set is called in plain records
		}
		w.Repeated = append(w.Repeated, r)
	}
	w.Deleted = core.Rows
	weakest := m.weakestTried(h, core, f.level)
	if len(weakest) == 0 {
		return
	}
	for i := len(weakest) - 1; i >= 0; i-- {
		w.Level = weakest[i].String()
		if err := verify.Verify(&w); err != nil {
			m.Counters.Unverified++
			m.finder.unverified = err
			return
		}
	}
	w.Essential, w.Links = verify.Essential(&w, isolation.LevelNames(weakest))
	f.Finding.Certain = true
	m.finder.publish(f, isolation.NameTried(weakest), &w)
}

// weakestTried are the weakest levels at which the core has no order, plain levels first. There
// are none if l is not among what falls with them. They do not depend on which levels are watched.
// Trying asks more of lists than dependencies do. At read uncommitted no list may show an element
// that was not committed. Up to monotonic atomic view no list may show a part of one
// transaction's appends.
func (m *Machine) weakestTried(h *trial.History, core *trial.Core, l isolation.Level) (weakest []isolation.Level) {
	least := isolation.ReadCommitted
	if h.Torn(core) {
		least = isolation.ReadAtomic
	}
	for _, x := range isolation.Encoded() {
		if !isTried(x) || !m.isTriable(x) || m.asking.untrackedAt(x) || !x.Underlying().Implies(least) || x.Refuted(weakest) {
			continue
		}
		if x == l || h.Refutes(core, triedLevel(x)) {
			weakest = append(weakest, x)
		}
	}
	if !l.Refuted(weakest) {
		return nil
	}
	slices.SortStableFunc(weakest, func(a, b isolation.Level) int { return cmp.Compare(keeps(a), keeps(b)) })
	return weakest
}

// keeps is the family of l, with the generalized snapshot isolation among the strong levels.
func keeps(l isolation.Level) isolation.Family {
	if l.RealTime() {
		return isolation.Strong
	}
	return l.Family
}
