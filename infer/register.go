package infer

import "github.com/isowatch/isowatch/event"

// keyOf interns the key of o.
func (s *State) keyOf(b *event.Batch, t *event.Txn, o *event.Op) uint32 {
	h := o.KeyHash
	if t.Epoch.Len > 0 {
		h = s.inEpoch(b, t, h)
	}
	return s.internKey(h, b.Bytes(o.Key))
}

// settleKind decides what kind of object k is, by the first operation that
// tells, and whether o may be used: false for operations that give no
// dependencies here and for keys used as two kinds, which are counted as
// uncheckable.
func (s *State) settleKind(k uint32, o *event.Op) bool {
	x := &s.keys[k]
	if x.flags&unsupported != 0 {
		s.Counters.Ignored++
		if o.Kind == event.Delete || o.Kind == event.Write {
			s.replaced(k)
		} else if o.Kind != event.Read && o.Kind != event.Range {
			s.wroteAgain(k, o.ValueHash)
			s.wroteOther(k, o)
		}
		return false
	}
	kind := o.Data
	switch o.Kind {
	case event.Read:
		if kind == event.AnyKind && o.Flags&event.IsArray != 0 && x.kind != event.Register && x.kind != event.Set {
			kind = event.List
		}
	case event.Write:
		if kind == event.AnyKind {
			kind = event.Register
		}
	case event.Append:
		kind = event.List
	case event.CAS, event.Insert, event.Delete:
		kind = event.Register
	case event.Add, event.Remove:
		kind = event.Set
	case event.Inc:
		kind = event.Counter
	case event.Range:
		return true
	default:
		s.giveUp(k)
		return false
	}
	if kind == event.Counter && !s.opt.Whole || kind == event.List && s.opt.DeletesUnseen {
		s.giveUp(k)
		return false
	}
	switch {
	case kind == event.AnyKind:
		if x.kind == event.AnyKind {
			s.readPlainly(k)
		}
	case x.kind == event.AnyKind:
		readBefore := x.length > 0
		x.length = 0
		if kind == event.List {
			x.lastBlind, x.unplaced = x.unplaced, 0 // where a list has its chain of kept versions
		}
		if kind > event.List && readBefore {
			s.giveUp(k)
			return false
		}
		if kind == event.Counter {
			s.Counters.Countable++
		}
		x.kind = kind
		if kind == event.Register && !readBefore && len(s.ordered) > 0 {
			s.enroll(k)
		}
	case x.kind != kind:
		if kind == event.Register && writesVersion(o) {
			x.flags |= deleted // what was appended or added may be gone
		}
		s.wroteOther(k, o)
		s.giveUp(k)
		return false
	}
	return true
}

// wroteAgain takes back what rests on the value having the writers that are known:
// an operation from which nothing else is concluded may have installed it as well.
func (s *State) wroteAgain(k uint32, h event.Hash) {
	v := s.lookupVersion(k, h)
	if v == 0 {
		s.out.Doubted = append(s.out.Doubted, versionHash(0, h)^s.keys[k].hash.Lo)
		return
	}
	s.out.Doubted = append(s.out.Doubted, s.valueKey(v))
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if w := s.writes[id].txn; s.txns[w].state == counted && s.txns[w].flags&unknown != 0 {
			s.demote = append(s.demote, w)
		}
	}
	s.makeAmbiguous(v)
}

// giveUp stops inference on k. Edges found so far rest on operations that were
// understood and stay, but for those out of not-found reads, which a delete
// makes ambiguous.
func (s *State) giveUp(k uint32) {
	x := &s.keys[k]
	s.Counters.Ignored++
	x.flags |= unsupported
	s.uncheckable(k)
	if x.flags&deleted != 0 {
		s.replaced(k)
	}
}

