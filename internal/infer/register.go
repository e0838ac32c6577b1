package infer

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// touchOf is the note of what the transaction in work did to k.
func (s *registers) touchOf(k uint32) *touch {
	x := &s.keys[k]
	if x.stamp == s.stamp {
		return &s.touches[x.touch]
	}
	x.stamp, x.touch = s.stamp, uint32(len(s.touches))
	if len(s.touches) == cap(s.touches) {
		s.touches = append(s.touches, touch{})[:len(s.touches)]
	}
	s.touches = s.touches[:len(s.touches)+1]
	c := &s.touches[len(s.touches)-1]
	*c = touch{}
	c.key = k
	return c
}

// beginTouching begins the work on another transaction: no key was touched.
func (s *registers) beginTouching() {
	if s.stamp++; s.stamp == 0 { // around after 2^32 transactions: no key may look touched
		for k := range s.keys {
			s.keys[k].stamp = 0
		}
		s.stamp = 1
	}
	s.touches = s.touches[:0]
}

// count makes n, with the operations of t, part of the history.
func (s *kinds) count(b *event.Batch, t *event.Txn, n uint32) {
	s.out.Nodes = append(s.out.Nodes, n)
	if s.opt.TrustCommitTS {
		s.commitTS = s.commitNumber(t)
	}
	s.beginTouching()
	s.own = s.own[:0]
	ops := b.OpsOf(t)
	ranges := slices.ContainsFunc(ops, func(o event.Op) bool { return o.Kind == event.Range })
	for i := range ops { // a row names the versions of its key for all operations of the transaction on that key
		if o := &ops[i]; o.Kind == event.Range {
			s.tellByRows(b, t, o)
		} else if ranges && tells(b, o) {
			if k := s.keyOf(b, t, o); s.settleKind(k, o) {
				s.tellVersion(k)
			}
		}
	}
	for i := range ops {
		o := &ops[i]
		if s.firstRead(i, o, n) {
			continue
		}
		k := s.plannedKey(i)
		if k == 0 {
			k = s.keyOf(b, t, o)
		} else {
			s.keys[k].flags |= used
		}
		if x := &s.keys[k]; x.kind == event.Register && o.Kind <= event.Write && o.Data <= event.Register && x.flags&(unsupported|versioned) == 0 && o.Flags&event.HasExtra == 0 {
			if c := s.touchOf(k); o.Kind == event.Write {
				s.write(c, n, uint32(i), o.ValueHash)
			} else {
				s.readRegister(c, n, uint32(i), o)
			}
			continue
		}
		if !s.settleKind(k, o) {
			s.uncheckedOp(b, n, k, o)
			s.noteParted(k, n, o)
			continue
		}
		if tells(b, o) {
			s.tellVersion(k)
		}
		if o.Kind > event.Append || s.keys[k].kind > event.List || o.Data > event.List || s.keys[k].flags&versioned != 0 && s.byVersionOnly(k, o) {
			s.countOther(b, t, n, uint32(i), k, o)
			continue
		}
		c := s.touchOf(k)
		switch {
		case o.Kind == event.Write:
			s.write(c, n, uint32(i), o.ValueHash)
		case o.Kind == event.Append:
			s.append(c, n, uint32(i), o.ValueHash)
		case s.keys[k].kind == event.List || o.Flags&event.IsArray != 0 && s.keys[k].kind != event.Register:
			s.readList(b, c, n, uint32(i), o)
		default:
			s.readRegister(c, n, uint32(i), o)
		}
	}
	s.linkScans()
	s.signs.stood.take(&s.causes, n)
	for i := range s.touches {
		if c := &s.touches[i]; c.flags == hasRead|plain {
			s.saw(c.readVer, n, c.readOp, false)
		} else {
			s.install(c, n)
		}
	}
	if len(s.counted) > 0 {
		s.sumUp()
	}
	if s.opt.Linear {
		s.lineUp(n)
	}
	s.linkSession(n)
	if s.opt.Ordered && s.opt.partly() {
		s.visitKeys(n)
	}
}

