package infer

import (
	"bytes"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/zeebo/xxh3"
)

// touch is what the transaction in work did to one key so far.
type touch struct {
	key       uint32
	readVer   uint32     // version of the first external read
	readHash  event.Hash // its value, or the hash of a list's elements
	readLen   uint32     // lists: elements of it
	readOp    uint32
	lastWrite uint32     // write record of the latest write
	current   event.Hash // registers: value of the latest own write
	firstOwn  uint32     // own writes, linked in State.own, from 1; 0 is none
	lastOwn   uint32
	flags     touchFlags
	shownBy   uint32 // the operation that showed it among others, from 1: see scan.go
}

// own is a write or append of the transaction in work.
type own struct {
	hash       event.Hash
	write      uint32
	prev, next uint32
}

type touchFlags uint8

const (
	hasRead touchFlags = 1 << iota
	readNothing
	wrote
	misread
	removed // the latest own write is a tombstone
)

// Add takes one finished transaction and appends what follows from it to out.
// start and end are the times to work with: the client's own, or what stands for
// them. It returns the transaction's number, 0 for a duplicate or a
// contradiction. Reads and writes cost O(1) expected each, plus the edges they give; a list
// read costs its length.
func (s *State) Add(b *event.Batch, t *event.Txn, start, end int64, out *Out) uint32 {
	s.begin(out)
	s.takePlan(b, t)
	if !s.joined {
		s.joined = true
		s.baselineEnds = end + s.opt.BaselineSpan
	}
	id := t.IDHash
	if t.Epoch.Len > 0 {
		id = s.inEpoch(b, t, id)
	}
	record, content := b.PackedRecord(t), t.Content
	if len(record) == 0 {
		s.record = event.AppendRecord(s.record[:0], b, t)
		record, content = s.record, event.ContentHash(b, t)
	}
	replaced := false
	if old := s.lookupTxn(id); old != 0 {
		if out.Refused = s.supersedes(t, old, content); out.Refused == Repeated || out.Refused == Contradicting {
			return 0
		}
		if t.Status == event.Aborted || !s.sameOps(b, t, old) {
			out.Replaced = append(out.Replaced, id.Lo)
			if out.Refused == TooLate {
				s.tooLate(b, t)
			}
		}
		if out.Refused == TooLate {
			return 0
		}
		s.remove(old)
		replaced = true
	} else if end <= s.greatest || s.Untimed > 0 || t.Flags&event.HasTimes != 0 && t.End != end {
		// Only then can it have been let go: what comes in time ends behind all that
		// was, but for times that were clamped or are positions.
		if out.Refused = s.recall(t, id, content); out.Refused != Taken {
			if out.Refused == TooLate {
				out.Replaced = append(out.Replaced, id.Lo)
				s.tooLate(b, t)
			}
			return 0
		}
	}
	n := s.newTxn()
	x := &s.txns[n]
	x.id, x.content = id, content
	if t.Isolation.Len > 0 {
		x.asked = uint32(xxh3.Hash(b.Bytes(t.Isolation))) | 1
	}
	x.record = s.records.put(record)
	x.start, x.end, x.seq = start, end, t.Seq
	x.partition, x.sub, x.offset = t.Pos.Partition, t.Pos.Sub, t.Pos.Offset
	if x.flags = flagsOf(t); start != t.Start || end != t.End {
		x.flags &^= hasTimes // they are not the client's, and order nothing in its session
	}
	s.byID.insert(id.Lo, n)
	s.enterSession(b, t, n)
	if t.Status == event.Unknown {
		s.hold(b, t)
	}
	switch t.Status {
	case event.Committed:
		x.state = counted
		s.count(b, t, n)
	case event.Aborted:
		x.state = aborted
		s.noteWrites(b, t, n)
		s.linkSession(n)
	default:
		x.state = tentative
		s.noteWrites(b, t, n)
	}
	if x := &s.txns[n]; x.state != counted {
		s.expiry.push(x.end, n, x.gen, 0, 0, 0)
	}
	s.settleOutcomes()
	if replaced {
		for _, v := range s.reopened {
			s.recount(v)
		}
	}
	for _, v := range s.unaccused {
		s.askAll(v)
	}
	s.unaccused = s.unaccused[:0]
	return n
}

