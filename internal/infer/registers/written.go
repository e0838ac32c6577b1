package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// CountVersioned takes a read or write of a register.
func (s *Registers) CountVersioned(b *event.Batch, n, i, k uint32, o *event.Op) {
	if s.Keys[k].Flags&ledger.Versioned != 0 && o.Kind == event.Read {
		s.readVersion(b, n, i, k, o)
		return
	}
	if o.Kind == event.Write {
		s.WriteVersion(b, n, i, k, o, o.ValueHash)
		return
	}
	s.ReadValue(s.TouchOf(k), n, i, o.ValueHash, o.Flags&event.NotFound != 0)
}

// CompareAndSet takes a cas. One that succeeded read the value that it expected and then wrote (MTC,
// section V: the chain of lightweight transactions). If it failed, only the value that it reports is
// known.
func (s *Registers) CompareAndSet(b *event.Batch, t *event.Txn, n, i, k uint32, o *event.Op) {
	x := &b.Extras[o.Extra]
	c := s.TouchOf(k)
	if s.Keys[k].Flags&ledger.Versioned != 0 { // values are not versions
		if o.Flags&event.Success != 0 {
			s.expected(b, c, n, i, o)
			s.WriteVersion(b, n, i, k, o, o.ValueHash)
		} else {
			s.readVersion(b, n, i, k, o)
		}
		return
	}
	switch {
	case o.Flags&event.Success != 0:
		s.readMaybe(b, c, n, i, x.Expected, x.ExpectedHash)
		s.Write(c, n, i, s.Written(b, t, k, o))
	case x.Seen.Len > 0:
		s.readMaybe(b, c, n, i, x.Seen, x.SeenHash)
	default:
		s.Counters.Ignored++ // an unexpected value gives no edge
		if c.Flags&(causes.HasRead|causes.Wrote) == 0 {
			s.ReadUnchecked(n, k)
		}
	}
}

// expected takes the read of a successful cas where values are not versions. It found nothing,
// or, if it does not name the replaced version, a version that cannot be told.
func (s *Registers) expected(b *event.Batch, c *causes.Touch, n, i uint32, o *event.Op) {
	if _, prev := causes.VersionOf(b, o); len(prev) > 0 || c.Flags&(causes.Wrote|causes.HasRead|causes.Misread) != 0 {
		return
	}
	if string(b.Bytes(b.Extras[o.Extra].Expected)) == "null" {
		s.ReadValue(c, n, i, event.Hash{}, true)
	} else {
		s.Counters.Ambiguous++
		s.ReadOpen(n, ledger.OpenNameless)
	}
}

// readMaybe takes what a cas says was there: the text null says that nothing was.
func (s *Registers) readMaybe(b *event.Batch, c *causes.Touch, n, i uint32, text event.Span, h event.Hash) {
	if string(b.Bytes(text)) == "null" {
		s.ReadValue(c, n, i, event.Hash{}, true)
		return
	}
	s.ReadValue(c, n, i, h, false)
}

// Written is the hash of the version that o writes to k, 0 for an unknown key.
func (s *Registers) Written(b *event.Batch, t *event.Txn, k uint32, o *event.Op) event.Hash {
	removes := o.Kind == event.Delete || o.Kind == event.Remove
	if removes && leavesNothing(&s.Keys[k], t) {
		return ledger.NothingHash()
	}
	if o.Kind != event.Append && !causes.OfElement(o) {
		if version, _ := causes.VersionOf(b, o); len(version) > 0 {
			return ledger.VersionIdentity(version)
		}
		if s.Keys[k].Flags&ledger.Versioned != 0 {
			s.Nameless = s.Nameless || o.Kind == event.Write || o.Kind == event.CAS
		}
		if o.Kind == event.Inc {
			s.Nameless = true
			return tombstoneOf(s.InEpoch(b, t, t.IDHash)) // that nobody can have named
		}
	}
	if removes {
		return tombstoneOf(s.InEpoch(b, t, t.IDHash))
	}
	return o.ValueHash
}

// Removed is the hash of the version that t leaves of the part k of a value, which it removes.
func (s *Registers) Removed(b *event.Batch, t *event.Txn, k uint32) event.Hash {
	if leavesNothing(&s.Keys[k], t) {
		return ledger.NothingHash()
	}
	return tombstoneOf(s.InEpoch(b, t, t.IDHash))
}