// replaced takes back what rests on k having been appended or added to only: another
// operation may have replaced or deleted it.
func (s *State) replaced(k uint32) {
	x := &s.keys[k]
	void := func(v uint32) {
		s.kill(v, s.versions[v].writer, WW|WR|RW)
		s.out.Doubted = append(s.out.Doubted, s.valueKey(v))
	}
	switch x.kind {
	case event.List:
		for v := x.first; v != 0; v = s.versions[v].next {
			void(v)
		}
		for v := x.unplaced; v != 0; v = s.versions[v].sibling {
			void(v)
		}
	case event.Set:
		for e := x.base; e != 0; e = s.keys[e].base {
			s.deletion(e)
			for id := s.versions[s.keys[e].initial].over; id != 0; id = s.writes[id].nextOver {
				void(s.writes[id].version)
				s.makeAmbiguous(s.writes[id].version)
			}
		}
	}
}

func (s *State) uncheckable(k uint32) {
	if s.keys[k].flags&uncheckable == 0 {
		s.keys[k].flags |= uncheckable
		s.Counters.Uncheckable++
	}
}

// touchOf is the note of what the transaction in work did to k.
func (s *State) touchOf(k uint32) *touch {
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

// count makes n, whose operations are those of t, part of the history.
func (s *State) count(b *event.Batch, t *event.Txn, n uint32) {
	s.out.Nodes = append(s.out.Nodes, n)
	s.working = n
	if s.stamp++; s.stamp == 0 { // around after 2^32 transactions: no key may look touched
		for k := range s.keys {
			s.keys[k].stamp = 0
		}
		s.stamp = 1
	}
	s.touches = s.touches[:0]
	s.own = s.own[:0]
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		k := s.plannedKey(i)
		if k == 0 {
			k = s.keyOf(b, t, o)
		} else {
			s.keys[k].flags |= used
		}
		if x := &s.keys[k]; x.kind == event.Register && o.Kind <= event.Write && o.Data <= event.Register && x.flags&unsupported == 0 {
			if c := s.touchOf(k); o.Kind == event.Write {
				s.write(c, n, uint32(i), o.ValueHash)
			} else {
				s.readRegister(c, n, uint32(i), o)
			}
			continue
		}
		if !s.settleKind(k, o) {
			continue
		}
		if o.Kind > event.Append || s.keys[k].kind > event.List || o.Data > event.List {
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
	s.working = 0
	for i := range s.touches {
		s.install(&s.touches[i], n)
	}
	s.linkSession(n)
}

// write takes a register write. Only the last one of a key is installed; a value
// that the transaction writes again is one version.
func (s *State) write(c *touch, n, op uint32, h event.Hash) {
	v := s.plannedVersion(op, c.key, h)
	if c.flags&wrote != 0 {
		s.writes[c.lastWrite].intermediate = true
		s.versions[s.writes[c.lastWrite].version].flags |= overwrittenByWriter
	}
	c.current = h
	c.flags = c.flags&^removed | wrote
	if id := s.wroteNow(n, v); id != 0 {
		s.writes[id].op, s.writes[id].intermediate = op, false
		c.lastWrite = id
		return
	}
	s.pin(n)
	c.lastWrite = s.addWrite(n, v, op)
	s.pushOwn(c, h)
}

// wroteNow is writeOf for the transaction in work, whose record nobody's is ahead
// of. O(1).
func (s *State) wroteNow(n, v uint32) uint32 {
	if id := s.versions[v].writes; id != 0 && s.writes[id].txn == n {
		return id
	}
	return 0
}

// writeOf is the record of n's write of v, 0 if there is none.
func (s *State) writeOf(n, v uint32) uint32 {
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if s.writes[id].txn == n {
			return id
		}
	}
	return 0
}

// wroteIn says whether v is among the versions that the transaction in work wrote.
func (s *State) wroteIn(c *touch, v uint32) bool {
	for i := c.firstOwn; i != 0; i = s.own[i-1].next {
		if s.writes[s.own[i-1].write].version == v {
			return true
		}
	}
	return false
}

func (s *State) readRegister(c *touch, n, op uint32, o *event.Op) {
	s.readValue(c, n, op, o.ValueHash, o.Flags&event.NotFound != 0)
}

// readValue takes a read that found a value, or nothing.
func (s *State) readValue(c *touch, n, op uint32, h event.Hash, nothing bool) {
	switch {
	case c.flags&misread != 0: // reported once
		if c.flags&wrote == 0 {
			s.sawAnother(c, n, op, h, nothing)
		}
	case nothing && s.txns[n].flags&unknown != 0: // what it saw is not known
	case c.flags&wrote != 0:
		if nothing != (c.flags&removed != 0) || !nothing && h != c.current {
			s.misreads(Internal, c, n, op)
		}
	case c.flags&hasRead != 0:
		if nothing != (c.flags&readNothing != 0) || h != c.readHash {
			s.misreads(Nonrepeatable, c, n, op)
			s.sawAnother(c, n, op, h, nothing)
		} else {
			s.sawAgain(c.readVer, n)
		}
	default:
		c.flags |= hasRead
		c.readHash, c.readOp = h, op
		v := s.keys[c.key].initial
		if nothing {
			c.flags |= readNothing
			s.foundNothing(c.key)
			if s.opt.DeletesUnseen || s.keys[c.key].flags&deleted != 0 {
				s.Counters.Ambiguous++
				return
			}
		} else {
			v = s.plannedVersion(op, c.key, h)
		}
		c.readVer = v
		s.addReader(n, v, op)
	}
}

// foundNothing notes that k had no value: what was taken as there before watching
// began was not, unless it came in between from a writer that nobody recorded.
func (s *State) foundNothing(k uint32) {
	x := &s.keys[k]
	if x.flags&foundNothing != 0 {
		return
	}
	if x.flags&hasBaseline != 0 {
		s.Counters.Unattributed++
	}
	x.flags |= foundNothing
}

// misreads reports a read that contradicts the transaction's own operations.
func (s *State) misreads(kind AnomalyKind, c *touch, n, op uint32) {
	c.flags |= misread
	a := Anomaly{Kind: kind, A: n, OpA: op, Certain: true}
	if k := &s.keys[c.key]; k.kind != event.List { // which the operation need not name
		a.Version = k.initial
	}
	s.anomaly(a)
}

// install ends the work on one key: the edges of the first external read and
// of the last write.
func (s *State) install(c *touch, n uint32) {
	k := &s.keys[c.key]
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
		// What it read and what it wrote are two versions of one value, or it read
		// the future.
		s.makeAmbiguous(c.readVer)
		s.suspectFuture(c.readVer, n, c.readOp)
	}
	if c.flags&(wrote|misread) == wrote|misread {
		s.sawOwnFuture(c, n)
	}
	if c.readVer != 0 {
		s.saw(c.readVer, n, c.readOp, true)
	}
	rmw := c.readVer != 0 && s.versions[c.readVer].flags&ambiguous == 0
	if k.flags&element != 0 && c.readVer == k.initial {
		rmw = false // who adds what is added already changes nothing
	}
	for i := c.firstOwn; i != 0; i = s.own[i-1].next {
		id := s.own[i-1].write
		v := s.writes[id].version
		s.possibleWriter(v, n)
		if s.versions[v].flags&ambiguous == 0 {
			s.settleRegister(v, n)
		}
	}
	if pred := c.readVer; rmw {
		s.overwrite(c.lastWrite, pred, false)
	} else {
		s.overwrite(c.lastWrite, k.initial, true)
	}
}

