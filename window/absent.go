package window

import (
	"cmp"
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/trial"
)

// An empty read is of the initial state or of a delete. It should be of the state that the last
// one left. An order with this may not have been found. Then the transactions that wrote its
// key are tried by themselves, in all orders (docs/proofs.md, section 3, *Trying orders*).
// While all deletes of the key are in memory, that shows reads that no order explains. They are
// looked at before the first of them leaves.

// absentRead is a read of nothing that an order does not fit.
type absentRead struct{ reader, version uint32 }

// cell is a register, or an element of a set.
type cell struct{ key, elem string }

func (o *core) cellOf(v uint32) cell {
	key, elem := o.infer.Cell(v)
	return cell{key, elem}
}

// maxAbsent bounds how many are tried when an order is looked for, and maxUsers those who wrote
// the key: each takes some 10 ms at most.
const maxAbsent, maxUsers = 4, 24

// noteAbsent notes that the order does not fit what t read, if that is nothing.
func (r *frozenRun) noteAbsent(t, v uint32) {
	x := absentRead{t, v}
	if len(r.absent) < maxAbsent && r.m.infer.IsNothing(v) && !slices.Contains(r.absent, x) {
		r.absent = append(r.absent, x)
	}
}

// decideAbsent tries the reads of nothing that the i-th view does not fit, of the nodes about the
// first due ones.
func (m *Machine) decideAbsent(i, due int) {
	l := m.views[i]
	if m.infer.Counters.Emptied == 0 || refuted(m.reports.verdicts.certain, l) || !m.mayTryAt(l) || !m.asking.allTold() || m.asking.untrackedAt(l) {
		return
	}
	levels := triedUnder(l)
	r := m.choices.newRun(i)
	r.ahead = true
	r.timed = r.timed && l.Underlying().Chooses() // other orders are looked at for their reads only
	r.run(m.graph.First(i, lookedAt(due)))
	reads := r.absent
	r.drop()
	for _, x := range reads {
		if m.infer.FoundKnown(x.version, x.reader, m.clock.watermark) &&
			slices.ContainsFunc(levels, func(l isolation.Level) bool { return m.tryAbsent(l, x) }) {
			return
		}
	}
}

// triesWeak says whether empty reads are tried at the i-th view, which asks for no order of writers. If
// another level implies it and is not violated, the reads are tried at that level.
func (m *Machine) triesWeak(i int) bool {
	l := m.views[i]
	if m.infer.Counters.Emptied == 0 || !m.asking.allTold() || l.Underlying().Chooses() || refuted(m.reports.verdicts.certain, l) {
		return false
	}
	return !slices.ContainsFunc(m.views, func(other isolation.Level) bool {
		return other != l && m.asking.stands(other, l) && !refuted(m.reports.verdicts.certain, other) &&
			(isTried(other) || !isTried(l))
	})
}

// tryAbsent says whether the writers of x's version have no order at l, and reports it. If they have an
// order, the writers of the values that they read are tried beside them. The last try adds the writers
// of other keys in which they found nothing.
func (m *Machine) tryAbsent(l isolation.Level, x absentRead) bool {
	txns := []uint32{x.reader}
	m.infer.EachUser(m.infer.KeyOfVersion(x.version), func(n uint32) {
		if len(txns) <= maxUsers && !slices.Contains(txns, n) {
			txns = append(txns, n)
		}
	})
	if len(txns) > maxUsers {
		return false
	}
	keys := []cell{m.cellOf(x.version)}
	if m.hasNoOrderAbout(l, x, txns, keys) {
		return true
	}
	more := m.readFrom(x, txns)
	if len(more) > len(txns) && m.hasNoOrderAbout(l, x, more, keys) {
		return true
	}
	all, keys := m.alsoEmpty(x, more)
	if len(keys) > 1 && m.hasNoOrderAbout(l, x, all, keys) {
		return true
	}
	linked := m.linkedTo(l, x, all)
	return len(linked) > len(all) && m.hasNoOrderAbout(l, x, linked, keys)
}

// linkedTo are txns with those who found what they had left in x's key. Where sessions count, the
// neighbours of all in their sessions are added. The writers of what these read follow.
func (m *Machine) linkedTo(l isolation.Level, x absentRead, txns []uint32) []uint32 {
	all := slices.Clone(txns)
	add := func(to []uint32, n uint32) []uint32 {
		if n == 0 || slices.Contains(to, n) || !m.infer.Counts(n) || !m.infer.FoundKnown(x.version, n, m.clock.watermark) {
			return to
		}
		return append(to, n)
	}
	m.infer.EachKeyReader(m.infer.KeyOfVersion(x.version), func(n uint32) {
		if len(all) <= maxUsers {
			all = add(all, n)
		}
	})
	if len(all) > maxUsers {
		all = slices.Clone(txns)
	}
	m.byArrival(all[1:])
	if l.Family != isolation.Plain {
		with := slices.Clone(all)
		for _, n := range all {
			with = add(add(with, m.infer.Predecessor(n)), m.infer.Successor(n))
		}
		if len(with) <= maxUsers {
			all = with
		}
	}
	return m.readFrom(x, all)
}

