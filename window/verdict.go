package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Verdicts that a level can have.
const (
	OK       = "ok"
	Violated = "violated"
	Unknown  = "unknown"
)

// verdicts counts the violations that refute each level, withdrawn ones taken
// back.
type verdicts struct {
	certain, uncertain map[isolation.Level]int64 // by weakest level refuted
}

func (v *verdicts) add(f *openFinding, d int64) {
	if f.Finding.Kind != finding.KindViolation {
		return
	}
	if v.certain == nil {
		v.certain, v.uncertain = map[isolation.Level]int64{}, map[isolation.Level]int64{}
	}
	by := v.certain
	if !f.Finding.Certain {
		by = v.uncertain
	}
	for _, l := range f.weakest {
		by[l] += d
	}
}

// tally counts a finding in the verdicts, over all and in its members' panes. With d = -1 it
// takes the finding back, before a field of it changes.
func (s *reports) tally(f *openFinding, d int64) {
	s.verdicts.add(f, d)
	s.panes.found(s.infer, f, d)
}

func refuted(by map[isolation.Level]int64, l isolation.Level) bool {
	for w, n := range by {
		if n > 0 && l.Implies(w) {
			return true
		}
	}
	return false
}

// Verdict of the level over all that was seen so far, and the reason when it is
// unknown. "" when the records cannot decide the level and nobody asked for it by
// name. Where some transactions asked for less it is not ok.
func (m *Machine) Verdict(l isolation.Level) (verdict, reason string) {
	verdict, reason = m.VerdictAsAsked(l)
	return m.asking.withoutLess(l, m.asking.askedFor, verdict, reason)
}

// VerdictAsAsked is Verdict where each transaction is judged by no more than it asked for.
func (m *Machine) VerdictAsAsked(l isolation.Level) (verdict, reason string) {
	verdict, why := m.verdictOf(l, m.reports.refutedSurely, nil)
	reason = why.String()
	if verdict != Violated && verdict != "" && refuted(m.reports.verdicts.certain, l) {
		if reason != "" {
			reason = "; " + reason
		}
		return Unknown, "a finding waits for records that may still come" + reason
	}
	return verdict, reason
}

// verdictOf is the verdict in the pane x, or with nil over all that was seen. A level is
// never unknown while one that implies it is ok.
func (m *Machine) verdictOf(l isolation.Level, violated func(isolation.Level) bool, x *Pane) (verdict string, why reasons) {
	verdict, why = m.verdictAlone(l, violated, x)
	if verdict != Unknown {
		return verdict, why
	}
	for _, v := range m.views {
		if v == l || !m.asking.stands(v, l) {
			continue
		}
		if stronger, _ := m.verdictAlone(v, violated, x); stronger == OK {
			return OK, reasons{}
		}
	}
	return verdict, why
}

// verdictAlone is the verdict by what is known of the level itself: it holds where no theory lacks anything.
func (m *Machine) verdictAlone(l isolation.Level, violated func(isolation.Level) bool, x *Pane) (verdict string, why reasons) {
	q := &question{Machine: m, level: l, violated: violated, pane: x}
	switch {
	case violated(l):
		return Violated, why
	case q.between() && q.holdsByStrongPrefix():
		return OK, why
	case q.untellable():
		return "", why
	}
	q.collect(&why, q.lacksForCheck())
	if !m.foundByTrial(l) && !(slices.Contains(m.triedAsked, l) && m.unsettled(l, violated, x) == 0) {
		q.counters = m.choices.openCounters(l)
		q.collect(&why, q.lacksOfOrders())
		if len(why.texts) == 0 {
			return q.tracked()
		}
	}
	if len(why.texts) > 0 {
		return Unknown, why
	}
	return OK, why
}

// tracked is the verdict where nothing is lacking, but the order of the level may go without some
// conflicts.
func (q *question) tracked() (verdict string, why reasons) {
	switch b := q.level.Underlying(); {
	case q.asking.apartAt(b):
		why.add(ofRecords, "rows are told apart, and only snapshot-isolation decides who lost an update: watch it too")
		return Unknown, why
	case !b.Tracks() || !q.asking.losesTrack():
		return OK, why
	case b != isolation.Serializable:
		why.add(ofRecords, "some conflicts are not tracked")
		return Unknown, why
	default:
		return q.beside(isolation.Level{Base: isolation.SnapshotIsolation, Family: q.level.Family}, q.violated, q.pane)
	}
}