// leavesNothing says whether the version that t leaves of k, which it deletes, is the one that all deletes leave.
func leavesNothing(k *ledger.Key, t *event.Txn) bool {
	return k.Flags&ledger.Emptied != 0 && t.Status != event.Aborted
}

// tombstoneOf is the value of the version that a delete leaves. It is made of the transaction's id.
func tombstoneOf(id event.Hash) event.Hash {
	return event.Hash{Lo: id.Lo*0x9e3779b97f4a7c15 ^ 0x746f6d6273746f6e, Hi: ^id.Hi}
}

// Deletion notes that n may have deleted k, 0 if the deleter is not known. An empty read there does not
// name the initial version any more. A reader that had ended before n began found the initial version,
// unless somebody else deleted the key.
func (s *Registers) Deletion(k, n uint32) {
	x := &s.Keys[k]
	if x.Flags&ledger.Deleted != 0 {
		x.Flags |= ledger.DeletedAgain
		s.DeletedEarlier(k, n)
		return
	}
	x.Flags |= ledger.Deleted
	s.Deletes = true
	v := x.Initial
	if s.Versions[v].Flags&ledger.Ambiguous != 0 {
		return
	}
	again := x.Flags&ledger.Emptied != 0 || s.comesAgain(k)
	if again {
		defer s.empty(k)
	} else {
		s.Mark(v, ledger.Ambiguous, 0)
	}
	if x.Flags&ledger.FoundNothing != 0 && !again {
		s.CountAbsent()
	}
	if s.MayKeep(k, n) {
		s.KeepEarlier(k, n)
	} else {
		s.Out.Ambiguous = append(s.Out.Ambiguous, s.KeyOfValue(v))
		s.Kill(v, 0, ledger.WR)
		for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
			s.KillEdges(s.Writes[id].Version, s.Writes[id].Txn, ledger.RW)
		}
	}
	s.NothingInOrder(k)
	if x.Flags&ledger.Element != 0 && !again {
		s.CountRoots(k)
	}
}

// WriteVersion takes a write of a register. The write may name its version, and the version that it
// replaced. Otherwise h tells its version.
func (s *Registers) WriteVersion(b *event.Batch, n, i, k uint32, o *event.Op, h event.Hash) {
	c := s.TouchOf(k)
	version, _ := causes.VersionOf(b, o)
	if s.Keys[k].Flags&ledger.Versioned != 0 {
		s.replaces(b, c, n, i, o)
		if len(version) > 0 {
			h = ledger.VersionIdentity(version)
			if o.Kind != event.Inc { // which does not say what the version holds
				s.NoteVersion(k, o.ValueHash, h)
				s.WroteColumn(k, h)
				s.ToldLater(k, o.ValueHash)
			}
			c.Flags &^= causes.Nameless
		} else {
			s.Nameless = true
			c.Flags |= causes.Nameless
		}
	}
	if c.Flags&causes.Wrote != 0 && s.IsOrdered(s.Writes[c.LastWrite].Version) && s.Numeric(k) {
		s.UnlinkOrdered(s.Writes[c.LastWrite].Version) // it was intermediate
	}
	s.Write(c, n, i, h)
	if s.Keys[k].Flags&ledger.Versioned != 0 && len(version) > 0 {
		s.NumberText(k, s.Writes[c.LastWrite].Version, n, version)
	}
}

// ToldLater takes back what rests on the known writers of the value, and on nobody having written it. It was written or read when no operation
// of k had told a version, and now one writes it and tells its own.
func (s *Registers) ToldLater(k uint32, h event.Hash) {
	if s.Keys[k].Flags&ledger.PlainBefore == 0 {
		return
	}
	if v := s.LookupVersion(k, h); v != 0 && s.Versions[v].Flags&ledger.Ambiguous == 0 {
		s.WroteAgain(k, h)
	}
}

// WroteAgain takes back conclusions that rest on the known writers of the value. An operation from
// which nothing else is concluded may have written the value as well.
func (s *Registers) WroteAgain(k uint32, h event.Hash) {
	v := s.LookupVersion(k, h)
	if v == 0 {
		s.Out.Ambiguous = append(s.Out.Ambiguous, ledger.VersionHash(0, h)^s.Keys[k].Hash.Lo)
		return
	}
	s.Out.Ambiguous = append(s.Out.Ambiguous, s.KeyOfValue(v))
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if w := s.Writes[id].Txn; s.Txns[w].State == ledger.Counted && s.Txns[w].Flags&ledger.Unknown != 0 {
			s.Demote = append(s.Demote, w)
		}
	}
	s.MakeAmbiguous(v)
}