// write takes a register write. Only the last one of a key is installed; a value
// that the transaction writes again is one version.
func (s *registers) write(c *touch, n, op uint32, h event.Hash) {
	if s.keys[c.key].flags&repeats != 0 {
		c.writeDuplicate(h)
		return
	}
	v := s.plannedVersion(op, c.key, h)
	if c.flags&wrote != 0 {
		s.writes[c.lastWrite].intermediate = true
		s.versions[s.writes[c.lastWrite].version].flags |= overwrittenByWriter
	}
	absent := c.flags&readNothing != 0 || c.flags&wrote != 0 && s.writes[c.lastWrite].absent
	c.current = h
	c.flags = c.flags&^removed | wrote
	if id := s.wroteNow(n, v); id != 0 {
		s.writes[id].op, s.writes[id].intermediate = op, false
		c.lastWrite = id
		return
	}
	s.pin(n)
	c.lastWrite = s.addWrite(n, v, op)
	s.writes[c.lastWrite].unread, s.writes[c.lastWrite].absent = c.flags&hasRead == 0, absent
	s.pushOwn(c, h)
}

// pushOwn notes the latest write record of c as one of the transaction in work.
func (s *registers) pushOwn(c *touch, h event.Hash) {
	if len(s.own) == cap(s.own) {
		s.own = append(s.own, own{})[:len(s.own)]
	}
	s.own = s.own[:len(s.own)+1]
	o := &s.own[len(s.own)-1]
	o.hash, o.write, o.prev, o.next = h, c.lastWrite, c.lastOwn, 0
	i := uint32(len(s.own))
	if c.lastOwn != 0 {
		s.own[c.lastOwn-1].next = i
	} else {
		c.firstOwn = i
	}
	c.lastOwn = i
}

// wroteNow is writeOf for the transaction in work, whose record nobody's is ahead
// of. O(1).
func (s *registers) wroteNow(n, v uint32) uint32 {
	if id := s.versions[v].writes; id != 0 && s.writes[id].txn == n {
		return id
	}
	return 0
}

// writeOf is the record of n's write of v, 0 if there is none.
func (s *causes) writeOf(n, v uint32) uint32 {
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if s.writes[id].txn == n {
			return id
		}
	}
	return 0
}

// wroteIn says whether v is among the versions that the transaction in work wrote.
func (s *registers) wroteIn(c *touch, v uint32) bool {
	for i := c.firstOwn; i != 0; i = s.own[i-1].next {
		if s.writes[s.own[i-1].write].version == v {
			return true
		}
	}
	return false
}

func (s *registers) readRegister(c *touch, n, op uint32, o *event.Op) {
	if o.Nothing() && s.txns[n].flags&unknown != 0 {
		return // what it saw is not known
	}
	if o.ValueHash == emptyArray && o.Flags&event.IsArray != 0 {
		if v := s.lookupVersion(c.key, emptyArray); v == 0 || s.versions[v].writes == 0 {
			s.Counters.Ambiguous++ // perhaps a list, and only its deletion is known
			s.readOpen(n, OpenUnrecorded)
			return
		}
	}
	s.readValue(c, n, op, o.ValueHash, o.Flags&event.NotFound != 0)
}