// saw gives the edges of n's read of v: from its writer, and to those who
// overwrote it.
func (s *State) saw(v, n, op uint32, rmw bool) {
	x := &s.versions[v]
	if x.writes == 0 && x.flags&(initialVersion|ambiguous) == 0 && s.twice.has(s.valueKey(v)) {
		x.flags |= ambiguous
	}
	if x.flags&ambiguous != 0 {
		s.Counters.Ambiguous++
		return
	}
	if x.flags&initialVersion == 0 {
		switch {
		case x.writer != 0:
			label := WR
			if rmw && (x.flags&overwrittenByWriter == 0 || s.installed(v)) {
				label |= WW
			}
			s.edge(x.writer, n, label, v, 0)
			if x.flags&overwrittenByWriter != 0 {
				s.intermediateRead(v, n, op)
			}
		case x.possible == 1:
			s.promoteWriter(v)
		default:
			s.await(v, n, op)
		}
	}
	if x.flags&overwritten != 0 {
		s.anomaly(Anomaly{Kind: RetiredRead, A: n, OpA: op, Version: v})
	}
	for id := x.over; id != 0; id = s.writes[id].nextOver {
		if !rmw || s.writes[id].blind || s.txns[s.writes[id].txn].asked != s.txns[n].asked { // else n diverges from the others: see overwrite
			s.edge(n, s.writes[id].txn, RW, s.writes[id].version, 0)
		}
	}
}

