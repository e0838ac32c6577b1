package infer

import (
	"math/bits"

	"github.com/isowatch/isowatch/event"
)

// nextPrefix is the hash of a list that is one element longer. Two lists with
// the same hash and length are taken as equal (64 bits, compared only within a
// key).
func nextPrefix(h uint64, e event.Hash) uint64 {
	return bits.RotateLeft64((h^e.Lo)*0x9e3779b97f4a7c15, 29) + e.Hi
}

func (s *lists) append(c *touch, n, op uint32, h event.Hash) {
	if c.flags&wrote != 0 {
		s.writes[c.lastWrite].intermediate = true
		s.versions[s.writes[c.lastWrite].version].flags |= overwrittenByWriter
	}
	v := s.internVersion(c.key, h)
	if c.flags&wrote != 0 {
		s.versions[v].flags |= behindOwn
	}
	s.pin(n)
	c.lastWrite = s.addWrite(n, v, op)
	c.flags |= wrote
	s.pushOwn(c, h)
}

// readList takes a read of a list: own appends must be its end, and what is
// before them is the external read.
func (s *lists) readList(b *event.Batch, c *touch, n, op uint32, o *event.Op) {
	if o.Nothing() && s.txns[n].flags&unknown != 0 {
		return // what it saw is not known
	}
	var elems []event.Elem
	if o.Flags&event.NotFound == 0 {
		if o.Flags&event.IsArray == 0 {
			s.giveUp(c.key)
			s.readUnchecked(n, c.key)
			return
		}
		elems = b.ElemsOf(o)
	}
	if c.flags&ownMissed != 0 {
		return // reported once
	}
	i := c.lastOwn
	for ; i != 0; i = s.own[i-1].prev {
		k := len(elems)
		if k == 0 || elems[k-1].Hash != s.own[i-1].hash {
			s.misreads(Internal, c, n, op, s.enclosing(c, b.ElemsOf(o)))
			return
		}
		elems = elems[:k-1]
	}
	if c.flags&misread != 0 {
		return // reported once
	}
	h := s.hashPrefixes(elems)
	if c.flags&hasRead != 0 {
		if c.readLen != uint32(len(elems)) || c.readHash.Lo != h {
			s.misreads(Nonrepeatable, c, n, op, 0)
		} else {
			s.sawAgain(c.readVer, n)
		}
		return
	}
	c.flags |= hasRead
	c.readLen, c.readHash.Lo, c.readOp = uint32(len(elems)), h, op
	if s.afterUnseen(c.key, elems) {
		s.countAbsent()
		s.readOpen(n, OpenNothing)
		return
	}
	c.readVer = s.show(c.key, elems, n, op)
	if c.readVer != 0 {
		s.addReader(n, c.readVer, op)
	} else {
		s.reads.Total++
	}
}

// enclosing is the transaction that appended the elements right before and right behind some
// appends of the transaction in work, 0 if there is none. Elle takes the list for the order of
// the appends all the same, and this for a write cycle.
func (s *lists) enclosing(c *touch, elems []event.Elem) uint32 {
	if len(elems)*len(s.own) > maxEnclosed {
		return 0
	}
	before, own := uint32(0), false
	for i := range elems {
		if s.appendedBy(c, elems[i].Hash) {
			own = true
			continue
		}
		w := uint32(0)
		if v := s.lookupVersion(c.key, elems[i].Hash); v != 0 {
			w = s.versions[v].writer
		}
		if own && w != 0 && w == before {
			return w
		}
		before, own = w, false
	}
	return 0
}

// maxEnclosed bounds the comparisons for one misread list.
const maxEnclosed = 1 << 16

// appendedBy says whether the transaction in work appended the element.
func (s *lists) appendedBy(c *touch, h event.Hash) bool {
	for i := c.lastOwn; i != 0; i = s.own[i-1].prev {
		if s.own[i-1].hash == h {
			return true
		}
	}
	return false
}

