package infer

import (
	"bytes"

	"github.com/isowatch/isowatch/event"
	"github.com/zeebo/xxh3"
)

// touch is the work of the transaction in work on one key so far.
type touch struct {
	key       uint32
	readVer   uint32     // version of the first external read
	readHash  event.Hash // its value, or the hash of a list's elements
	readLen   uint32     // lists: elements of it
	readOp    uint32
	lastWrite uint32     // write record of the latest write
	count     uint32     // counters: place in State.counted, from 1
	current   event.Hash // registers: value of the latest own write
	firstOwn  uint32     // own writes, linked in State.own, from 1; 0 is none
	lastOwn   uint32
	flags     touchFlags
	shownBy   uint32 // from 1: the operation that showed this key among others, see scan.go
}

// own is a write or append of the transaction in work.
type own struct {
	hash       event.Hash
	write      uint32
	prev, next uint32
}

type touchFlags uint16

const (
	hasRead touchFlags = 1 << iota
	readNothing
	wrote
	misread
	removed   // the latest own write is a tombstone
	plain     // read by firstRead
	nameless  // the latest own write named no version, though versions of the key have names
	ownMissed // a misread of an own write was reported already
	untold    // its first read named no version, though versions of the key have names
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
	replaced, late := false, txnFlags(0)
	old := s.lookupTxn(id)
	if old != 0 {
		if out.Refused = s.supersedes(t, old, content); out.Refused == Repeated || out.Refused == Contradicting {
			return 0
		}
		same := t.Status != event.Aborted && s.sameOps(b, t, old)
		if !same {
			out.Replaced = append(out.Replaced, id.Lo)
			if out.Refused == TooLate {
				s.txns[old].flags |= overruled
				s.tooLate(b, t)
			}
		}
		if out.Refused == TooLate {
			return 0
		}
		late = s.txns[old].flags & (cameLate | unheard)
		if s.txns[old].flags&unknown != 0 {
			late |= unheard
		}
		s.remove(old, same)
		replaced, out.Again = true, true
	} else if end <= s.greatest || s.untimed > 0 || t.Flags&event.HasTimes == 0 || t.End != end {
		// Only then can it have been let go. A record in time ends behind all that was, except
		// where times were clamped or are positions.
		if out.Refused = s.recall(t, id, content); out.Refused != Taken {
			if out.Refused == TooLate && !s.committedAsCounted(b, t, id) {
				out.Replaced = append(out.Replaced, id.Lo)
				s.tooLate(b, t)
			}
			return 0
		}
	}
	n := s.newTxn()
	x := &s.txns[n]
	x.id, x.content = id, content
	if t.Isolation.Len > 0 && !s.opt.AskedAlike {
		x.asked = uint32(xxh3.Hash(b.Bytes(t.Isolation))) | 1
	}
	x.record = s.records.put(record)
	x.start, x.end, x.seq = start, end, t.Seq
	x.partition, x.sub, x.offset = t.Pos.Partition, t.Pos.Sub, t.Pos.Offset
	if x.flags = flagsOf(t) | late; start != t.Start || end != t.End {
		x.flags &^= hasTimes // they are not the client's, and order nothing in its session
	}
	s.byID.insert(id.Lo, n)
	for _, k := range s.reshown {
		s.showInstead(k, n, old)
	}
	s.reshown = s.reshown[:0]
	s.noteBegin(n)
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
		s.glimpse(b, t, n)
		s.linkSession(n)
	default:
		x.state = tentative
		s.noteWrites(b, t, n)
		s.glimpse(b, t, n)
	}
	if x := &s.txns[n]; x.state != counted {
		s.expiry.push(x.end, n, x.gen, 0, 0, 0)
	}
	s.settleOutcomes()
	if s.settleSigns(); len(s.demote)+len(s.promote) > 0 {
		s.settleOutcomes()
	}
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

// sameOps says whether the record in work and old's record have the same content, except
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
func (s *ledger) inEpoch(b *event.Batch, t *event.Txn, h event.Hash) event.Hash {
	if t.Epoch.Len == 0 {
		return h
	}
	return underEpoch(h, xxh3.Hash(b.Bytes(t.Epoch)))
}

