package window

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/solve"
)

// Several writers may have left the value that a read saw. Which of them it saw is decided together
// with the order of writers that nobody saw. Such writers count, and left the value. At all levels that
// are decided in this way, a read from an aborted writer is forbidden. So is a read of a value that its
// writer replaced itself. A transaction of unknown outcome may be the writer too. An order without it
// shows that the level holds. If there is no such order, nothing is shown.

// maxCandidates bounds the possible writers of all reads of a problem together. maxReadCore
// bounds the choices of a core. A key whose reads bring more takes no part. A flag that n
// transactions turn on and off has n^2/2 of them.
const maxCandidates, maxReadCore = 1 << 16, 1600

// readsOf adds the reads of a key's repeated values to the problem. The problem's units from
// first on stand for the chains that take part. It returns false where a read has no writer
// that counts, or its writers are not looked for.
func (o *choices) readsOf(i int, c *constraints, versions []uint32, chains []infer.Chain, first int32, relaxed bool) bool {
	if len(versions) == 0 {
		return true
	}
	// A relaxed problem leaves out units, and with them the reads that may be of one.
	unit := make([]int32, len(chains))
	at := first
	for a := range chains {
		if unit[a] = -1; !relaxed || !o.isSetAside(i, o.infer.KeyOfVersion(versions[0]), &chains[a]) {
			unit[a] = at
			at++
		}
	}
	ok, before, candidates := true, len(c.reads), c.candidates
	for _, v := range versions {
		known := o.infer.DuplicateReads(v, func(reader uint32, maybe bool) {
			if !ok {
				return
			}
			if o.askedUnder(reader, o.views[i]) {
				// Its read counts for nothing here, but may count at the level that it asked
				// for.
				ok = o.asking.askedBy(reader) == isolation.ReadUncommitted
				return
			}
			node, _, _ := o.graph.Ends(i, incremental.Vertex(reader), incremental.Vertex(reader), incremental.Labels(infer.RW))
			r := solve.Read{Node: c.nodeAt(node), Own: -1}
			whole := true
			for a := range chains {
				x := &chains[a]
				if x.Txns[0] == reader {
					r.Own = unit[a]
				}
				last := len(x.Txns) - 1
				if x.Versions[len(x.Versions)-1] != v || x.Txns[last] == reader {
					continue
				}
				r.Candidates = append(r.Candidates, unit[a])
				whole = whole && unit[a] >= 0
			}
			c.candidates += len(r.Candidates)
			if o.writersBeside(v, reader) != len(r.Candidates) { // one writer replaced a version that nobody wrote: that writer is in no chain
				ok = false
				return
			}
			if len(r.Candidates) == 0 || r.Node < 0 || c.candidates > maxCandidates {
				ok = false
			} else if whole {
				c.problem.Reads = append(c.problem.Reads, r)
				c.reads = append(c.reads, duplicateRead{reader, v, maybe})
			}
		})
		ok = ok && known
	}
	if !ok { // the key takes no part
		c.problem.Reads, c.reads, c.candidates = c.problem.Reads[:before], c.reads[:before], candidates
	}
	return ok
}

// writersBeside is how many others than the reader count and left v.
func (o *choices) writersBeside(v, reader uint32) (n int) {
	o.infer.EachWriter(v, func(w uint32) {
		if w != reader {
			n++
		}
	})
	return n
}

// renumberReads takes over new numbers of units, -1 for those that are left out: with
// them go the reads that may be of one.
func (c *constraints) renumberReads(left []int32) {
	reads, what := c.problem.Reads[:0], c.reads[:0]
	for i, r := range c.problem.Reads {
		gone := false
		for j, u := range r.Candidates {
			r.Candidates[j] = left[u]
			gone = gone || left[u] < 0
		}
		if r.Own >= 0 {
			r.Own = left[r.Own]
		}
		if !gone {
			reads, what = append(reads, r), append(what, c.reads[i])
		}
	}
	c.problem.Reads, c.reads = reads, what
}