// hashPrefixes fills s.prefixes with the hash of every prefix of elems, prefixes[i] for the
// first i, and returns the last.
func (s *lists) hashPrefixes(elems []event.Elem) uint64 {
	s.prefixes = append(s.prefixes[:0], 0)
	h := uint64(0)
	for i := range elems {
		h = nextPrefix(h, elems[i].Hash)
		s.prefixes = append(s.prefixes, h)
	}
	return h
}

// show compares a list read with the spine of its key, and extends the spine by the elements
// that the read shows beyond it. It returns the version of the last element. It is 0 when the
// read contradicts the spine or is older than the kept part.
func (s *lists) show(k uint32, elems []event.Elem, n, op uint32) uint32 {
	x := &s.keys[k]
	count := uint32(len(elems))
	if count < x.base || count == x.base && s.versions[x.initial].flags&overwritten != 0 {
		s.oldState(k, elems, n, op)
		return 0
	}
	if count == 0 {
		return x.initial
	}
	same := min(count, x.length)
	for same > x.base {
		if v := s.elementAt(k, elems[same-1].Hash, same); v != 0 && s.versions[v].prefix == s.prefixes[same] {
			break
		}
		same--
	}
	if same == x.base && x.base > 0 && s.prefixes[same] != x.basePrefix {
		s.oldState(k, elems, n, op) // the list begins otherwise than the frozen list
		return 0
	}
	if same < min(count, x.length) {
		s.contradict(k, elems, same, n, op)
		return 0
	}
	if count > x.length {
		s.extend(k, elems, n, op)
	}
	if same == count {
		if same == 0 {
			return x.initial
		}
		return s.elementAt(k, elems[same-1].Hash, same)
	}
	return s.keys[k].last
}

// elementAt is the version of the spine with this value at the position, 0 if
// another one is there.
func (s *lists) elementAt(k uint32, h event.Hash, position uint32) uint32 {
	if v := s.lookupVersion(k, h); v != 0 && s.versions[v].index == position {
		return v
	}
	if v := s.lookupVersion(k, standIn(h, position)); v != 0 && s.versions[v].index == position {
		return v
	}
	return 0
}

// standIn is the value of what is put into the spine for a repeated element.
func standIn(h event.Hash, position uint32) event.Hash {
	return event.Hash{Lo: h.Lo + uint64(position)*0x9e3779b97f4a7c15, Hi: ^h.Hi}
}

// contradict reports a read that shows another element than the spine behind the first same
// ones. The read did see its last element.
func (s *lists) contradict(k uint32, elems []event.Elem, same, n, op uint32) {
	v := s.keys[k].last
	for s.versions[v].index > same+1 {
		v = s.versions[v].prev
	}
	s.anomaly(Anomaly{Kind: IncompatibleOrder, A: n, B: s.versions[v].witness, Version: v, OpA: op, Certain: true})
	if last := s.lookupVersion(k, elems[len(elems)-1].Hash); last != 0 {
		if w := s.versions[last].writer; w != 0 && s.beganBehind(w, n) && s.attemptOpen(last, n) {
			s.triesAgain(w)
		} else if w != 0 {
			s.edge(w, n, WR, last, 0)
		}
	}
}

