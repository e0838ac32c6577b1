package window

import (
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// question asks for the verdict on a level: in the pane, or with nil over all that was seen.
type question struct {
	*Machine
	level    isolation.Level
	violated func(isolation.Level) bool
	pane     *Pane
	counters infer.Counters // for lacksOfOrders: with what is open at the level
}

// lack is a row: what must not be missing where a level is said to hold. A row has a count or a reason.
type lack struct {
	count     func(q *question) int64
	one, many string // what it counts; without many it is a reason by itself
	says      func(q *question) string
	kind      reasonKind
}

// collect adds the reasons of the rows that lack something, in their order.
func (q *question) collect(why *reasons, rows []lack) {
	for i := range rows {
		row, reason := &rows[i], ""
		if row.says != nil {
			reason = row.says(q)
		} else if n := row.count(q); n > 0 && row.many == "" {
			reason = row.one
		} else if n > 0 {
			reason = finding.Counted(n, row.one, row.many)
		}
		if reason != "" {
			why.add(row.kind, reason)
		}
	}
}

// lacksForCheck are the rows about what was seen at all. They count for a level that was found by
// trial of all orders too.
func (q *question) lacksForCheck() []lack {
	return []lack{
		{(*question).withoutSession, "transaction not ordered by session and seq", "transactions not ordered by session and seq", nil, ofRecords},
		{(*question).timeless, "transaction without times", "transactions without times", nil, ofRecords},
		{(*question).clamped, "event time that is ahead by more than clock-drift allows", "event times that are ahead by more than clock-drift allows", nil, ofRecords},
		{says: (*question).unwatched},
		{says: (*question).missedEarlier},
		{(*question).partial, "not all writers are captured (capture=partial)", "", nil, ofContract},
		{(*question).uncertain, "there are uncertain findings, which a missing record could explain", "", nil, ofRecords},
		{(*question).oldRows, "read behind an own write that may have found a deleted row", "reads behind own writes that may have found deleted rows", nil, ofRecords},
		{(*question).horizonOfPane, "dependencies on transactions that had left the window", "", nil, ofRecords},
	}
}

// lacksOfOrders are the rows about what the theories could not decide.
func (q *question) lacksOfOrders() []lack {
	return []lack{
		{
			(*question).unreadAppends,
			"pair of appends that nobody read and that have no known order",
			"pairs of appends that nobody read and that have no known order",
			nil,
			ofRecords,
		},
		{(*question).misread, "transaction with a wrong read that this level allows", "transactions with wrong reads that this level allows", nil, ofRecords},
		{(*question).contradictedKeys, "key whose reads contradict each other", "keys whose reads contradict each other", nil, ofRecords},
		{(*question).diverged, "lost update after which a key has no known order", "lost updates after which keys have no known order", nil, ofRecords},
		{
			(*question).unsettledWeaker,
			"transaction that asked for a weaker level that is not decided",
			"transactions that asked for weaker levels that are not decided",
			nil,
			ofRecords,
		},
		{(*question).deletedRows, "pair of writers of a key whose row was deleted", "pairs of writers of keys whose rows were deleted", nil, ofRecords},
		{(*question).tolerated, "lost update at a level that allows it", "lost updates at levels that allow them", nil, ofRecords},
		{(*question).looseCounters, "counter whose increments have no known order", "counters whose increments have no known order", nil, ofRecords},
		{(*question).blindInWindow, "keys with blind writes: the window may have forgotten who read or replaced them", "", nil, ofRecords},
		{(*question).overlapping, "session that is not sequential", "sessions that are not sequential", nil, ofRecords},
		{says: func(q *question) string { return q.reports.saturationShortfall(q.level) }},
		{(*question).selected, "transactions asked for levels of their own, among which this level is not decided", "", nil, ofRecords},
		{says: func(q *question) string { return q.finder.limitReason(q.level) }},
		{func(q *question) int64 { return q.counters.Unattributed }, "value that no record wrote", "values that no record wrote", nil, ofReads},
		{func(q *question) int64 { return q.counters.Ambiguous }, "value with several possible writers", "values with several possible writers", nil, ofReads},
		{func(q *question) int64 { return q.counters.Repeating }, "read of a key whose values repeat", "reads of keys whose values repeat", nil, ofReads},
		{
			func(q *question) int64 { return q.counters.OfRows },
			"version of a column that may be of a write of another column",
			"versions of columns that may be of writes of other columns",
			nil,
			ofReads,
		},
		{func(q *question) int64 { return q.counters.Uncheckable }, "key without a known version order", "keys without a known version order", nil, ofReads},
		{says: func(q *question) string { return q.choices.unorderedReason(q.level) }},
		{func(q *question) int64 { return q.counters.Ignored }, "operation of a kind that is not checked", "operations of kinds that are not checked", nil, ofRecords},
		{func(q *question) int64 { return q.counters.Gaps }, "missing record", "missing records", nil, ofRecords},
		{func(q *question) int64 { return q.counters.Contradictory }, "contradictory record", "contradictory records", nil, ofRecords},
		{
			func(q *question) int64 { return q.levelChanges.horizonOf(q.level) },
			"dependency on a transaction that had left the window",
			"dependencies on transactions that had left the window",
			nil,
			ofRecords,
		},
		{func(q *question) int64 { return q.counters.DeadLetters }, "bad record", "bad records", nil, ofRecords},
		{
			func(q *question) int64 { return q.Counters.LeftOutEdges },
			"dependency that was left out to save memory",
			"dependencies that were left out to save memory",
			nil,
			ofRecords,
		},
		{func(q *question) int64 { return q.Counters.Unverified }, "proof that could not be verified", "proofs that could not be verified", nil, ofRecords},
	}
}

// between says whether the level lies between two others in real time, and has no order in a window.
func (q *question) between() bool { return q.level.Neighbours() != nil && !q.cfg.Unbounded }

// holdsByStrongPrefix says whether a level in real time that implies this one holds by itself.
func (q *question) holdsByStrongPrefix() bool {
	for _, v := range q.views {
		if q.asking.stands(v, q.level) && v.RealTime() && v.Neighbours() == nil {
			if verdict, _ := q.verdictAlone(v, q.violated, q.pane); verdict == OK {
				return true
			}
		}
	}
	return false
}

// timed says whether real time counts at the level, in an order of transactions.
func (q *question) timed() bool {
	return q.level.RealTime() && q.level.Special != isolation.Linearizable
}

// untellable says whether no record has what the level is about, and nobody asked for it by name.
func (q *question) untellable() bool {
	if q.cfg.Named || q.level == q.cfg.Expect {
		return false
	}
	return q.infer.Counters.Sessionless > 0 && q.level.Family == isolation.StrongSession && !q.infer.SessionOrder() ||
		q.Counters.Timeless > 0 && q.timed() && !q.clock.timed
}

func (q *question) withoutSession() int64 {
	if q.level.Family == isolation.StrongSession || q.timed() && q.level.Family == isolation.Strong && q.infer.SessionOrder() {
		return q.infer.Counters.Sessionless
	}
	return 0
}

func (q *question) timeless() int64 { return onlyIf(q.timed(), q.Counters.Timeless) }

func (q *question) clamped() int64 { return onlyIf(q.timed(), q.Counters.Clamped) }

func (q *question) unwatched() string {
	switch {
	case q.level.Special == isolation.Linearizable:
		return q.linearizing.linearReason()
	case q.between():
		return "with a window, some violations of this level are missed: it is ok only if strong-prefix is"
	case !q.watches(q.level):
		return "this level is not watched"
	}
	return ""
}

func (q *question) missedEarlier() string { return q.missedBefore(q.level, q.violated, q.pane) }

func (q *question) partial() int64 { return onlyIf(!q.cfg.Contract.Complete, 1) }

func (q *question) uncertain() int64 {
	return onlyIf(refuted(q.reports.verdicts.uncertain, q.level), 1)
}

func (q *question) horizonOfPane() int64 {
	if q.pane == nil {
		return 0
	}
	return q.pane.Horizon
}

func (q *question) unreadAppends() int64 {
	return onlyIf(q.level.Underlying() == isolation.SnapshotIsolation, q.levelChanges.undecidedOf(q.level))
}

func (q *question) misread() int64 {
	return onlyIf(q.level.Special == 0 && !q.level.Base.Implies(isolation.ReadAtomic), q.Counters.Misread)
}

func (q *question) contradictedKeys() int64 {
	return onlyIf(q.level.Base == isolation.ReadUncommitted, int64(len(q.reports.contradicted)))
}

func (q *question) diverged() int64 {
	n := q.Counters.Diverged
	if n > 0 && q.level.Special == 0 && q.level.Base == isolation.Prefix &&
		(q.choices.orderOf(q.level) < orderable || !q.cfg.Unbounded || q.Counters.NamedApart > 0) {
		return n
	}
	return 0
}

func (q *question) unsettledWeaker() int64 { return q.unsettled(q.level, q.violated, q.pane) }

func (q *question) deletedRows() int64 {
	rows := q.Counters.OtherRows
	if q.level.Underlying().Tracks() {
		rows = q.Counters.SettledRows
	}
	return onlyIf(q.level.Underlying().Implies(isolation.CursorStability), rows)
}

func (q *question) oldRows() int64 {
	return onlyIf(q.level.Refuted(isolation.NameOf(infer.Internal).Weakest), q.Counters.OldRows)
}

func (q *question) tolerated() int64 {
	return onlyIf(q.level.Underlying().Implies(isolation.CursorStability), q.Counters.Tolerated)
}

func (q *question) looseCounters() int64 {
	if n := q.infer.Counters.Loose; n > 0 && !q.sums.fits(q.level) {
		return n
	}
	return 0
}

func (q *question) blindInWindow() int64 {
	c := &q.cfg.Contract
	return onlyIf(!q.cfg.Unbounded && (c.SequentialKeys || c.LinearizableKeys), q.infer.Counters.Unordered)
}

func (q *question) overlapping() int64 {
	return onlyIf(q.level.Family != isolation.Plain, q.infer.Counters.Overlapping)
}

func (q *question) selected() int64 {
	return onlyIf(q.level.Underlying().Selects(), int64(len(q.asking.asked)))
}

func onlyIf(counts bool, n int64) int64 {
	if counts {
		return n
	}
	return 0
}
