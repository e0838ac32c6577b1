package infer

import "github.com/isowatch/isowatch/event"

// settleRegister gives v its one writer n. Each reader of v has read from n.
func (s *registers) settleRegister(v, n uint32) {
	x := &s.versions[v]
	x.writer = n
	if s.readBeforeAll(v, n) {
		s.makeAmbiguous(v)
		return
	}
	s.wroteLate(v)
	for r := x.readers; r != 0; r = s.olderReader(r) {
		t := s.readers[r].txn
		label := WR
		if s.overwrote(t, v) && s.installed(v) && !s.beginsRow(v) {
			label = s.replacing(v, t)
		}
		if s.readers[r].reread {
			label = Reread
		}
		if s.readers[r].how == perhaps { // perhaps it was said of another transaction that was taken for the writer
			s.reads.saw(&s.ledger, r, surely)
		}
		s.signs.stood.readFrom(&s.causes, v, t, label)
		s.intermediateRead(v, t, s.readers[r].op)
	}
	if s.isOrdered(v) {
		s.connectOrdered(v, nil)
	}
	if s.opt.Ordered && s.opt.partly() {
		s.settlePartly(v)
	}
}

// replacing is the label of the edge to t, which replaced v, from v's writer: t need not have
// read v.
func (s *registers) replacing(v, t uint32) Label {
	if s.NamedOnly(v, t) {
		return WW
	}
	return WR | WW
}

// NamedOnly says whether t, which replaced v, names it by prev_version only, and read another
// version of the key.
func (s *orders) NamedOnly(v, t uint32) bool {
	k := s.versions[v].key
	if s.keys[k].flags&versioned == 0 {
		return false
	}
	for id := s.txns[t].reads; id != 0; id = s.readers[id].nextOfTxn {
		if r := &s.readers[id]; r.version == v && r.how == named {
			return true
		}
	}
	return false
}

// saw says whether the transaction read the version, and no other one of the key before.
func (r *reader) saw() bool { return !r.reread && r.how != named }

// overwrote says whether t read v and installed another version of the key.
func (s *registers) overwrote(t, v uint32) bool {
	for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
		if s.writes[id].txn == t && !s.writes[id].blind {
			return true
		}
	}
	return false
}

// overwrite installs the write record id over the version pred. The readers of pred come
// before. Two transactions that overwrote the version that they had read diverge, whether or
// not their values differ.
func (s *registers) overwrite(id, pred uint32, blind bool) {
	w := &s.writes[id]
	n := w.txn
	w.pred, w.blind = pred, blind
	w.nextOver = s.versions[pred].over
	if w.nextOver != 0 {
		s.writes[w.nextOver].prevOver = id
	}
	s.versions[pred].over = id
	other := s.diverging(id)
	r, oldest := s.versions[pred].readers, s.versions[pred].oldest
	if !s.versions[pred].names() {
		r = 0 // the initial one, of a key that was deleted: an empty read need not be of it
	}
	for r != 0 {
		x := &s.readers[r]
		switch {
		case x.reread:
		case x.txn == n:
			x.overwrote = x.overwrote || !blind
		case x.how == named:
		case !x.overwrote || blind || other != 0 && x.txn == s.writes[other].txn || s.txns[x.txn].asked != s.txns[n].asked:
			s.edge(x.txn, n, RW, w.version, 0)
		}
		if r == oldest {
			break
		}
		r = x.older
	}
	if other != 0 {
		x := &s.writes[other]
		s.missed(&s.writes[id], x)
		if s.loses(&s.writes[id], x) {
			s.anomaly(Anomaly{Kind: Divergence, A: n, B: x.txn, Version: pred, Certain: true})
		} else {
			s.divergeInRow(id)
		}
	}
	if !blind {
		s.divergeFromOthers(id)
	}
	s.signs.valueCycle(&s.causes, id)
	k := s.versions[pred].key
	if s.opt.Ordered && !s.isOrdered(w.version) && s.keys[k].flags&element == 0 {
		s.keys[k].base = partlyOrdered
		s.countRoots(k)
	} else if pred == s.keys[k].initial {
		s.countRoots(k)
	}
}