// sameOps says whether the record in work holds what that of old does, but for
// outcome and times.
func (s *State) sameOps(b *event.Batch, t *event.Txn, old uint32) bool {
	s.scratch.Reset()
	before := s.records.get(s.txns[old].record)
	if s.decoder.DecodeRecord(&s.scratch, event.Position{}, before) != nil {
		return false // not possible: the record was written by AppendRecord
	}
	o, now := &s.scratch.Txns[0], *t
	now.Status, now.Start, now.End = o.Status, o.Start, o.End
	now.Flags = now.Flags&^event.HasTimes | o.Flags&event.HasTimes
	return bytes.Equal(before, event.AppendRecord(nil, b, &now))
}

func flagsOf(t *event.Txn) txnFlags {
	var f txnFlags
	if t.Flags&event.HasSeq != 0 {
		f |= hasSeq
	}
	if t.Flags&event.HasTimes != 0 {
		f |= hasTimes
	}
	if t.Flags&event.Stale != 0 {
		f |= stale
	}
	if t.Status == event.Unknown {
		f |= unknown
	}
	return f
}

// inEpoch keeps names of different epochs apart.
func (s *State) inEpoch(b *event.Batch, t *event.Txn, h event.Hash) event.Hash {
	if t.Epoch.Len == 0 {
		return h
	}
	e := xxh3.Hash(b.Bytes(t.Epoch))
	return event.Hash{Lo: h.Lo ^ e*0x9e3779b97f4a7c15, Hi: h.Hi + e}
}

// supersedes decides about a second record with a known id: equal content is a
// duplicate, a decided outcome replaces an unknown one, anything else is a
// contradiction, and the first record is kept. An outcome that comes when what
// counted of the first record has left the orders cannot replace it any more.
func (s *State) supersedes(t *event.Txn, old uint32, content uint64) Refusal {
	x := &s.txns[old]
	switch {
	case x.content == content:
		s.Counters.Duplicates++
		return Repeated
	case x.flags&unknown == 0 || t.Status == event.Unknown:
		s.Counters.Contradictory++
		s.anomaly(Anomaly{Kind: Contradictory, A: old, Certain: true})
		return Contradicting
	case x.state == counted && x.flags&retired != 0:
		return TooLate
	}
	return Taken
}

// recall is supersedes for a record of which nothing is in memory.
func (s *State) recall(t *event.Txn, id event.Hash, content uint64) Refusal {
	known, same, open := s.ids.get(id.Lo, content)
	switch {
	case !known:
		return Taken
	case same:
		s.Counters.LateDuplicates++
		return Repeated
	case open && t.Status != event.Unknown:
		return TooLate
	}
	s.Counters.Contradictory++
	return Contradicting
}

// tooLate takes back what rested on who wrote the values of a record that cannot
// replace an unknown one any more: that one did, or nobody.
func (s *State) tooLate(b *event.Batch, t *event.Txn) {
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		if !writesVersion(o) {
			continue
		}
		h := s.inEpoch(b, t, o.KeyHash)
		if ofElement(o) {
			h = elementHash(h, o.ValueHash)
		}
		v := versionHash(0, s.written(b, t, o)) ^ h.Lo
		s.out.Doubted = append(s.out.Doubted, v)
		if t.Status == event.Committed {
			s.values.add(v) // who reads it has read from somebody
		} else {
			s.aborts.add(v)
		}
	}
}

