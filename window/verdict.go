package window

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/isolation"
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

// verdictAlone is the verdict by what is known of the level itself.
func (m *Machine) verdictAlone(l isolation.Level, violated func(isolation.Level) bool, x *Pane) (verdict string, why reasons) {
	if violated(l) {
		return Violated, why
	}
	between := l.Neighbours() != nil && !m.cfg.Unbounded
	if between {
		for _, v := range m.views {
			if m.asking.stands(v, l) && v.RealTime() && v.Neighbours() == nil {
				if verdict, _ := m.verdictAlone(v, violated, x); verdict == OK {
					return OK, why
				}
			}
		}
	}
	if n := m.infer.Counters.Sessionless; n > 0 && l.Family == isolation.StrongSession {
		if !m.infer.SessionOrder() && !m.cfg.Named && l != m.cfg.Expect {
			return "", why
		}
		why.add(ofRecords, finding.Counted(n, "transaction not ordered by session and seq", "transactions not ordered by session and seq"))
	}
	if l.RealTime() && l.Special != isolation.Linearizable {
		if m.infer.SessionOrder() && m.infer.Counters.Sessionless > 0 && l.Family == isolation.Strong {
			why.add(ofRecords, finding.Counted(m.infer.Counters.Sessionless, "transaction not ordered by session and seq", "transactions not ordered by session and seq"))
		}
		if n := m.Counters.Timeless; n > 0 {
			if !m.clock.timed && !m.cfg.Named && l != m.cfg.Expect {
				return "", why
			}
			why.add(ofRecords, finding.Counted(n, "transaction without times", "transactions without times"))
		}
		if n := m.Counters.Clamped; n > 0 {
			why.add(ofRecords, finding.Counted(n, "event time that is ahead by more than clock-drift allows", "event times that are ahead by more than clock-drift allows"))
		}
	}
	if l.Special == isolation.Linearizable {
		if reason := m.linearizing.linearReason(); reason != "" {
			why.add(ofRecords, reason)
		}
	} else if between {
		why.add(ofRecords, "with a window, some violations of this level are missed: it is ok only if strong-prefix is")
	} else if !m.watches(l) {
		why.add(ofRecords, "this level is not watched")
	}
	if missed := m.missedBefore(l, violated, x); missed != "" {
		why.add(ofRecords, missed)
	}
	if !m.cfg.Contract.Complete {
		why.add(ofContract, "the capture is declared partial")
	}
	if refuted(m.reports.verdicts.uncertain, l) {
		why.add(ofRecords, "there are uncertain findings, which a missing record could explain")
	}
	if x != nil && x.Horizon > 0 {
		why.add(ofRecords, "dependencies on transactions that had left the window")
	}
	if m.foundByTrial(l) || slices.Contains(m.triedAsked, l) && m.unsettled(l, violated, x) == 0 {
		if len(why.texts) > 0 {
			return Unknown, why
		}
		return OK, why
	}
	if n := m.levelChanges.undecidedOf(l); n > 0 && l.Underlying() == isolation.SnapshotIsolation {
		why.add(ofRecords, finding.Counted(n, "pair of appends that nobody read and that have no known order", "pairs of appends that nobody read and that have no known order"))
	}
	if n := m.Counters.Misread; n > 0 && l.Special == 0 && !l.Base.Implies(isolation.ReadAtomic) {
		why.add(ofRecords, finding.Counted(n, "transaction with a wrong read that this level allows", "transactions with wrong reads that this level allows"))
	}
	if n := int64(len(m.reports.contradicted)); n > 0 && l.Base == isolation.ReadUncommitted {
		why.add(ofRecords, finding.Counted(n, "key whose reads contradict each other", "keys whose reads contradict each other"))
	}
	if n := m.Counters.Diverged; n > 0 && (m.choices.orderOf(l) < orderable || !m.cfg.Unbounded || m.Counters.NamedApart > 0) && l.Special == 0 && l.Base == isolation.Prefix {
		why.add(ofRecords, finding.Counted(n, "lost update after which a key has no known order", "lost updates after which keys have no known order"))
	}
	if n := m.unsettled(l, violated, x); n > 0 {
		why.add(ofRecords, finding.Counted(n, "transaction that asked for a weaker level that is not decided", "transactions that asked for weaker levels that are not decided"))
	}
	rows := m.Counters.OtherRows
	if l.Underlying().Tracks() {
		rows = m.Counters.SettledRows
	}
	if n := rows; n > 0 && l.Underlying().Implies(isolation.CursorStability) {
		why.add(ofRecords, finding.Counted(n, "pair of writers of a key whose row was deleted", "pairs of writers of keys whose rows were deleted"))
	}
	if n := m.Counters.Tolerated; n > 0 && l.Underlying().Implies(isolation.CursorStability) {
		why.add(ofRecords, finding.Counted(n, "lost update at a level that allows it", "lost updates at levels that allow them"))
	}
	if n := m.infer.Counters.Loose; n > 0 && !m.sums.fits(l) {
		why.add(ofRecords, finding.Counted(n, "counter whose increments have no known order", "counters whose increments have no known order"))
	}
	if c := &m.cfg.Contract; m.infer.Counters.Unordered > 0 && !m.cfg.Unbounded && (c.SequentialKeys || c.LinearizableKeys) {
		why.add(ofRecords, "keys with blind writes: the window may have forgotten who read or replaced them")
	}
	if n := m.infer.Counters.Overlapping; n > 0 && l.Family != isolation.Plain {
		why.add(ofRecords, finding.Counted(n, "session that is not sequential", "sessions that are not sequential"))
	}
	if short := m.reports.saturationShortfall(l); short != "" {
		why.add(ofRecords, short)
	}
	if len(m.asking.asked) > 0 && l.Underlying().Selects() {
		why.add(ofRecords, "transactions asked for levels of their own, among which this level is not decided")
	}
	if reason := m.finder.limitReason(l); reason != "" {
		why.add(ofRecords, reason)
	}
	m.choices.shortfalls(l, &why)
	if len(why.texts) > 0 {
		return Unknown, why
	}
	if m.asking.apartAt(l.Underlying()) {
		why.add(ofRecords, "rows are told apart, and only snapshot-isolation decides who lost an update: watch it too")
		return Unknown, why
	}
	switch b := l.Underlying(); {
	case !b.Tracks() || !m.asking.losesTrack():
	case b != isolation.Serializable:
		why.add(ofRecords, "some conflicts are not tracked")
		return Unknown, why
	default:
		return m.beside(isolation.Level{Base: isolation.SnapshotIsolation, Family: l.Family}, violated, x)
	}
	return OK, why
}