// isMaybe says whether a transaction of unknown outcome, or without a good record, may have
// written a value that a read of the core saw. Then the core proves nothing.
func (o *choices) isMaybe(c *constraints, core *solve.Core) bool {
	if len(core.Reads) > 0 && o.infer.Counters.Missing() > 0 {
		return true
	}
	return slices.ContainsFunc(core.Reads, func(r int32) bool { return c.reads[r].maybe })
}

// writersOf adds the reads of the core to the witness, as choices among the writers, and
// says which reads of its transactions say nothing by themselves.
func (o *choices) writersOf(f *openFinding, w *finding.Witness, c *constraints, core *solve.Core, index func(n uint32) int) {
	for _, r := range core.Reads {
		x := &c.reads[r]
		choice := finding.Choice{Key: o.infer.Key(x.version), A: index(x.reader)}
		for _, u := range c.problem.Reads[r].Candidates {
			txns := c.chains[u].Txns
			choice.Writers = append(choice.Writers, index(txns[len(txns)-1]))
		}
		w.Choices = append(w.Choices, choice)
		if !slices.Contains(f.versions, x.version) {
			f.versions = append(f.versions, x.version)
		}
	}
}

// sayNothing notes the reads of the witness's transactions whose values several may have
// written. It also notes the reads of keys with values that repeat.
func (o *choices) sayNothing(w *finding.Witness, txns []uint32) {
	for at, n := range txns {
		o.infer.EachDuplicateRead(n, func(v uint32) {
			w.Repeated = append(w.Repeated, finding.DuplicateRead{Txn: at, Key: o.infer.Key(v)})
		})
		t := &w.Txns[at]
		for i := range t.Ops {
			for _, key := range keysOf(&t.Ops[i]) {
				r := finding.DuplicateRead{Txn: at, Key: key}
				if o.infer.Repeats(key, t.Epoch) && !slices.Contains(w.Repeated, r) {
					w.Repeated = append(w.Repeated, r)
				}
			}
		}
	}
}

// keysOf are the keys that o shows values of.
func keysOf(o *event.RecordOp) (keys []string) {
	switch o.Kind {
	case event.Read, event.CAS:
		return []string{o.Key}
	case event.Range:
		for _, row := range o.Rows {
			keys = append(keys, row.Key)
		}
	}
	return keys
}

// undecidedReads is how many reads of repeated values are not decided at the level. With a window, the
// misfits of the order count them for levels that ask for an order. A weaker level holds if a level
// that implies it holds. At read committed and read uncommitted, the writer of a read must only come
// before it. An empty read may be of the initial state, and everything comes behind that.
func (o *choices) undecidedReads(l isolation.Level) int64 {
	n := o.infer.Counters.Repeated
	if l.Special == 0 && isolation.ReadCommitted.Implies(l.Base) {
		n -= o.infer.Counters.Emptied // all reads may have found the initial value
	}
	switch {
	case n == 0:
		return 0
	case !o.cfg.Unbounded && o.asking.askedBetween(l): // the order that was found leaves out the reads of these transactions
		return n
	case o.orderOf(l) == orderable:
		return 0
	case o.cfg.Unbounded:
		return n
	case o.asking.anyoneLacks(l) || l.Special == isolation.Linearizable: // a read of a transaction that asked for less is not looked at
		return n
	case l.Underlying().Chooses():
		return 0
	}
	for i, v := range o.views {
		if !o.closed && o.reports.orders(i) && o.misfitsOf(i) == 0 && o.levelChanges.speaksFor(i, l) && !refuted(o.reports.verdicts.uncertain, v) {
			return 0
		}
	}
	return n
}

// absentHolds says whether a read that found nothing may be of the initial state at the level,
// whoever deleted the key: see undecidedReads. The initial state must be empty for that.
func (o *core) absentHolds(l isolation.Level) bool {
	return l.Special == 0 && isolation.ReadCommitted.Implies(l.Base) && !o.cfg.Contract.Existing
}