func underEpoch(h event.Hash, epoch uint64) event.Hash {
	return event.Hash{Lo: h.Lo ^ epoch*0x9e3779b97f4a7c15, Hi: h.Hi + epoch}
}

// WithID is the transaction in memory that has the id in the epoch, 0 if there is none.
func (s *State) WithID(id, epoch string) uint32 {
	h := event.HashText([]byte(id))
	if epoch != "" {
		h = underEpoch(h, xxh3.HashString(epoch))
	}
	if len(s.byID.slots) == 0 {
		return 0
	}
	return s.lookupTxn(h)
}

// supersedes decides about a second record with a known id. Equal content is a duplicate. A
// decided outcome replaces an unknown one. Anything else is a contradiction, and the first
// record is kept. An outcome cannot replace the first record any more when that counted and has
// left the orders.
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

// recall is supersedes for a record that has left memory.
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

// committedAsCounted says whether t commits with the same content as its first record, which has left
// memory.
func (s *State) committedAsCounted(b *event.Batch, t *event.Txn, id event.Hash) bool {
	first := *t
	first.Status = event.Unknown
	_, same, _ := s.ids.get(id.Lo, event.ContentHash(b, &first))
	return same && t.Status == event.Committed
}

// tooLate is for a record that cannot replace the first, unknown one any more. It takes back
// conclusions about the writers of the record's values. The first record's transaction wrote them, or
// nobody did.
func (s *State) tooLate(b *event.Batch, t *event.Txn) {
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		if !writesVersion(o) && !(o.Kind == event.Inc && tells(b, o)) {
			continue
		}
		h := s.inEpoch(b, t, o.KeyHash)
		k := s.lookupKey(h)
		if ofElement(o) {
			h = elementHash(h, o.ValueHash)
		}
		v := versionHash(0, s.written(b, t, k, o)) ^ h.Lo
		s.out.Ambiguous = append(s.out.Ambiguous, v)
		if t.Status == event.Committed {
			s.values.add(v) // a transaction that reads the value has read from somebody
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
		told := false
		if s.txns[n].state == aborted && s.saysNothing(s.inEpoch(b, t, o.KeyHash), o) {
			continue
		}
		switch o.Kind {
		case event.Range:
			s.rangesOf(s.keyOf(b, t, o))
		case event.Inc:
			k := s.keyOf(b, t, o)
			_, ok := amount(b, o)
			if told = s.settleKind(k, o) && ok && tells(b, o); !ok && s.keys[k].flags&unsupported == 0 {
				s.giveUp(k)
			}
		}
		if !writesVersion(o) && !told {
			continue
		}
		k := s.keyOf(b, t, o)
		if !s.settleKind(k, o) {
			s.noteParted(k, n, o)
			continue
		}
		if tells(b, o) {
			s.tellVersion(k)
		}
		if ofElement(o) {
			k = s.elementKey(k, b.Bytes(o.Value), o.ValueHash)
		}
		if (o.Kind == event.Delete || o.Kind == event.Remove) && s.txns[n].state == tentative {
			if version, _ := versionOf(b, o); len(version) == 0 || ofElement(o) {
				s.deletion(k, n)
			} else if !s.toldDeletion(k, n) {
				continue
			}
			s.deletedRow(k, 0)
		}
		if s.keys[k].flags&repeats != 0 {
			continue // its values name no version, but a delete among them counts
		}
		h := s.written(b, t, k, o)
		if version, _ := versionOf(b, o); len(version) > 0 && o.Kind != event.Append && !ofElement(o) {
			s.wroteColumn(k, h)
		}
		v := s.internVersion(k, h)
		if o.Kind != event.Append && s.wroteNow(n, v) != 0 {
			continue
		}
		s.pin(n)
		s.addWrite(n, v, uint32(i))
		if s.txns[n].state == tentative {
			s.possibleWriter(v, n)
			s.writtenLate(v, n)
			if tells(b, o) && o.Kind != event.Inc && o.Kind != event.Delete {
				s.toldLater(k, o.ValueHash)
			}
			if s.appendedBefore(v, n) {
				s.triesAgain(n)
			}
			if s.triedBefore(v, n) || s.appendedBefore(v, n) {
				s.makeAmbiguous(v)
			}
		} else {
			s.awaitAgain(v)
		}
	}
}