// readValue takes a read that found a value, or nothing.
func (s *registers) readValue(c *touch, n, op uint32, h event.Hash, nothing bool) {
	switch {
	case s.keys[c.key].flags&repeats != 0:
		s.readDuplicate(c, n, op, h, nothing)
	case nothing && s.txns[n].flags&unknown != 0: // what it saw is not known
	case c.flags&misread != 0 && c.flags&wrote == 0: // reported once
		s.sawAnother(c, n, op, h, nothing)
	case c.flags&wrote != 0:
		s.readOwn(c, n, op, h, nothing)
	case c.flags&hasRead != 0:
		if nothing != (c.flags&readNothing != 0) || h != c.readHash {
			if !nothing && c.flags&readNothing == 0 && (s.ofRow(c.key, h) || s.ofRow(c.key, c.readHash)) {
				s.readRow(n)
				return
			}
			s.misreads(Nonrepeatable, c, n, op, 0)
			s.sawAnother(c, n, op, h, nothing)
		} else {
			s.sawAgain(c.readVer, n)
		}
	default:
		c.flags |= hasRead
		c.readHash, c.readOp = h, op
		var v uint32
		if nothing {
			c.flags |= readNothing
			s.foundNothing(c.key)
			s.mayHaveBeenDeleted(c.key)
			if s.absentUnknown(c.key) {
				s.countAbsent()
				s.readOpen(n, OpenNothing)
				return
			}
			v = s.absent(c.key)
		} else {
			v = s.plannedVersion(op, c.key, h)
			if s.opt.Observed {
				s.countRead(c.key)
				s.nobody(v)
			}
		}
		c.readVer = v
		s.addReader(n, v, op)
	}
}

// readOwn is a read behind a write of the same transaction. A difference is reported once. It is
// reported also if the transaction had misread the key before it wrote it, since weaker levels forbid
// this. An empty read behind an own delete may tell no version, though the delete told one.
func (s *absences) readOwn(c *touch, n, op uint32, h event.Hash, nothing bool) {
	if nothing && c.lastWrite != 0 && s.isDelete(&s.writes[c.lastWrite]) {
		return
	}
	if c.flags&ownMissed == 0 && (nothing != (c.flags&removed != 0) || !nothing && h != c.current) {
		if !nothing && c.flags&removed == 0 && s.ofRow(c.key, h) {
			s.readRow(n)
			return
		}
		s.misreads(Internal, c, n, op, 0)
	}
}

// ofOwnRow says whether the transaction in work has written this version at another column of c's
// row, and nobody at c's key.
func (s *registers) ofOwnRow(c *touch, version event.Hash) bool {
	if len(s.own) == 0 || !s.unwrittenHere(c.key, version) {
		return false
	}
	row, column := s.columnOf(c.key)
	for i := range s.own {
		if s.own[i].hash != version || column == 0 {
			continue
		}
		other := s.versions[s.writes[s.own[i].write].version].key
		if r, o := s.columnOf(other); o != 0 && r == row && o != column {
			s.signs.patterns.Get(s.keys[c.key].pattern).OfRows = true
			return true
		}
	}
	return false
}

// foundNothing notes that k had no value. So the value that was taken as older than the first record
// was not there. Or a writer without a record wrote it in between.
func (s *registers) foundNothing(k uint32) {
	x := &s.keys[k]
	if x.flags&foundNothing != 0 {
		return
	}
	if x.flags&hasBaseline != 0 {
		s.Counters.Unattributed++
	}
	x.flags |= foundNothing
}

// misreads reports a read that contradicts the transaction's own operations. See
// [State.enclosing] about the other transaction.
func (s *absences) misreads(kind AnomalyKind, c *touch, n, op, other uint32) {
	c.flags |= misread
	if kind == Internal {
		c.flags |= ownMissed
	}
	a := Anomaly{Kind: kind, A: n, B: other, OpA: op, Certain: true}
	if k := &s.keys[c.key]; k.kind != event.List { // which the operation need not name
		a.Version = k.initial
	}
	s.anomaly(a)
}