// overwriteAfter installs t's write over v. t read v when several may have written it: as one
// version among others it said nothing of the order.
func (s *registers) overwriteAfter(v, t uint32) {
	k := s.versions[v].key
	for id := s.txns[t].writes; id != 0; id = s.writes[id].nextOfTxn {
		w := &s.writes[id]
		if w.blind && w.pred == s.keys[k].initial && s.keys[k].flags&element == 0 {
			s.withdrawOverwrite(id)
			s.overwrite(id, v, false)
			if s.opt.Ordered && s.opt.partly() {
				s.versionCycleBy(id)
			}
			return
		}
	}
}

// diverging finds the other write records that overwrote the same version as id, after their
// transactions had read it. It returns the latest one, 0 if there is none. If n diverge, each is
// reported, and gets the two anti-dependencies with the one before it. All pairs would be n^2 edges
// that say the same. One whose outcome is unknown comes last.
//
// That holds among transactions that asked for the same level. A transaction that asked for less gives
// no anti-dependencies in some views. So it would not connect two others. So transactions that asked
// for another level are linked in pairs.
func (s *registers) diverging(id uint32) uint32 {
	w := &s.writes[id]
	if w.blind {
		return 0
	}
	other := uint32(0)
	for o := w.nextOver; o != 0; o = s.writes[o].nextOver {
		x := &s.writes[o]
		switch {
		case x.txn == w.txn || x.blind || s.txns[x.txn].asked != s.txns[w.txn].asked:
		case !s.ofUnknownOutcome(x.txn):
			return o
		case other == 0:
			other = o
		}
	}
	return other
}

// part notes the records that diverged from id, which is about to be taken back. They also diverge from
// the record before id, and no edge shows that yet.
func (s *registers) part(id uint32) {
	w := &s.writes[id]
	if w.pred == 0 || w.blind || s.versions[w.pred].flags&ambiguous != 0 {
		return
	}
	for o := w.prevOver; o != 0; o = s.writes[o].prevOver {
		x := &s.writes[o]
		if x.blind || x.txn == w.txn || s.txns[x.txn].asked != s.txns[w.txn].asked {
			continue
		}
		s.parted = append(s.parted, o)
		if !s.ofUnknownOutcome(x.txn) {
			return // the records behind x diverged from x
		}
	}
}

// diverge reports that the write records id and other overwrote one version. other may be 0 for none.
func (s *registers) diverge(id, other uint32) {
	if other == 0 {
		return
	}
	w, x := &s.writes[id], &s.writes[other]
	s.missed(x, w)
	s.missed(w, x)
	if s.loses(w, x) {
		s.anomaly(Anomaly{Kind: Divergence, A: w.txn, B: x.txn, Version: w.pred, Certain: true})
	}
}

// missed gives the anti-dependency from w's transaction to x's. Both replaced one version. w's
// transaction read that version, unless it only named it.
func (s *registers) missed(w, x *write) {
	if !s.NamedOnly(w.pred, w.txn) {
		s.edge(w.txn, x.txn, RW, x.version, 0)
	}
}

// divergeInRow reports the latest write record that replaced the same version as id, in the same way:
// both wrote the row, or both deleted it.
func (s *registers) divergeInRow(id uint32) {
	w := &s.writes[id]
	for o := w.nextOver; o != 0; o = s.writes[o].nextOver {
		if x := &s.writes[o]; x.txn != w.txn && !x.blind && s.txns[x.txn].asked == s.txns[w.txn].asked && s.loses(w, x) {
			s.missed(x, w)
			s.missed(w, x)
			s.anomaly(Anomaly{Kind: Divergence, A: w.txn, B: x.txn, Version: w.pred, Certain: true})
			return
		}
	}
}

// beginsRow says whether who replaces v begins another row: no order of writes leads there.
func (s *registers) beginsRow(v uint32) bool { return s.opt.Rows && s.versions[v].flags&tombstone != 0 }

// MayBeOtherRows says whether two transactions that read v and wrote its key may have written two rows.
// Then a transaction deleted the key that did not replace v as they did.
func (s *registers) MayBeOtherRows(v uint32) bool {
	flags := s.keys[s.versions[v].key].flags
	if !s.opt.Rows || flags&deleted == 0 {
		return false
	}
	for id := s.versions[v].over; id != 0 && flags&deletedAgain == 0; id = s.writes[id].nextOver {
		if w := &s.writes[id]; !w.blind && s.isDelete(w) {
			return false
		}
	}
	return true
}