// extend places the elements that the read of n shows beyond the spine.
func (s *lists) extend(k uint32, elems []event.Elem, n, op uint32) {
	old := s.keys[k].length
	for i := int(old); i < len(elems); i++ {
		v := s.internVersion(k, elems[i].Hash)
		if s.versions[v].flags&placed != 0 {
			s.suspectDuplicate(v, n, op)
			s.shownAgain(v)
			// A stand-in keeps the positions behind it right.
			v = s.internVersion(k, standIn(elems[i].Hash, uint32(i+1)))
			s.versions[v].flags |= baseline
		}
		s.place(k, v, n, s.prefixes[i+1])
	}
	first := s.keys[k].last
	for s.versions[first].index > old+1 {
		first = s.versions[first].prev
	}
	for v := first; v != 0; v = s.versions[v].next {
		x := &s.versions[v]
		switch {
		case x.writer != 0:
			s.connect(v, old)
		case x.flags&ambiguous != 0: // counted
		case x.possible == 1:
			s.promoteWriter(v)
		case x.flags&baseline == 0:
			s.await(v, n, op)
		}
		s.versions[v].flags &^= inUnplaced
	}
	// Elements that are still unplaced come after the whole spine.
	if p := s.knownBefore(s.keys[k].last); p != 0 {
		for u := s.keys[k].unplaced; u != 0; u = s.versions[u].sibling {
			s.edge(s.versions[p].writer, s.versions[u].writer, WW, u, n)
		}
	}
}

func (s *lists) place(k, v, n uint32, prefix uint64) {
	if s.versions[v].flags&inUnplaced != 0 {
		s.unlinkUnplaced(v)
		s.versions[v].flags |= inUnplaced // extend still wants to know
	} else if s.versions[v].flags&kept != 0 {
		s.unkeep(v)
	}
	x, y := &s.keys[k], &s.versions[v]
	y.flags |= placed
	y.index, y.prefix = x.length+1, prefix
	y.prev, y.next = x.last, 0
	y.witness = n
	s.pin(n)
	s.versions[x.last].next = v
	x.last, x.length = v, y.index
}

// knownBefore is the nearest version at or before v in the spine whose writer is
// known, 0 if there is none.
func (s *absences) knownBefore(v uint32) uint32 {
	for v != 0 && s.versions[v].writer == 0 {
		v = s.versions[v].prev
	}
	return v
}

// knownAfter is the nearest version behind v in the spine whose writer is known.
func (s *causes) knownAfter(v uint32) uint32 {
	for v = s.versions[v].next; v != 0 && s.versions[v].writer == 0; {
		v = s.versions[v].next
	}
	return v
}

// BehindUnseen says whether v is an element of a list, and another element stands, or may
// stand, between it and n's read. Then its append did not replace the state that n saw, or may
// not have. O(readers of one state).
func (s *lists) BehindUnseen(v, n uint32) bool {
	x := &s.versions[v]
	if s.keys[x.key].kind != event.List {
		return false
	}
	if x.flags&placed != 0 {
		for r := s.versions[x.prev].readers; r != 0; r = s.olderReader(r) {
			if s.readers[r].txn == n {
				return false
			}
		}
	}
	return true
}

// ShownBy is the transaction whose read shows the place of the list element v, 0 if it has
// none.
func (s *lists) ShownBy(v uint32) uint32 {
	x := &s.versions[v]
	if x.flags&placed == 0 || s.keys[x.key].flags&unsupported != 0 || s.txns[x.witness].state != counted {
		return 0
	}
	return x.witness
}

// MisorderedList says whether v belongs to a list whose reads misorder the appends of one transaction.
// It looks at the part of the list that is in memory. Neighbours are reported by themselves
// (checkOwnOrder). It costs the length of the list.
func (s *lists) MisorderedList(v uint32) bool {
	x := &s.keys[s.versions[v].key]
	if x.kind != event.List {
		return false
	}
	latest := map[uint32]uint32{} // by writer: the operation that appended the element before
	for u := x.first; u != 0; u = s.versions[u].next {
		w := s.versions[u].writer
		if w == 0 {
			continue
		}
		id := s.writeOf(w, u)
		if id == 0 {
			continue
		}
		if op, again := latest[w]; again && s.writes[id].op < op {
			return true
		}
		latest[w] = s.writes[id].op
	}
	return false
}