// install ends the work on one key: the edges of the first external read and
// of the last write.
func (s *kinds) install(c *touch, n uint32) {
	k := &s.keys[c.key]
	if k.flags&repeats != 0 {
		return
	}
	if k.kind == event.List {
		s.installList(c, n)
		return
	}
	if c.flags&wrote == 0 {
		if c.readVer != 0 {
			s.saw(c.readVer, n, c.readOp, false)
		}
		return
	}
	if c.readVer != 0 && s.wroteIn(c, c.readVer) {
		// Its read and its write are two versions of one value, or it read the future.
		s.makeAmbiguous(c.readVer)
		if !s.values.has(s.valueKey(c.readVer)) { // else a transaction that has left memory may have written it
			s.suspectFuture(c.readVer, n, c.readOp)
		}
	}
	if c.flags&(wrote|misread) == wrote|misread {
		s.sawOwnFuture(c, n)
	}
	if c.readVer != 0 {
		s.saw(c.readVer, n, c.readOp, k.flags&versioned == 0 || c.readLen == 0)
	}
	pred := c.readVer
	if k.flags&versioned != 0 && c.readLen != 0 { // the write names the version that it replaced, and the transaction had read another one
		pred = c.readLen
		if s.wroteIn(c, pred) { // it names a version that it wrote itself
			s.makeAmbiguous(pred)
		}
		s.saw(pred, n, c.readOp, true)
	}
	if pred != 0 && s.versions[pred].flags&initialVersion == 0 && s.opt.Observed {
		s.goneBefore(pred, n)
		if s.versions[pred].names() {
			if s.replacedBefore(pred, n) {
				s.makeAmbiguous(pred)
			}
		} else {
			s.replacedTwice(pred, n)
		}
	}
	rmw := pred != 0 && s.versions[pred].names()
	if k.flags&element != 0 && c.readVer == k.initial {
		rmw = false // to add an element that is there already changes nothing
	}
	for i := c.firstOwn; i != 0; i = s.own[i-1].next {
		id := s.own[i-1].write
		v := s.writes[id].version
		s.possibleWriter(v, n)
		s.recorded(v, n)
		if s.versions[v].flags&ambiguous == 0 {
			if s.opt.TrustCommitTS && s.commitTS != math.MinInt64 && s.versions[v].possible == 1 && !s.numeric(c.key) {
				s.number(c.key, v, n, s.commitTS)
			}
			s.settleRegister(v, n)
		} else {
			s.writtenLate(v, n)
		}
	}
	if w := s.writes[c.lastWrite].version; s.versions[w].flags&tombstone != 0 {
		s.deletedRow(c.key, w)
	}
	if s.opt.Ordered && rmw {
		s.checkStep(n, pred, s.writes[c.lastWrite].version)
	}
	if rmw {
		s.overwrite(c.lastWrite, pred, false)
	} else {
		s.overwrite(c.lastWrite, k.initial, true)
	}
	if s.opt.Ordered && s.opt.partly() {
		s.versionCycleBy(c.lastWrite)
	}
}

// saw gives the edges of n's read of v: from the writer of v, and to the transactions that overwrote v.
func (s *registers) saw(v, n, op uint32, rmw bool) {
	x := &s.versions[v]
	if x.writer == 0 || x.writes == 0 || x.over != 0 || x.flags&(ambiguous|initialVersion|old|overwrittenByWriter) != 0 || s.opt.Ordered {
		s.sawOld(v, n, op, rmw)
		return
	}
	if (s.opt.causal() || s.addedUnseen(v)) && (s.readBefore(v, x.writer, n) || rmw && s.signs.stood.before(&s.causes, v, x.writer, n, true)) {
		s.makeAmbiguous(v)
		return
	}
	label := WR
	if rmw {
		label = s.replacing(v, n)
	}
	s.signs.stood.readFrom(&s.causes, v, n, label)
}