// loses says whether of two that replaced one version the later one lost an update.
func (s *registers) loses(w, x *write) bool {
	return !s.opt.Rows || s.isDelete(w) == s.isDelete(x)
}

// ReplacedBy is the ValueKey of what n read of the key and replaced, 0 if it is not known.
func (s *registers) ReplacedBy(n uint32, key string) uint64 {
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		if w := &s.writes[id]; !w.blind && w.pred != 0 && s.Key(w.version) == key {
			return s.valueKey(w.pred)
		}
	}
	return 0
}

// EachReplaced calls fn with the transactions that read and replaced v, the latest first, and the
// version that each wrote. It stops when fn returns false.
func (s *registers) EachReplaced(v uint32, fn func(n, version uint32) bool) {
	for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
		if w := &s.writes[id]; !w.blind && !fn(w.txn, w.version) {
			return
		}
	}
}

// ofUnknownOutcome says whether n counts, its outcome is unknown, and nothing in memory shows
// that it took effect. It has retired and cannot be taken back.
func (s *registers) ofUnknownOutcome(n uint32) bool {
	return s.txns[n].flags&unknown != 0 && !s.observedSome(n)
}

// divergeFromOthers reports the transactions that overwrote the same version as id, and asked for
// another level. Their edges are given one by one.
func (s *registers) divergeFromOthers(id uint32) {
	w := &s.writes[id]
	asked := s.txns[w.txn].asked
	for o := w.nextOver; o != 0; o = s.writes[o].nextOver {
		if x := &s.writes[o]; !x.blind && s.txns[x.txn].asked != asked && !s.ofUnknownOutcome(x.txn) && s.loses(w, x) {
			s.anomaly(Anomaly{Kind: Divergence, A: w.txn, B: x.txn, Version: w.pred, Certain: true})
		}
	}
}

// countRoots counts a key as unordered once its versions have two roots: then
// the order between their descendants is unknown.
func (s *absences) countRoots(k uint32) {
	x := &s.keys[k]
	if x.flags&(uncheckable|unordered) != 0 || x.flags&(element|deleted) == element {
		return // in whichever order an element is added, it is there
	}
	numbered := x.flags&element != 0 || x.base != partlyOrdered // those with a number have their order
	if id := s.versions[x.initial].over; numbered && id != 0 && s.isOrdered(s.writes[id].version) {
		if next := s.writes[id].nextOver; next != 0 && s.isOrdered(s.writes[next].version) {
			return // one more version with a number changes nothing
		}
	}
	roots, fromInitial, given := 0, 0, 0
	if x.flags&hasBaseline != 0 {
		roots++
	}
	if s.versions[x.initial].flags&overwritten != 0 && x.kind != event.List {
		fromInitial = 1 // by a transaction that has left memory
	}
	for id := s.versions[x.initial].over; id != 0 && roots < 2; id = s.writes[id].nextOver {
		switch w := &s.writes[id]; {
		case s.isOrdered(w.version):
			given++
		case w.blind:
			roots++
		default:
			fromInitial = 1
		}
	}
	if given > 0 && numbered {
		fromInitial, given = 1, 0
	}
	if roots+fromInitial+given >= 2 {
		x.flags |= unordered
		s.Counters.Unordered++
		if x.flags&sums != 0 {
			s.kindsAbove.Counter.Loosen(k)
		}
	}
}

// withdrawOverwrite takes a write record out of its predecessor's list.
func (s *orders) withdrawOverwrite(id uint32) {
	w := &s.writes[id]
	if w.pred == 0 {
		return
	}
	if w.prevOver == 0 {
		s.versions[w.pred].over = w.nextOver
	} else {
		s.writes[w.prevOver].nextOver = w.nextOver
	}
	if w.nextOver != 0 {
		s.writes[w.nextOver].prevOver = w.prevOver
	}
	w.pred, w.nextOver, w.prevOver = 0, 0, 0
}