// promoteWriter queues the tentative writer of v, which was just observed.
func (s *State) promoteWriter(v uint32) {
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if t := s.writes[id].txn; s.txns[t].state == tentative {
			s.promote = append(s.promote, t)
		}
	}
}

// intermediateRead reports G1b: n read a version that its writer overwrote
// itself (Elle, section 4.1; Adya's G1b).
func (s *State) intermediateRead(v, n, op uint32) {
	w := s.versions[v].writer
	if s.versions[v].flags&overwrittenByWriter == 0 || w == n || w == 0 {
		return
	}
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if x := &s.writes[id]; x.txn == w && x.intermediate {
			s.anomaly(Anomaly{Kind: G1b, A: n, B: w, Version: v, OpA: op, Certain: true})
		}
	}
}

// installed says whether v is what its writer left in the key. Of a version that
// it overwrote itself nothing follows for the order of versions: who read it and
// wrote the key may have come before the last one.
func (s *State) installed(v uint32) bool {
	if s.versions[v].flags&overwrittenByWriter == 0 {
		return true
	}
	id := s.writeOf(s.versions[v].writer, v)
	return id != 0 && !s.writes[id].intermediate
}

// settleRegister gives v its one writer n: those who read v read from n.
func (s *State) settleRegister(v, n uint32) {
	x := &s.versions[v]
	x.writer = n
	s.wroteLate(v)
	for r := x.readers; r != 0; r = s.olderReader(r) {
		t := s.readers[r].txn
		label := WR
		if s.overwrote(t, v) && s.installed(v) {
			label |= WW
		}
		if s.readers[r].reread {
			label = Reread
		}
		s.edge(n, t, label, v, 0)
		s.intermediateRead(v, t, s.readers[r].op)
	}
}

// overwrote says whether t read v and installed another version of the key.
func (s *State) overwrote(t, v uint32) bool {
	for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
		if s.writes[id].txn == t && !s.writes[id].blind {
			return true
		}
	}
	return false
}