// noteWrites records what a transaction that does not count wrote.
func (s *State) noteWrites(b *event.Batch, t *event.Txn, n uint32) {
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		switch o.Kind {
		case event.Range:
			s.rangesOf(s.keyOf(b, t, o))
		case event.Inc:
			s.settleKind(s.keyOf(b, t, o), o)
		}
		if !writesVersion(o) {
			continue
		}
		k := s.keyOf(b, t, o)
		if !s.settleKind(k, o) {
			continue
		}
		if ofElement(o) {
			k = s.elementKey(k, b.Bytes(o.Value), o.ValueHash)
		}
		if (o.Kind == event.Delete || o.Kind == event.Remove) && s.txns[n].state == tentative {
			s.deletion(k)
		}
		v := s.internVersion(k, s.written(b, t, o))
		if o.Kind != event.Append && s.wroteNow(n, v) != 0 {
			continue
		}
		s.pin(n)
		s.addWrite(n, v, uint32(i))
		if s.txns[n].state == tentative {
			s.possibleWriter(v, n)
		} else {
			s.awaitAgain(v)
		}
	}
}

// awaitAgain asks anew who wrote v, for those who read it: an aborted writer has
// come, or a possible one has gone.
func (s *State) awaitAgain(v uint32) {
	x := &s.versions[v]
	if x.possible > 0 || x.flags&initialVersion != 0 {
		return
	}
	if r := x.readers; r != 0 {
		s.await(v, s.readers[r].txn, s.readers[r].op)
	} else if w := x.witness; w != 0 && s.txns[w].state == counted {
		s.await(v, w, 0)
	}
}

// possibleWriter says that the transaction n, which did not abort, wrote v: a
// second one, or one that has left memory, makes v ambiguous.
func (s *State) possibleWriter(v, n uint32) {
	x := &s.versions[v]
	x.possible++
	s.supplied(v)
	if x.possible > 1 || s.values.has(s.valueKey(v)) {
		s.out.Doubted = append(s.out.Doubted, s.valueKey(v))
		for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
			w := s.writes[id].txn
			if x.flags&ambiguous != 0 && w != n {
				break // the others were looked at when v became ambiguous
			}
			if s.txns[w].state == counted && s.txns[w].flags&unknown != 0 {
				s.demote = append(s.demote, w)
			}
		}
		before := s.Counters.Ambiguous
		s.makeAmbiguous(v)
		if s.opt.Existing && x.possible == 1 && s.Counters.Ambiguous == before {
			s.Counters.Ambiguous++ // it may have been read as what was there before watching
		}
		return
	}
	if s.txns[n].state == tentative && s.observed(v) {
		s.promote = append(s.promote, n)
	}
}

// observed says whether a transaction that counts saw v.
func (s *State) observed(v uint32) bool {
	x := &s.versions[v]
	return x.readers != 0 || x.flags&(lateReaders|placed|seen) != 0
}

// observedSome says whether a version that only n can have written was seen.
func (s *State) observedSome(n uint32) bool {
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		v := s.writes[id].version
		if s.versions[v].flags&ambiguous == 0 && s.versions[v].possible == 1 && s.observed(v) {
			return true
		}
	}
	return false
}

// makeAmbiguous takes back what was concluded from v having one writer.
func (s *State) makeAmbiguous(v uint32) {
	x := &s.versions[v]
	if x.flags&ambiguous != 0 {
		return
	}
	x.flags |= ambiguous
	if s.observed(v) || s.keys[x.key].kind == event.List {
		s.Counters.Ambiguous++
	}
	w := x.writer
	x.writer = 0
	if s.keys[x.key].kind == event.List {
		if w != 0 {
			s.kill(v, w, WW|WR|RW)
			s.makeAmbiguousElement(v, w)
		}
		return
	}
	s.kill(v, w, WR|Reread) // who read v may have read from another
	for id := x.over; id != 0; id = s.writes[id].nextOver {
		s.kill(s.writes[id].version, s.writes[id].txn, WW|RW)
	}
}

