package infer

import "github.com/isowatch/isowatch/internal/pattern"

// Cause precedes effect. A transaction that began when a reader had ended, by more than the
// clock drift, did not write the value that was read. And if a value was replaced and another
// transaction read it later, it came back. Where the contract leaves another explanation, such
// a version names no writer. It is a sign that values of its pattern repeat (docs/proofs.md,
// section 2, *Do values name their writers?*).

// causal says whether time shows that a transaction did not read from some writer. It does where the
// contract leaves another explanation than a writer that began after the reader had ended.
func (o *Options) causal() bool { return o.plain() || o.Existing || o.UnmonitoredWriters }

// addedUnseen says whether v is an element of a set, and somebody may have added it without a record.
// Elements are added again, whatever names the writer of a value. So a transaction that adds the
// element later is not the one that an earlier reader saw.
func (s *causes) addedUnseen(v uint32) bool {
	o := &s.opt
	return (o.Existing || o.UnmonitoredWriters || !o.Complete) && s.keys[s.versions[v].key].flags&element != 0
}

// addedAgain says whether v is an element of a set, and somebody may have added it again without a
// record after it was removed.
func (s *causes) addedAgain(v uint32) bool {
	return s.keys[s.versions[v].key].flags&element != 0 && (s.opt.UnmonitoredWriters || !s.opt.Complete)
}

// Readded says whether e is the anti-dependency of a transaction that found an element of a set, and
// the other one removed it. Or a read of the element forces e, from its remover to its adder. Somebody
// may have added the element again without a record.
func (s *causes) Readded(e *Edge) bool {
	if e.Label&Saturated != 0 {
		return s.MayBeReadded(e.Version)
	}
	v := e.Version
	if e.Label&RW == 0 || v == 0 || !s.addedAgain(v) {
		return false
	}
	return !s.showsElement(v) // not one who added it
}

// showsElement says whether v, a version of an element of a set, says that the set has the element.
func (s *causes) showsElement(v uint32) bool {
	k := &s.keys[s.versions[v].key]
	return elementHash(s.keys[k.set()].hash, s.versions[v].hash) == k.hash
}

// MayBeReadded says whether v is an element of a set that is there, and somebody may have added it
// again without a record. Then a reader of the element may have read after a remove.
func (s *causes) MayBeReadded(v uint32) bool { return v != 0 && s.addedAgain(v) && s.showsElement(v) }

// readBefore says whether reader, who read v, had ended when the writer of v began. Then it did not
// read from that writer, or may not have. It takes the sign. Cause precedes effect by event times and
// session order, never by the order of arrival.
func (s *causes) readBefore(v, writer, reader uint32) bool {
	if writer == reader || s.keys[s.versions[v].key].flags&versioned != 0 {
		return false
	}
	w, r := &s.txns[writer], &s.txns[reader]
	if r.state == aborted && s.retried(v) {
		return false // it may have aborted since it had read of the first try
	}
	behind := beforeInSession(r, w)
	if w.flags&r.flags&hasTimes != 0 && w.start > r.end {
		if w.start-r.end <= s.opt.ClockDrift && !behind {
			return s.opt.plain()
		}
		behind = true
	}
	if behind {
		s.sign(s.versions[v].key, pattern.LateWriter)
	}
	return behind
}

// mayComeBack says whether somebody without a record may have written a value of the key k again, though
// its pattern has not shown it yet. For elements of sets see addedAgain.
func (s *causes) mayComeBack(k uint32) bool {
	return s.opt.strangers() && (s.opt.UnmonitoredWriters || s.keys[k].flags&element == 0)
}

// cameBack says whether reader read v when a transaction that had read and replaced v was over.
// It must be over by session order, or by more than the clock drift. replaced says that reader
// wrote the key too.
func (s *causes) cameBack(v, over, reader uint32, replaced bool) bool {
	if !s.mayComeBack(s.versions[v].key) || s.keys[s.versions[v].key].flags&versioned != 0 {
		return false
	}
	o, r := &s.txns[over], &s.txns[reader]
	if over == reader || r.state == aborted || o.flags&unknown != 0 {
		return false
	}
	behind := o.flags&r.flags&hasTimes != 0 && r.start > o.end && r.start-o.end > s.opt.ClockDrift
	if !behind && !beforeInSession(o, r) {
		return false
	}
	if replaced {
		s.sign(s.versions[v].key, pattern.CameBack)
	}
	return true
}

// nobodyKnown says whether no known transaction wrote v, where one without a record may have:
// then v names no version, until its writer is known.
func (s *absences) nobodyKnown(v uint32) bool {
	x := &s.versions[v]
	return s.opt.strangers() && x.flags&initialVersion == 0 && x.writer == 0 && x.possible == 0 && s.keys[x.key].flags&versioned == 0
}

