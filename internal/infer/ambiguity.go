package infer

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// awaitAgain asks again who wrote v, for its readers: an aborted writer has come, or a possible
// one has gone.
func (s *registers) awaitAgain(v uint32) {
	x := &s.versions[v]
	if x.possible > 0 || x.flags&(initialVersion|nothing) != 0 {
		return
	}
	r := x.readers
	for r != x.oldest && s.readsAnything != nil && s.readsAnything(s.readers[r].txn) {
		r = s.readers[r].older
	}
	if r != 0 {
		s.await(v, s.readers[r].txn, s.readers[r].op)
	} else if w := x.witness; w != 0 && s.txns[w].state == counted {
		s.await(v, w, 0)
	}
}

// possibleWriter takes in that the transaction n, which did not abort, wrote v. If another writer is
// known, or has left memory, v becomes ambiguous.
func (s *registers) possibleWriter(v, n uint32) {
	x := &s.versions[v]
	x.possible++
	if x.flags&nothing != 0 {
		s.out.Left = append(s.out.Left, Left{Value: s.valueKey(v), By: n})
		return
	}
	s.supplied(v)
	if s.opt.Observed {
		s.noteValue(v)
	}
	if x.possible > 1 && s.opt.Observed && s.keys[x.key].kind == event.List {
		s.signs.patterns.Get(s.keys[x.key].pattern).Shared = true // clients append again: see window/waiting.go
	}
	if x.possible > 1 || s.values.has(s.valueKey(v)) {
		s.out.Ambiguous = append(s.out.Ambiguous, s.valueKey(v))
		for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
			w := s.writes[id].txn
			if x.flags&ambiguous != 0 && x.possible > 2 && w != n {
				break // the others were looked at when the second one came
			}
			if s.txns[w].state == counted && s.txns[w].flags&unknown != 0 {
				s.demote = append(s.demote, w)
			}
		}
		s.secondWriter(v, n)
		before := s.Counters.Ambiguous + s.Counters.Repeated
		if x.flags&ambiguous != 0 && s.searchable(v) { // what rests on the writers that were known is void
			s.out.Kills = append(s.out.Kills, Kill{Version: v})
		}
		s.makeAmbiguous(v)
		if s.opt.Existing && x.possible == 1 && !s.searchable(v) && s.Counters.Ambiguous+s.Counters.Repeated == before {
			s.Counters.Ambiguous++ // a reader may have taken it for the value from before watching
		}
		return
	}
	if s.txns[n].state == tentative && s.observed(v) {
		s.promote = append(s.promote, n)
	}
}

// observed says whether a transaction that counts saw v.
func (s *registers) observed(v uint32) bool {
	x := &s.versions[v]
	return x.readers != 0 || x.flags&(lateReaders|placed|seen) != 0
}

// observedSome says whether a version that only n can have written was seen.
func (s *registers) observedSome(n uint32) bool {
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		v := s.writes[id].version
		if s.versions[v].flags&ambiguous == 0 && s.versions[v].possible == 1 && s.observed(v) {
			return true
		}
	}
	return false
}

// makeAmbiguous takes back what was concluded from v having one writer. That a register's v was read
// does not show any more that this writer took effect.
func (s *registers) makeAmbiguous(v uint32) {
	x := &s.versions[v]
	if x.flags&ambiguous != 0 {
		return
	}
	s.mark(v, ambiguous, 0)
	if s.observed(v) || s.keys[x.key].kind == event.List {
		s.countAmbiguous(v)
	}
	w := x.writer
	x.writer = 0
	if s.keys[x.key].kind == event.List {
		if w != 0 {
			s.kindsAbove.List.Dispute(v, w)
		}
		return
	}
	if w != 0 && s.txns[w].flags&unknown != 0 {
		s.demote = append(s.demote, w)
	}
	if x.flags&tombstone != 0 {
		s.deletedRow(x.key, 0)
	}
	if s.isOrdered(v) {
		if w != 0 {
			s.bridgeOrdered(v, w)
		}
		s.forgetPlaceOfReaders(v)
	}
	if s.opt.Ordered && s.opt.partly() {
		defer s.orderAgain(x.key)
	}
	if !s.opt.Whole && s.searchable(v) {
		s.unorder(x.key) // what freezes from here on is run: see package window
	}
	s.kill(v, w, WR|WW|OtherRow|Reread) // who read v may have read from another; WW alone: see package window, viewsOf
	for id := x.over; id != 0; id = s.writes[id].nextOver {
		s.killOrder(s.writes[id].version, s.writes[id].txn)
	}
	s.uproot(v)
}