// overwrite installs the write record id over the version pred: who read pred
// comes before, and two who overwrote what they had read diverge, whether or not
// their values differ.
func (s *State) overwrite(id, pred uint32, blind bool) {
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
	if s.versions[pred].flags&ambiguous != 0 {
		r = 0 // the initial one, of a key that was deleted: who found nothing need not have seen it
	}
	for r != 0 {
		x := &s.readers[r]
		switch {
		case x.reread:
		case x.txn == n:
			x.overwrote = x.overwrote || !blind
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
		s.edge(n, x.txn, RW, x.version, 0)
		s.anomaly(Anomaly{Kind: Divergence, A: n, B: x.txn, Version: pred, Certain: true})
	}
	if !blind {
		s.divergeFromOthers(id)
	}
	k := s.versions[pred].key
	if pred == s.keys[k].initial {
		s.countRoots(k)
	}
}

// overwriteAfter installs what t wrote over v, which t read when several may have
// written it: as one version among others it said nothing of the order.
func (s *State) overwriteAfter(v, t uint32) {
	k := s.versions[v].key
	for id := s.txns[t].writes; id != 0; id = s.writes[id].nextOfTxn {
		w := &s.writes[id]
		if w.blind && w.pred == s.keys[k].initial && s.keys[k].flags&element == 0 {
			s.withdrawOverwrite(id)
			s.overwrite(id, v, false)
			return
		}
	}
}

// diverging is the latest other write record that overwrote the version which id
// overwrote after its transaction had read it; 0 if there is none. Of n that
// diverge each is reported, and gets the two anti-dependencies, with the one
// before it: all pairs would be n^2 edges that say the same. One that is doubtful
// comes last.
//
// That holds among transactions that asked for the same level. One that asked for
// less gives no anti-dependencies in some views, and two beside it would not be
// connected through it: those that asked for another level are linked in pairs.
func (s *State) diverging(id uint32) uint32 {
	w := &s.writes[id]
	if w.blind {
		return 0
	}
	other := uint32(0)
	for o := w.nextOver; o != 0; o = s.writes[o].nextOver {
		x := &s.writes[o]
		switch {
		case x.txn == w.txn || x.blind || s.txns[x.txn].asked != s.txns[w.txn].asked:
		case !s.doubtful(x.txn):
			return o
		case other == 0:
			other = o
		}
	}
	return other
}

// part notes the records that diverged from id, which is about to be taken back:
// they diverge from the one before it all the same, and nothing says so yet.
func (s *State) part(id uint32) {
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
		if !s.doubtful(x.txn) {
			return // the ones behind it diverged from it
		}
	}
}

// diverge reports that the write records id and other, 0 for none, overwrote one
// version, which was not known of them.
func (s *State) diverge(id, other uint32) {
	if other == 0 {
		return
	}
	w, x := &s.writes[id], &s.writes[other]
	s.edge(x.txn, w.txn, RW, w.version, 0)
	s.edge(w.txn, x.txn, RW, x.version, 0)
	s.anomaly(Anomaly{Kind: Divergence, A: w.txn, B: x.txn, Version: w.pred, Certain: true})
}

// doubtful says whether n counts although its outcome is unknown and nothing in
// memory shows that it took effect: it has retired and cannot be taken back.
func (s *State) doubtful(n uint32) bool {
	return s.txns[n].flags&unknown != 0 && !s.observedSome(n)
}

// divergeFromOthers reports those that overwrote what id did and asked for another
// level; their edges are given one by one.
func (s *State) divergeFromOthers(id uint32) {
	w := &s.writes[id]
	asked := s.txns[w.txn].asked
	for o := w.nextOver; o != 0; o = s.writes[o].nextOver {
		if x := &s.writes[o]; !x.blind && s.txns[x.txn].asked != asked && !s.doubtful(x.txn) {
			s.anomaly(Anomaly{Kind: Divergence, A: w.txn, B: x.txn, Version: w.pred, Certain: true})
		}
	}
}

// countRoots counts a key as unordered once its versions have two roots: then
// the order between their descendants is unknown.
func (s *State) countRoots(k uint32) {
	x := &s.keys[k]
	if x.flags&(uncheckable|unordered) != 0 || x.flags&(element|deleted) == element {
		return // in whichever order an element is added, it is there
	}
	roots, fromInitial := 0, 0
	if x.flags&hasBaseline != 0 {
		roots++
	}
	if s.versions[x.initial].flags&overwritten != 0 && x.kind != event.List {
		fromInitial = 1 // by one that has left memory
	}
	for id := s.versions[x.initial].over; id != 0 && roots < 2; id = s.writes[id].nextOver {
		if s.writes[id].blind {
			roots++
		} else {
			fromInitial = 1
		}
	}
	if roots+fromInitial >= 2 {
		x.flags |= unordered
		s.Counters.Unordered++
	}
}

// withdrawOverwrite takes a write record out of its predecessor's list.
func (s *State) withdrawOverwrite(id uint32) {
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