// readBeforeAll is readBefore of all who read v. O(readers).
func (s *causes) readBeforeAll(v, writer uint32) bool {
	if !s.opt.causal() && !s.addedUnseen(v) {
		return false
	}
	before := false // by less than the drift, perhaps; another one may be a sign
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		x := &s.readers[r]
		replaced := s.opt.blindIsAmbiguous() && (x.overwrote || s.lastOf(x.txn, s.versions[v].key) != 0)
		before = s.readBefore(v, writer, x.txn) || replaced && s.signs.stood.before(s, v, writer, x.txn, true) || before
	}
	if before = s.glimpsedBefore(v, writer) || before; before {
		return true
	}
	if s.versions[v].flags&(seen|lateReaders) != 0 && (s.opt.strangers() || s.addedUnseen(v)) {
		// A retired transaction had ended as well. Or the record is late, and proves nothing.
		if w := &s.txns[writer]; s.opt.strangers() && w.flags&hasTimes != 0 && w.start-s.signs.endRetired > s.opt.ClockDrift {
			s.sign(s.versions[v].key, pattern.LateWriter)
		}
		return true
	}
	return false
}

// replacedBefore says whether a reader of v began when another transaction was over that had read and
// replaced v. This other transaction is n, which is about to replace v, or one that came earlier.
// O(readers).
func (s *causes) replacedBefore(v, n uint32) (back bool) {
	if !s.mayComeBack(s.versions[v].key) {
		return false
	}
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		if x := &s.readers[r]; s.cameBack(v, n, x.txn, x.overwrote || s.lastOf(x.txn, s.versions[v].key) != 0) {
			back = true
		}
	}
	return s.glimpsedBack(v, n) || back
}

// replacedTwice takes a sign. Two transactions read and replaced v, and one was over when the other
// began. One of them is n, which is about to replace v. The other one came earlier. O(readers).
func (s *causes) replacedTwice(v, n uint32) {
	if !s.mayComeBack(s.versions[v].key) || s.retried(v) {
		return
	}
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		x := &s.readers[r]
		if x.overwrote || s.lastOf(x.txn, s.versions[v].key) != 0 {
			s.cameBack(v, n, x.txn, true)
			s.cameBack(v, x.txn, n, true)
		}
	}
	s.glimpsedBack(v, n)
}

// writtenLate takes the sign that a reader of v was over when n, which wrote it, began.
// O(readers).
func (s *causes) writtenLate(v, n uint32) {
	if !s.opt.Observed || s.retried(v) {
		return
	}
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		s.readBefore(v, n, s.readers[r].txn)
	}
	s.glimpsedBefore(v, n)
}

// readEarly takes the sign that n, which read v, was over when a writer of it began.
// O(writers).
func (s *causes) readEarly(v, n uint32) {
	if !s.opt.Observed || s.retried(v) {
		return
	}
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if w := s.writes[id].txn; s.txns[w].state != aborted {
			s.readBefore(v, w, n)
		}
	}
}

// retried says whether v has several writers, and one of them aborted or has an unknown
// outcome.
func (s *causes) retried(v uint32) bool {
	several, failed := false, false
	first := uint32(0)
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		w := s.writes[id].txn
		if first == 0 {
			first = w
		}
		several = several || w != first
		failed = failed || s.txns[w].state != counted || s.txns[w].flags&unknown != 0
	}
	return several && failed
}

// goneBefore takes a sign. n replaced v, and v's writer is not in memory. But a transaction had
// written v, and others had replaced it, and they have left memory.
func (s *causes) goneBefore(v, n uint32) {
	if s.versions[v].flags&unrecorded != 0 && s.beganAfterRetired(s.versions[v].key, n) && s.values.has(s.valueKey(v)) {
		s.sign(s.versions[v].key, pattern.CameBack)
	}
}

// beganAfterRetired says whether n began when all who have retired were over, and what it
// replaced of the key k may have come back.
func (s *causes) beganAfterRetired(k, n uint32) bool {
	return s.mayComeBack(k) && s.txns[n].flags&hasTimes != 0 && s.txns[n].start-s.signs.endRetired > s.opt.ClockDrift
}

// notThat says whether the read of v by n, which replaced it or not, cannot be of the one
// version that v is taken for.
func (s *causes) notThat(v, n uint32, replaced bool) bool {
	x := &s.versions[v]
	if x.writer != 0 && (s.opt.causal() || s.addedUnseen(v)) && (s.readBefore(v, x.writer, n) || replaced && s.signs.stood.before(s, v, x.writer, n, true)) {
		return true
	}
	if s.addedAgain(v) && (x.flags&old != 0 || s.isOrdered(v) && s.txns[s.versions[s.knownAfter(v)].writer].flags&retired != 0) {
		return true // a transaction that has retired removed it
	}
	for id := x.over; id != 0; id = s.writes[id].nextOver {
		if w := &s.writes[id]; !w.blind && s.cameBack(v, w.txn, n, replaced) {
			return true
		}
	}
	return false
}