// alsoEmpty are txns with all writers of other keys in which they found nothing. It also returns the
// keys, x's first. Each of them ended long enough ago: all that may have left the state which it found
// have come.
func (m *Machine) alsoEmpty(x absentRead, txns []uint32) (all []uint32, keys []cell) {
	all, keys = slices.Clone(txns), []cell{m.cellOf(x.version)}
	var tried []uint32
	for _, n := range txns {
		m.infer.SureReads(n, func(v, _ uint32) {
			if !m.infer.IsNothing(v) || len(keys) > maxAbsent || len(tried) >= maxUsers || slices.Contains(tried, v) || v == x.version {
				return
			}
			tried = append(tried, v)
			with := slices.Clone(all)
			m.infer.EachUser(m.infer.KeyOfVersion(v), func(n uint32) {
				if len(with) <= maxUsers && !slices.Contains(with, n) {
					with = append(with, n)
				}
			})
			early := func(n uint32) bool {
				return !m.infer.FoundKnown(v, n, m.clock.watermark) || !m.infer.FoundKnown(x.version, n, m.clock.watermark)
			}
			if len(with) <= maxUsers && !slices.ContainsFunc(with, early) {
				all, keys = with, append(keys, m.cellOf(v))
			}
		})
	}
	return all, keys
}

// readFrom are txns with the writers of what they read, and of what these read. They are txns alone if
// the writers are too many. A writer is added only if it ended long enough ago, since it may have found
// nothing too.
func (m *Machine) readFrom(x absentRead, txns []uint32) []uint32 {
	all := slices.Clone(txns)
	for i := 0; i < len(all) && len(all) <= maxUsers; i++ {
		m.infer.SureReads(all[i], func(_, w uint32) {
			if w != 0 && !slices.Contains(all, w) && m.infer.FoundKnown(x.version, w, m.clock.watermark) {
				all = append(all, w)
			}
		})
	}
	if len(all) > maxUsers {
		return txns
	}
	return all
}

// hasNoOrderAbout says whether txns have no order at l, and reports it. Nobody else wrote the keys, and
// x is of the first one.
func (m *Machine) hasNoOrderAbout(l isolation.Level, x absentRead, txns []uint32, keys []cell) bool {
	m.byArrival(txns[1:])
	f := &openFinding{level: l, versions: []uint32{x.version}}
	in := trial.Input{
		Drift: int64(m.cfg.Contract.ClockDrift), Rows: m.cfg.Rules.Rows, Counts: m.tellingReads(f, txns, keys), Lacks: m.asking.lacking(txns),
		Deleted: func(k string) bool { return !slices.Contains(keys, cell{key: k}) },
	}
	for _, n := range txns {
		r := m.forTrial(n)
		in.Records, in.Maybe = append(in.Records, r), append(in.Maybe, r.Status == event.Unknown)
	}
	h, err := trial.Read(&in)
	if err != nil {
		return false
	}
	core := h.Core(triedLevel(l))
	if core == nil {
		return false
	}
	m.hasNoOrder(h, core, txns, f)
	return true
}

// byArrival sorts transactions by the positions of their records. Their vertices would not do, since
// these depend on what was on disk.
func (o *core) byArrival(txns []uint32) {
	slices.SortFunc(txns, func(a, b uint32) int {
		x, y := o.infer.Info(a), o.infer.Info(b)
		return cmp.Or(cmp.Compare(x.Partition, y.Partition), cmp.Compare(x.Offset, y.Offset), cmp.Compare(x.Sub, y.Sub))
	})
}

// tellingReads says which reads of txns count when only txns are looked at. A read of one of the keys
// counts if no possible writer of the value was let go. A read of another register counts if its one
// writer is among txns. f rests on these versions.
func (o *core) tellingReads(f *openFinding, txns []uint32, keys []cell) func(at int, key, elem string) bool {
	type read struct {
		at int
		of cell
	}
	tells := map[read]bool{}
	for at, n := range txns {
		o.infer.SureReads(n, func(v, w uint32) {
			r := read{at, o.cellOf(v)}
			sure, met := tells[r]
			known := w != 0 && slices.Contains(txns, w) || slices.Contains(keys, r.of) && o.infer.LeftInMemory(v) && (!o.infer.TellsVersions(v) || o.infer.IsNothing(v))
			tells[r] = (sure || !met) && known
			if tells[r] && !slices.Contains(f.versions, v) {
				f.versions = append(f.versions, v)
			}
		})
	}
	return func(at int, key, elem string) bool { return tells[read{at, cell{key, elem}}] }
}

// leftNothing takes back what was tried without who left nothing just now, unless all had ended
// before that one began. O(findings that are open or can be withdrawn).
func (h *finder) leftNothing(x infer.Left) {
	fell := false
	for i := range h.reports.open.recent {
		r := &h.reports.open.recent[i]
		if r.Finding.State != finding.Withdrawn && isolation.IsTried(r.Finding.Title) && slices.Contains(r.Values, x.Value) && h.mayHaveLeft(x.By, r.Ended) {
			h.reports.withdrawFinal(r)
			fell = true
		}
	}
	for _, f := range h.reports.open.list {
		if f.closed || !isolation.IsTried(f.Finding.Title) || !h.mayHaveLeft(x.By, h.endedAt(f)) {
			continue
		}
		if slices.ContainsFunc(f.versions, func(v uint32) bool { return h.infer.ValueKey(v) == x.Value }) {
			h.doomed = append(h.doomed, f)
			fell = true
		}
	}
	if fell { // transactions that froze meanwhile were not compared with that one
		h.infer.ConclusionFell()
	}
}

// mayHaveLeft says whether a transaction that had ended by then may have found the version that n left.
func (h *finder) mayHaveLeft(n uint32, ended int64) bool {
	r := h.record(n)
	return ended == math.MaxInt64 || r.Flags&event.HasTimes == 0 || h.infer.Info(n).Start <= ended+int64(h.cfg.Contract.ClockDrift)
}
