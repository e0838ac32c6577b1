package infer

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Kinds of records.
const (
	KeyRecord ledger.RecordKind = iota + 1
	TxnRecord
	SessionRecord
)

// maxSpilledVersions bounds a record: a key with more versions stays.
const maxSpilledVersions = 1024

// hold keeps the keys of a transaction of unknown outcome in memory: it may be
// counted, and taken back, long after it came.
func (s *memory) hold(b *event.Batch, t *event.Txn) {
	ops := b.OpsOf(t)
	for i := range ops {
		k := s.InternKeyOf(b, t, &ops[i])
		s.Keys[k].Count++
	}
}

// leave undoes hold, and lets go of n's session.
func (s *memory) leave(n uint32) {
	x := &s.Txns[n]
	if x.Session != 0 {
		s.Sessions[x.Session].Refs--
	}
	if x.Flags&ledger.Unknown != 0 {
		s.letGoKeys(x.Record)
	}
}

func (s *memory) letGoKeys(record ledger.Place) {
	s.EachKey(s.Records.Get(record), func(h event.Hash) {
		if k := s.LookupKey(h); k != 0 {
			s.Keys[k].Count--
		}
	})
}

// KeysOfRecord calls fn with the keys of the transaction in a record that SpillTxn
// wrote, if its outcome is unknown: they come back together.
func (s *memory) KeysOfRecord(record []byte, fn func(event.Hash)) error {
	x, rest, err := readTxn(record)
	if err == nil && x.Flags&ledger.Unknown != 0 {
		s.EachKey(rest, fn)
	}
	return err
}

// MembersOfRecord calls fn with the ids of the transactions that a record of a key
// or session names.
func MembersOfRecord(kind ledger.RecordKind, record []byte, fn func(event.Hash)) error {
	r := ledger.RecordReader{B: record}
	r.Version()
	r.Byte() // flags, or kind
	if kind == KeyRecord {
		r.Uint() // flags
	}
	r.Bytes(r.Uint())
	n := uint64(2) // of a session
	if kind == KeyRecord {
		n = r.Uint()
	}
	for ; n > 0 && r.Err == nil; n-- {
		if h := r.Hash(); r.Err == nil && h != (event.Hash{}) {
			fn(h)
		}
	}
	return r.Err
}

// Needs calls fn with the records that adding t touches and that may be out. They are the records of
// its keys, of the rows that its ranges show, of its session, and of a transaction with its id.
func (s *memory) Needs(b *event.Batch, t *event.Txn, fn func(ledger.Ref)) {
	ops := b.OpsOf(t)
	for i := range ops {
		h := ops[i].KeyHash
		if t.Epoch.Len > 0 {
			h = s.InEpoch(b, t, h)
		}
		s.needKey(h, fn)
		if ops[i].Kind == event.Range {
			x := &b.Extras[ops[i].Extra]
			for _, r := range b.Rows[x.FirstRow : x.FirstRow+x.NumRows] {
				s.needKey(s.InEpoch(b, t, r.KeyHash), fn)
			}
		}
	}
	if t.Session.Len > 0 {
		if h := s.InEpoch(b, t, t.SessionHash); s.LookupSession(h) == 0 {
			s.need(ledger.Ref{Kind: SessionRecord, Hash: h}, fn)
		}
	}
	s.NeedTxn(s.InEpoch(b, t, t.IDHash), fn)
}

func (s *memory) needKey(h event.Hash, fn func(ledger.Ref)) {
	if s.LookupKey(h) == 0 {
		s.need(ledger.Ref{Kind: KeyRecord, Hash: h}, fn)
	}
}

// NeedTxn calls fn with the transaction, unless it is in memory; with the keys of one
// of unknown outcome that lingers there.
func (s *memory) NeedTxn(h event.Hash, fn func(ledger.Ref)) {
	n := s.LookupTxn(h)
	if n == 0 {
		s.need(ledger.Ref{Kind: TxnRecord, Hash: h}, fn)
	} else if x := &s.Txns[n]; x.Away > 0 && x.Flags&ledger.Unknown != 0 {
		s.EachKey(s.Records.Get(x.Record), func(h event.Hash) { s.needKey(h, fn) })
	}
}

// NeedKey calls fn with the key, unless it is in memory.
func (s *memory) NeedKey(h event.Hash, fn func(ledger.Ref)) { s.needKey(h, fn) }

func (s *memory) need(r ledger.Ref, fn func(ledger.Ref)) {
	if !s.Spill.Out.Has(r) {
		return
	}
	if r.Kind == TxnRecord {
		for i := range s.Spill.Dead {
			if s.Spill.Dead[i].Id == r.Hash {
				return
			}
		}
	}
	fn(r)
}

// Spilled says whether anything may be out.
func (s *memory) Spilled() bool { return s.Spill.Out.Used > 0 }

