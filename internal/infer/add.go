package infer

import (
	"bytes"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/counters"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
	"github.com/zeebo/xxh3"
)

// Add takes one finished transaction and appends what follows from it to out.
// start and end are the times to work with: the client's own, or what stands for
// them. It returns the transaction's number, 0 for a duplicate or a
// contradiction. Reads and writes cost O(1) expected each, plus the edges they give; a list
// read costs its length.
func (s *State) Add(b *event.Batch, t *event.Txn, start, end int64, out *ledger.Out) uint32 {
	s.Begin(out)
	s.takePlan(b, t)
	if !s.joined {
		s.joined = true
		s.BaselineEnds = end + s.Opt.BaselineSpan
	}
	id := t.IDHash
	if t.Epoch.Len > 0 {
		id = s.InEpoch(b, t, id)
	}
	record, content := b.PackedRecord(t), t.Content
	if len(record) == 0 {
		s.record = event.AppendRecord(s.record[:0], b, t)
		record, content = s.record, event.ContentHash(b, t)
	}
	replaced, late := false, ledger.TxnFlags(0)
	old := s.LookupTxn(id)
	if old != 0 {
		if out.Refused = s.supersedes(b, t, old, content); out.Refused == ledger.Repeated || out.Refused == ledger.Contradicting {
			return 0
		}
		same := t.Status != event.Aborted && s.sameOps(b, t, old)
		if !same {
			out.Replaced = append(out.Replaced, id.Lo)
			if out.Refused == ledger.TooLate {
				s.Txns[old].Flags |= ledger.Overruled
				s.tooLate(b, t)
			}
		}
		if out.Refused == ledger.TooLate {
			return 0
		}
		late = s.Txns[old].Flags & (ledger.CameLate | ledger.Unheard)
		if s.Txns[old].Flags&ledger.Unknown != 0 {
			late |= ledger.Unheard
		}
		s.remove(old, same)
		replaced, out.Again = true, true
	} else if end <= s.Greatest || s.UntimedPatience > 0 || t.Flags&event.HasTimes == 0 || t.End != end {
		// Only then can it have been let go. A record in time ends behind all that was, except
		// where times were clamped or are positions.
		if out.Refused = s.recall(b, t, id, content); out.Refused != ledger.Taken {
			if out.Refused == ledger.TooLate && !s.committedAsCounted(b, t, id) {
				out.Replaced = append(out.Replaced, id.Lo)
				s.tooLate(b, t)
			}
			return 0
		}
	}
	n := s.NewTxn()
	x := &s.Txns[n]
	x.Id, x.Content = id, content
	if t.Isolation.Len > 0 && !s.Opt.AskedAlike {
		x.Asked = uint32(xxh3.Hash(b.Bytes(t.Isolation))) | 1
	}
	x.Record = s.Records.Put(record)
	x.Start, x.End, x.Seq = start, end, t.Seq
	x.Partition, x.Sub, x.Offset = t.Pos.Partition, t.Pos.Sub, t.Pos.Offset
	if x.Flags = flagsOf(t) | late; start != t.Start || end != t.End {
		x.Flags &^= ledger.HasTimes // they are not the client's, and order nothing in its session
	}
	s.ByID.Insert(id.Lo, n)
	for _, k := range s.reshown {
		s.ShowInstead(k, n, old)
	}
	s.reshown = s.reshown[:0]
	s.NoteBegin(n)
	s.EnterSession(b, t, n)
	if t.Status == event.Unknown {
		s.hold(b, t)
	}
	switch t.Status {
	case event.Committed:
		x.State = ledger.Counted
		s.count(b, t, n)
	case event.Aborted:
		x.State = ledger.Aborted
		s.noteWrites(b, t, n)
		s.Glimpse(b, t, n)
		s.LinkSession(n)
	default:
		x.State = ledger.Tentative
		s.noteWrites(b, t, n)
		s.Glimpse(b, t, n)
	}
	if x := &s.Txns[n]; x.State != ledger.Counted {
		s.expiry.Push(x.End, n, x.Gen, 0, 0, 0)
	}
	s.settleOutcomes()
	if s.SettleSigns(); len(s.Demote)+len(s.Promote) > 0 {
		s.settleOutcomes()
	}
	if replaced {
		for _, v := range s.reopened {
			s.Recount(v)
		}
	}
	for _, v := range s.unaccused {
		s.AskAll(v)
	}
	s.unaccused = s.unaccused[:0]
	return n
}

