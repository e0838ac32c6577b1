package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// InternKey finds or makes the key with this name.
func (s *Registers) InternKey(h event.Hash, name []byte) uint32 {
	x := &s.ByKey
	i, mask, fp := x.Start(h.Lo)
	for x.Slots[i] != 0 {
		if slot := x.Slots[i]; uint32(slot>>32) == fp {
			if k := &s.Keys[uint32(slot)]; k.Hash == h {
				k.Flags |= ledger.Used
				return uint32(slot)
			}
		}
		i = (i + 1) & mask
	}
	k := s.NewKey(h, name)
	v := s.NewVersion(k, event.Hash{})
	s.Versions[v].Flags = ledger.InitialVersion | ledger.Placed
	s.Keys[k].Initial, s.Keys[k].First, s.Keys[k].Last = v, v, v
	return k
}

// Begin starts a step: what the last one handed out may go now.
func (s *Registers) Begin(out *ledger.Out) {
	s.Out = out
	clear(s.Partial.Again)
	for len(s.Held) > 0 {
		n := s.Held[len(s.Held)-1]
		s.Held = s.Held[:len(s.Held)-1]
		s.Unpin(n)
	}
	for len(s.HeldVersions) > 0 {
		v := s.HeldVersions[len(s.HeldVersions)-1]
		s.HeldVersions = s.HeldVersions[:len(s.HeldVersions)-1]
		s.Versions[v].Due--
		s.DropIfUnused(v)
	}
}

// InternKeyOf interns the key of o.
func (s *Registers) InternKeyOf(b *event.Batch, t *event.Txn, o *event.Op) uint32 {
	h := o.KeyHash
	if t.Epoch.Len > 0 {
		h = s.InEpoch(b, t, h)
	}
	return s.InternKey(h, b.Bytes(o.Key))
}

// GiveUp stops inference on k. Edges found so far rest on operations that were understood, and
// stay. The exception is edges out of not-found reads, since a delete makes these ambiguous.
func (s *Registers) GiveUp(k uint32) {
	x := &s.Keys[k]
	s.Counters.Ignored++
	x.Flags |= ledger.Unsupported
	s.Uncheckable(k)
	if x.Flags&ledger.Deleted != 0 {
		s.ReplacedWhole(k)
	} else if x.Flags&ledger.Sums != 0 {
		s.Deletion(k, 0) // somebody uses the key as another kind, and may have deleted it
	}
}

// ReplacedWhole takes back what rests on k having been appended or added to only: another
// operation may have replaced or deleted it.
func (s *Registers) ReplacedWhole(k uint32) {
	switch kind := s.Keys[k].Kind; {
	case kind == event.List:
		s.Above.List.Replaced(k)
	case kind.Parts():
		s.Above.Set.Replaced(k)
	}
}

// Void takes back what rests on v having one writer, and having been read.
func (s *Registers) Void(v uint32) {
	s.Kill(v, s.Versions[v].Writer, ledger.WW|ledger.WR|ledger.RW)
	s.Out.Ambiguous = append(s.Out.Ambiguous, s.KeyOfValue(v))
}

// NewKey makes a key without versions, and gives it its pattern.
func (s *Registers) NewKey(h event.Hash, name []byte) uint32 {
	k, ok := s.Free.Keys.Take()
	if !ok {
		k = uint32(len(s.Keys))
		s.Keys = flat.Push(s.Keys, ledger.Key{})
	}
	s.Spill.Made++
	s.Keys[k] = ledger.Key{Hash: h, Name: s.Names.Put(name), Flags: ledger.Used}
	s.Signs.Stood.Forget(k)
	s.ByKey.Insert(h.Lo, k)
	s.enterPattern(k, name)
	return k
}

// KeepVersion links v, whose writers have retired, into its key's chain of kept
// versions, unless it is in another chain of the key.
func (s *Registers) KeepVersion(v uint32) {
	if x := &s.Versions[v]; x.Key != 0 && x.Flags&NotKept == 0 && s.Gone(v) {
		s.chain(v)
	}
}

// NotKept are the flags of versions that KeepVersion passes by.
const NotKept = ledger.Kept | ledger.InitialVersion | ledger.Placed | ledger.InUnplaced

func (s *Registers) chain(v uint32) {
	x := &s.Versions[v]
	head := s.KeptHead(x.Key)
	x.Flags |= ledger.Kept
	if next := *head; next != 0 { // otherwise neither's second half is touched
		y := &s.Versions[next]
		x.Sibling, y.SibPrev = next, v
		x.Flags |= ledger.Chained
		y.Flags |= ledger.Chained
	}
	*head = v
}

// plannedVersion is the version of k with this value that the i-th operation is
// about, when the plan knows it and it is still there.
func (s *Registers) plannedVersion(i, k uint32, h event.Hash) uint32 {
	if at := s.PlanFrom + i; at < s.PlanTo {
		if v := s.Planned[at].Version; v != 0 {
			if x := &s.Versions[v]; x.Key == k && x.Hash == h {
				return v
			}
		}
	}
	return s.InternVersion(k, h)
}