// Made is how many keys and sessions were made, or came back, in this step.
func (s *memory) Made() int { return s.Spill.Made }

// KeySlots is how many keys the hand passes in a round.
func (s *memory) KeySlots() int { return len(s.Keys) - 1 }

// SessionSlots is how many sessions the hand passes in a round.
func (s *memory) SessionSlots() int { return len(s.Sessions) - 1 }

// SessionsInMemory is the number of sessions that are not out.
func (s *memory) SessionsInMemory() int { return len(s.Sessions) - 1 - s.Free.Sessions.Len() }

// EndStep ends a step: what was put off in it may go out in the next one.
func (s *memory) EndStep() {
	s.Spill.Ready, s.Spill.Doomed, s.Spill.Made = len(s.Spill.Lingering), len(s.Spill.Dead), 0
}

// SpillSizes say how much is out.
type SpillSizes struct {
	Keys        int64 `json:"keys"` // out
	Txns        int64 `json:"txns"`
	Sessions    int64 `json:"sessions"`
	Returned    int64 `json:"returned"` // records that came back, since the beginning
	FilterBytes int64 `json:"filter_bytes"`
}

// SpillSizes of the state. O(1).
func (s *memory) SpillSizes() SpillSizes {
	p := &s.Spill
	return SpillSizes{p.Keys, p.Txns, p.Sessions, p.Returned, p.Out.Bytes()}
}

// EachDead calls fn with the names of transactions' records that have become useless since the
// last step, with the largest size that they can have. It forgets them.
func (s *memory) EachDead(fn func(ref ledger.Ref, bytes int)) {
	for _, d := range s.Spill.Dead[:s.Spill.Doomed] {
		fn(ledger.Ref{Kind: TxnRecord, Hash: d.Id}, int(d.Bytes))
	}
	s.Spill.Dead = append(s.Spill.Dead[:0], s.Spill.Dead[s.Spill.Doomed:]...)
	s.Spill.Doomed = 0
}

// maxGroup bounds the keys that go out together.
const maxGroup = 1024

// KeyOf is the key that v is a version of.
func (s *memory) KeyOf(v uint32) uint32 { return s.Versions[v].Key }

// SpillKey appends the record of k, which ColdKeys gave, to dst and forgets k. It
// returns nil for a key that is as if it had never been met: none is needed.
func (s *memory) SpillKey(dst []byte, k uint32) (ledger.Ref, []byte) {
	s.cold(k) // finds its versions
	ref := ledger.Ref{Kind: KeyRecord, Hash: s.Keys[k].Hash}
	if s.trivial(k) {
		dst = nil
	} else {
		dst = s.appendKey(dst, k)
		s.Spill.Out.Add(ref)
		s.Spill.Keys++
	}
	s.forgetKey(k)
	return ref, dst
}

// MayBeOut says whether a record with this name may be on disk.
func (s *memory) MayBeOut(r ledger.Ref) bool { return s.Spill.Out.Has(r) }

// trivial says whether k is as if it had never been met.
func (s *memory) trivial(k uint32) bool {
	x := &s.Keys[k]
	return x.Count == 1 && x.Flags&^ledger.Used == 0 && x.Kind == event.AnyKind &&
		s.Versions[x.Initial].Flags == ledger.InitialVersion|ledger.Placed && s.Versions[x.Initial].Over == 0
}

// forgetKey frees k, which is cold, with its versions. Transactions that it names may go out in
// a later step.
func (s *memory) forgetKey(k uint32) {
	x := &s.Keys[k]
	members := s.Spill.TxnsOf[:0]
	for _, v := range s.Spill.Versions {
		y := &s.Versions[v]
		for id := y.Writes; id != 0; {
			w := s.Writes[id]
			s.UnlinkFromTxn(id)
			t := &s.Txns[w.Txn]
			t.Pins--
			t.Away++
			members = append(members, w.Txn)
			s.Writes[id] = ledger.Write{}
			s.Free.Writes.Give(id)
			id = w.NextOfVer
		}
		if n := y.Witness; n != 0 {
			s.Txns[n].Pins--
			s.Txns[n].Away++
			members = append(members, n)
		}
		if y.Flags&ledger.InitialVersion == 0 {
			s.ByVersion.Remove(ledger.VersionHash(k, y.Hash), v)
		}
		*y = ledger.Version{}
		s.Free.Versions.Give(v)
		s.Freed++
	}
	s.ByKey.Remove(x.Hash.Lo, k)
	s.Names.Drop(x.Name)
	*x = ledger.Key{}
	s.Free.Keys.Give(k)
	for _, n := range members {
		if s.Txns[n].State != ledger.Free {
			s.Release(n)
		}
	}
	s.Spill.TxnsOf = members
}