// sameOps says whether the record in work and old's record have the same content, except
// outcome and times.
func (s *State) sameOps(b *event.Batch, t *event.Txn, old uint32) bool {
	s.Scratch.Reset()
	before := s.Records.Get(s.Txns[old].Record)
	if s.Decoder.DecodeRecord(&s.Scratch, event.Position{}, before) != nil {
		return false // not possible: the record was written by AppendRecord
	}
	o, now := &s.Scratch.Txns[0], *t
	now.Status, now.Start, now.End = o.Status, o.Start, o.End
	now.Flags = now.Flags&^event.HasTimes | o.Flags&event.HasTimes
	return bytes.Equal(before, event.AppendRecord(nil, b, &now))
}

func flagsOf(t *event.Txn) ledger.TxnFlags {
	var f ledger.TxnFlags
	if t.Flags&event.HasSeq != 0 {
		f |= ledger.HasSeq
	}
	if t.Flags&event.HasTimes != 0 {
		f |= ledger.HasTimes
	}
	if t.Flags&event.Stale != 0 {
		f |= ledger.Stale
	}
	if t.Status == event.Unknown {
		f |= ledger.Unknown
	}
	return f
}

// WithID is the transaction in memory that has the id in the epoch, 0 if there is none.
func (s *State) WithID(id, epoch string) uint32 {
	h := event.HashText([]byte(id))
	if epoch != "" {
		h = ledger.UnderEpoch(h, xxh3.HashString(epoch))
	}
	if len(s.ByID.Slots) == 0 {
		return 0
	}
	return s.LookupTxn(h)
}

// supersedes decides about a second record with a known id. Equal content is a duplicate. A
// decided outcome replaces an unknown one, whichever record comes first. Anything else is a
// contradiction, and the first record is kept. An outcome cannot replace the first record any more when that counted and has
// left the orders.
func (s *State) supersedes(b *event.Batch, t *event.Txn, old uint32, content uint64) ledger.Refusal {
	x := &s.Txns[old]
	known := func(content uint64) bool { return content == x.Content }
	switch {
	case known(content), t.Status == event.Unknown && (decidedBefore(b, t, x.End, known) || decidedBefore(b, s.committedAt(t, old), x.End, known)):
		s.Counters.Duplicates++
		return ledger.Repeated
	case x.Flags&ledger.Unknown == 0 || t.Status == event.Unknown:
		s.Counters.Contradictory++
		s.Report(ledger.Anomaly{Kind: ledger.Contradictory, A: old, Certain: true})
		return ledger.Contradicting
	case x.State == ledger.Counted && x.Flags&ledger.Retired != 0:
		return ledger.TooLate
	}
	return ledger.Taken
}

// committedAt is t with the commit timestamp of old's record, which only the outcome may have told.
func (s *State) committedAt(t *event.Txn, old uint32) *event.Txn {
	s.Scratch.Reset()
	if s.Decoder.DecodeRecord(&s.Scratch, event.Position{}, s.Records.Get(s.Txns[old].Record)) != nil {
		return t // not possible: the record was written by AppendRecord
	}
	first, now := &s.Scratch.Txns[0], *t
	if now.Flags&event.HasCommitTS == 0 {
		now.Flags |= first.Flags & event.HasCommitTS
		now.CommitTS = first.CommitTS
	}
	return &now
}

// decidedBefore says whether t, of unknown outcome, was reported before with an outcome and the same
// content. The two records came in the other order, or this one came again. The client may have learnt
// the outcome at a later time, end.
func decidedBefore(b *event.Batch, t *event.Txn, end int64, known func(content uint64) bool) bool {
	for _, status := range []event.Status{event.Committed, event.Aborted} {
		decided := *t
		decided.Status = status
		if known(event.ContentHash(b, &decided)) {
			return true
		}
		decided.End = end
		if known(event.ContentHash(b, &decided)) {
			return true
		}
	}
	return false
}

// recall is supersedes for a record that has left memory.
func (s *State) recall(b *event.Batch, t *event.Txn, id event.Hash, content uint64) ledger.Refusal {
	known, same, open := s.Ids.Get(id.Lo, content)
	if known && !same && t.Status == event.Unknown {
		same = decidedBefore(b, t, t.End, func(content uint64) bool {
			_, same, _ := s.Ids.Get(id.Lo, content)
			return same
		})
	}
	switch {
	case !known:
		return ledger.Taken
	case same:
		s.Counters.LateDuplicates++
		return ledger.Repeated
	case open && t.Status != event.Unknown:
		return ledger.TooLate
	}
	s.Counters.Contradictory++
	return ledger.Contradicting
}