// sawOld is saw for all versions, whatever became of them.
func (s *registers) sawOld(v, n, op uint32, rmw bool) {
	x := &s.versions[v]
	if x.possible == 0 && x.flags&(initialVersion|ambiguous) == 0 && s.twice.has(s.valueKey(v)) {
		s.mark(v, ambiguous, 0)
	}
	if x.flags&(ambiguous|initialVersion) == 0 && s.notThat(v, n, rmw) {
		s.makeAmbiguous(v)
		return
	}
	if x.flags&ambiguous != 0 {
		s.readEarly(v, n)
		s.countAmbiguous(v)
		return
	}
	if x.flags&initialVersion == 0 {
		switch {
		case x.writer != 0:
			label := WR
			if rmw && (x.flags&overwrittenByWriter == 0 || s.installed(v)) && !s.beginsRow(v) {
				label = s.replacing(v, n)
			}
			s.signs.stood.readFrom(&s.causes, v, n, label)
			if x.flags&overwrittenByWriter != 0 {
				s.intermediateRead(v, n, op)
			}
		case x.possible == 1:
			s.promoteWriter(v)
		default:
			s.await(v, n, op)
		}
	}
	if x.flags&old != 0 {
		s.anomaly(Anomaly{Kind: RetiredRead, A: n, OpA: op, Version: v})
	}
	if s.opt.Ordered {
		s.sawOrdered(v, n)
	}
	for id := x.over; id != 0 && x.flags&unrecorded == 0 && !(rmw && s.NamedOnly(v, n)); id = s.writes[id].nextOver {
		if !rmw || s.writes[id].blind || s.txns[s.writes[id].txn].asked != s.txns[n].asked { // else n diverges from the others: see overwrite
			s.edge(n, s.writes[id].txn, RW, s.writes[id].version, 0)
		}
	}
}

// promoteWriter queues the tentative writer of v, which was just observed.
func (s *registers) promoteWriter(v uint32) {
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if t := s.writes[id].txn; s.txns[t].state == tentative {
			s.promote = append(s.promote, t)
		}
	}
}

// intermediateRead reports G1b: n read a version that its writer overwrote
// itself (Elle, section 4.1; Adya's G1b).
func (s *registers) intermediateRead(v, n, op uint32) {
	w := s.versions[v].writer
	if s.versions[v].flags&overwrittenByWriter == 0 || w == n || w == 0 {
		return
	}
	if s.stoodBefore(v, w, n) {
		return
	}
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if x := &s.writes[id]; x.txn == w && x.intermediate {
			s.anomaly(Anomaly{Kind: G1b, A: n, B: w, Version: v, OpA: op, Certain: true})
		}
	}
}

// stoodBefore says whether v is an element of a set, and n may have found it there before w added it.
func (s *registers) stoodBefore(v, w, n uint32) bool {
	return s.keys[s.versions[v].key].flags&element != 0 && s.signs.stood.before(&s.causes, v, w, n, false)
}

// EachIntermediateRead calls fn with what [State] reports of reads of v, a register's
// version that its one writer overwrote itself.
func (s *registers) EachIntermediateRead(v uint32, fn func(a Anomaly)) {
	x := &s.versions[v]
	if !s.SureRegister(v) || x.flags&overwrittenByWriter == 0 || x.writer == 0 {
		return
	}
	if id := s.writeOf(x.writer, v); id == 0 || !s.writes[id].intermediate {
		return
	}
	for r := x.readers; r != 0; r = s.olderReader(r) {
		if n := s.readers[r].txn; n != x.writer && !s.stoodBefore(v, x.writer, n) {
			fn(Anomaly{Kind: G1b, A: n, B: x.writer, Version: v, OpA: s.readers[r].op, Certain: true})
		}
	}
}

// left says whether n, whose writes are not settled so far, left v in its key.
func (s *orders) left(n, v uint32) bool {
	id := s.writeOf(n, v)
	return id != 0 && !s.writes[id].intermediate
}

// installed says whether the writer of v left it in the key. A version that the writer
// overwrote itself gives no order of versions. A transaction that read it and wrote the key may
// have come before the last one.
func (s *orders) installed(v uint32) bool {
	if s.versions[v].flags&overwrittenByWriter == 0 {
		return true
	}
	id := s.writeOf(s.versions[v].writer, v)
	return id != 0 && !s.writes[id].intermediate
}