// anyoneLacks says whether a transaction asked for a level that does not promise all of l.
func (a *asking) anyoneLacks(l isolation.Level) bool {
	for b, n := range a.askedFor {
		if n > 0 && isolation.Base(b).Lacks(l.Underlying()) {
			return true
		}
	}
	return false
}

// askedBetween says whether a transaction asked for less than l, and for more than read uncommitted:
// whom it read from counts there.
func (a *asking) askedBetween(l isolation.Level) bool {
	for b, n := range a.askedFor {
		if b := isolation.Base(b); n > 0 && b != isolation.ReadUncommitted && b != l.Underlying() && l.Underlying().Implies(b) {
			return true
		}
	}
	return false
}

// openReadsAt is how many reads of repeated values may not be decided at the level: as many as there
// are misfits, at most.
func (o *choices) openReadsAt(l isolation.Level) int64 {
	n := o.undecidedReads(l)
	switch {
	case o.cfg.Unbounded || n > 0 || !l.Underlying().Chooses():
		return n
	case o.closed && o.orderOf(l) >= orderable:
		return 0
	case o.closed && o.leastMisfits(l) == 0: // what was left at the end does not fit
		return o.infer.Counters.Repeated
	}
	return min(o.infer.Counters.Repeated, o.leastMisfits(l))
}

// misfitsOf is how many transactions do not fit what has frozen in the i-th view.
func (o *choices) misfitsOf(i int) int64 {
	if i >= len(o.misfits) { // nothing has frozen that was run
		return 0
	}
	return o.misfits[i]
}

// mostOpenReads is how many reads of repeated values may not be decided at some level.
func (o *choices) mostOpenReads() (n int64) {
	if o.infer.Counters.Repeated == 0 {
		return 0
	}
	for _, l := range o.views {
		if !refuted(o.reports.verdicts.certain, l) {
			n = max(n, o.openReadsAt(l))
		}
	}
	return n
}

// countBroken counts what the step in work took back of frozen orders where values come again. It may
// be a transaction that has frozen. Or it may be a finding that rested on the writer of a value, with
// an edge set aside between transactions that have frozen meanwhile. Nobody has checked whether the
// reads of these transactions fit. broken says that there is such a transaction. The same holds where a
// reader of a value froze before any writer of it was known.
func (h *finder) countBroken(broken bool) {
	if h.cfg.Unbounded || h.infer.Counters.Repeated == 0 {
		return
	}
	if !broken && slices.ContainsFunc(h.out.Kills, func(k infer.Kill) bool {
		return k.Version != 0 && (h.infer.IsDuplicate(k.Version) || h.infer.WasAbsent(k.Version))
	}) {
		for _, f := range h.doomed {
			ends := slices.Clone(f.members)
			for _, a := range f.setAside {
				ends = append(ends, uint32(a.From), uint32(a.To))
			}
			broken = broken || slices.ContainsFunc(ends, func(n uint32) bool {
				return !slices.Contains(h.out.Gone, n) && h.hasFrozen(n)
			})
		}
	}
	if broken || h.frozenUnwritten() {
		h.infer.ConclusionFell()
	}
}

// frozenUnwritten says whether a value has got several possible writers in the step in work,
// and had none before. A reader of it must have frozen in some view before that. The run did
// not ask there whether the frozen order had left the value. Readers that have frozen in all
// views by then are inference's (ledger.LateReaders).
func (h *finder) frozenUnwritten() (frozen bool) {
	for _, k := range h.out.Kills {
		if k.Writer != 0 || k.Labels&infer.WR == 0 || !h.infer.IsDuplicate(k.Version) {
			continue
		}
		h.infer.EachReader(k.Version, func(n uint32) {
			frozen = frozen || h.graph.Known(incremental.Vertex(n)) && h.hasFrozen(n)
		})
	}
	return frozen
}

// hasFrozen says whether a node of n has retired in some view.
func (o *core) hasFrozen(n uint32) bool {
	return !o.graph.AllLive(incremental.Vertex(n))
}