// kill takes back the edges with this version and one of these labels at the
// writer, those of the step in work as well, and what else was concluded from
// the version.
func (s *State) kill(v, writer uint32, labels Label) {
	k := Kill{v, writer, labels}
	s.out.Kills = append(s.out.Kills, k)
	s.out.Edges = slices.DeleteFunc(s.out.Edges, func(e Edge) bool { return k.Kills(e.From, e.To, e.Label, e.Version) })
	s.out.Anomalies = slices.DeleteFunc(s.out.Anomalies, func(a Anomaly) bool {
		return a.Version == v && (a.Kind == G1b || a.Kind == Divergence || a.Kind == IncompatibleOrder) || a.Other == v && v != 0
	})
}

func (s *State) makeAmbiguousElement(v, w uint32) {
	if s.versions[v].flags&placed == 0 {
		s.unlinkUnplaced(v)
		return
	}
	for q := s.versions[v].next; q != 0; q = s.versions[q].next {
		s.kill(q, w, WW)
	}
	for u := s.keys[s.versions[v].key].unplaced; u != 0; u = s.versions[u].sibling {
		s.kill(u, w, WW)
	}
	s.bridge(v)
}

// promoteNow counts an unknown transaction that was observed, with all its
// operations.
func (s *State) promoteNow(n uint32) {
	if s.txns[n].state != tentative || !s.observedSome(n) {
		return
	}
	s.scratch.Reset()
	x := &s.txns[n]
	if err := s.decoder.DecodeRecord(&s.scratch, event.Position{}, s.records.get(x.record)); err != nil {
		return // not possible: the record was written by AppendRecord
	}
	t := &s.scratch.Txns[0]
	s.planFrom, s.planTo = 0, 0
	s.forgetWrites(n)
	s.txns[n].state = counted
	s.count(&s.scratch, t, n)
}

// settleOutcomes takes the observation of unknown outcomes to a fixpoint.
func (s *State) settleOutcomes() {
	for len(s.promote)+len(s.demote) > 0 {
		if len(s.demote) > 0 {
			n := s.demote[0]
			s.demote = append(s.demote[:0], s.demote[1:]...)
			s.demoteNow(n)
			continue
		}
		n := s.promote[0]
		s.promote = append(s.promote[:0], s.promote[1:]...)
		s.promoteNow(n)
	}
}

// demoteNow makes an unknown transaction tentative again: what it was observed
// by may have been written by another. It counts again at once if something else
// of it was observed.
func (s *State) demoteNow(n uint32) {
	x := &s.txns[n]
	if x.state != counted || x.flags&retired != 0 || s.observedSome(n) {
		return
	}
	s.scratch.Reset()
	if err := s.decoder.DecodeRecord(&s.scratch, event.Position{}, s.records.get(x.record)); err != nil {
		return // not possible: the record was written by AppendRecord
	}
	s.uncount(n)
	s.txns[n].state = tentative
	s.expiry.push(s.txns[n].end, n, s.txns[n].gen, 0, 0, 0)
	s.noteWrites(&s.scratch, &s.scratch.Txns[0], n)
}

// uncount takes n, which counts, out of the history, with all that follows from
// its operations.
func (s *State) uncount(n uint32) {
	s.dropScans(n)
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		s.unsettle(s.writes[id].version, n)
	}
	for id := s.txns[n].reads; id != 0; {
		next, v := s.readers[id].nextOfTxn, s.readers[id].version
		s.dropReader(id)
		if s.versions[v].flags&accused != 0 { // perhaps by n
			s.unaccused = append(s.unaccused, v)
		}
		s.unplace(s.versions[v].key, n)
		if w := s.versions[v].writer; w != 0 && s.txns[w].flags&unknown != 0 && !s.observed(v) {
			s.demote = append(s.demote, w)
		}
		id = next
	}
	s.txns[n].reads = 0
	s.leaveSession(n)
	if s.txns[n].placeless() {
		s.Counters.Sessionless--
	}
	s.parted = s.parted[:0]
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		s.part(id)
	}
	s.forgetWrites(n)
	s.out.Gone = append(s.out.Gone, n)
	s.out.Nodes = slices.DeleteFunc(s.out.Nodes, func(m uint32) bool { return m == n })
	s.out.Edges = slices.DeleteFunc(s.out.Edges, func(e Edge) bool { return e.From == n || e.To == n || e.Witness == n })
	s.out.Anomalies = slices.DeleteFunc(s.out.Anomalies, func(a Anomaly) bool { return a.A == n || a.B == n })
	for _, id := range s.parted {
		s.diverge(id, s.diverging(id))
	}
}