// committedAsCounted says whether t commits with the same content as its first record, which has left
// memory.
func (s *State) committedAsCounted(b *event.Batch, t *event.Txn, id event.Hash) bool {
	first := *t
	first.Status = event.Unknown
	_, same, _ := s.Ids.Get(id.Lo, event.ContentHash(b, &first))
	return same && t.Status == event.Committed
}

// tooLate is for a record that cannot replace the first, unknown one any more. It takes back
// conclusions about the writers of the record's values. The first record's transaction wrote them, or
// nobody did.
func (s *State) tooLate(b *event.Batch, t *event.Txn) {
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		if !causes.WritesVersion(o) && !(o.Kind == event.Inc && registers.Tells(b, o)) {
			continue
		}
		h := s.InEpoch(b, t, o.KeyHash)
		k := s.LookupKey(h)
		if causes.OfElement(o) {
			h = causes.ElementHash(h, o.ValueHash)
		}
		v := ledger.VersionHash(0, s.Written(b, t, k, o)) ^ h.Lo
		s.Out.Ambiguous = append(s.Out.Ambiguous, v)
		if t.Status == event.Committed {
			s.Values.Add(v) // a transaction that reads the value has read from somebody
		} else {
			s.Aborts.Add(v)
		}
	}
}

// noteWrites records what a transaction that does not count wrote.
func (s *State) noteWrites(b *event.Batch, t *event.Txn, n uint32) {
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		told := false
		if s.Txns[n].State == ledger.Aborted && s.saysNothing(s.InEpoch(b, t, o.KeyHash), o) {
			continue
		}
		switch o.Kind {
		case event.Range:
			s.RangesOf(s.InternKeyOf(b, t, o))
		case event.Inc:
			k := s.InternKeyOf(b, t, o)
			_, ok := counters.Amount(b, o)
			if told = s.settleKind(k, o) && ok && registers.Tells(b, o); !ok && s.Keys[k].Flags&ledger.Unsupported == 0 {
				s.GiveUp(k)
			}
		}
		if !causes.WritesVersion(o) && !told {
			continue
		}
		k := s.InternKeyOf(b, t, o)
		if !s.settleKind(k, o) {
			s.NoteParted(k, n, o)
			continue
		}
		if registers.Tells(b, o) {
			s.tellVersion(k)
		}
		if causes.OfElement(o) {
			k = s.ElementKey(k, b.Bytes(o.Value), o.ValueHash)
		}
		if (o.Kind == event.Delete || o.Kind == event.Remove) && s.Txns[n].State == ledger.Tentative {
			if version, _ := causes.VersionOf(b, o); len(version) == 0 || causes.OfElement(o) {
				s.Deletion(k, n)
			} else if !s.ToldDeletion(k, n) {
				continue
			}
			s.DeletedRow(k, 0)
		}
		if s.Keys[k].Flags&ledger.Repeats != 0 {
			continue // its values name no version, but a delete among them counts
		}
		h := s.Written(b, t, k, o)
		if version, _ := causes.VersionOf(b, o); len(version) > 0 && o.Kind != event.Append && !causes.OfElement(o) {
			s.WroteColumn(k, h)
		}
		v := s.InternVersion(k, h)
		if o.Kind != event.Append && s.WroteNow(n, v) != 0 {
			continue
		}
		s.Pin(n)
		s.AddWrite(n, v, uint32(i))
		if s.Txns[n].State == ledger.Tentative {
			s.PossibleWriter(v, n)
			s.WrittenLate(v, n)
			if registers.Tells(b, o) && o.Kind != event.Inc && o.Kind != event.Delete {
				s.ToldLater(k, o.ValueHash)
			}
			if s.AppendedBefore(v, n) {
				s.TriesAgain(n)
			}
			if s.TriedBefore(v, n) || s.AppendedBefore(v, n) {
				s.MakeAmbiguous(v)
			}
		} else {
			s.AwaitAgain(v)
		}
	}
}

// versionHashInverse takes the multiplication of VersionHash back: their product is
// 1 modulo 2^64.
const versionHashInverse = 0xf1de83e19937733d