// kill takes back the edges with this version and one of these labels at the writer, also edges of the
// step in work. It also takes back the anomalies that rest on the version.
func (s *orders) kill(v, writer uint32, labels Label) {
	k := Kill{Version: v, Writer: writer, Labels: labels}
	s.out.Kills = append(s.out.Kills, k)
	s.out.Edges = slices.DeleteFunc(s.out.Edges, func(e Edge) bool { return k.Kills(&e) })
	s.out.Anomalies = slices.DeleteFunc(s.out.Anomalies, func(a Anomaly) bool {
		return a.Version == v && (a.Kind == G1b || a.Kind == Divergence || a.Kind == IncompatibleOrder || a.Kind == Nonlinearizable) || a.Other == v && v != 0 || s.cycleThrough(&a, v)
	})
}

// cycleThrough says whether the anomaly is a cycle of versions, and v is one of them.
func (s *orders) cycleThrough(a *Anomaly, v uint32) bool {
	return a.Kind == CyclicVersions && slices.ContainsFunc(s.out.Steps[a.OpA:int64(a.OpA)+a.Count], func(x Step) bool { return x.Version == v })
}

// killOrder takes back the edges that lead to the writer of v as the one of a later
// version. Other conclusions from v stay.
func (s *orders) killOrder(v, writer uint32) { s.killEdges(v, writer, WW|RW|OtherRow) }

// killEdges takes back edges with v at its writer. Other conclusions from v stay.
func (s *causes) killEdges(v, writer uint32, labels Label) { s.killEdgesFrom(0, v, writer, labels) }

// killEdgesFrom is killEdges of those out of from, 0 for any.
func (s *causes) killEdgesFrom(from, v, writer uint32, labels Label) {
	k := Kill{Version: v, Writer: writer, Labels: labels, Order: true, From: from}
	s.out.Kills = append(s.out.Kills, k)
	s.out.Edges = slices.DeleteFunc(s.out.Edges, func(e Edge) bool { return k.Kills(&e) })
}

// unsettle takes v from its writer n; a list's element stays where reads showed
// it.
func (s *registers) unsettle(v, n uint32) {
	x := &s.versions[v]
	if x.writer != n {
		return
	}
	x.writer = 0
	if s.keys[x.key].kind == event.List {
		s.kindsAbove.List.Unsettle(v)
	} else if s.isOrdered(v) {
		s.bridgeOrdered(v, n)
	}
}

// disambiguate concludes again about v after one of its possible writers turned out not to have written
// it. If a writer that has left memory may have written v too, v stays ambiguous. It also stays so
// where the values of the pattern repeat, since later writers are not known.
func (s *registers) disambiguate(v uint32) {
	x := &s.versions[v]
	if x.flags&(ambiguous|nothing) != ambiguous || x.possible != 1 || s.keys[x.key].flags&repeats != 0 || s.values.has(s.valueKey(v)) {
		return
	}
	s.mark(v, 0, ambiguous)
	for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
		n := s.writes[id].txn
		switch s.txns[n].state {
		case tentative:
			if s.glimpsedBy(v, n) || s.writes[id].unread || s.triedBefore(v, n) || s.appendedBefore(v, n) { // n read the value before it wrote it, or the value may have been there
				s.mark(v, ambiguous, 0)
				return
			}
			if s.observed(v) {
				s.replaceAgain(v, n)
				s.promote = append(s.promote, n)
			}
			return
		case counted:
			if s.appendedBefore(v, n) {
				s.mark(v, ambiguous, 0)
				return
			}
			if s.keys[x.key].kind == event.List {
				s.kindsAbove.List.Settle(v, id, n, false)
				return
			}
			if s.sawOwnWrite(v, n) {
				return
			}
			s.replaceAgain(v, n)
			s.settleRegister(v, n)
			return
		}
	}
}

// sawOwnWrite says whether n, the only possible writer of v that is left, read it before
// writing it. As when n came (install), v is ambiguous, and n's read is asked again.
func (s *registers) sawOwnWrite(v, n uint32) (saw bool) {
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		if x := &s.readers[r]; x.txn == n {
			s.mark(v, ambiguous, 0)
			s.suspectFuture(v, n, x.op)
			saw = true
		}
	}
	return saw
}

// replaceAgain is called when n is known as the writer of v. The readers of v come before the
// transactions that replaced it. Their own writes replace v.
func (s *registers) replaceAgain(v, n uint32) {
	x := &s.versions[v]
	if s.keys[x.key].kind == event.List {
		return
	}
	for o := x.over; o != 0; o = s.writes[o].nextOver {
		for r := x.readers; r != 0; r = s.olderReader(r) {
			if !s.readers[r].saw() {
				continue
			}
			s.edge(s.readers[r].txn, s.writes[o].txn, RW, s.writes[o].version, 0)
		}
	}
	for r := x.readers; r != 0; r = s.olderReader(r) {
		if t := s.readers[r].txn; t != n && !s.readers[r].reread {
			s.overwriteAfter(v, t)
		}
	}
}