// beside is the verdict on snapshot isolation. It has edges that are not tracked, and the serializable
// order of its family goes without them. So serializability is ok only if both are.
func (m *Machine) beside(si isolation.Level, violated func(isolation.Level) bool, x *Pane) (verdict string, why reasons) {
	if !m.watches(si) {
		why.add(ofRecords, "some conflicts are not tracked, and only "+si.String()+" decides them: watch it too")
		return Unknown, why
	}
	return m.verdictAlone(si, violated, x)
}

// unsettled counts transactions that asked for a level which l implies, and which is not known
// to hold: the encoding of l lacks their reads. The encodings of all levels hold the promises
// of read committed and read uncommitted.
func (m *Machine) unsettled(l isolation.Level, violated func(isolation.Level) bool, x *Pane) int64 {
	if l.Special == isolation.Linearizable {
		return 0
	}
	n := int64(0)
	for i, asked := range m.asking.askedFor {
		b := isolation.Base(i)
		weaker := isolation.Level{Base: b, Family: l.Family}
		if asked == 0 || b == l.Underlying() || !l.Underlying().Implies(b) || isolation.ReadCommitted.Implies(b) && (!m.watches(weaker) || m.levelChanges.begunOf(weaker) != nil) {
			continue
		}
		if verdict, _ := m.verdictOf(weaker, violated, x); verdict != OK || !m.watches(weaker) {
			n += asked
		}
	}
	return n
}

func (o *core) watches(l isolation.Level) bool { return slices.Contains(o.views, l) }

// openCounters are the counters, with what is open at l.
func (o *choices) openCounters(l isolation.Level) infer.Counters {
	c := o.infer.Counters
	if o.absentHolds(l) {
		c.Ambiguous -= c.Absent
	}
	c.Ambiguous += o.undecidedReads(l)
	if l.Special == isolation.Linearizable && o.cfg.Unbounded { // decided by the operations, not by what follows from values
		c.Unattributed, c.Ambiguous, c.Uncheckable, c.Ignored = 0, 0, 0, 0
	}
	return c
}

// horizonOf counts the edges behind the horizon that concern l.
func (t *levelChanges) horizonOf(l isolation.Level) int64 {
	n := t.Counters.Horizon - t.apart
	if b := t.begunOf(l); b != nil {
		n += b.Horizon
	}
	return n
}

// undecidedOf counts the pairs of unread appends for which no order at l was found.
func (t *levelChanges) undecidedOf(l isolation.Level) int64 {
	if b := t.begunOf(l); b != nil {
		return max(t.Counters.Undecided, b.Undecided)
	}
	return t.Counters.Undecided
}

// Totals are the counters, with the counters of inference. Keys whose order nobody saw are
// uncheckable until they were ordered at every level, or shown to have no order. Reads of
// repeated values are ambiguous until then. With a window, only those are that may not fit the
// frozen order.
func (m *Machine) Totals() Counters {
	c := m.Counters
	c.Counters = m.infer.Counters
	if !m.choices.allOrdered() {
		c.Uncheckable += c.Unordered
	}
	c.Ambiguous += m.choices.mostOpenReads()
	return c
}

// allOrdered says whether it is known at every level whether the unordered keys have
// an order.
func (o *choices) allOrdered() bool {
	for i, l := range o.views {
		if l.Underlying().Chooses() && !refuted(o.reports.verdicts.certain, l) && o.orderOf(o.views[i]) < orderable && o.unorderedReason(l) != "" {
			return false
		}
	}
	return true
}

// Levels are those that a verdict is asked for.
func (m *Machine) Levels() []isolation.Level { return m.cfg.Levels }

// EachFound calls fn for every anomaly that was found, in the order of names. It gives the
// numbers of certain findings that the expected level forbids and allows, and of uncertain ones.
func (m *Machine) EachFound(fn func(anomaly string, violating, expected, uncertain int64)) {
	for _, name := range isolation.AnomalyNames() {
		if n, ok := m.reports.found[name]; ok {
			fn(name, n[0], n[1], n[2])
		}
	}
}