// beside is the verdict on snapshot isolation. It has edges that are not tracked, and the
// serializable order of its family goes without them. So serializability is ok only where both
// are.
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

// shortfalls are the counters that forbid to say that l holds.
func (o *choices) shortfalls(l isolation.Level, why *reasons) {
	c := o.infer.Counters
	if o.absentHolds(l) {
		c.Ambiguous -= c.Absent
	}
	c.Ambiguous += o.undecidedReads(l)
	if l.Special == isolation.Linearizable && o.cfg.Unbounded { // decided by the operations, not by what follows from values
		c.Unattributed, c.Ambiguous, c.Uncheckable, c.Ignored = 0, 0, 0, 0
	}
	for _, x := range []struct {
		n         int64
		kind      reasonKind
		one, many string
	}{
		{c.Unattributed, ofReads, "read without a writer", "reads without a writer"},
		{c.Ambiguous, ofReads, "value with several possible writers", "values with several possible writers"},
		{c.Repeating, ofReads, "read of a key whose values repeat", "reads of keys whose values repeat"},
		{c.Uncheckable, ofReads, "key without a known version order", "keys without a known version order"},
		{c.Ignored, ofRecords, "operation of a kind that is not checked", "operations of kinds that are not checked"},
		{c.Gaps, ofRecords, "missing record", "missing records"},
		{c.Contradictory, ofRecords, "contradictory record", "contradictory records"},
		{o.levelChanges.horizonOf(l), ofRecords, "dependency on a transaction that had left the window", "dependencies on transactions that had left the window"},
		{c.DeadLetters, ofRecords, "bad record", "bad records"},
		{o.Counters.LeftOutEdges, ofRecords, "dependency that was left out to save memory", "dependencies that were left out to save memory"},
		{o.Counters.Unverified, ofRecords, "proof that could not be verified", "proofs that could not be verified"},
	} {
		if x.n > 0 {
			why.add(x.kind, finding.Counted(x.n, x.one, x.many))
		}
		if x.one == "key without a known version order" {
			if reason := o.unorderedReason(l); reason != "" {
				why.add(ofRecords, reason)
			}
		}
	}
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

// EachFound calls fn for every anomaly that was found, in the order of names,
// with the numbers of findings that the expected level forbids and allows.
func (m *Machine) EachFound(fn func(anomaly string, violating, expected int64)) {
	for _, name := range isolation.AnomalyNames() {
		if n, ok := m.reports.found[name]; ok {
			fn(name, n[0], n[1])
		}
	}
}