// unplace gives the key up when n, whose reads do not count any more, was the
// one that showed the order of its last elements.
func (s *State) unplace(k, n uint32) {
	v, found := s.keys[k].last, false
	for ; v != 0 && s.versions[v].witness == n; v = s.versions[v].prev {
		found = true
		if w := s.versions[v].writer; w != 0 {
			s.kill(v, w, WW|RW)
		}
	}
	if found {
		s.giveUp(k)
	}
}

// forgetWrites unlinks and frees the write records of n.
func (s *State) forgetWrites(n uint32) {
	for id := s.txns[n].writes; id != 0; {
		next := s.writes[id].nextOfTxn
		s.dropWrite(id)
		id = next
	}
	s.txns[n].writes = 0
}

// dropWrite unlinks a write record from its version and frees it; the list of
// the transaction is the caller's.
func (s *State) dropWrite(id uint32) {
	s.withdrawOverwrite(id)
	w := s.writes[id]
	v := &s.versions[w.version]
	if w.prevOfVer == 0 {
		v.writes = w.nextOfVer
	} else {
		s.writes[w.prevOfVer].nextOfVer = w.nextOfVer
	}
	if w.nextOfVer != 0 {
		s.writes[w.nextOfVer].prevOfVer = w.prevOfVer
	}
	if s.txns[w.txn].state != aborted {
		v.possible--
	}
	if v.writer == w.txn {
		v.writer = 0
	}
	s.txns[w.txn].pins--
	s.writes[id] = write{}
	s.freeWrites.Give(id)
}

// remove takes a record back, because a later one with its id replaces it.
func (s *State) remove(n uint32) {
	s.reopened = s.reopened[:0]
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		s.reopened = append(s.reopened, s.writes[id].version)
	}
	if s.txns[n].state == counted {
		s.uncount(n)
	} else {
		s.forgetWrites(n)
	}
	for _, v := range s.reopened {
		s.disambiguate(v)
		s.awaitAgain(v)
	}
	x := &s.txns[n]
	if x.flags&retired == 0 {
		s.leave(n)
	}
	if x.flags&stored != 0 {
		s.bury(x)
		x.flags &^= stored
	}
	s.byID.remove(x.id.Lo, n)
	// The number stays taken until nothing names it: an entry of a queue, a
	// finding. Its id is free for the record that replaces it.
	x.id = event.Hash{}
	x.flags |= retired
	x.state = free
	s.release(n)
}

// unsettle takes v from its writer n; a list's element stays where reads showed
// it.
func (s *State) unsettle(v, n uint32) {
	x := &s.versions[v]
	if x.writer != n {
		return
	}
	x.writer = 0
	if s.keys[x.key].kind != event.List {
		return
	}
	if x.flags&placed != 0 {
		s.bridge(v)
	} else if x.flags&inUnplaced != 0 {
		s.unlinkUnplaced(v)
	}
}

// disambiguate concludes anew about v after one of its possible writers turned
// out not to have written it.
func (s *State) disambiguate(v uint32) {
	x := &s.versions[v]
	if x.flags&ambiguous == 0 || x.possible != 1 {
		return
	}
	x.flags &^= ambiguous
	for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
		n := s.writes[id].txn
		switch s.txns[n].state {
		case tentative:
			if s.observed(v) {
				s.promote = append(s.promote, n)
			}
			return
		case counted:
			if s.keys[x.key].kind == event.List {
				s.settleList(v, id, n, false)
				return
			}
			for o := x.over; o != 0; o = s.writes[o].nextOver {
				for r := x.readers; r != 0; r = s.olderReader(r) {
					if s.readers[r].reread {
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
			s.settleRegister(v, n)
			return
		}
	}
}