// installList ends the work on a list key: the edges of the external read, then the edges of
// the appends.
func (s *lists) installList(c *touch, n uint32) {
	if f := s.keys[c.key].flags; f&unsupported != 0 && f&deleted != 0 {
		for i := c.firstOwn; i != 0; i = s.own[i-1].next {
			s.possibleWriter(s.writes[s.own[i-1].write].version, n)
		}
		return // n itself deleted the list, and no edge of another transaction rests on it any more
	}
	if c.readVer != 0 {
		if c.flags&wrote != 0 && !s.sawOwn(c) {
			s.divergeList(c.readVer, n)
		}
		s.readTooEarly(c.readVer, n)
		s.sawList(c.readVer, n, c.readOp)
	}
	again := false
	for i := c.firstOwn; i != 0; i = s.own[i-1].next {
		id := s.own[i-1].write
		v := s.writes[id].version
		if x := &s.versions[v]; c.readVer != 0 && x.flags&placed != 0 && x.index <= c.readLen {
			if s.writes[id].op < c.readOp {
				s.suspectDuplicate(v, n, c.readOp) // once before its own end, and there
			} else {
				s.suspectFuture(v, n, c.readOp)
				if s.attemptOpen(v, n) { // an attempt without a record appended it before
					s.triesAgain(n)
				}
			}
		}
		if s.possibleWriter(v, n); s.appendedBefore(v, n) {
			s.triesAgain(n)
			s.makeAmbiguous(v)
		}
		if s.versions[v].flags&ambiguous == 0 {
			s.Settle(v, id, n, again)
			again = again || s.versions[v].flags&inUnplaced != 0
		}
	}
}

// sawOwn says whether the external read shows an element that the transaction
// appended itself.
func (s *lists) sawOwn(c *touch) bool {
	for i := c.firstOwn; i != 0; i = s.own[i-1].next {
		x := &s.versions[s.writes[s.own[i-1].write].version]
		if x.flags&placed != 0 && x.index <= c.readLen {
			return true
		}
	}
	return false
}

// divergeList reports two transactions that read one state of a list and both
// appended to it (Elle's lost update, found by index).
func (s *lists) divergeList(a, n uint32) {
	other := uint32(0)
	for r := s.versions[a].readers; r != 0; r = s.olderReader(r) {
		x := &s.readers[r]
		if x.txn == n {
			x.overwrote = true
		} else if !x.overwrote || s.ofUnknownOutcome(x.txn) {
			continue
		} else if s.txns[x.txn].asked != s.txns[n].asked { // see diverging
			s.anomaly(Anomaly{Kind: Divergence, A: n, B: x.txn, Version: a, Certain: true})
		} else if other == 0 {
			other = x.txn
		}
	}
	if other != 0 {
		s.anomaly(Anomaly{Kind: Divergence, A: n, B: other, Version: a, Certain: true})
	}
}

// sawList gives the edges of n's read that ended at a: from the writer of its last element, and
// to the writer of the next one.
func (s *lists) sawList(a, n, op uint32) {
	if p := s.knownBefore(a); p != 0 {
		s.edge(s.versions[p].writer, n, WR, p, 0)
		if p == a {
			s.intermediateRead(a, n, op)
		}
	}
	if q := s.knownAfter(a); q != 0 {
		s.edge(n, s.versions[q].writer, RW, q, 0)
		return
	}
	for u := s.keys[s.versions[a].key].unplaced; u != 0; u = s.versions[u].sibling {
		s.edge(n, s.versions[u].writer, RW, u, 0)
	}
}

// shownAgain takes in that a read shows the element v again. If one append of v is known, and the
// contract allows for an append without a record, the known one is a second attempt.
func (s *lists) shownAgain(v uint32) {
	x := &s.versions[v]
	x.flags |= twofold
	s.signs.patterns.Get(s.keys[x.key].pattern).Shared = true // clients append again: see window/waiting.go
	if x.possible != 1 || x.flags&ambiguous != 0 {
		return
	}
	for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
		if w := s.writes[id].txn; s.txns[w].state != aborted && s.againOpen(v, w) {
			s.triesAgain(w)
			return
		}
	}
}
